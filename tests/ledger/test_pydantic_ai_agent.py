"""The ledger as a capability of pydantic-ai: what it keeps, and what a later run reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from holdfast.errors import DamageError
from holdfast.ledger import Ledger
from holdfast.ledger.pydantic_ai_agent import LedgerCapability


class Stopped(BaseException):
    """What ends the program in the middle of a call."""


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    del info
    last = messages[-1].parts[-1]
    if isinstance(last, UserPromptPart) and last.content == "Go":
        return ModelResponse([ToolCallPart("add", {"number": 1}, "c1"), ToolCallPart("stop", {}, "c2")])
    return ModelResponse([TextPart("ok")])


def agent_of(kept: LedgerCapability, ran: list[str]) -> Agent[None, str]:
    agent = Agent(FunctionModel(model), capabilities=[kept])

    @agent.tool_plain(sequential=True)
    def add(number: int) -> int:
        ran.append("add")
        return number + 1

    @agent.tool_plain(sequential=True)
    def stop() -> str:
        ran.append("stop")
        raise Stopped

    del add, stop
    return agent


def returned(messages: list[ModelMessage]) -> dict[str, object]:
    parts = [part for each in messages if isinstance(each, ModelRequest) for part in each.parts]
    return {part.tool_call_id: part.content for part in parts if isinstance(part, ToolReturnPart)}


async def test_a_run_that_was_stopped_is_continued_with_the_truth(tmp_path: Path) -> None:
    ran: list[str] = []
    kept = LedgerCapability(Ledger(tmp_path / "calls.db"), history=tmp_path / "history.json")
    with pytest.raises(Stopped):
        await agent_of(kept, ran).run("Go")
    later = LedgerCapability(Ledger(tmp_path / "calls.db"), history=tmp_path / "history.json")
    messages = later.messages()
    assert isinstance(messages[0], ModelRequest)
    assert [each.content for each in messages[0].parts if isinstance(each, UserPromptPart)] == ["Go"]
    results = returned(messages)
    assert results["c1"] == "2"
    assert str(results["c2"]).startswith("Interrupted: this call was cancelled while it was running. Effect unknown")
    result = await agent_of(later, ran).run("Go on", message_history=messages)
    assert result.output == "ok"
    assert ran == ["add", "stop"]


async def test_a_history_that_its_program_keeps_is_healed_by_the_ledger(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "calls.db")
    with ledger.call("c1", "add", {"number": 1}) as call:
        call.result = 2
    cut: list[ModelMessage] = [
        ModelRequest([UserPromptPart("Before")]),
        ModelResponse([ToolCallPart("add", {"number": 1}, "c1")]),
    ]
    healed = ledger.heal(cut).messages
    assert healed[0] is cut[0]
    history = ModelMessagesTypeAdapter.validate_python(healed)
    result = await agent_of(LedgerCapability(ledger), []).run("Go on", message_history=history)
    assert returned(result.all_messages())["c1"] == "2"


def test_without_a_file_there_is_no_history(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "calls.db")
    assert LedgerCapability(ledger).messages() == []
    assert LedgerCapability(ledger, history=tmp_path / "none.json").messages() == []


def test_a_damaged_history_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "history.json").write_text("[{")
    kept = LedgerCapability(Ledger(tmp_path / "calls.db"), history=tmp_path / "history.json")
    with pytest.raises(DamageError, match=r"History '.*history\.json' cannot be read"):
        kept.messages()
