"""A run whose model says nothing, on each wire: asked once more, an error for scripts, and the session goes on."""

from __future__ import annotations

import json

import pytest
from launching import MODELS, World

from holdfast.session.journal.entries import CallEnded, RequestFailed, TurnEnded
from holdfast.testing.script import Call, Finish, Reply, Say, Think
from tiers import sampled

NO_ANSWER: dict[str, Reply] = {
    "nothing": (Finish("stop"),),
    "thinking": (Think("Let me see."),),
    "calls that are not there": (Finish("tool_calls"),),
}
CASES = [(wire, kind) for wire in MODELS for kind in NO_ANSWER]


@pytest.mark.parametrize(("any_world", "kind"), sampled(CASES, 6), indirect=["any_world"])
def test_a_run_without_an_answer_is_no_success(any_world: World, kind: str) -> None:
    world = any_world
    call: Reply = (Call("bash", {"command": "touch ran"}),)
    world.script(call, NO_ANSWER[kind], NO_ANSWER[kind], (Say("Here it is."),))
    ran = world.ask("hello", "--output-format", "json")
    result = json.loads(ran.out)
    assert (ran.code, result["cause"], result["stop_reason"], result["is_error"]) == (1, "empty", "error", True)
    assert "gave no answer" in result["detail"]
    entries = world.entries()
    failed = [(entry.fault, entry.retry_in) for entry in entries if isinstance(entry, RequestFailed)]
    assert failed == [("empty", 0), ("empty", None)]
    assert [entry.outcome for entry in entries if isinstance(entry, CallEnded)] == ["ok"]
    assert [entry.cause for entry in entries if isinstance(entry, TurnEnded)] == ["empty"]
    assert world.go_on().out == "Here it is.\n"
    assert any("neither an answer nor a tool call" in text for text in world.user_texts)
