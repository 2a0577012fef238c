"""The journal, measured in this process: appending, folding, opening, and what a turn writes to the disk."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, closing
from itertools import count
from pathlib import Path

from history import MODEL, RESULT, conversation, journal_of
from holdfast.agent.agent import Agent
from holdfast.agent.sessions import create, resume
from holdfast.providers.model import Model, StreamEvent
from holdfast.session.catalog import Catalog
from holdfast.session.conversation import context_settings
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import CallEnded, Entry, decode, encode
from holdfast.session.journal.store import MemoryStore, Reading, Store
from holdfast.session.storage.database import SCHEMA
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.system.durable_files import DATABASE
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tools.tool import ToolContext, ToolOutput
from pairs import AtMost, Comparison, Equal, paired, percentile

WHOLE = 0.25
"""CPU seconds of holdfast's own before a request of 5,000 messages, all of them checked."""

FURTHER = 0.025
"""CPU seconds before a further one, of which only what was added is checked."""

WRITTEN = Path("/proc/self/io")
_COLUMNS = "seq, at, kind, body, sum"


def appending(scratch: Path, *, rounds: int, appends: int) -> list[Comparison]:
    """Compare a durable append with a bare SQLite commit of the same row, with the same settings, beside it."""
    entry = CallEnded(call="aB3dE5fG7", outcome="ok", text=RESULT[:1000], seconds=0.1)
    with closing(SqliteStore.create(scratch / "ours")) as store:
        store.append([entry], expected=0)
    with closing(sqlite3.connect(scratch / "ours" / DATABASE)) as connection:
        _, *row = connection.execute(f"SELECT {_COLUMNS} FROM entry").fetchone()
    numbers = count(1)
    with closing(SqliteStore.open(scratch / "ours")) as store, closing(_bare(scratch / "bare.db")) as bare:

        def append() -> None:
            store.append([entry], expected=store.length)

        def commit() -> None:
            bare.execute("BEGIN IMMEDIATE")
            bare.execute(f"INSERT INTO entry ({_COLUMNS}) VALUES (?, ?, ?, ?, ?)", (next(numbers), *row))
            bare.execute("COMMIT")

        blocks = [paired(_timed(append), _timed(commit), rounds=appends) for _ in range(rounds)]
    return [
        Comparison(
            what=f"durable append, {name} of {appends}",
            against="bare SQLite commit, synchronous=FULL",
            ours=[percentile(ours, percent) for ours, _ in blocks],
            theirs=[percentile(theirs, percent) for _, theirs in blocks],
            aim=AtMost(ratio=most),
        )
        for name, percent, most in (("p50", 50, 1.5), ("p99", 99, 2))
    ]


def opening(scratch: Path, *, entries: int, rounds: int) -> list[Comparison]:
    """Compare opening a session, until its next prompt could be journalled, with SQLite reading its rows."""
    catalog = Catalog(scratch / "sessions")
    cwd = scratch / "work"
    cwd.mkdir()
    session = create(catalog, cwd=cwd, model=MODEL)
    session.store.append(journal_of(entries)[1:], expected=1)
    session.store.close()
    database = catalog.folder(session.id) / DATABASE

    def open_it() -> None:
        again = resume(catalog, catalog.find(session.id))
        with closing(again.store):
            agent = _agent(again.store, ScriptedModel(), context_settings.ContextSettings(), reading=again.reading)
            assert agent.conversation.turns > 0

    def select() -> None:
        with closing(sqlite3.connect(database)) as connection:
            assert len(connection.execute(f"SELECT {_COLUMNS} FROM entry").fetchall()) == entries

    ours, theirs = paired(_timed(open_it), _timed(select), rounds=rounds)
    return [
        Comparison(
            what=f"open a session of {entries:,} entries",
            against="bare SQLite SELECT of its rows",
            ours=ours,
            theirs=theirs,
            aim=AtMost(ratio=20),
        )
    ]


def folding(*, entries: int, rounds: int) -> list[Comparison]:
    """Compare folding entries into a conversation with decoding them from their JSON."""
    journal = journal_of(entries)
    bodies = [encode(entry) for entry in journal]
    ours, theirs = paired(
        _timed(lambda: fold(journal)), _timed(lambda: [decode(body) for body in bodies]), rounds=rounds
    )
    return [
        Comparison(
            what=f"fold {entries:,} entries",
            against="msgspec decoding them",
            ours=ours,
            theirs=theirs,
            aim=AtMost(ratio=8),
        )
    ]


