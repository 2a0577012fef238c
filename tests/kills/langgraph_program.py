"""An agent of LangGraph whose tools are in a ledger. It runs in the environment of `make kills`."""

from __future__ import annotations

import asyncio
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from holdfast.ledger import Ledger
from holdfast.ledger.langchain_agent import ledger_middleware

agents: Any = import_module("langchain.agents")
tools: Any = import_module("langchain_core.tools")
models: Any = import_module("langchain_openai")
savers: Any = import_module("langgraph.checkpoint.sqlite.aio")


async def deploy(step: str, seconds: float = 0) -> str:
    """Deploy a step."""
    with Path("effects").open("a") as file:  # noqa: ASYNC230 - a line
        file.write(f"{step}\n")
    await asyncio.sleep(seconds)
    return f"{step} done"


async def main(prompt: str) -> None:
    model = models.ChatOpenAI(
        model="gpt-4.1", max_retries=0, base_url=os.environ["PROVIDER"] + "/v1", api_key="test-key"
    )
    middleware = [] if "--plain" in sys.argv else [ledger_middleware(Ledger("calls.db"))]
    async with savers.AsyncSqliteSaver.from_conn_string("state.db") as saver:
        agent = agents.create_agent(model, [tools.tool(deploy)], checkpointer=saver, middleware=middleware)
        question = None if prompt == "RESUME" else {"messages": [("user", prompt)]}
        out = await agent.ainvoke(question, {"configurable": {"thread_id": "s"}}, durability="sync")
    print(out["messages"][-1].content)


asyncio.run(main(sys.argv[1]))
