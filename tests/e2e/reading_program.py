"""A program that uses holdfast as a library, with tools of its own: `python reading_program.py FOLDER MODEL PROMPT`."""

import asyncio
import os
import sys
from pathlib import Path

from holdfast.agent.connecting import connect
from holdfast.agent.driver import Driver
from holdfast.agent.model import Model
from holdfast.agent.providers import target
from holdfast.session.entries import SessionOpened
from holdfast.session.sqlite import SqliteStore
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tools.tool import Context, Output

SYSTEM = "You read."


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def tool(name: str) -> FunctionTool:
    """Return a tool that reads; only the quick one ever ends."""

    async def run(arguments: dict[str, object], context: Context) -> Output:
        del arguments
        say(f"{name} began")
        if name != "quick":
            await context.stop.wait()
        return Output(text=f"{name} has read it")

    return FunctionTool(name, "read", run)


async def main(folder: Path, model: str, prompt: str) -> None:
    """Run one turn and print the answer."""

    async def connected(name: str) -> Model:
        return await connect(target(name, os.environ))

    def emit(event: object) -> None:
        if "quick has read it" in repr(event):
            say("quick ended")

    toolbox = FunctionToolbox([tool("quick"), tool("slow"), tool("slower")])
    if (folder / "session.db").exists():
        store = SqliteStore.open(folder)
    else:
        store = SqliteStore.create(folder)
        schemas = tuple(tool.schema for tool in toolbox.tools.values())
        opened = SessionOpened(session="own", cwd=".", model=model, system=SYSTEM, tools=schemas, version="0")
        store.append([opened], expected=0)
    driver = Driver(store=store, toolbox=toolbox, connect=connected, mode="yolo", emit=emit)
    await driver.run(prompt)
    await driver.close()
    say(driver.conversation.answer)


asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
