"""The ledger in an agent of Google ADK: a plugin that answers the calls that a crash left open, and recorded tools.

    plugin = ledger_plugin(ledger)
    agent = LlmAgent(name="a", model=model, tools=recorded_tools([deploy], ledger))
    runner = Runner(agent=agent, app_name="app", session_service=service, plugins=[plugin])

ADK keeps a call before it runs, but leaves one without a response out of every later request, so that the model never
hears of it. Before a new message is added to a session, the plugin adds a response to each call that has none, with
what the ledger knows of it.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable
from importlib import import_module
from types import MappingProxyType
from typing import Any

from holdfast.errors import CallRepeated, UsageError
from holdfast.history.shape import NO_RESULT
from holdfast.ledger.ledger import Ledger
from holdfast.ledger.tool_policies import Settle, ToolPolicies
from holdfast.system.threads import in_daemon


def recorded_tools(
    tools: Iterable[Any],
    ledger: Ledger,
    *,
    safe: Collection[str] = (),
    reads: Collection[str] = (),
    settle: Settle = MappingProxyType({}),
) -> list[Any]:
    """Return the tools, recorded: functions and tool objects. `safe`, `reads` and `settle` go by their names."""
    policies = ToolPolicies(ledger, safe=safe, reads=reads, settle=settle)
    function_tool: Any = vars(import_module("google.adk.tools.function_tool"))["FunctionTool"]
    found = [each if hasattr(each, "run_async") else function_tool(each) for each in tools]
    return [_recorded(each, policies) for each in found]


def ledger_plugin(ledger: Ledger, *, name: str = "ledger") -> Any:  # noqa: ANN401 - a BasePlugin
    """Return the plugin for a runner: it answers the open calls of a session before a new message."""
    base: Any = vars(import_module("google.adk.plugins.base_plugin"))["BasePlugin"]

    class LedgerPlugin(base):
        async def on_user_message_callback(self, *, invocation_context: Any, user_message: Any) -> None:  # noqa: ANN401 - as ADK has it
            del user_message
            await _answer_open_calls(invocation_context, ledger)

    return LedgerPlugin(name=name)


async def _answer_open_calls(context: Any, ledger: Ledger) -> None:  # noqa: ANN401 - an InvocationContext
    """Add one event with a response to each open call of the session, for each event that has some."""
    session = context.session
    answered = {each.id for event in session.events for each in event.get_function_responses()}
    event_type: Any = vars(import_module("google.adk.events.event"))["Event"]
    types: Any = import_module("google.genai.types")
    for event in list(session.events):
        waits = event.long_running_tool_ids or ()
        open_calls = [
            each for each in event.get_function_calls() if each.id not in answered and each.id and each.id not in waits
        ]
        if not open_calls:
            continue
        ids = [each.id for each in open_calls]
        known = await in_daemon(lambda ids=ids: ledger.texts(ids))
        parts = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=each.id, name=each.name, response={"result": known.get(each.id, NO_RESULT)}
                )
            )
            for each in open_calls
        ]
        response = event_type(
            author=event.author,
            branch=event.branch,
            invocation_id=event.invocation_id,
            content=types.Content(role="user", parts=parts),
        )
        await context.session_service.append_event(session=session, event=response)


def _recorded(tool: Any, policies: ToolPolicies) -> Any:  # noqa: ANN401 - a BaseTool
    recorded = copy.copy(tool)
    inner: Any = tool.run_async

    async def run_async(*, args: dict[str, Any], tool_context: Any) -> Any:  # noqa: ANN401 - as ADK has it
        identifier: object = tool_context.function_call_id
        if not isinstance(identifier, str):
            raise UsageError(
                f"Tool {tool.name!r} was called without an id. Call it by the runner, or use `ledger.call`."
            )
        try:
            async with policies.call(identifier, tool.name, args) as call:
                if not call.done:
                    call.result = await inner(args=args, tool_context=tool_context)
        except CallRepeated as repeated:
            return {"result": repeated.text}
        return call.result

    recorded.run_async = run_async
    return recorded
