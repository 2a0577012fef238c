"""The ledger in an agent of pydantic-ai: a capability that records its tools, heals its history, and can keep it.

    kept = LedgerCapability(Ledger("calls.db"), history="history.json")
    agent = Agent(model, capabilities=[kept])
    result = await agent.run(prompt, message_history=kept.messages())

pydantic-ai gives a history to its program when a run has ended, so a crash loses the prompt too. With `history`, it is
written before each request and after each response, whole and durably.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapToolExecuteHandler
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from holdfast.errors import CallRepeated, DamageError
from holdfast.ledger.ledger import Ledger
from holdfast.ledger.tool_policies import Settle, ToolPolicies
from holdfast.system.bounded_files import read_bounded
from holdfast.system.durable_files import replace_file
from holdfast.system.threads import in_daemon

LARGEST_KEPT_HISTORY = 256 << 20
"""Bytes of a kept history."""


class LedgerCapability(AbstractCapability[Any]):
    """Records the tools of an agent. `safe`, `reads` and `settle` are about tools, by their names."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        history: str | Path | None = None,
        safe: Collection[str] = (),
        reads: Collection[str] = (),
        settle: Settle = MappingProxyType({}),
    ) -> None:
        """Keep the history of the agent's runs in the file `history`, if one is named."""
        self._policies = ToolPolicies(ledger, safe=safe, reads=reads, settle=settle)
        self._path = None if history is None else Path(history)

    def messages(self) -> list[ModelMessage]:
        """Return the kept history, healed; an empty one if there is none. Raises `DamageError` if it is damaged."""
        if self._path is None or not self._path.exists():
            return []
        try:
            found = ModelMessagesTypeAdapter.validate_json(read_bounded(self._path, LARGEST_KEPT_HISTORY))
        except (OSError, ValueError) as error:
            raise DamageError(f"History {str(self._path)!r} cannot be read: {error}. Move it away.") from error
        return self._healed(found)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Heal the history of the request, and keep it."""
        del ctx
        request_context.messages = await in_daemon(lambda: self._stored(self._healed(request_context.messages)))
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Keep the response before its calls run."""
        del ctx
        await in_daemon(lambda: self._stored([*request_context.messages, response]))
        return response

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:  # noqa: ANN401 - what the tool returns
        """Run the tool, or return what is known of the call if it must not run again."""
        del ctx
        try:
            async with self._policies.call(call.tool_call_id, tool_def.name, call.args_as_dict()) as entered:
                if not entered.done:
                    entered.result = await handler(args)
        except CallRepeated as repeated:
            return repeated.text
        return entered.result

    def _healed(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        return ModelMessagesTypeAdapter.validate_python(self._policies.ledger.heal(messages).messages)

    def _stored(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        if self._path is not None:
            replace_file(self._path, ModelMessagesTypeAdapter.dump_json(messages))
        return messages
