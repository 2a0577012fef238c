"""The report on a session, from its journal and from whether a process has it open. Pure.

The journal is the only source, so the report is the same from the server that started the work, from another one, and
after any of them was killed. If a turn has no end and no process has its session open, it was interrupted: its process
was killed. It is settled when the session is continued.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.fold import fold
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, TextPart
from holdfast.session.model_notices import clause_for_user
from holdfast.text import printable
from holdfast.ui.headless.denied_calls import DeniedCalls
from holdfast.ui.view.sentences import call_line

SessionState = Literal[
    "empty",  # it has no prompt
    "running",  # a turn runs
    "finished",  # the model has ended the last turn
    "stopped",  # a client or a signal has stopped it
    "failed",  # it ended for another reason
    "interrupted",  # its process was killed
]

ANSWER_PIECE = 30_000
"""Maximum characters of an answer in one report."""


class DeniedReport(msgspec.Struct, frozen=True):
    """A call that did not run because no user could approve it, with the reason that the model read."""

    call: str
    reason: str


class SessionReport(msgspec.Struct, frozen=True, kw_only=True):
    """A session as another agent reads it.

    `turn` is its last turn, `first_prompt` its first prompt. `answer` is the last text of the model; while a turn runs,
    or after it was interrupted, the text so far. `why` is the reason if the turn failed or was stopped. `doing` is the
    current activity of a running turn, `entries` the length of the journal.
    """

    session: str
    state: SessionState
    turn: int
    entries: int
    cwd: str
    title: str
    model: str
    first_prompt: str
    answer: str
    why: str
    doing: str
    denied: tuple[DeniedReport, ...]
    cost_usd: float | None

    @property
    def is_over(self) -> bool:
        return self.state != "running"


def session_report(session: str, entries: Sequence[e.Entry], *, is_open: bool) -> SessionReport:
    """Return the report from the entries. `is_open` is whether a process has the session open."""
    conversation = fold(entries)
    prompts = [entry for entry in entries if isinstance(entry, e.PromptAccepted)]
    state = _state(conversation, is_open=is_open)
    denied = DeniedCalls()
    for entry in entries:
        denied.add(entry)
    return SessionReport(
        session=session,
        state=state,
        turn=conversation.turns,
        entries=len(entries),
        cwd="" if conversation.opened is None else conversation.opened.cwd,
        title=conversation.title or (prompts[0].text.strip().partition("\n")[0][:80] if prompts else ""),
        model=conversation.chosen_model,
        first_prompt=prompts[0].text if prompts else "",
        answer=_answer(entries),
        why=_why(conversation, state),
        doing=_doing(conversation) if state == "running" else "",
        denied=tuple(DeniedReport(printable(call_line(each.call)), each.reason) for each in denied.found),
        cost_usd=conversation.usage.cost if conversation.usage.cost is None else float(conversation.usage.cost),
    )


def _state(conversation: Conversation, *, is_open: bool) -> SessionState:
    if conversation.open_turn is not None:
        return "running" if is_open else "interrupted"
    ended = conversation.last_end
    if ended is None:
        return "empty"
    match ended.reason:
        case "end_turn" | "refusal":
            return "finished"
        case "cancelled":
            return "interrupted" if ended.cause == "crash" else "stopped"
        case _:
            return "interrupted" if ended.cause == "crash" else "failed"


def _why(conversation: Conversation, state: SessionState) -> str:
    ended = conversation.last_end
    if state in ("empty", "running", "finished"):
        return ""
    if conversation.open_turn is not None:
        return "The process that did the work was killed. Its finished work is kept."
    assert ended is not None
    sentence = printable(clause_for_user(ended.cause, ended.detail)).rstrip(".")
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _answer(entries: Iterable[e.Entry]) -> str:
    """Return the last text of the last turn, even if it was cut off."""
    text = streamed = ""
    for entry in entries:
        match entry:
            case e.PromptAccepted() | e.Rewound():
                text = streamed = ""
            case e.RequestStarted():
                streamed = ""
            case e.ResponseCheckpoint(text=more):
                streamed += more
            case e.ResponseEnded(parts=parts):
                streamed = ""
                text = "".join(part.text for part in parts if isinstance(part, TextPart)) or text
            case _:
                pass
    return streamed or text


def _doing(conversation: Conversation) -> str:
    calls: list[CallPart] = [each.part for each in conversation.open_calls]
    step = f"step {max(1, conversation.turn_steps)}"
    return f"{step}: {printable(call_line(calls[0]))[:200]}" if calls else f"{step}: the model is writing"


def report_text(report: SessionReport, offset: int = 0) -> str:
    """Return the report as text for a model, with the answer starting at `offset`."""
    lines = [f"Session {report.session}, turn {report.turn}: {report.state}."]
    if report.why:
        lines.append(report.why)
    if report.doing:
        lines.append(f"Now: {report.doing}.")
    lines += [f"Denied: {each.call} ({each.reason})" for each in report.denied]
    lines.append(_ADVICE[report.state])
    answer = report.answer[offset : offset + ANSWER_PIECE]
    if answer.strip():
        lines += ["", f"{'Answer' if report.state == 'finished' else 'Text so far'}:", answer]
    if offset + ANSWER_PIECE < len(report.answer):
        lines.append(f"[{len(report.answer)} characters in all. Read on with offset={offset + ANSWER_PIECE}.]")
    return "\n".join(lines)


_ADVICE: dict[SessionState, str] = {
    "empty": "It has no prompt: nothing was done. Send one with continue_session.",
    "running": "It keeps running without you. Read it again with read_session, or end it with stop_session.",
    "finished": "Send another prompt with continue_session.",
    "stopped": "Its finished work is kept. Resume it with continue_session.",
    "failed": "Its finished work is kept. Resume it with continue_session.",
    "interrupted": "Resume it with continue_session, which first settles the interrupted calls.",
}
