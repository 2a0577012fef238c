"""The states of a turn as a table, and what a response means for the next state. Pure.

How it works. A turn is in one `State` at a time. A `Turn` moves by a `Signal` and looks the move up in
`TRANSITIONS`. A pair that is not in the table is a bug in holdfast, so `step` raises `AssertionError`. The bug then
ends the turn through the one exit like every other failure. Each state can always be left with `LEAVE` to `SETTLING`,
except `SETTLING` itself, which ends with `SETTLED`.

Why a table? With flags (`is_streaming`, `is_asking`, `is_stopping`) most combinations mean nothing, and every new
feature adds some. A table can be printed, drawn (docs/reference/turns.md, checked by a test) and enumerated: tests
check that every state can be reached and left, and the debug log names every move. The table does not decide what to do
next; `turn.py` does. It only refuses what must not happen, such as running a call while a request is streaming.

Example: a prompt whose answer contains one call that needs approval:

IDLE -send-> REQUESTING -event-> STREAMING -response-> CHOOSING -ask-> ASKING -answer-> CHOOSING
     -run-> RUNNING -ran-> CHOOSING -send-> REQUESTING -event-> STREAMING -response-> CHOOSING
     -leave-> SETTLING -settled-> IDLE
"""

from __future__ import annotations

from enum import Enum

from holdfast.providers.model import ModelFinish
from holdfast.session.journal.entries import Cause


class State(Enum):
    """The state of a turn."""

    IDLE = "idle"  # no turn is running; the journal is settled
    REQUESTING = "requesting"  # a request was sent, no event has come yet
    STREAMING = "streaming"  # events are arriving
    BACKING_OFF = "backing off"  # an attempt failed, the next one waits
    CHOOSING = "choosing"  # a response is complete; what next?
    ASKING = "asking"  # the user is asked about a call
    RUNNING = "running"  # calls are running
    CONSULTING = "consulting"  # the server that a running call asks asks the user
    COMPACTING = "compacting"  # older messages are being summarized
    SETTLING = "settling"  # every open call gets its outcome, the turn its end


class Signal(Enum):
    """What moves a turn to another state."""

    RESUME = "resume"  # resume calls that a crash left waiting for the user
    SEND = "send"  # a request is journalled
    EVENT = "event"  # the first event of a response came
    FAIL = "fail"  # the attempt failed and will be repeated
    RESPONSE = "response"  # the terminal event came
    ASK = "ask"  # a call needs the user's approval
    ANSWER = "answer"  # the user answered
    CONSULT = "consult"  # a server asks the user
    RUN = "run"  # a call is journalled as started, or continues with the user's answers
    RAN = "ran"  # no call is running any more
    COMPACT = "compact"  # the conversation is, or may be, too long to send
    COMPACTED = "compacted"  # compaction is done
    LEAVE = "leave"  # the turn ends, for any cause
    SETTLED = "settled"  # the end is journalled


TRANSITIONS: dict[tuple[State, Signal], State] = {
    (State.IDLE, Signal.SEND): State.REQUESTING,
    (State.IDLE, Signal.RESUME): State.CHOOSING,
    (State.REQUESTING, Signal.EVENT): State.STREAMING,
    (State.REQUESTING, Signal.FAIL): State.BACKING_OFF,
    (State.STREAMING, Signal.FAIL): State.BACKING_OFF,
    (State.BACKING_OFF, Signal.SEND): State.REQUESTING,
    (State.STREAMING, Signal.RESPONSE): State.CHOOSING,
    (State.CHOOSING, Signal.SEND): State.REQUESTING,
    (State.CHOOSING, Signal.ASK): State.ASKING,
    (State.CHOOSING, Signal.RUN): State.RUNNING,
    (State.ASKING, Signal.ANSWER): State.CHOOSING,
    (State.RUNNING, Signal.CONSULT): State.CONSULTING,
    (State.CONSULTING, Signal.RUN): State.RUNNING,
    (State.RUNNING, Signal.RUN): State.RUNNING,
    (State.RUNNING, Signal.RAN): State.CHOOSING,
    (State.IDLE, Signal.COMPACT): State.COMPACTING,
    (State.CHOOSING, Signal.COMPACT): State.COMPACTING,
    (State.BACKING_OFF, Signal.COMPACT): State.COMPACTING,
    (State.COMPACTING, Signal.COMPACTED): State.CHOOSING,
    # The one exit. IDLE has it too, for a prompt that is stopped before its first request.
    **{(state, Signal.LEAVE): State.SETTLING for state in State if state is not State.SETTLING},
    (State.SETTLING, Signal.SETTLED): State.IDLE,
}


def step(state: State, signal: Signal) -> State:
    """Return the state after `signal`; raises `AssertionError` if the table has no such move."""
    after = TRANSITIONS.get((state, signal))
    assert after is not None, f"Signal {signal.value!r} in state {state.value!r} has no row in the turn table."
    return after


def cause_after(finish: ModelFinish, *, calls: int) -> Cause | None:
    """Return why the turn ends after a complete response, None if its calls run next."""
    match finish:
        case "max_tokens":
            return "max_tokens"  # a call in it may be truncated, so none runs
        case "refusal":
            return "refusal"
        case "stop" | "calls":
            return None if calls else "finished"
