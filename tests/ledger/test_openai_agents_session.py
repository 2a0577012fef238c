"""The session of the ledger for OpenAI Agents, without the framework: what a crash leaves, what a later run reads."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import DamageError, UsageError
from holdfast.ledger import Ledger
from holdfast.ledger.openai_agents_session import LedgerSession

PROMPT: dict[str, Any] = {"role": "user", "content": "Go"}
CALLS: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "call_id": "c1", "name": "deploy", "arguments": '{"step": "tag"}'},
    {"type": "function_call", "call_id": "c2", "name": "deploy", "arguments": '{"step": "upload"}'},
]


@dataclass
class Kept:
    """A session as the framework has it, in memory."""

    session_id: str = "s"
    items: list[Any] = field(default_factory=lambda: list[Any]([PROMPT]))

    async def get_items(self, limit: int | None = None) -> list[Any]:
        return list(self.items if limit is None else self.items[-limit:])

    async def add_items(self, items: list[Any]) -> None:
        self.items += items

    async def pop_item(self) -> Any:
        return self.items.pop() if self.items else None

    async def clear_session(self) -> None:
        self.items.clear()


@dataclass
class Tool:
    """A tool that is a function, as the framework calls it."""

    name: str = "deploy"
    ran: list[str] = field(default_factory=list[str])

    async def on_invoke_tool(self, context: Any, arguments: str) -> str:
        assert context.tool_call_id
        self.ran.append(arguments)
        if "fail" in arguments:
            raise ValueError("no")
        return json.loads(arguments)["step"] + " done"


@dataclass
class Context:
    tool_call_id: str | None


def session_of(folder: Path, kept: Kept) -> LedgerSession:
    return LedgerSession(kept, Ledger(folder / "calls.db"), ahead=folder / "ahead.json")


async def test_a_step_that_a_crash_left_open_is_read_with_what_became_of_its_calls(tmp_path: Path) -> None:
    kept, tool = Kept(), Tool()
    session = session_of(tmp_path, kept)
    [recorded, hosted] = session.tools([tool, "a hosted tool"])
    assert hosted == "a hosted tool"
    await session.write_ahead(CALLS)
    assert await recorded.on_invoke_tool(Context("c1"), '{"step": "tag"}') == "tag done"
    assert kept.items == [PROMPT]  # and the process ends
    later = session_of(tmp_path, kept)
    items = await later.get_items()
    assert items[:4] == [PROMPT, *CALLS]
    results = {each["call_id"]: each["output"] for each in items[4:]}
    assert results["c1"] == "tag done"
    assert "No result was recorded" in results["c2"]
    assert kept.items == items
    assert await later.get_items() == items
    assert await later.get_items(limit=1) == items[-1:]


async def test_a_step_that_the_session_has_is_not_added_again(tmp_path: Path) -> None:
    kept = Kept()
    session = session_of(tmp_path, kept)
    await session.write_ahead(CALLS)
    kept.items += [*CALLS, {"type": "function_call_output", "call_id": "c1", "output": "x"}]
    assert await session.get_items() == kept.items
    assert len(kept.items) == 5
    assert not (tmp_path / "ahead.json").exists()


async def test_a_response_without_calls_is_not_written_ahead(tmp_path: Path) -> None:
    session = session_of(tmp_path, Kept())
    await session.write_ahead([{"type": "message", "role": "assistant", "content": []}])
    assert not (tmp_path / "ahead.json").exists()


async def test_a_call_that_has_ended_is_not_run_again_and_one_that_failed_says_so(tmp_path: Path) -> None:
    tool = Tool()
    [recorded] = session_of(tmp_path, Kept()).tools([tool])
    for _ in range(2):
        assert await recorded.on_invoke_tool(Context("c1"), '{"step": "tag"}') == "tag done"
    assert tool.ran == ['{"step": "tag"}']
    with pytest.raises(ValueError, match="no"):
        await recorded.on_invoke_tool(Context("c2"), "fail")
    assert await recorded.on_invoke_tool(Context("c2"), "fail") == "ValueError: no"
    assert await recorded.on_invoke_tool(Context("c1"), '{"step": "other"}') == "tag done"
    assert len(tool.ran) == 2
    with pytest.raises(UsageError, match="was called without an id"):
        await recorded.on_invoke_tool(Context(None), "{}")


async def test_a_cleared_session_forgets_its_open_step_and_a_popped_item_is_the_newest(tmp_path: Path) -> None:
    kept = Kept()
    session = session_of(tmp_path, kept)
    await session.write_ahead(CALLS)
    popped = await session.pop_item()
    assert popped["type"] == "function_call_output"
    await session.write_ahead([{**CALLS[1], "call_id": "c9"}])
    await session.clear_session()
    assert await session.get_items() == []


async def test_an_open_step_that_is_damaged_says_so(tmp_path: Path) -> None:
    (tmp_path / "ahead.json").write_text("{")
    with pytest.raises(DamageError, match=r"ahead.json' cannot be read: .*Move it away"):
        await session_of(tmp_path, Kept()).get_items()
