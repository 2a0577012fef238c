"""What a person is told of calls and of turns that ended, a line each: the same while it happens and on resuming.

Its text is as journalled: whoever shows it cleans it for a terminal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from holdfast.session.entries import (
    BAD_IMAGES,
    NO_IMAGES,
    ApprovalAnswered,
    ApprovalAsked,
    CallEnded,
    CallLate,
    CallPart,
    CallStarted,
    Compacted,
    Entry,
    FilesChanged,
    PromptAccepted,
    Pruned,
    RequestFailed,
    RequestStarted,
    ResponseEnded,
    Rewound,
    ShellEnded,
    ShellStarted,
    TurnEnded,
    Uncompacted,
)
from holdfast.session.words import NO_OUTPUT, UNCOMPACTED, compacted, files_changed, pruned, what_happened
from holdfast.text import printable

MARKS = {"ok": "✓", "failed": "✗", "denied": "⊘", "not_started": "○", "interrupted": "◐"}
"""One mark per outcome, each followed by the word itself unless it is `ok`."""

_REASON = 300  # characters: of a long one, what is known of the effect comes last


class Telling:
    """Puts what happens to calls and turns into lines, entry by entry."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._asked: set[str] = set()

    def line(self, entry: Entry) -> str:
        """Return the line that this entry adds, "" if none."""
        said = ""
        match entry:
            case ResponseEnded(parts=parts):
                self._names.update({part.id: call_line(part) for part in parts if isinstance(part, CallPart)})
            case ApprovalAsked(call=call):
                self._asked.add(call)
            case ApprovalAnswered(call=call):
                self._asked.discard(call)
            case CallStarted(call=call):
                said = f"→ {self._name(call)}"
            case CallEnded(outcome="not_started", call=call) if call in self._asked:
                said = f"{MARKS['not_started']} {self._name(call)} needs your approval; not started"
            case CallEnded(outcome=outcome, call=call):
                said = f"{MARKS[outcome]} {self._name(call)}{outcome_tail(entry)}"
            case CallLate(call=call, outcome=outcome):
                said = f"late: {self._name(call)} ended {outcome} after it had been settled"
            case Pruned(outputs=outputs, saved=saved):
                said = pruned(len(outputs), saved)
            case ShellStarted(id=own, command=command):
                self._names[own] = f"! {command}"
            case ShellEnded(outcome="interrupted", id=own):
                said = f"{MARKS['interrupted']} {self._name(own)}{outcome_tail(entry)}"
            case Compacted():
                said = compacted(entry)
            case Uncompacted():
                said = UNCOMPACTED
            case FilesChanged(files=files):
                said = files_changed(files)
            case TurnEnded() if entry.cause != "finished":
                how = "was left unfinished" if entry.cause in ("crash", "fork") else "ended"
                said = f"turn {entry.turn} {how}: {what_happened(entry.cause, entry.detail)}"
            case _:
                pass
        return said

    def _name(self, call: str) -> str:
        return self._names.get(call, call)


def last_turn(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return the entries of the last turn, from its prompt on; one that was taken back is none."""
    last: list[Entry] = []
    for entry in entries:
        if isinstance(entry, PromptAccepted | Rewound):
            last.clear()
        last.append(entry)
    return tuple(last)


def account(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Return what the last turn left for a person to know: its calls without another request after them, and its end.

    Nothing if it ended by itself, has no end yet, or was taken back.

    Laws (`tests/ui/test_account_laws.py`): every call that was open when the turn ended is told once, and its lines are
    those that were told while it happened.
    """
    telling = Telling()
    lines: list[str] = []
    end: TurnEnded | None = None
    for entry in entries:
        line = telling.line(entry)
        match entry:
            case PromptAccepted() | RequestStarted() | Rewound():
                lines.clear()
                end = None
            case CallEnded() | CallLate():
                lines.append(line)
            case TurnEnded():
                lines.append(line)
                end = entry
            case _:
                pass
    return () if end is None or end.cause == "finished" else tuple(lines)


def call_line(call: CallPart) -> str:
    """Return a call as one line for a person: its name and the argument that says most, as it is."""
    try:
        arguments: object = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = None
    said = call.arguments
    if isinstance(arguments, dict):
        known: dict[str, object] = arguments  # pyright: ignore[reportUnknownVariableType] - JSON the model wrote
        said = next((str(known[key]) for key in ("command", "path", "pattern", "url") if key in known), "")
    line = " ".join(said.split())
    return f"{call.name} {line[:100]}{'…' if len(line) > 100 else ''}".rstrip()  # noqa: PLR2004 - a line's worth


def outcome_tail(ended: CallEnded | ShellEnded) -> str:
    """Return what is said after a call that ended: its outcome unless `ok`, the reason's first line, the time."""
    took = f" ({ended.seconds:.1f} s)" if ended.seconds >= 1 else ""
    if ended.outcome == "ok":
        return took
    lines = printable(ended.text).strip().split("\n")
    reason = lines[-1] if lines[0] == NO_OUTPUT else lines[0]  # what a silent command ended with is said last
    outcome = ended.outcome.replace("_", " ")
    return f"{took} {outcome}: {reason[:_REASON].removeprefix(f'{outcome.capitalize()}: ')}"


def retrying(failed: RequestFailed) -> str:
    """Return how a failed attempt is followed by another; call it only if it is."""
    if failed.fault == "too_long":
        return "the conversation is more than the model reads; it is shortened, then sent again"
    if failed.fault == NO_IMAGES:
        return "the model takes no images; it is sent again without them, with notes in their place"
    if failed.fault == BAD_IMAGES:
        return "an image was refused; it is sent again without the newest, with notes in their place"
    of = "" if failed.attempts is None else f"/{failed.attempts}"
    why = failed.fault.replace("_", " ") if failed.status is None else failed.status
    how = " without streaming" if failed.retry_whole else ""
    return f"retrying {failed.attempt + 1}{of} in {failed.retry_in:g} s{how}: {why}"
