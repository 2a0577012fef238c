"""The ledger in a run of OpenAI Agents: a session that loses no call, and tools that are recorded.

    kept = LedgerSession(SQLiteSession("s", "history.db"), Ledger("calls.db"), ahead="s.ahead.json")
    agent = Agent(name="a", model=model, tools=kept.tools([deploy]))
    result = await Runner.run(agent, prompt, session=kept, hooks=kept.hooks)

OpenAI Agents writes a step to its session when the step has ended, so a crash forgets the calls of an open step, and
the model runs them again. Here a response with calls is in the file `ahead`, whole and durably, before its first call.
The next read of the session puts it behind the items that are there, with what the ledger knows of each call.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from holdfast.errors import CallRepeated, DamageError, UsageError
from holdfast.ledger.ledger import Ledger
from holdfast.ledger.tool_policies import Settle, ToolPolicies
from holdfast.system.bounded_files import read_bounded
from holdfast.system.durable_files import replace_file
from holdfast.system.threads import in_daemon
from holdfast.typed_data import decode_json

LARGEST_STEP_AHEAD = 64 << 20
"""Bytes of a response that is written ahead."""


class LedgerSession:
    """A session around another one. `safe`, `reads` and `settle` are about tools, by their names.

    One process at a time may use the file `ahead`, and one run at a time the session.
    """

    def __init__(
        self,
        inner: Any,  # noqa: ANN401 - an agents.Session
        ledger: Ledger,
        *,
        ahead: str | Path,
        safe: Collection[str] = (),
        reads: Collection[str] = (),
        settle: Settle = MappingProxyType({}),
    ) -> None:
        """Keep the history in `inner`, any session of the framework, and an open step in the file `ahead`."""
        self._inner = inner
        self._ahead = Path(ahead)
        self._policies = ToolPolicies(ledger, safe=safe, reads=reads, settle=settle)
        self.session_id: str = inner.session_id
        self.session_settings: Any = getattr(inner, "session_settings", None)

    @property
    def hooks(self) -> Any:  # noqa: ANN401 - RunHooks
        """Return the hooks of a run. Hooks of your own call `write_ahead` in their `on_llm_end`."""
        base: Any = vars(import_module("agents"))["RunHooks"]
        session = self

        class WriteAhead(base):
            async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:  # noqa: ANN401 - as the framework has it
                del context, agent
                await session.write_ahead(response.to_input_items())

        return WriteAhead()

    def tools(self, tools: Iterable[Any]) -> list[Any]:
        """Return the tools, recorded: those that are functions of yours. Others run where no ledger is."""
        return [self._recorded(each) if hasattr(each, "on_invoke_tool") else each for each in tools]

    async def write_ahead(self, items: Iterable[Any]) -> None:
        """Keep the items of a response before its calls run; those of the step before are in the session by then."""
        step = [dict(each) for each in items]
        if _calls_of(step):
            await in_daemon(lambda: replace_file(self._ahead, msgspec.json.encode(step)))

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the history, with a step that a crash left open. Raises `DamageError` if it cannot be read."""
        await self._restore()
        items: list[Any] = await self._inner.get_items(limit)
        return items

    async def add_items(self, items: list[Any]) -> None:
        """Add items to the history."""
        await self._inner.add_items(items)

    async def pop_item(self) -> Any:  # noqa: ANN401 - an item
        """Remove and return the newest item."""
        await self._restore()
        return await self._inner.pop_item()

    async def clear_session(self) -> None:
        """Remove the history, and the open step with it."""
        await self._inner.clear_session()
        await in_daemon(lambda: self._ahead.unlink(missing_ok=True))

    async def _restore(self) -> None:
        """Put the step that a crash left open behind the history, if it is not there already."""
        step = await in_daemon(self._kept_step)
        if not step:
            return
        items: list[Any] = await self._inner.get_items()
        if not _calls_of(step) & _calls_of(items):
            heal = self._policies.ledger.heal
            healed: Any = await in_daemon(lambda: heal(step, format="openai-responses").messages)
            await self._inner.add_items(list(healed))
        await in_daemon(lambda: self._ahead.unlink(missing_ok=True))

    def _kept_step(self) -> list[dict[str, Any]]:
        try:
            if not self._ahead.exists():
                return []
            return decode_json(read_bounded(self._ahead, LARGEST_STEP_AHEAD), list[dict[str, Any]])
        except (OSError, ValueError) as error:
            raise DamageError(f"The open step {str(self._ahead)!r} cannot be read: {error}. Move it away.") from error

    def _recorded(self, tool: Any) -> Any:  # noqa: ANN401 - a FunctionTool
        recorded = copy.copy(tool)
        inner: Any = recorded.on_invoke_tool
        policies = self._policies

        async def invoke(context: Any, arguments: str) -> Any:  # noqa: ANN401 - as the framework has it
            identifier: object = getattr(context, "tool_call_id", None)
            if not isinstance(identifier, str):
                raise UsageError(
                    f"Tool {tool.name!r} was called without an id. Call it by the runner, or use `ledger.call`."
                )
            try:
                async with policies.call(identifier, tool.name, _object_of(arguments)) as call:
                    if not call.done:
                        call.result = await inner(context, arguments)
            except CallRepeated as repeated:
                return repeated.text
            return call.result

        recorded.on_invoke_tool = invoke
        return recorded


def _calls_of(items: Iterable[Any]) -> set[str]:
    """Return the ids of the calls among these items."""
    return {each["call_id"] for each in items if isinstance(each.get("call_id"), str) and each.get("name")}


def _object_of(arguments: str) -> dict[str, object]:
    """Return the arguments as an object; text that is none stands under "arguments"."""
    try:
        return decode_json(arguments or "{}", dict[str, object])
    except msgspec.DecodeError:
        return {"arguments": arguments}
