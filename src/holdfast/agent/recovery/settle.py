"""Settling, as a pure function: the entries that complete a turn which stops here. Also what a crash left behind.

An open call needs an outcome, because providers reject a call without a result. The outcome must also be true. "Failed"
would be a guess, and so would "had no effect". `settle` therefore takes the conversation, the cause and the evidence
(`Evidence`), and says no more than these show:

- a call without a `call-started` entry never ran: `not_started`, "It had no effect." If part of the journal is
  unreadable that entry may be lost, so the text says instead that the outcome is lost
- a call that ended while the journal could not be written: the outcome it had
- a command whose supervisor recorded its end: `ok` or `failed`, with a note that the result was found afterwards
- a started call of holdfast's own tools that read files: `interrupted`, "It only reads, so it had no effect."
- any other started call: `interrupted`, "Effect unknown", with the output so far; for an edit the file was read
  again, and the text says whether the change landed

Why not run the calls again, or drop them from the conversation? Running twice is not safe (`git push`, `rm`). Dropping
them hides from the model that it may have changed something. Telling the model the exact facts lets it look and decide.

One function serves live stops, deadlines, failed providers, forks and crashes, because a journal with an open turn is a
turn that a crash stopped. Folding the returned entries leaves nothing open; settling again returns nothing.

Example: the process is killed while call 1 of 2 writes `a.py`. The journal ends with `call-started` for call 1, with
hashes of the file before and after. On the next start recovery reads `a.py` and finds the intended hash. `settle`
returns `call-ended` (interrupted, "The change had landed …"), `call-ended` (not_started) for call 2, and `turn-ended`
with cause `crash`.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from holdfast.agent.model_request.periodic_text import written_once
from holdfast.agent.stop_cause import StopCause
from holdfast.session import model_notices
from holdfast.session.conversation.conversation import Conversation, OpenCall
from holdfast.session.journal.entries import (
    CallEnded,
    Entry,
    FilesMoved,
    HookEnded,
    HookStarted,
    ResponseEnded,
    ShellEnded,
    ShellStarted,
    TurnEnded,
)
from holdfast.session.journal.parts import TextPart, Usage
from holdfast.text import valid_unicode
from holdfast.tool_calls import Effect, FileChecks, FileSeen, Observed, Outcome, RemoteCall
from holdfast.tools.tool import Traces
from holdfast.tools.truncation import cap

READING_TOOLS = frozenset({"read", "grep", "glob"})
"""The tools of holdfast that read files and do nothing else. A page that is fetched may act on its server."""

KEPT_OF_FLOOD = 64 * 1024
"""Bytes to keep of the text of an answer without an end: the first half and the last half."""

LONGEST_CUT = 1024 * 1024
"""Characters of an unfinished answer to keep whole. A longer one is a flood, whatever ended it."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence about calls that started and have no outcome, by call id.

    `file_checks` says what was found at each path that a call changes, `snapshots` are the files whose changes had
    landed, `traces` what commands left behind, `seconds` how long calls have run, `ended` the outcomes of calls that
    finished while the journal could not be written, `moved` what calls changed in files. With a `gap`, entries that say
    whether calls started or ended may be unreadable.
    """

    file_checks: dict[str, FileChecks] = msgspec.field(default_factory=dict[str, FileChecks])
    snapshots: dict[str, tuple[FileSeen, ...]] = msgspec.field(default_factory=dict[str, tuple[FileSeen, ...]])
    traces: dict[str, Traces] = msgspec.field(default_factory=dict[str, Traces])
    seconds: dict[str, float] = msgspec.field(default_factory=dict[str, float])
    ended: dict[str, CallEnded] = msgspec.field(default_factory=dict[str, CallEnded])
    moved: dict[str, FilesMoved] = msgspec.field(default_factory=dict[str, FilesMoved])
    gap: bool = False


def settle(
    conversation: Conversation, stop_cause: StopCause, *, known: Evidence | None = None, cut_calls: tuple[str, ...] = ()
) -> tuple[Entry, ...]:
    """Return the entries that end the unfinished response, every open call and the turn.

    `cut_calls` names the calls of an unfinished response. Folding the result leaves nothing open. If nothing is open,
    the result is empty.
    """
    known, program = known or Evidence(), conversation.program
    entries: list[Entry] = []
    streaming = conversation.streaming
    text = "" if streaming is None else _text_of_cut(streaming.text, stop_cause)
    was_cut = bool(text.strip())
    if streaming is not None and (was_cut or conversation.open_turn is None):  # otherwise the turn's end also ends it
        entries.append(
            ResponseEnded(
                step=streaming.step,
                model=streaming.model,
                parts=(TextPart(text),) if was_cut else (),
                usage=Usage(),  # a provider bills streamed output, but reports its size only at the end
                cut=stop_cause.cause,
            )
        )
    tasks = {task.started.call: task.started.id for task in conversation.open_tasks}
    entries.extend(
        _call_outcome(call, stop_cause, known, task=tasks.get(call.part.id, ""), program=program)
        for call in conversation.open_calls
    )
    if conversation.open_turn is not None:
        entries.append(
            TurnEnded(
                turn=conversation.open_turn,
                reason=model_notices.REASONS[stop_cause.cause],
                cause=stop_cause.cause,
                detail=stop_cause.detail,
                note=model_notices.turn_note(
                    stop_cause.cause, stop_cause.detail, cut_calls=cut_calls, was_cut=was_cut, program=program
                ),
            )
        )
    return tuple(entries)


def _text_of_cut(text: str, stop_cause: StopCause) -> str:
    """Return what is kept of an unfinished answer: what can be sent.

    A text that repeats itself at its end is kept once, of a flood its beginning and its end.
    """
    text = written_once(text)
    is_flood = stop_cause.cause == "flood" or len(text) > LONGEST_CUT
    return cap(text, KEPT_OF_FLOOD) if is_flood else text


def settle_command(
    started: ShellStarted, stop_cause: StopCause, traces: Traces | None = None, *, program: str = model_notices.HOLDFAST
) -> ShellEnded:
    """Return the end of a user command that was not journalled; `traces` are what the command left behind."""
    printed = valid_unicode(traces.output.text) if traces else ""
    seconds = traces.seconds if traces else 0.0
    if traces is not None and not traces.output.interrupted:
        text = model_notices.result_found_later(stop_cause.cause, stop_cause.detail, printed, program=program)
        return command_ended(started, "ok" if traces.output.ok else "failed", text, seconds)
    return command_ended(
        started,
        "interrupted",
        model_notices.interrupted(stop_cause.cause, stop_cause.detail, printed=printed, program=program),
        seconds,
    )


def settle_hook(started: HookStarted, conversation: Conversation) -> HookEnded:
    """Return the end of a hook that a crash left without one. The model reads of it only if its call did not start."""
    calls = [call for call in conversation.open_calls if call.part.id == started.call]
    is_unstarted = any(call.started is None for call in calls)
    note = model_notices.hook_unfinished(started.event, program=conversation.program) if is_unstarted else ""
    return HookEnded(
        id=started.id,
        outcome="interrupted",
        text="The process that ran it ended before it. What it did is unknown.",
        note=note,
    )


def command_ended(started: ShellStarted, outcome: Outcome, text: str, seconds: float) -> ShellEnded:
    """Return the end of a user command, with the note for the model if the command is shared."""
    note = model_notices.shared_command_note(started.command, outcome, text) if started.shared else ""
    return ShellEnded(id=started.id, outcome=outcome, text=text, seconds=seconds, note=note)


def _call_outcome(call: OpenCall, stop_cause: StopCause, known: Evidence, *, task: str, program: str) -> CallEnded:
    """Return the outcome of a call; `task` is the background task that it had begun to start, or ""."""
    call_id = call.part.id
    if call_id in known.ended:
        return known.ended[call_id]
    if task:
        text = model_notices.became_task(stop_cause.cause, stop_cause.detail, task, program=program)
        return CallEnded(call=call_id, outcome="interrupted", text=text, seconds=known.seconds.get(call_id, 0.0))
    if call.approval_request is not None and call.started is None and not known.gap and stop_cause.cause != "fork":
        from holdfast.tools.arguments.tolerant_tool import canonical_name

        if canonical_name(call.part.name) == "ask_user":
            text = model_notices.question_unanswered(stop_cause.cause, stop_cause.detail, program=program)
            return CallEnded(call=call_id, outcome="not_started", text=text)
    if call.started is None and not known.gap:
        text = model_notices.not_started(
            stop_cause.cause, stop_cause.detail, approval_requested=call.approval_request is not None, program=program
        )
        return CallEnded(call=call_id, outcome="not_started", text=text)
    traces = known.traces.get(call_id)
    remote, waits = (call.started.remote, call.input_request) if call.started else (None, None)
    seconds = known.seconds.get(call_id, traces.seconds if traces else 0.0)
    printed = valid_unicode(traces.output.text) if traces else ""
    if traces is not None and not traces.output.interrupted:  # it ended by itself while holdfast was not running
        text = model_notices.result_found_later(stop_cause.cause, stop_cause.detail, printed, program=program)
        outcome = "ok" if traces.output.ok else "failed"
        return CallEnded(call=call_id, outcome=outcome, text=text, seconds=seconds, exit=traces.output.exit)
    file_checks = known.file_checks.get(call_id, ())
    observed: Observed = "unknown"
    if known.gap:
        text = model_notices.lost(file_checks, printed=printed)
    else:
        from holdfast.session.observed_effects import observed_effect

        is_reading = call.started is not None and only_reads(call.part.name, call.started.effect, remote)
        observed, words = observed_effect(known.moved.get(call_id), call.started.confined if call.started else "")
        text = model_notices.interrupted(
            stop_cause.cause,
            stop_cause.detail,
            file_checks=file_checks,
            printed=printed,
            remote=remote,
            input_request=waits,
            only_reads=is_reading,
            observed=words,
            program=program,
        )
        observed = _observed_edit(file_checks) if file_checks else "no_effect" if is_reading else observed
    snapshots = known.snapshots.get(call_id, ())
    return CallEnded(
        call=call_id, outcome="interrupted", text=text, seconds=seconds, snapshots=snapshots, observed=observed
    )


def _observed_edit(checks: FileChecks) -> Observed:
    """Return how much of an edit was seen: the content of its files says it."""
    found = {check for _, check in checks}
    if found == {"after"}:
        return "all"
    if found == {"before"}:
        return "no_effect"
    return "part" if "after" in found else "unknown"


def only_reads(name: str, effect: Effect, remote: RemoteCall | None) -> bool:
    """Return whether this is a call of holdfast's own tools that read files; what a server's tool does is its word."""
    if effect != "read" or remote is not None:
        return False
    from holdfast.tools.arguments.tolerant_tool import canonical_name

    return canonical_name(name) in READING_TOOLS


def can_resume_turn(conversation: Conversation) -> bool:
    """Return whether the turn was only waiting for the user: a call, or a server that it asked, has a question open."""
    calls = conversation.open_calls
    waits = (
        call.can_continue or (call.approval_request and not call.approval_answer and not call.started) for call in calls
    )
    return conversation.open_turn is not None and any(waits)


def started_only(settled: Iterable[Entry], conversation: Conversation) -> tuple[Entry, ...]:
    """Return only the outcomes of calls that had started. The other calls continue with the turn.

    So do those whose server has ended the request and waits for an answer of the user.
    """
    started = {call.part.id for call in conversation.open_calls if call.started is not None and not call.can_continue}
    return tuple(entry for entry in settled if isinstance(entry, CallEnded) and entry.call in started)
