"""Runs a plan: the one place where what a tool returns, or raises, comes into holdfast."""

from __future__ import annotations

import asyncio

from holdfast.agent.cancellation import TurnStopped
from holdfast.system.threads import ForeignExit
from holdfast.tools.returned_output import tool_output
from holdfast.tools.tool import Plan, ToolContext, ToolOutput


async def run_plan(plan: Plan, context: ToolContext) -> ToolOutput:
    """Return the output of the plan; raises what the tool raised, `ForeignExit` for what no task may carry.

    A stop and a cancellation pass, and Ctrl+C too, which Python raises in whatever runs then.
    """
    try:
        return tool_output(await plan.run(context))
    except (Exception, asyncio.CancelledError, TurnStopped, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # such as `sys.exit()` in the code of a tool: the call's failure
        raise ForeignExit(error) from error
