"""Looking at what is going on: a turn with the debug log, and a whole session verified."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from history import conversation, journal_of
from holdfast.agent.agent import Agent
from holdfast.agent.debug_log.log import Log
from holdfast.agent.debug_log.log_file import LogFile
from holdfast.history.profiles import OPENAI_CHAT
from holdfast.providers.model import Model
from holdfast.session.conversation.context_settings import ContextSettings
from holdfast.session.journal.store import MemoryStore
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from holdfast.session.verify import verify
from holdfast.testing.script import Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionToolbox
from pairs import AtMost, Comparison, paired

_WORDS = "word " * 1_000
_PIECE = 10  # characters of the answer that come at a time


def logging(scratch: Path, *, messages: int, rounds: int) -> list[Comparison]:
    """Compare a turn whose debug log is written with the same turn without one."""
    file = LogFile(scratch / "debug.log")

    def turn(log: Callable[[], Log | None]) -> Callable[[], float]:
        return lambda: asyncio.run(_turn(messages, log()))

    ours, theirs = paired(
        turn(lambda: Log(file.write, session="s", secrets=("a-key-of-the-usual-length",))),
        turn(lambda: None),
        rounds=rounds,
    )
    file.close()
    return [
        Comparison(
            what=f"a turn at {messages:,} messages with the debug log",
            against="without",
            ours=ours,
            theirs=theirs,
            aim=AtMost(ratio=2),
        )
    ]


def verifying(scratch: Path, *, entries: int, rounds: int) -> list[Comparison]:
    """Compare verifying a session, every entry and every profile, with a second."""
    folder = scratch / "session"
    store = SqliteStore.create(folder)
    store.append(journal_of(entries), expected=0)
    store.close()

    def work() -> float:
        begun = time.process_time()
        assert not verify("s", read_copy(folder), OPENAI_CHAT).problems
        return time.process_time() - begun

    ours, theirs = paired(work, lambda: 1.0, rounds=rounds)
    return [
        Comparison(
            what=f"verify a session of {entries:,} entries",
            against="a second",
            ours=ours,
            theirs=theirs,
            aim=AtMost(ratio=1),
        )
    ]


async def _turn(messages: int, log: Log | None) -> float:
    """Return the CPU time of one turn of one request, in a conversation of so many messages."""
    store = MemoryStore()
    store.append(conversation(messages), expected=0)
    model = ScriptedModel([(Say(_WORDS, chunk=_PIECE),)])

    async def connect(_: str) -> Model:
        return model

    agent = Agent(
        store=store,
        toolbox=FunctionToolbox([]),
        connect=connect,
        mode="yolo",
        emit=lambda _: None,
        log=log,
        context=ContextSettings(prune="off"),
    )
    begun = time.process_time()
    ended = await agent.run("go on")
    took = time.process_time() - begun
    assert ended.cause == "finished"
    await agent.close()
    return took
