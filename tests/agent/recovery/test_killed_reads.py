"""A call of holdfast's own reading tools that was killed had no effect; of every other call that is not known."""

from __future__ import annotations

import pytest

from agent_harness import opened
from holdfast.agent.recovery.settle import READING_TOOLS, settle
from holdfast.agent.stop_cause import StopCause
from holdfast.session.conversation.fold import Fold
from holdfast.session.journal.entries import CallEnded, CallStarted, Cause, Entry, PromptAccepted, ResponseEnded
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.tool_calls import Effect, RemoteCall

REMOTE = RemoteCall(server="trip", tool="read", protocol="2026-07-28")


def settled(name: str, effect: Effect, cause: Cause, *, remote: RemoteCall | None = None) -> str:
    """Return the result of a call that had started."""
    journal: list[Entry] = [
        opened(),
        PromptAccepted(turn=1, text="look"),
        ResponseEnded(step=1, model="m", parts=(CallPart(id="c1", name=name, arguments="{}"),), usage=Usage()),
        CallStarted(call="c1", effect=effect, remote=remote),
    ]
    (ended,) = [
        entry for entry in settle(Fold(journal).conversation(), StopCause(cause)) if isinstance(entry, CallEnded)
    ]
    assert ended.outcome == "interrupted"
    return ended.text


@pytest.mark.parametrize("cause", ["crash", "user", "timeout", "fork"])
@pytest.mark.parametrize("name", [*sorted(READING_TOOLS), "Read", "functions.grep"])
def test_a_killed_read_is_said_to_have_had_no_effect(name: str, cause: Cause) -> None:
    text = settled(name, "read", cause)
    assert text.endswith("It only reads, so it had no effect.")
    assert "unknown" not in text


@pytest.mark.parametrize(
    ("name", "effect", "remote"),
    [
        ("bash", "execute", None),
        ("edit", "write", None),
        ("fetch", "read", None),
        ("lookup", "read", None),
        ("read", "write", None),
        ("read", "remote", REMOTE),
        ("read", "read", REMOTE),
        ("mcp__trip__read", "read", REMOTE),
    ],
)
def test_of_any_other_call_it_is_unknown(name: str, effect: Effect, remote: RemoteCall | None) -> None:
    text = settled(name, effect, "crash", remote=remote)
    assert "no effect" not in text
    assert "unknown" in text
