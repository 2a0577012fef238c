"""The bound on what a run costs: which request may begin, whatever came before."""

from __future__ import annotations

import asyncio
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from agent_harness import FAST, Rig, says
from holdfast.agent.turn.budget import Spent, over_bound
from holdfast.config.settings import Limits
from holdfast.session.journal.entries import (
    Compacted,
    Entry,
    RequestFailed,
    RequestStarted,
    ResponseEnded,
    Titled,
    TurnEnded,
)
from holdfast.session.journal.parts import Usage
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from journals import journals
from laws import law

CENTS = st.integers(0, 300)


def response(cents: int | None, *, cut: bool = False) -> Entry:
    usage = Usage(cost=None if cents is None else str(Decimal(cents) / 100))
    return ResponseEnded(step=1, model="a:b", parts=(), usage=usage, cut="user" if cut else None)


def spent(entries: list[Entry]) -> Spent:
    now = Spent()
    for entry in entries:
        now = now.after(entry)
    return now


def cost_of(entry: Entry) -> tuple[Decimal, bool]:
    """Return what an entry says was paid, and whether a cost is missing."""
    if isinstance(entry, Compacted | Titled | ResponseEnded):
        is_cut = isinstance(entry, ResponseEnded) and entry.cut is not None
        return Decimal(entry.usage.cost or 0), entry.usage.cost is None and not is_cut
    if isinstance(entry, RequestFailed) and entry.usage is not None:  # a complete response that was no answer
        return Decimal(entry.usage.cost or 0), entry.usage.cost is None
    return Decimal(0), False


@law()
@given(journals, st.floats(0.01, 5))
def test_a_request_may_begin_if_what_was_spent_is_known_and_less_than_the_bound(
    entries: list[Entry], bound: float
) -> None:
    costs = [cost_of(entry) for entry in entries]
    known = not any(missing for _, missing in costs)
    free = known and sum(cost for cost, _ in costs) < Decimal(str(bound))
    assert (over_bound(spent(entries), bound) == "") == free


@law()
@given(st.lists(CENTS, max_size=8), st.integers(1, 500))
def test_order_does_not_matter_and_the_detail_says_what_was_spent(cents: list[int], bound: int) -> None:
    entries = [response(each) for each in cents]
    why = over_bound(spent(entries), bound / 100)
    assert why == over_bound(spent(entries[::-1]), bound / 100)
    assert bool(why) == (sum(cents) >= bound)
    assert not why or why.startswith(f"${(Decimal(sum(cents)) / 100).normalize():f} of $")


def test_an_unknown_cost_ends_it_and_that_of_a_cut_response_does_not() -> None:
    assert over_bound(spent([response(1, cut=True), response(None, cut=True)]), 0.02) == ""
    assert over_bound(spent([response(1, cut=True), response(None, cut=True)]), 0.01) == "$0.01 of $0.01"
    assert "a response by a:b is not known" in over_bound(spent([response(1), response(None)]), 9)


@law()
@given(CENTS.filter(bool), st.integers(1, 20))
def test_a_turn_ends_before_the_first_request_over_the_bound(cents: int, affordable: int) -> None:
    asyncio.run(_ends(cents, affordable))


async def _ends(cents: int, affordable: int) -> None:
    price = Usage(cost=str(Decimal(cents) / 100))
    rig = Rig(
        ScriptedModel([[Call("quick", {"at": at})] for at in range(affordable + 3)], usage=price),
        [says("quick")],
        limits=Limits(max_cost=affordable * cents / 100, max_steps=None),
    )
    ended = await rig.agent.run("loop")
    assert (ended.reason, ended.cause) == ("max_cost", "max_cost")
    assert len(rig.model.requests) == affordable
    assert {result.outcome for result in rig.results().values()} == {"ok"}
    again = await rig.agent.run("go on")  # the bound is of the run, so a second prompt sends nothing
    assert (again.cause, len(rig.model.requests)) == ("max_cost", affordable)
    assert not any(isinstance(entry, RequestStarted) for entry in rig.entries[-2:])
    rig.model.extend([Say("works")])
    rig.limits = FAST
    rig.agent = rig.new_agent()
    rig.model._steps[:] = [[Say("works")]]
    assert (await rig.agent.run("with more money")).cause == "finished"
    assert "the run reached its cost limit" in str(rig.model.requests[-1].messages[-1])


async def test_what_the_session_cost_before_does_not_count() -> None:
    rig = Rig(ScriptedModel([[Say("one")], [Say("two")]], usage=Usage(cost="1.00")))
    await rig.agent.run("first")
    rig.limits = Limits(max_cost=0.5)
    rig.agent = rig.new_agent()
    assert (await rig.agent.run("second")).cause == "finished"
    assert isinstance(rig.entries[-1], TurnEnded)
