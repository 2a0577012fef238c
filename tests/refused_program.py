"""A process with a session whose provider refuses; it stands still around the decision about that, to be killed there.

`where` is "before" (the failure and the decision are not durable yet), "durable" (they are), or "further" (right before
what follows is written: the start of the further request, or the compaction). The prompts come on standard input.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from agent_harness import FAST, SENDING
from holdfast.agent.agent import Agent
from holdfast.providers.connect import open_model
from holdfast.providers.model import Model
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.journal.entries import Compacted, Entry, RequestFailed, RequestsChanged, RequestStarted
from holdfast.session.storage.sqlite_store import SqliteStore
from played_refusals import TOOLS


def stand_still() -> None:
    """Say so, and wait to be killed."""
    sys.stdout.write("standing\n")
    sys.stdout.flush()
    time.sleep(600)


def decides(entry: Entry) -> bool:
    """Return whether the entry is a decision about a refusal, or the failure of a request."""
    return isinstance(entry, RequestsChanged | RequestFailed)


class Still(SqliteStore):
    """The store, which stands still at one place."""

    where = ""
    decided = False

    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        decision = any(map(decides, entries))
        if decision and self.where == "before":
            stand_still()
        follows = self.decided and any(isinstance(each, RequestStarted | Compacted) for each in entries)
        if follows and self.where == "further":
            stand_still()
        length = super().append(entries, expected=expected)
        if decision and self.where == "durable":
            stand_still()
        self.decided = self.decided or decision
        return length


def agent_on(store: SqliteStore, environ: dict[str, str]) -> Agent:
    """Return an agent with this session, as any process has it."""

    async def connect(name: str) -> Model:
        return open_model(resolve_endpoint(name, environ))

    return Agent(
        store=store,
        toolbox=TOOLS,
        connect=connect,
        mode="yolo",
        limits=FAST,
        context=SENDING,
        window=lambda _: 0,
        emit=lambda _: None,
    )


async def main(folder: Path, environ: dict[str, str], where: str, prompts: list[str]) -> None:
    Still.where = where
    agent = agent_on(Still.open(folder), environ)
    for prompt in prompts:
        await agent.run(prompt)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3], json.load(sys.stdin)))
