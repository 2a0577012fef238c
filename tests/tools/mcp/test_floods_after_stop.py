"""A server that goes on sending after it was asked to stop a call: it is read no further."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import msgspec
import pytest
from test_connections import connected, context, output_of
from test_hostile_servers import arrived, hostile

from holdfast.tools.tool import ToolOutput
from polling import HANGS

SECONDS = 1.0


async def processor_time() -> float:
    """Return how much of the next second this process computes."""
    began, used = time.monotonic(), time.process_time()
    await asyncio.sleep(SECONDS)
    return (time.process_time() - used) / (time.monotonic() - began)


@pytest.mark.parametrize(
    ("kind", "tool"),
    [
        *((kind, tool) for kind in ("stdio", "http") for tool in ("logs", "progress")),
        *(("http", tool) for tool in ("comment_events", "comments_with_ids")),
    ],
)
async def test_what_a_server_sends_after_a_stop_costs_nothing(tmp_path: Path, kind: str, tool: str) -> None:
    with hostile(kind, tmp_path / "mark") as server:
        async with connected(server, tmp_path) as connections, asyncio.timeout(HANGS):
            assert (await output_of(connections, "echo")).text == "echo"
            stop = asyncio.Event()
            late: list[ToolOutput] = []
            tool_context = msgspec.structs.replace(context(stop), report_late=late.append)
            task = asyncio.create_task(connections.call("srv", f"mcp__srv__{tool}", {}, tool_context))
            await arrived(tmp_path / "mark")
            await asyncio.sleep(0.3)
            flooded = await processor_time()
            stop.set()
            output = await task
            assert output.interrupted
            while await processor_time() >= flooded / 4:
                pass  # what was under way is read, and a little more
            assert flooded > 0.05
            assert late == []
            if kind == "http":  # the one over stdio does one thing at a time
                assert (await output_of(connections, "echo")).text == "echo"
