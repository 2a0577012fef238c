"""The one exit, as a pure function: what must be journalled so that a turn which stops here is complete.

A live stop, a deadline, a failed provider and the recovery of a dead process all come through `settle`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.calls import FileSeen, Looked, Outcome
from holdfast.session import words
from holdfast.session.conversation import Conversation, OpenCall
from holdfast.session.entries import (
    CallEnded,
    Cause,
    Entry,
    ResponseEnded,
    ShellEnded,
    ShellStarted,
    TextPart,
    TurnEnded,
    Usage,
)
from holdfast.text import valid_unicode
from holdfast.tools.tool import Traces


@dataclass(frozen=True, slots=True)
class Leave:
    """Why a turn ends; `detail` is for the person and, where it helps, the model."""

    cause: Cause
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What was learnt about calls that started and have no outcome, by call id.

    `seen` holds the files of changes that had landed, `traces` what commands left, `seconds` how long calls have run,
    `ended` the outcomes of calls that finished while the journal could not be written. With a `gap`, something of the
    journal could not be read in which calls may have started, or ended.
    """

    looked: dict[str, Looked] = field(default_factory=dict[str, Looked])
    seen: dict[str, FileSeen] = field(default_factory=dict[str, FileSeen])
    traces: dict[str, Traces] = field(default_factory=dict[str, Traces])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    ended: dict[str, CallEnded] = field(default_factory=dict[str, CallEnded])
    gap: bool = False


def settle(
    conversation: Conversation, leave: Leave, *, known: Known | None = None, cut_calls: tuple[str, ...] = ()
) -> tuple[Entry, ...]:
    """Return the entries that give the unfinished response, every open call and the turn their one end.

    `cut_calls` names the calls of an unfinished response. Folding the result leaves nothing open; with nothing open to
    begin with it is empty.
    """
    known = known or Known()
    entries: list[Entry] = []
    streaming = conversation.streaming
    was_cut = streaming is not None and bool(streaming.text.strip())
    if streaming is not None and (was_cut or conversation.open_turn is None):  # else the turn's end ends it too
        entries.append(
            ResponseEnded(
                step=streaming.step,
                model=streaming.model,
                parts=(TextPart(streaming.text),) if was_cut else (),
                usage=Usage(),  # a provider bills what it streamed, and says how much only at the end
                cut=leave.cause,
            )
        )
    entries.extend(_ended(call, leave, known) for call in conversation.open_calls)
    if conversation.open_turn is not None:
        entries.append(
            TurnEnded(
                turn=conversation.open_turn,
                reason=words.REASONS[leave.cause],
                cause=leave.cause,
                detail=leave.detail,
                note=words.turn_note(leave.cause, leave.detail, cut_calls=cut_calls, was_cut=was_cut),
            )
        )
    return tuple(entries)


def settle_command(started: ShellStarted, leave: Leave, left: Traces | None = None) -> ShellEnded:
    """Return the end of a person's own command that nobody wrote down; `left` is what it left behind."""
    printed = valid_unicode(left.output.text) if left else ""
    seconds = left.seconds if left else 0.0
    if left is not None and not left.output.interrupted:
        text = words.found_afterwards(leave.cause, leave.detail, printed)
        return command_ended(started, "ok" if left.output.ok else "failed", text, seconds)
    return command_ended(started, "interrupted", words.interrupted(leave.cause, leave.detail, printed=printed), seconds)


def command_ended(started: ShellStarted, outcome: Outcome, text: str, seconds: float) -> ShellEnded:
    """Return the end of a person's own command, with the note that tells the model if it is shared."""
    note = words.shared(started.command, outcome, text) if started.shared else ""
    return ShellEnded(id=started.id, outcome=outcome, text=text, seconds=seconds, note=note)


def _ended(call: OpenCall, leave: Leave, known: Known) -> CallEnded:
    own = call.part.id
    if own in known.ended:
        return known.ended[own]
    if call.started is None and not known.gap:
        text = words.not_started(leave.cause, leave.detail, asked=call.asked is not None)
        return CallEnded(call=own, outcome="not_started", text=text)
    left = known.traces.get(own)
    seconds = known.seconds.get(own, left.seconds if left else 0.0)
    printed = valid_unicode(left.output.text) if left else ""
    if left is not None and not left.output.interrupted:  # it ended by itself, and nobody was there to write it down
        text = words.found_afterwards(leave.cause, leave.detail, printed)
        return CallEnded(call=own, outcome="ok" if left.output.ok else "failed", text=text, seconds=seconds)
    change = call.started.change if call.started else None
    looked, path = known.looked.get(own), change.path if change else ""
    if known.gap:
        text = words.lost(looked=looked, path=path, printed=printed)
    else:
        text = words.interrupted(leave.cause, leave.detail, looked=looked, path=path, printed=printed)
    return CallEnded(call=own, outcome="interrupted", text=text, seconds=seconds, seen=known.seen.get(own))
