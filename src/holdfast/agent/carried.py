"""What is carried over when the older part of a conversation is summed up, and the words it is carried over in. Pure.

Two rules. What a person asked for first, what is being worked on and the list of what is to be done go word for word.
Nothing is recognised by how it reads: each comes from where the journal has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.history.compact import Exchange, cut
from holdfast.history.tokens import BYTES, tokens_of
from holdfast.session import words
from holdfast.session.conversation import Asked, Conversation, Message, Said, UserMessage
from holdfast.session.entries import (
    CallEnded,
    CallPart,
    CallStarted,
    Entry,
    PromptAccepted,
    Pruned,
    ResponseEnded,
    Steered,
)
from holdfast.session.estimate import beside, estimate, of_result
from holdfast.session.pruning import TODO
from holdfast.tools.output import cap

LEAST = 500
"""Tokens that must go for a summary to be worth its request."""

LONGEST = 16_000
"""Bytes of what goes word for word."""

SHORTEST = 200
"""Tokens of a result that are sent whatever else there is."""

_NAMED = 40  # files; more of them are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Older:
    """The part that goes: its `messages`, up to the response to request `step` and its results; `first` is what stays.

    `through` is the turn that is cut through, None if what stays begins with a prompt. `said` is how much of what was
    said beside those results goes too, and `unsent` the words of it. `unseen` is whether results go that were not
    answered.
    """

    messages: tuple[Message, ...]
    step: int
    first: int
    through: Asked | None
    said: int
    unsent: str
    unseen: bool


def older(
    conversation: Conversation, steps: Sequence[int], *, keep: int, most: int, unsent: bool = False
) -> Older | None:
    """Return the part that goes so that at most `keep` tokens stay, None if there is none worth it.

    `steps` are those of the answers in the conversation. One that has no room otherwise stays up to `most`. So does
    what earlier turns said and nobody answered, if `unsent`; all that was answered goes with it otherwise.
    """
    messages, model = conversation.messages, conversation.model
    prompts = {asked.at: asked for asked in conversation.prompts}
    waits = _unanswered(conversation) if unsent else ()
    if estimate((UserMessage((), waits),), model) <= max(most, LEAST):
        waits = ()
    exchanges = [_exchange(messages[at : at + 2], model, opens=at in prompts) for at in range(0, len(messages), 2)]
    gone = len(messages) // 2 if waits else cut(exchanges, keep=keep, most=most)
    first = 2 * gone
    left = messages[first] if first < len(messages) else None
    results = left.results if isinstance(left, UserMessage) else ()
    goes = messages[:first]
    if results or waits:
        summed_up = left.said[:1] if isinstance(left, UserMessage) and not first and conversation.compacted else ()
        goes = (*goes, UserMessage(results, (*summed_up, *waits)))
    if not (gone or waits) or estimate(goes, model) < LEAST:
        return None
    earlier = conversation.compacted.step if conversation.compacted else 0
    through = next((each for at, each in reversed(prompts.items()) if at < first), None)
    return Older(
        messages=goes,
        step=steps[gone - 1] if gone else earlier,
        first=first,
        through=None if first in prompts else through,
        said=conversation.prompts[-1].behind if waits else 0,
        unsent="\n\n".join(one for one in waits if isinstance(one, str)),
        unseen=bool(results) and first == len(messages) - 1,
    )


def _unanswered(conversation: Conversation) -> tuple[Said, ...]:
    """Return what the last message says of turns before the newest."""
    last = len(conversation.messages) - 1
    newest = conversation.prompts[-1] if conversation.prompts else None
    if newest is None or newest.at != last or not isinstance(message := conversation.messages[last], UserMessage):
        return ()
    if conversation.compacted is not None and not last:  # its note is the first, and stands for some
        return message.said[1 : 1 + max(newest.behind - conversation.compacted.said, 0)]
    return message.said[: newest.behind]


def capped(conversation: Conversation, *, total: int) -> Pruned | None:
    """Return the entry that cuts results which were not answered, so that `total` tokens are sent; None if they fit.

    The largest are cut first. Each keeps its beginning and its end, and says so.
    """
    last = conversation.messages[-1] if conversation.messages else None
    over = beside(conversation.opened) + estimate(conversation.messages, conversation.model) - total
    if over <= 0 or not isinstance(last, UserMessage):
        return None
    weights = {result.call: of_result(result) for result in last.results}
    room, level = sum(weights.values()) - over, 0
    for place, weight in enumerate(sorted(weights.values())):
        level = max(room // (len(weights) - place), SHORTEST)
        if weight > level:
            break
        room -= weight
    outputs: dict[str, str] = {}
    for result in last.results:
        if weights[result.call] >= level + SHORTEST:
            outputs[result.call] = words.too_large(cap(result.text, BYTES * level), len(result.images))
    saved = sum(weights[call] - tokens_of(text) for call, text in outputs.items())
    return Pruned(outputs=outputs, saved=saved) if outputs else None


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

    `listed` is the call that gave the list, `steered` what was said in each turn while it ran. The last touched file is
    last.
    """

    changed: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    todo: str = ""
    listed: str = ""
    steered: Mapping[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])


