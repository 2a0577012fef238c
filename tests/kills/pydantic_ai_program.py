"""An agent of pydantic-ai whose tools are in a ledger, and whose history is kept."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from holdfast.ledger import Ledger
from holdfast.ledger.pydantic_ai_agent import LedgerCapability

PLAIN = "--plain" in sys.argv
HISTORY = Path("plain.json")

provider = OpenAIProvider(base_url=os.environ["PROVIDER"] + "/v1", api_key="test-key")
kept = LedgerCapability(Ledger("calls.db"), history="history.json")
agent = Agent(OpenAIChatModel("gpt-4.1", provider=provider), capabilities=[] if PLAIN else [kept])


@agent.tool_plain
async def deploy(step: str, seconds: float = 0) -> str:
    """Deploy a step."""
    with Path("effects").open("a") as file:  # noqa: ASYNC230 - a line
        file.write(f"{step}\n")
    await asyncio.sleep(seconds)
    return f"{step} done"


def plain_history() -> list[ModelMessage]:
    return ModelMessagesTypeAdapter.validate_json(HISTORY.read_bytes()) if HISTORY.exists() else []


async def main(prompt: str) -> None:
    result = await agent.run(prompt, message_history=plain_history() if PLAIN else kept.messages())
    HISTORY.write_bytes(result.all_messages_json())  # noqa: ASYNC240 - the loop has nothing else to do
    print(result.output)


asyncio.run(main(sys.argv[1]))
