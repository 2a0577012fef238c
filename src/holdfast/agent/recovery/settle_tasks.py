"""The ends of background tasks, also of those that an earlier process ran. Pure."""

from __future__ import annotations

from holdfast.agent.stop_cause import StopCause
from holdfast.session import model_notices
from holdfast.session.journal.tasks import TaskEnded, TaskStarted
from holdfast.session.model_notices import HOLDFAST
from holdfast.text import valid_unicode
from holdfast.tool_calls import Outcome
from holdfast.tools.tool import Traces

LAST_CHARACTERS = 4_000
"""Characters of the end of an output that the end of a task reports; all of it is in a file."""


def settle_task(
    started: TaskStarted, stop_cause: StopCause, traces: Traces | None = None, *, program: str = HOLDFAST
) -> TaskEnded:
    """Return the end of a task that was not journalled; `traces` are what its command left behind."""
    cause, detail = stop_cause.cause, stop_cause.detail
    printed = last_of(valid_unicode(traces.output.text)) if traces else ""
    seconds = traces.seconds if traces else 0.0
    if traces is None or traces.output.interrupted:
        text = model_notices.interrupted_task(cause, detail, printed=printed, program=program)
        return task_ended(started, "interrupted", text, seconds, program=program)
    text = model_notices.result_found_later(cause, detail, printed, program=program)
    return task_ended(started, "ok" if traces.output.ok else "failed", text, seconds, program=program)


def task_ended(
    started: TaskStarted, outcome: Outcome, text: str, seconds: float, *, program: str = HOLDFAST
) -> TaskEnded:
    """Return the end of a task, with the note for the model."""
    note = model_notices.task_note(started.id, started.command, outcome, text, program=program)
    return TaskEnded(id=started.id, outcome=outcome, text=text, seconds=seconds, note=note)


def last_of(text: str) -> str:
    """Return the end of a long text, whole lines if possible."""
    if len(text) <= LAST_CHARACTERS:
        return text
    tail = text[-LAST_CHARACTERS:]
    _, newline, lines = tail.partition("\n")
    shown = lines if newline and len(lines) > LAST_CHARACTERS // 2 else tail
    return f"[... {len(text) - len(shown)} characters before this ...]\n{shown}"
