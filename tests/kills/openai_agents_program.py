"""An agent of OpenAI Agents whose session and tools are in a ledger. It runs in the environment of `make kills`."""

from __future__ import annotations

import asyncio
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from holdfast.ledger import Ledger
from holdfast.ledger.openai_agents_session import LedgerSession

agents: Any = import_module("agents")
openai: Any = import_module("openai")
agents.set_tracing_disabled(True)

PLAIN = "--plain" in sys.argv


async def deploy(step: str, seconds: float = 0) -> str:
    """Deploy a step."""
    with Path("effects").open("a") as file:  # noqa: ASYNC230 - a line
        file.write(f"{step}\n")
    await asyncio.sleep(seconds)
    return f"{step} done"


async def main(prompt: str) -> None:
    client = openai.AsyncOpenAI(base_url=os.environ["PROVIDER"] + "/v1", api_key="test-key", max_retries=0)
    model = agents.OpenAIChatCompletionsModel("gpt-4.1", openai_client=client)
    session = agents.SQLiteSession("s", "history.db")
    tools = [agents.function_tool(deploy)]
    if PLAIN:
        agent = agents.Agent(name="a", model=model, tools=tools)
        result = await agents.Runner.run(agent, prompt, session=session)
    else:
        kept = LedgerSession(session, Ledger("calls.db"), ahead="ahead.json")
        agent = agents.Agent(name="a", model=model, tools=kept.tools(tools))
        result = await agents.Runner.run(agent, prompt, session=kept, hooks=kept.hooks)
    print(result.final_output)


asyncio.run(main(sys.argv[1]))