def work(journal: Iterable[Entry], part_of_it: Callable[[str], bool]) -> Work:
    """Return what those calls did that are `part_of_it`."""
    changed: dict[str, None] = {}
    read: dict[str, None] = {}
    lists: set[str] = set()
    todo = listed = ""
    turn, steered = 0, dict[int, tuple[str, ...]]()
    for entry in journal:
        match entry:
            case PromptAccepted():
                turn = entry.turn
            case Steered(text=text):
                steered[turn] = (*steered.get(turn, ()), text)
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
    return Work(changed=tuple(changed), read=others, todo=todo, listed=listed, steered=steered)


def note(conversation: Conversation, part: Older, done: Work, *, summary: str, model: str, longest: int) -> str:
    """Return what stands in the place of the older part: the `summary` that `model` wrote; "" if none could.

    What goes word for word has at most `longest` bytes each.
    """
    longest = min(longest, LONGEST)
    first = conversation.prompts[0].text if conversation.prompts else ""
    stays = [each for each in conversation.messages[part.first + 1 :] if isinstance(each, UserMessage)]
    shown = any(result.call == done.listed for each in stays for result in each.results)
    through = part.through
    asked = through.text if through and through.text != first else ""
    heard = {text for each in (*conversation.messages[part.first : part.first + 1], *stays) for text in _texts(each)}
    steered = [text for text in done.steered.get(through.turn, ()) if text not in heard] if through else []
    sections = {
        "Summary:" if model else "Summary of what was before the part that was left out:": summary,
        "The user's first request, word for word:": "" if first in part.unsent else cap(first, longest),
        f"{_fate(conversation, through)}, word for word:": cap(asked, longest),
        "What the user added to it meanwhile, word for word:": cap("\n\n".join(steered), longest),
        "What the user wrote in turns that were not answered, of which no more has room:": cap(part.unsent, longest),
        "Your list of what is to be done, as it was last:": "" if shown else cap(done.todo, longest),
        "Files that were to be changed:": _named(done.changed),
        "Other files that were read:": _named(done.read),
    }
    said = [_SUMMED_UP.format(model=model) if model else _LEFT_OUT]
    said += [f"{title}\n{text.strip()}" for title, text in sections.items() if text.strip()]
    return "\n\n".join(said) + "]"


def _texts(message: Message) -> tuple[str, ...]:
    return message.texts if isinstance(message, UserMessage) else ()


def _fate(conversation: Conversation, through: Asked | None) -> str:
    """Return what the turn that is cut through was asked for, and what became of that."""
    if through is None or conversation.open_turn == through.turn:
        return "The request that is being worked on"
    if conversation.prompts[-1] != through:
        return "An earlier request, whose turn is over"
    if conversation.last_end is not None and conversation.last_end.cause == "finished":
        return "The last request, which was answered"
    return "The last request, whose turn ended before it was done"


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