def written(scratch: Path, *, few: int, many: int, turns: int) -> list[Comparison]:
    """Compare the bytes one turn hands to the disk late in a conversation with the same turn near its start.

    A turn's own are equal to the byte. Now and then SQLite also copies its log into the database (a checkpoint); with
    those, the mean over `turns` is compared.
    """
    if not WRITTEN.exists():
        return []
    late = bytes_of_turns(scratch / "many", messages=many, turns=turns)
    early = bytes_of_turns(scratch / "few", messages=few, turns=turns)
    what, against = f"bytes a turn writes at {many:,} messages", f"at {few:,} messages"
    return [
        Comparison(what=what, against=against, ours=late, theirs=early, aim=Equal(), unit="bytes"),
        Comparison(
            what=f"{what}, mean of {turns} with checkpoints",
            against=against,
            ours=[sum(late) / turns],
            theirs=[sum(early) / turns],
            aim=AtMost(ratio=1.05),
            unit="bytes",
        ),
    ]


def bytes_of_turns(
    folder: Path, *, messages: int, turns: int, reopen: Callable[[Path], Store] = SqliteStore.open
) -> list[float]:
    """Return what each of `turns` turns wrote, the first of them in a conversation of so many messages."""
    with closing(SqliteStore.create(folder)) as created:
        created.append(conversation(messages), expected=0)
    reads = (Call("read", '{"path":"a"}'), Call("read", '{"path":"b"}'))  # equal ones would run once
    model = ScriptedModel([step for _ in range(turns) for step in (reads, (Say("It is a list."),))])
    # Closed and opened, its log is empty: checkpoints come at the same turns. What is left out would be written too.
    agent = _agent(reopen(folder), model, context_settings.ContextSettings(prune="off"))
    assert len(agent.conversation.messages) == messages

    async def run() -> list[float]:
        sizes: list[float] = []
        for _ in range(turns):
            before = _written()
            await agent.run("What is in this file?")
            sizes.append(_written() - before)
        await agent.close()
        return sizes

    return asyncio.run(run())


class Asked(ScriptedModel):
    """Notes the CPU time of this process whenever it is asked."""

    def __init__(self, turns: int) -> None:
        super().__init__([step for _ in range(turns) for step in ((Call("read", "{}"),), (Say("It is a list."),))])
        self.at: list[float] = []

    def stream(
        self, conversation: Conversation, *, non_streaming: bool = False
    ) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Note the time, then play."""
        self.at.append(time.process_time())
        return super().stream(conversation, non_streaming=non_streaming)


def before_requests(*, messages: int, rounds: int) -> list[Comparison]:
    """Compare what is done until a request is handed to the model with its limit.

    From a prompt on; from a prompt on which old outputs are left out, so that all is checked again; and from the
    request before on, with a call.
    """
    journal = conversation(messages)
    pruning = [_before(journal, context_settings.ContextSettings(), turns=1)[0] for _ in range(rounds)]
    both = _before(journal, context_settings.ContextSettings(prune="off"), turns=rounds + 1)
    return [
        Comparison(
            what=f"own work before a request at {messages:,} messages, {which}",
            against=f"{limit:g} s",
            ours=ours,
            theirs=[limit] * len(ours),
            aim=AtMost(ratio=1),
        )
        for which, limit, ours in (
            ("after a prompt", FURTHER, both[2::2]),
            ("after a prompt, old outputs left out", WHOLE, pruning),
            ("after a call", FURTHER, both[1::2]),
        )
    ]


def _before(journal: tuple[Entry, ...], context: context_settings.ContextSettings, *, turns: int) -> list[float]:
    """Return the CPU time that passes before each request of so many turns with one call each."""
    store = MemoryStore()
    store.append(journal, expected=0)
    model = Asked(turns)
    agent = _agent(store, model, context)

    async def run() -> list[float]:
        seconds: list[float] = []
        for _ in range(turns):
            begun = time.process_time()
            await agent.run("What is in this file?")
            first, second = model.at[-2:]
            seconds += [first - begun, second - first]
        await agent.close()
        return seconds

    return asyncio.run(run())


def _written() -> int:
    """Return how many bytes this process has handed to the system to write."""
    fields = dict(line.split(": ") for line in WRITTEN.read_text(encoding="ascii").splitlines())
    return int(fields["wchar"])


def _agent(
    store: Store, model: ScriptedModel, context: context_settings.ContextSettings, *, reading: Reading | None = None
) -> Agent:
    async def connect(_: str) -> Model:
        return model

    async def read(_: dict[str, object], __: ToolContext) -> ToolOutput:
        return ToolOutput(text=RESULT)

    toolbox = FunctionToolbox([FunctionTool("read", "read", read)])
    return Agent(
        store=store,
        toolbox=toolbox,
        connect=connect,
        mode="yolo",
        context=context,
        emit=lambda _: None,
        reading=reading,
    )


def _timed(act: Callable[[], object]) -> Callable[[], float]:
    def timed() -> float:
        begun = time.perf_counter()
        act()
        return time.perf_counter() - begun

    return timed


def _bare(path: Path) -> sqlite3.Connection:
    """Return a connection with the settings of our journal and nothing else of it."""
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=200"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute(SCHEMA)
    return connection
