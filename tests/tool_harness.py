"""A tool called as the agent calls it: planned from raw arguments, then run with a stop that may be set."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from holdfast.tools.tool import Plan, Tool, ToolContext, ToolOutput, Workspace


def workspace(folder: Path) -> Workspace:
    """Return a workspace in `folder`, with a file beside it that is none of its business."""
    root = folder.resolve() / "work"
    root.mkdir()
    (folder / "spool").mkdir()
    (folder / "secret.txt").write_text("the secret\n")
    return Workspace(root=root, spool=folder.resolve() / "spool")


def planned(tool: Tool, **arguments: object) -> Plan:
    """Return the plan of a call with these arguments."""
    return tool.plan("call_1", json.dumps(arguments))


def ran(plan: Plan, *, stopped: bool = False) -> ToolOutput:
    """Return what running the plan gives."""

    async def run() -> ToolOutput:
        stop = asyncio.Event()
        if stopped:
            stop.set()
        return await plan.run(ToolContext(call="call_1", stop=stop, emit=lambda _: None))

    return asyncio.run(run())


def called(tool: Tool, **arguments: object) -> ToolOutput:
    """Return what a call with these arguments gives."""
    return ran(planned(tool, **arguments))
