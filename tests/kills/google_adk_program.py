"""An agent of Google ADK whose tools are in a ledger. It runs in the environment of `make kills`."""

from __future__ import annotations

import asyncio
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from holdfast.ledger import Ledger
from holdfast.ledger.google_adk_plugin import ledger_plugin, recorded_tools

agents: Any = import_module("google.adk.agents")
models: Any = import_module("google.adk.models")
runners: Any = import_module("google.adk.runners")
sessions: Any = import_module("google.adk.sessions")
types: Any = import_module("google.genai.types")

PLAIN = "--plain" in sys.argv
KEY = {"app_name": "app", "user_id": "u", "session_id": "s"}


async def deploy(step: str, seconds: float = 0) -> str:
    """Deploy a step."""
    with Path("effects").open("a") as file:  # noqa: ASYNC230 - a line
        file.write(f"{step}\n")
    await asyncio.sleep(seconds)
    return f"{step} done"


async def main(prompt: str) -> None:
    os.environ |= {"GOOGLE_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": os.environ["PROVIDER"]}
    ledger = Ledger("calls.db")
    agent = agents.LlmAgent(
        name="a", model="gemini-2.5-flash", tools=[deploy] if PLAIN else recorded_tools([deploy], ledger)
    )
    service = sessions.DatabaseSessionService("sqlite+aiosqlite:///history.db")
    plugins = [] if PLAIN else [ledger_plugin(ledger)]
    runner = runners.Runner(agent=agent, app_name="app", session_service=service, plugins=plugins)
    if await service.get_session(**KEY) is None:
        await service.create_session(**KEY)
    message = types.Content(role="user", parts=[types.Part(text=prompt)])
    async for event in runner.run_async(user_id="u", session_id="s", new_message=message):
        if event.content and event.content.parts and event.content.parts[0].text:
            print(event.content.parts[0].text)


asyncio.run(main(sys.argv[1]))
