"""The ledger in an agent of LangChain or LangGraph: a middleware that records its tools and heals its history.

    agent = create_agent(model, tools, checkpointer=saver, middleware=[ledger_middleware(Ledger("calls.db"))])

After a crash the agent is asked as ever: each request has what is known of the calls that the crash left open. If it is
resumed instead (`invoke(None)`), a call that has ended is not run again, and one that has no end is reported to the
model, not repeated.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from importlib import import_module
from types import MappingProxyType
from typing import Any

from holdfast.errors import CallRepeated
from holdfast.ledger.call import RecordedCall
from holdfast.ledger.ledger import Ledger
from holdfast.ledger.tool_policies import Settle, ToolPolicies


def ledger_middleware(
    ledger: Ledger,
    *,
    safe: Collection[str] = (),
    reads: Collection[str] = (),
    settle: Settle = MappingProxyType({}),
) -> Any:  # noqa: ANN401 - an AgentMiddleware
    """Return the middleware for LangChain's agents. `safe`, `reads` and `settle` are about tools, by their names."""
    base: Any = vars(import_module("langchain.agents.middleware"))["AgentMiddleware"]
    policies = ToolPolicies(ledger, safe=safe, reads=reads, settle=settle)

    class LedgerMiddleware(base):
        def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - as LangChain has it
            try:
                with _call(policies, request) as call:
                    if not call.done:
                        answer = handler(request)
                        call.result = _content(answer)
                        return answer
            except CallRepeated as repeated:
                return _message(request, repeated.text, is_error=True)
            return _message(request, call.result, is_error=call.outcome == "failed")

        async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:  # noqa: ANN401 - likewise
            try:
                async with _call(policies, request) as call:
                    if not call.done:
                        answer = await handler(request)
                        call.result = _content(answer)
                        return answer
            except CallRepeated as repeated:
                return _message(request, repeated.text, is_error=True)
            return _message(request, call.result, is_error=call.outcome == "failed")

        def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - likewise
            return handler(_healed(ledger, request))

        async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:  # noqa: ANN401 - likewise
            from holdfast.system.threads import in_daemon

            return await handler(await in_daemon(lambda: _healed(ledger, request)))

    return LedgerMiddleware()


def _call(policies: ToolPolicies, request: Any) -> RecordedCall:  # noqa: ANN401 - likewise
    call = request.tool_call
    return policies.call(call["id"], call["name"], call["args"])


def _healed(ledger: Ledger, request: Any) -> Any:  # noqa: ANN401 - likewise
    healed = ledger.heal(request.messages)
    return request if not healed.edits else request.override(messages=healed.messages)


def _content(answer: Any) -> object:  # noqa: ANN401 - likewise
    """Return what a tool returned to the model: the content of its message, or of those that its command adds."""
    if hasattr(answer, "content"):
        return answer.content
    update: Any = answer.update
    messages: list[Any] = list(update.get("messages", ())) if hasattr(update, "get") else []
    contents: list[object] = [each.content for each in messages if hasattr(each, "content")]
    return contents[0] if len(contents) == 1 else contents


def _message(request: Any, content: object, *, is_error: bool) -> Any:  # noqa: ANN401 - likewise
    call = request.tool_call
    make: Any = vars(import_module("langchain_core.messages"))["ToolMessage"]
    return make(
        content=content if isinstance(content, str | list) else str(content),
        tool_call_id=call["id"],
        name=call["name"],
        status="error" if is_error else "success",
    )
