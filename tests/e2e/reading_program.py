"""A program that uses holdfast as a library, with its own tools: `python reading_program.py FOLDER MODEL PROMPT`."""

import asyncio
import os
import sys
from pathlib import Path

from holdfast.agent.agent import Agent
from holdfast.providers.connect import connect
from holdfast.providers.model import Model
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.journal.entries import SessionOpened
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tools.tool import ToolContext, ToolOutput

SYSTEM = "You read."


def print_line(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def tool(name: str) -> FunctionTool:
    """Return a tool that reads; only the quick one ever ends."""

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments
        print_line(f"{name} began")
        if name != "quick":
            await context.stop.wait()
        return ToolOutput(text=f"{name} has read it")

    return FunctionTool(name, "read", run)


async def main(folder: Path, model: str, prompt: str) -> None:
    """Run one turn and print the answer."""

    async def connected(name: str) -> Model:
        return await connect(resolve_endpoint(name, os.environ))

    def emit(event: object) -> None:
        if "quick has read it" in repr(event):
            print_line("quick ended")

    toolbox = FunctionToolbox([tool("quick"), tool("slow"), tool("slower")])
    if (folder / "session.db").exists():
        store = SqliteStore.open(folder)
    else:
        store = SqliteStore.create(folder)
        schemas = tuple(tool.schema for tool in toolbox.tools.values())
        opened = SessionOpened(session="own", cwd=".", model=model, system=SYSTEM, tools=schemas, version="0")
        store.append([opened], expected=0)
    agent = Agent(store=store, toolbox=toolbox, connect=connected, mode="yolo", emit=emit, ends_with_listener=True)
    await agent.run(prompt)
    await agent.close()
    print_line(agent.conversation.answer)


asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
