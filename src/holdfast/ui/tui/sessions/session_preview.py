"""The preview of a session in a list: its facts, its state, and the last exchange."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from holdfast.errors import HoldfastError, SessionBusy
from holdfast.session.catalog import SessionSummary
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import TextPart
from holdfast.session.journal.store import StoredEntry
from holdfast.session.model_notices import REASONS
from holdfast.session.storage.lease import raise_if_busy
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.text import literal
from holdfast.ui.view.columns import byte_count, home, single_line

ANSWER_LINES = 2
"""Number of lines of the last answer."""

_LONGEST = 400


def session_preview(summary: SessionSummary, folder: Path) -> str:
    """Return a fixed number of lines: facts and state, last prompt, end of the last answer. Reads the journal."""
    try:
        records = read_copy(folder).records
    except HoldfastError as error:
        return _lines(summary, str(error), "", "")
    try:
        raise_if_busy(folder)
        state = session_state(records)
    except SessionBusy as busy:
        state = f"open elsewhere{f' ({busy.holder})' if busy.holder else ''}"
    prompt, answer = last_exchange(records)
    return _lines(summary, state, prompt, answer)


def session_state(records: Sequence[StoredEntry]) -> str:
    """Return the state of the session, in a few words."""
    queued: set[str] = set()
    for record in records:
        match record.entry:
            case e.Queued(id=message):
                queued.add(message)
            case e.Recalled(queued=message) | e.Steered(queued=message) | e.PromptAccepted(queued=message):
                queued.discard(message)
            case _:
                pass
    waits = f", {len(queued)} queued" if queued else ""
    for record in reversed(records):
        match record.entry:
            case e.TurnEnded(cause=cause):
                return f"{REASONS[cause] if cause != 'finished' else 'finished'}{waits}"
            case e.Rewound():
                return f"rewound{waits}"
            case e.ApprovalAsked():
                return f"a question waits for your answer{waits}"
            case e.PromptAccepted() | e.RequestStarted() | e.ResponseEnded() | e.CallStarted() | e.CallEnded():
                return f"stopped in the middle of a turn{waits}"
            case _:
                pass
    return "no prompt yet"


def last_exchange(records: Sequence[StoredEntry]) -> tuple[str, str]:
    """Return the last prompt, also one that was rewound, and the model's last text after it, "" if none."""
    answer = ""
    for record in reversed(records):
        match record.entry:
            case e.ResponseEnded(parts=parts) if not answer:
                answer = "".join(part.text for part in parts if isinstance(part, TextPart)).strip()
            case e.PromptAccepted(text=text):
                return text, answer
            case _:
                pass
    return "", answer


def _lines(summary: SessionSummary, state: str, prompt: str, answer: str) -> str:
    facts = [summary.model or "no model", home(summary.cwd) or "no folder", byte_count(summary.bytes), state]
    answer_lines = [single_line(line) for line in literal(answer[-_LONGEST:]).splitlines() if line.strip()][
        -ANSWER_LINES:
    ]
    first = f"> {single_line(literal(prompt[:_LONGEST]))}" if prompt.strip() else ""
    return "\n".join(
        [" · ".join(literal(fact) for fact in facts), first, *answer_lines, *[""] * (ANSWER_LINES - len(answer_lines))]
    )
