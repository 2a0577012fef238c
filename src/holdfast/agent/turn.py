"""The turn as a table: every state, every signal, and what a response means for what comes next. Pure.

Two rules. Whatever is not in the table is a bug, not a case to cope with. Every state has one way out besides its own
work: `LEAVE`, to `SETTLING`, whatever the cause.
"""

from __future__ import annotations

from enum import Enum

from holdfast.agent.model import Finish
from holdfast.session.entries import Cause


class State(Enum):
    """Where a turn is."""

    IDLE = "idle"  # no turn; the journal is settled
    REQUESTING = "requesting"  # a request is out, no event of it has come
    STREAMING = "streaming"  # its events are coming
    BACKING_OFF = "backing off"  # an attempt failed, the next is due later
    CHOOSING = "choosing"  # a response is complete; what next?
    ASKING = "asking"  # a person is asked about a call
    RUNNING = "running"  # calls run
    COMPACTING = "compacting"  # what is older is summed up
    SETTLING = "settling"  # every open call gets its outcome, the turn its end


class Signal(Enum):
    """What moves a turn."""

    TAKE_UP = "take up"  # calls are open that a crash kept from their person
    SEND = "send"  # a request is journalled
    EVENT = "event"  # its first event came
    FAIL = "fail"  # the attempt failed and will be repeated
    RESPONSE = "response"  # the terminal event came
    ASK = "ask"  # a call needs a person
    ANSWER = "answer"  # the person answered
    RUN = "run"  # a call is journalled as started
    RAN = "ran"  # no call runs any more
    COMPACT = "compact"  # the conversation is, or may be, too long to send
    COMPACTED = "compacted"  # it is as long as it will be
    LEAVE = "leave"  # the turn ends, for any cause
    SETTLED = "settled"  # the end is journalled


TABLE: dict[tuple[State, Signal], State] = {
    (State.IDLE, Signal.SEND): State.REQUESTING,
    (State.IDLE, Signal.TAKE_UP): State.CHOOSING,
    (State.REQUESTING, Signal.EVENT): State.STREAMING,
    (State.REQUESTING, Signal.FAIL): State.BACKING_OFF,
    (State.STREAMING, Signal.FAIL): State.BACKING_OFF,
    (State.BACKING_OFF, Signal.SEND): State.REQUESTING,
    (State.STREAMING, Signal.RESPONSE): State.CHOOSING,
    (State.CHOOSING, Signal.SEND): State.REQUESTING,
    (State.CHOOSING, Signal.ASK): State.ASKING,
    (State.CHOOSING, Signal.RUN): State.RUNNING,
    (State.ASKING, Signal.ANSWER): State.CHOOSING,
    (State.RUNNING, Signal.RUN): State.RUNNING,
    (State.RUNNING, Signal.RAN): State.CHOOSING,
    (State.IDLE, Signal.COMPACT): State.COMPACTING,
    (State.CHOOSING, Signal.COMPACT): State.COMPACTING,
    (State.BACKING_OFF, Signal.COMPACT): State.COMPACTING,
    (State.COMPACTING, Signal.COMPACTED): State.CHOOSING,
    # The one exit. IDLE leaves too: a prompt that is stopped before its first request, and the recovery of a turn
    # that another process left open.
    **{(state, Signal.LEAVE): State.SETTLING for state in State if state is not State.SETTLING},
    (State.SETTLING, Signal.SETTLED): State.IDLE,
}


def step(state: State, signal: Signal) -> State:
    """Return the state after `signal`; raises `AssertionError` for what the table does not hold."""
    after = TABLE.get((state, signal))
    assert after is not None, f"Signal {signal.value!r} in state {state.value!r} has no row in the turn table."
    return after


def cause_after(finish: Finish, *, calls: int) -> Cause | None:
    """Return why the turn ends after a complete response, None if its calls run and another request follows."""
    match finish:
        case "max_tokens":
            return "max_tokens"  # a call in it may be cut short, so none is run
        case "refusal":
            return "refusal"
        case "stop" | "calls":
            return None if calls else "finished"
