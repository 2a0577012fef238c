"""Every row of the table of refusals, by its words and by each of its codes, played by a server on a socket that keeps
refusing, on each wire: a row that is added is played too.

The turn in which something is refused is answered by at most one further request, the next turn works, also in a
process that knows only the journal up to the decision, and what was refused is not sent again. Only what passes by
itself is asked again, unchanged and bounded.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import product
from typing import get_args

import pytest

from agent_harness import FAST, SENDING
from holdfast.agent.agent import Agent
from holdfast.providers.refusals import ROWS, RefusalRecovery
from holdfast.session.journal.entries import Compacted, Entry, RequestFailed, RequestsChanged
from holdfast.session.journal.store import MemoryStore
from played_refusals import DONE, NEEDED, SAID, TOOLS, WIRES, Said, name, opened_for, played, with_recovery
from refusing_server import Json, Refused, RefusingServer, Wire, serving
from tiers import sampled

OTHER: tuple[RefusalRecovery, ...] = ("wait", "none", "reasoning")


LONG = with_recovery("shorten")
CONTENT = [said for said in SAID if said.row.recovery not in ("shorten", *OTHER)]


@dataclass
class Played:
    """A session whose agents talk to the server over sockets."""

    server: RefusingServer
    store: MemoryStore = field(default_factory=MemoryStore)

    def __post_init__(self) -> None:
        self.store.append([opened_for(self.server)], expected=0)

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


def test_every_recovery_is_played() -> None:
    assert (
        {said.row.recovery for said in (*CONTENT, *LONG)} | set(OTHER) == set(get_args(RefusalRecovery)) == set(NEEDED)
    )
    assert {said.row.id for said in SAID} == {row.id for row in ROWS}


@pytest.mark.parametrize(("said", "wire"), sampled(list(product(CONTENT, WIRES)), 40), ids=name)
async def test_a_refused_part_is_left_out_for_good(said: Said, wire: Wire) -> None:
    with serving(played(said, wire)) as server:
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
        assert failed.fault in ("no_images", "bad_images") or [each.refusal for each in changes] == [said.row.id]


@pytest.mark.parametrize(("said", "wire"), sampled(list(product(CONTENT, WIRES)), 24), ids=name)
async def test_a_server_that_refuses_everything_gets_one_further_request(said: Said, wire: Wire) -> None:
    server = played(said, wire)
    has_it, refuse_all = server.refuses, False

    def refuses(body: Json) -> bool:
        nonlocal refuse_all
        refuse_all = refuse_all or has_it(body)
        return refuse_all

    server.refuses = refuses
    with serving(server):
        session = Played(server)
        assert await session.turn("go") == "provider"
        assert len(server.refusals) == 2
        first, second = (server.requests[each] for each in server.refusals)
        assert first != second
        assert has_it(first)
        assert not has_it(second)
        server.refuses = has_it
        assert await session.turn("next") == "finished"
        assert len(server.refusals) == 2


@pytest.mark.parametrize(("said", "wire"), sampled(list(product(LONG, WIRES)), 40), ids=name)
async def test_a_conversation_that_is_too_long_is_shortened(said: Said, wire: Wire) -> None:
    with serving(played(said, wire)) as server:
        session = Played(server)
        for number in range(4):
            assert await session.turn(f"{number} " + "word " * 8_000) == "finished"
        assert len(server.refusals) == 1
        assert [entry.why for entry in session.entries if isinstance(entry, Compacted)] == ["overflow"]
        (failed,) = [entry for entry in session.entries if isinstance(entry, RequestFailed)]
        assert failed.fault == "too_long"


@pytest.mark.parametrize(("said", "wire"), sampled(list(product(LONG, WIRES)), 16), ids=name)
async def test_a_conversation_that_is_always_too_long_is_shortened_once(said: Said, wire: Wire) -> None:
    with serving(played(said, wire)) as server:
        session = Played(server)
        for number in range(3):
            assert await session.turn(f"{number} " + "word " * 8_000) == "finished"
        server.refuses = lambda _: True
        assert await session.turn("word " * 8_000) == "provider"
        refused = [json.dumps(server.requests[each]) for each in server.refusals]
        assert (
            len(set(refused)) == len(refused) == 6
        )  # the summary of ever less: nothing is sent again as it was refused
        assert len([entry for entry in session.entries if isinstance(entry, RequestFailed)]) == 2
        server.refuses = NEEDED[said.row.recovery]
        assert await session.turn("next") == "finished"


@pytest.mark.parametrize(("said", "wire"), sampled(product(with_recovery("wait"), WIRES), 12), ids=name)
async def test_what_passes_by_itself_is_asked_again_unchanged(said: Said, wire: Wire) -> None:
    with serving(played(said, wire)) as server:
        session = Played(server)
        assert await session.turn("go") == "provider"
        assert len(server.requests) == FAST.attempts
        assert len({json.dumps(body) for body in server.requests}) == 1
        server.refuses = lambda _: len(server.refusals) == FAST.attempts
        assert await session.turn("next") == "finished"
        assert len(server.refusals) == FAST.attempts + 1
        assert not any(isinstance(entry, RequestsChanged | Compacted) for entry in session.entries)


@pytest.mark.parametrize(("said", "wire"), sampled(product(with_recovery("none"), WIRES), 4), ids=name)
async def test_what_is_known_and_cannot_be_left_out_ends_the_turn(said: Said, wire: Wire) -> None:
    with serving(played(said, wire)) as server:
        session = Played(server)
        assert await session.turn("go") == "provider"
        assert len(server.requests) == 1
        server.refuses = lambda _: False
        assert await session.turn("next") == "finished"


@pytest.mark.parametrize(("said", "wire"), sampled(product(with_recovery("reasoning"), WIRES), 8), ids=name)
async def test_reasoning_is_given_where_the_wire_has_it(said: Said, wire: Wire) -> None:
    """Gemini's has no place for it: there the decision would send the same bytes again."""
    with serving(played(said, wire)) as server:
        session = Played(server)
        has_field = wire != "gemini"
        assert await session.turn("go") == ("finished" if has_field else "provider")
        assert len(server.refusals) == 1
        changes = [entry for entry in session.entries if isinstance(entry, RequestsChanged)]
        assert [each.change for each in changes] == (["reasoning"] if has_field else [])
        if has_field:
            decided = next(at for at, entry in enumerate(session.entries) if isinstance(entry, RequestsChanged))
            session.keep_only(decided + 1)  # killed before the further request
            assert await session.turn("next") == "finished"
            assert len(server.refusals) == 1


UNKNOWN = Refused("The stars are wrong.")


@pytest.mark.parametrize("wire", WIRES)
async def test_a_refusal_that_no_row_knows_ends_the_turn(wire: Wire) -> None:
    with serving(RefusingServer(wire, UNKNOWN, lambda _: True, [DONE])) as server:
        session = Played(server)
        assert await session.turn("go") == "provider"
        assert len(server.requests) == 1
        (failed,) = [entry for entry in session.entries if isinstance(entry, RequestFailed)]
        assert (failed.fault, failed.retry_in) == ("rejected", None)
