"""The note that replaces the compacted messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from holdfast.agent.context.compaction_plan import CompactionPlan
from holdfast.history.tokens import BYTES
from holdfast.session.conversation.conversation import Conversation, ConversationMessage, PromptMark, UserMessage
from holdfast.session.conversation.prune_results import TODO
from holdfast.session.journal.entries import CallEnded, CallStarted, Entry, PromptAccepted, ResponseEnded, Steered
from holdfast.session.journal.parts import CallPart
from holdfast.tool_calls import SKILL_TOOL
from holdfast.tools.truncation import cap

_LONGEST = 16_000
LONGEST_SKILL = 5_000 * BYTES
"""Bytes of one skill that a compaction carries over: about 5,000 tokens."""
LONGEST_SKILLS = 25_000 * BYTES
"""Bytes of all of them."""
_SENTENCE = 200  # bytes for what is said about a cut
_SKILL = re.compile(r'<skill_content name="([\w.:-]+)">.*?</skill_content>', re.DOTALL)

_MOST_FILES = 40  # files listed by name; further files are only counted


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What a range of calls did: files they meant to change, other files they read, and the latest todo list.

    `todo_call` is the call that wrote the list, `steered` the messages the user sent during each turn. The most
    recently touched file comes last. `skills` are the texts of skills, also of those that the user typed, by their
    names: the newest of each, the newest last.
    """

    changed: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    todo: str = ""
    todo_call: str = ""
    skills: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    steered: Mapping[int, tuple[str, ...]] = msgspec.field(default_factory=dict[int, tuple[str, ...]])


def work(journal: Iterable[Entry], is_included: Callable[[str], bool]) -> Work:
    """Return the work of the calls for which `is_included` is true."""
    changed: dict[str, None] = {}
    read: dict[str, None] = {}
    lists: set[str] = set()
    todo = todo_call = ""
    turn, steered = 0, dict[int, tuple[str, ...]]()
    skill_calls: set[str] = set()
    skills: dict[str, str] = {}
    for entry in journal:
        match entry:
            case PromptAccepted():
                turn = entry.turn
                _add_skills(skills, entry.text if entry.typed else "")
            case Steered(text=text):
                steered[turn] = (*steered.get(turn, ()), text)
                _add_skills(skills, text if entry.typed else "")
            case ResponseEnded(parts=parts):
                calls = [part for part in parts if isinstance(part, CallPart)]
                lists.update(part.id for part in calls if part.name == TODO)
                skill_calls.update(part.id for part in calls if part.name == SKILL_TOOL)
            case CallStarted(call=call) if is_included(call):
                for change in entry.changes:
                    changed.pop(change.path, None)
                    changed[change.path] = None
            case CallEnded(call=call) if is_included(call):
                for seen in entry.snapshots:
                    read.pop(seen.path, None)
                    read[seen.path] = None
                if entry.outcome == "ok" and call in skill_calls:
                    _add_skills(skills, entry.text)
                if entry.outcome == "ok" and call in lists and not entry.snapshots:
                    todo, todo_call = entry.text, call
            case _:
                pass
    others = tuple(path for path in read if path not in changed)
    return Work(changed=tuple(changed), read=others, todo=todo, todo_call=todo_call, skills=skills, steered=steered)


def _add_skills(skills: dict[str, str], text: str) -> None:
    """Add the texts of skills in a text that holdfast made, as the newest."""
    for found in _SKILL.finditer(text):
        skills.pop(found[1], None)
        skills[found[1]] = found[0]


def _carried_skills(skills: Mapping[str, str], seen: Sequence[str], longest: int) -> str:
    """Return the newest use of each skill that is not `seen` any more, the newest ones as far as there is room."""
    carried: list[str] = []
    room = min(LONGEST_SKILLS, longest)
    for text in reversed(list(skills.values())):
        most = min(LONGEST_SKILL, room) - _SENTENCE
        if most < _SENTENCE or any(text in each for each in seen):
            continue
        shown = cap(text, most)
        carried.append(shown)
        room -= len(shown.encode())
    return "\n\n".join(reversed(carried))


def compaction_note(
    conversation: Conversation, part: CompactionPlan, done: Work, *, summary: str, model: str, longest: int
) -> str:
    """Return the note that replaces the compacted messages: with the `summary` by `model`, or without if it is "".

    Each quoted text has at most `longest` bytes.
    """
    room, longest = longest, min(longest, _LONGEST)
    first = conversation.prompts[0].text if conversation.prompts else ""
    remaining = [each for each in conversation.messages[part.first + 1 :] if isinstance(each, UserMessage)]
    shown = any(result.call == done.todo_call for each in remaining for result in each.results)
    through = part.through
    seen = [text for each in remaining for text in _texts(each)]
    seen += [result.text for each in remaining for result in each.results]
    request = through.text if through and through.text != first else ""
    sent_texts = {
        text for each in (*conversation.messages[part.first : part.first + 1], *remaining) for text in _texts(each)
    }
    steered = [text for text in done.steered.get(through.turn, ()) if text not in sent_texts] if through else []
    sections = {
        "Summary:" if model else "Summary of the messages before the part that was left out:": summary,
        "The user's first request, word for word:": "" if first in part.unsent else cap(first, longest),
        f"{_request_heading(conversation, through)}, word for word:": cap(request, longest),
        "What the user added to it during the turn, word for word:": cap("\n\n".join(steered), longest),
        "What the user wrote in turns that were not answered, as far as it fits:": cap(part.unsent, longest),
        "Skills in use, as they were read; they still apply:": _carried_skills(done.skills, seen, room),
        "Your latest todo list:": "" if shown else cap(done.todo, longest),
        "Files you changed or meant to change:": _file_list(done.changed),
        "Other files you read:": _file_list(done.read),
    }
    heading = _SUMMARY_HEADING if model else _LEFT_OUT_HEADING
    paragraphs = [heading.format(model=model, program=conversation.program)]
    paragraphs += [f"{title}\n{text.strip()}" for title, text in sections.items() if text.strip()]
    return "\n\n".join(paragraphs) + "]"


def _texts(message: ConversationMessage) -> tuple[str, ...]:
    return message.texts if isinstance(message, UserMessage) else ()


def _request_heading(conversation: Conversation, through: PromptMark | None) -> str:
    """Return a heading for the request of the divided turn; it says how that turn ended."""
    if through is None or conversation.open_turn == through.turn:
        return "The current request"
    if conversation.prompts[-1] != through:
        return "An earlier request, whose turn has ended"
    if conversation.last_end is not None and conversation.last_end.cause == "finished":
        return "The last request, which was answered"
    return "The last request, whose turn ended before it was done"


_SUMMARY_HEADING = (
    "[Note from {program}: this conversation grew long. Its older part is no longer shown; this summary by {model} "
    "replaces it. If you need something that the summary does not say, look it up again."
)

_LEFT_OUT_HEADING = (
    "[Note from {program}: this conversation grew longer than its model can read, and could not be summarized. Its "
    "older part was left out: you know only what this note says about it. Look at the current state of the files "
    "before you continue, and ask the user what they had decided."
)


def _file_list(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MOST_FILES} more" if len(paths) > _MOST_FILES else ""
    return ", ".join(paths[-_MOST_FILES:]) + more
