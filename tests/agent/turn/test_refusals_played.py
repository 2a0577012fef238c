"""Every row of the table of refusals, played by a server on a socket that keeps refusing, on each wire.

The turn in which something is refused is answered by at most one further request, the next turn works, also in a
process that knows only the journal up to the decision, and what was refused is not sent again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import product
from typing import get_args

import pytest

from agent_harness import FAST, SENDING
from holdfast.agent.agent import Agent
from holdfast.providers.refusals.refusal import RefusalRow
from holdfast.providers.refusals.table import ROWS
from holdfast.session.journal.entries import Compacted, Entry, RequestFailed, RequestsChanged, SessionOpened
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tools.tool import ToolContext, ToolOutput
from refusing_server import (
    Answer,
    Json,
    Refused,
    RefusingServer,
    Wire,
    calls_at_once,
    declares,
    has_image,
    has_markers,
    has_thinking,
    serving,
)
from shown_images import picture
from tiers import sampled

WIRES: tuple[Wire, ...] = get_args(Wire)
MARKED = "before <|channel|>analysis after"
MCP = "mcp__trip__book"
KINDS = ("thinking", "markers", "tools", "one_call", "no_images", "bad_images")
CONTENT = [row for row in ROWS if row.recovery in KINDS]
DONE = Answer("done")


async def read(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
    del arguments, context
    return ToolOutput(text=MARKED)


async def look(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
    del arguments, context
    return ToolOutput(text="an image", images=(picture("found.png"),))


TOOLS = FunctionToolbox(
    (FunctionTool("read", "read", read), FunctionTool("look", "read", look), FunctionTool(MCP, "read", read))
)


@dataclass
class Played:
    """A session whose agents talk to the server over sockets."""

    server: RefusingServer
    store: MemoryStore = field(default_factory=MemoryStore)

    def __post_init__(self) -> None:
        tools = tuple(tool.schema for tool in TOOLS.tool_list)
        opened = SessionOpened(
            session="s", cwd="/", model=self.server.model, system=f"SYSTEM {MARKED}", tools=tools, version="0"
        )
        self.store.append([opened], expected=0)

    def agent(self) -> Agent:
        """Return an agent as another process would make it from the same journal."""
        return Agent(
            store=self.store,
            toolbox=TOOLS,
            connect=self.server.connect,
            mode="yolo",
            limits=FAST,
            context=SENDING,
            window=lambda _: 0,
            emit=lambda _: None,
        )

    async def turn(self, text: str) -> str:
        """Run a turn by a new agent, as another process would, and return why it ended."""
        self.keep_only(len(self.entries))
        agent = self.agent()
        try:
            return (await agent.run(text)).cause
        finally:
            await agent.close()

    @property
    def entries(self) -> list[Entry]:
        return [record.entry for record in self.store.read().records]

    def keep_only(self, count: int) -> None:
        """Leave the journal as a process that was killed then would have."""
        entries = self.entries[:count]
        self.store = MemoryStore()
        self.store.append(entries, expected=0)


def name(value: object) -> str:
    return value.id if isinstance(value, RefusalRow) else str(value)


def played(row: RefusalRow, wire: Wire) -> RefusingServer:
    """Return a server that refuses by this row as long as a request has what the row is about."""
    status = 400 if 400 in row.statuses else min(row.statuses)
    refused = Refused(row.example, status)
    call = Answer("I look.", "hm, hm", (("read", {"path": "a"}),))
    match row.recovery:
        case "thinking":
            # It thinks before every call, so that whatever is sent back of it is refused.
            return RefusingServer(wire, refused, has_thinking, [call, call, call, DONE])
        case "markers":
            return RefusingServer(wire, refused, has_markers, [call, DONE])
        case "tools":
            return RefusingServer(wire, refused, declares(MCP), [call, DONE])
        case "one_call":
            several = Answer("Both.", "", (("read", {"path": "a"}), ("read", {"path": "b"})))
            return RefusingServer(wire, refused, lambda body: calls_at_once(body) > 1, [several, DONE])
        case _:
            return RefusingServer(wire, refused, has_image, [Answer("", "", (("look", {}),)), DONE])


@pytest.mark.parametrize(("row", "wire"), sampled(list(product(CONTENT, WIRES)), 24), ids=name)
async def test_a_refused_part_is_left_out_for_good(row: RefusalRow, wire: Wire) -> None:
    with serving(played(row, wire)) as server:
        session = Played(server)
        assert await session.turn("go") == "finished"
        assert len(server.refusals) == 1, [json.dumps(server.requests[each])[:2_000] for each in server.refusals]
        decided = max(
            place
            for place, entry in enumerate(session.entries)
            if isinstance(entry, RequestsChanged) or (isinstance(entry, RequestFailed) and entry.retry_in == 0)
        )
        assert await session.turn("next") == "finished"
        session.keep_only(decided + 1)  # killed before the further request
        assert await session.turn("and on") == "finished"
        assert len(server.refusals) == 1
        (failed,) = [entry for entry in session.entries if isinstance(entry, RequestFailed)]
        changes = [entry for entry in session.entries if isinstance(entry, RequestsChanged)]
        assert failed.fault in ("no_images", "bad_images") or [each.refusal for each in changes] == [row.id]


@pytest.mark.parametrize(("row", "wire"), sampled(list(product(CONTENT, WIRES)), 16), ids=name)
async def test_a_server_that_refuses_everything_gets_one_further_request(row: RefusalRow, wire: Wire) -> None:
    server = played(row, wire)
    needed = server.refuses
    begun = False

    def refuses(body: Json) -> bool:
        nonlocal begun
        begun = begun or needed(body)
        return begun

    server.refuses = refuses
    with serving(server):
        session = Played(server)
        assert await session.turn("go") == "provider"
        assert len(server.refusals) == 2
        first, second = (server.requests[each] for each in server.refusals)
        assert first != second
        assert needed(first)
        assert not needed(second)


LONG = [row for row in ROWS if row.recovery == "shorten"]


@pytest.mark.parametrize(("row", "wire"), sampled(list(product(LONG, WIRES)), 24), ids=name)
async def test_a_conversation_that_is_too_long_is_shortened(row: RefusalRow, wire: Wire) -> None:
    status = next(each for each in (400, 500, 429, 413) if each in row.statuses)
    refused = Refused(row.example, status, body="" if row.bare else None)
    server = RefusingServer(wire, refused, lambda body: len(json.dumps(history_text(body))) > 150_000, [DONE])
    with serving(server):
        session = Played(server)
        for number in range(4):
            assert await session.turn(f"{number} " + "word " * 8_000) == "finished"
        assert len(server.refusals) == 1
        assert [entry.why for entry in session.entries if isinstance(entry, Compacted)] == ["overflow"]
        (failed,) = [entry for entry in session.entries if isinstance(entry, RequestFailed)]
        assert failed.fault == "too_long"


def history_text(body: Json) -> object:
    return body.get("messages") or body.get("input") or body.get("contents")


UNKNOWN = Refused("The stars are wrong.")


@pytest.mark.parametrize("wire", WIRES)
async def test_a_refusal_that_no_row_knows_ends_the_turn(wire: Wire) -> None:
    with serving(RefusingServer(wire, UNKNOWN, lambda _: True, [DONE])) as server:
        session = Played(server)
        assert await session.turn("go") == "provider"
        assert len(server.requests) == 1
        (failed,) = [entry for entry in session.entries if isinstance(entry, RequestFailed)]
        assert (failed.fault, failed.retry_in) == ("rejected", None)
