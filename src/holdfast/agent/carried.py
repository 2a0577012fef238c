"""What is carried over when the older part of a conversation is summed up, and the words it is carried over in. Pure.

Two rules. What a person asked for first, what is being worked on and the list of what is to be done go word for word.
Nothing is recognised by how it reads: each comes from where the journal has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from holdfast.history.compact import Exchange, cut
from holdfast.session.conversation import Conversation, Message, UserMessage
from holdfast.session.entries import CallEnded, CallPart, CallStarted, Entry, ResponseEnded
from holdfast.session.estimate import estimate
from holdfast.session.pruning import TODO
from holdfast.tools.output import cap

LEAST = 500
"""Tokens that must go for a summary to be worth its request."""

LONGEST = 16_000
"""Characters of what goes word for word."""

_NAMED = 40  # files; more of them are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Older:
    """The part that goes: its `messages`, up to the response to request `step` and its results; `first` is what stays.

    `asked` is the prompt of the turn that is cut through, "" if what stays begins with one.
    """

    messages: tuple[Message, ...]
    step: int
    first: int
    asked: str


def older(conversation: Conversation, steps: Sequence[int], *, keep: int, most: int) -> Older | None:
    """Return the part that goes so that at most `keep` tokens stay, None if there is none worth it.

    `steps` are those of the answers in the conversation. One that has no room otherwise stays up to `most`.
    """
    messages, model = conversation.messages, conversation.model
    prompts = {asked.at: asked.text for asked in conversation.prompts}
    exchanges = [_exchange(messages[at : at + 2], model, opens=at in prompts) for at in range(0, len(messages), 2)]
    gone = cut(exchanges, keep=keep, most=most)
    first = 2 * gone
    goes = messages[:first]
    if first < len(messages) and isinstance(left := messages[first], UserMessage) and left.results:
        goes = (*goes, UserMessage(left.results, ()))
    if not gone or estimate(goes, model) < LEAST:
        return None
    asked = "" if first in prompts else next((text for at, text in reversed(prompts.items()) if at < first), "")
    return Older(messages=goes, step=steps[gone - 1], first=first, asked=asked)


def _exchange(pair: Sequence[Message], model: str, *, opens: bool) -> Exchange:
    said, *answer = pair
    assert isinstance(said, UserMessage)
    return Exchange(
        results=estimate((UserMessage(said.results, ()),), model),
        texts=estimate((UserMessage((), said.said),), model),
        answer=estimate(answer, model) if answer else None,
        opens=opens,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What calls of a conversation were to change, the files they read besides, and the list of what is to be done.

    `listed` is the call that gave the list. The last touched file is last.
    """

    changed: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    todo: str = ""
    listed: str = ""


def work(journal: Iterable[Entry], part_of_it: Callable[[str], bool]) -> Work:
    """Return what those calls did that are `part_of_it`."""
    changed: dict[str, None] = {}
    read: dict[str, None] = {}
    lists: set[str] = set()
    todo = listed = ""
    for entry in journal:
        match entry:
            case ResponseEnded(parts=parts):
                lists.update(part.id for part in parts if isinstance(part, CallPart) and part.name == TODO)
            case CallStarted(call=call, change=change) if change is not None and part_of_it(call):
                changed.pop(change.path, None)
                changed[change.path] = None
            case CallEnded(call=call, seen=seen) if seen is not None and part_of_it(call):
                read.pop(seen.path, None)
                read[seen.path] = None
            case CallEnded(call=call, outcome="ok", text=text) if call in lists and part_of_it(call):
                todo, listed = text, call
            case _:
                pass
    others = tuple(path for path in read if path not in changed)
    return Work(changed=tuple(changed), read=others, todo=todo, listed=listed)


def note(conversation: Conversation, part: Older, done: Work, *, summary: str, model: str) -> str:
    """Return what stands in the place of the older part: the `summary` that `model` wrote; "" if none could."""
    first = conversation.prompts[0].text if conversation.prompts else ""
    stays = conversation.messages[part.first + 1 :]
    shown = any(
        result.call == done.listed for each in stays if isinstance(each, UserMessage) for result in each.results
    )
    sections = {
        "Summary:" if model else "Summary of what was before the part that was left out:": summary,
        "The user's first request, word for word:": cap(first, LONGEST),
        "The request that is being worked on, word for word:": cap(part.asked, LONGEST) if part.asked != first else "",
        "Your list of what is to be done, as it was last:": "" if shown else done.todo,
        "Files that were to be changed:": _named(done.changed),
        "Other files that were read:": _named(done.read),
    }
    said = [_SUMMED_UP.format(model=model) if model else _LEFT_OUT]
    said += [f"{title}\n{text.strip()}" for title, text in sections.items() if text.strip()]
    return "\n\n".join(said) + "]"


_SUMMED_UP = (
    "[Note from holdfast: this conversation grew long. Its older part is not shown any more; in its place stands this "
    "summary, which {model} wrote. Look again at what you need and it does not say."
)
_LEFT_OUT = (
    "[Note from holdfast: this conversation grew longer than its model can read, and could not be summed up. Its older "
    "part was left out: of what was said and done in it you know only what stands here. Look at how things are before "
    "you go on, and ask the user about what they decided."
)


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[-_NAMED:]) + more
