"""SIGKILL at each point around a decision about a refusal: what was refused is sent once, or once more at most.

The process stands still right before or after the failure and the decision are durable, or right before the further
request reaches the server. The provider is a server on a socket, which keeps refusing while processes come and go.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agent_harness import FAST
from holdfast.agent.agent import Agent
from holdfast.session.journal.entries import RequestFailed, RequestsChanged, SessionOpened
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tools.tool import ToolContext, ToolOutput
from polling import HANGS
from refusing_server import Answer, Refused, RefusingServer, has_markers, has_thinking, serving

PROGRAM = """
import asyncio, json, sys, time
from pathlib import Path
from holdfast.agent.agent import Agent
from holdfast.config.settings import Limits
from holdfast.providers.connect import open_model
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.journal.entries import RequestStarted, RequestsChanged
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tools.tool import ToolOutput

folder, environ, where = Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
decided = False

def stand_still():
    print("standing", flush=True)
    time.sleep(600)

class Still(SqliteStore):
    def append(self, entries, *, expected):
        global decided
        entries = tuple(entries)
        decides = any(isinstance(each, RequestsChanged) for each in entries)
        if decides and where == "before":
            stand_still()
        further = decided and any(isinstance(each, RequestStarted) for each in entries)
        length = super().append(entries, expected=expected)
        if (decides and where == "durable") or (further and where == "further"):
            stand_still()
        decided = decided or decides
        return length

async def read(arguments, context):
    return ToolOutput(text="before <|channel|>analysis after")

async def connect(name):
    return open_model(resolve_endpoint(name, environ))

async def main():
    toolbox = FunctionToolbox((FunctionTool("read", "read", read),))
    store = Still.open(folder)
    agent = Agent(store=store, toolbox=toolbox, connect=connect, mode="yolo", emit=lambda _: None, limits=Limits())
    await agent.run("go")

asyncio.run(main())
"""


async def read(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
    del arguments, context
    return ToolOutput(text="before <|channel|>analysis after")


TOOLBOX = FunctionToolbox((FunctionTool("read", "read", read),))
CALL = Answer("I look.", "hm, hm", (("read", {"path": "a"}),))
SERVERS = {
    "thinking": (Refused("messages.1.content.0: Invalid `signature` in `thinking` block"), has_thinking),
    "markers": (Refused("Request blocked.", code="invalid_prompt"), has_markers),
}


def killed(folder: Path, server: RefusingServer, where: str) -> None:
    """Run the program until it stands still, and kill it."""
    words = [sys.executable, "-c", PROGRAM, str(folder), json.dumps(server.environ()), where]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        assert line == b"standing\n", process.stderr.read().decode()


@pytest.mark.parametrize(("what", "wire"), [("thinking", "anthropic"), ("markers", "responses")])
@pytest.mark.parametrize("where", ["before", "durable", "further"])
def test_a_kill_around_the_decision(tmp_path: Path, what: str, wire: str, where: str) -> None:
    refused, refuses = SERVERS[what]
    folder = tmp_path / "session"
    with serving(RefusingServer(wire, refused, refuses, [CALL, Answer("done")])) as server:  # pyright: ignore[reportArgumentType] - one of the wires
        first = SqliteStore.create(folder)
        tools = tuple(tool.schema for tool in TOOLBOX.tool_list)
        opened = SessionOpened(session="s", cwd="/", model=server.model, system="SYSTEM", tools=tools, version="0")
        first.append([opened], expected=0)
        first.close()
        killed(folder, server, where)
        kept = [record.entry for record in read_copy(folder).records]
        decisions = sum(isinstance(each, RequestsChanged) for each in kept)
        assert decisions == sum(isinstance(each, RequestFailed) for each in kept) == (0 if where == "before" else 1)
        assert len(server.refusals) == 1

        async def next_prompt() -> str:
            agent = Agent(
                store=SqliteStore.open(folder),
                toolbox=TOOLBOX,
                connect=server.connect,
                mode="yolo",
                emit=lambda _: None,
                limits=FAST,
            )
            try:
                async with asyncio.timeout(HANGS):
                    return (await agent.run("again")).cause
            finally:
                await agent.close()

        assert asyncio.run(next_prompt()) == "finished"
        assert asyncio.run(next_prompt()) == "finished"
        assert len(server.refusals) == (2 if where == "before" else 1)
        assert sum(isinstance(record.entry, RequestsChanged) for record in read_copy(folder).records) == 1
