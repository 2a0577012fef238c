"""The driver of a fleet's session, over a record in memory: what it does with rows, faults, places and leases."""

from __future__ import annotations

import asyncio

import pytest
from memory_driving import Driving, Place
from memory_record import MemoryRecord

from holdfast.errors import LeaseLost
from holdfast.fleet.postgres.database import InDoubt, ServerAway
from holdfast.fleet.worker.session_driver import GO_ON, MOST_TRIES, DriveRules
from holdfast.session.journal import entries as e
from holdfast.testing.script import Call, Hold, Say


async def test_equal_messages_are_each_carried_out_once() -> None:
    """Two rows with the same text are two messages: each is marked as done by its own entry."""
    driving = Driving((Say("a"),), (Say("b"),), (Say("c"),), (Say("d"),))
    rows = [driving.record.ask("prompt", text="go") for _ in range(3)]
    assert await driving.run() == "released"
    assert driving.prompts == ["go", "go", "go"]
    seqs = [driving.record.seq_of(row) for row in rows]
    assert len(set(seqs)) == len(rows)
    for seq in seqs:
        assert isinstance(seq, int)
        assert isinstance(driving.record.journal[seq - 1], e.PromptAccepted)


async def test_what_arrives_while_nothing_runs_is_served_before_the_session_is_given_back() -> None:
    driving = Driving()
    rename, recall = driving.record.ask("rename", title="A day"), driving.record.ask("recall", id="q99")
    async with asyncio.timeout(30):
        assert await driving.run() == "released"
    assert [type(entry) for entry in driving.record.journal[1:]] == [e.Titled]
    assert driving.record.seq_of(rename) == 2
    assert driving.record.seq_of(recall) != "open"
    assert driving.record.take().waiting_rows() == ()


def test_one_entry_marks_one_row() -> None:
    record = MemoryRecord()
    held = record.take()
    first, second = record.ask("rename", title="one"), record.ask("rename", title="two")
    for row in held.waiting_rows():
        held.expect(row)
    held.store.append([e.title_entry("one")], expected=0)
    assert (record.seq_of(first), record.seq_of(second)) == (1, "open")
    held.store.append([e.title_entry("two")], expected=1)
    assert (record.seq_of(first), record.seq_of(second)) == (1, 2)
    # Rows that ask for the same can have the same entry only by their order.
    third, fourth, fifth = (record.ask("rename", title="three") for _ in range(3))
    for row in held.waiting_rows():
        held.expect(row)
    held.store.append([e.title_entry("three"), e.title_entry("three")], expected=2)
    assert [record.seq_of(each) for each in (third, fourth, fifth)] == [3, 4, "open"]
    held.store.append([e.title_entry("three")], expected=4)
    assert record.seq_of(fifth) == 5


async def test_a_place_that_could_not_be_saved_says_so_in_the_row() -> None:
    driving = Driving((Say("a"),), place=Place("the remote refused it"))
    driving.record.ask("prompt", text="go")
    assert await driving.run() == "released"
    assert driving.record.place["unsaved"] == "the remote refused it"
    assert "turn" not in driving.record.place
    saved = Driving((Say("a"),))
    saved.record.ask("prompt", text="go")
    await saved.run()
    assert (saved.record.place.get("unsaved"), saved.record.place["turn"], saved.place.saved) == (None, 1, [1])


async def test_the_place_is_stored_before_anything_is_done_there() -> None:
    driving = Driving((Say("a"),), place=Place(identity="new"))
    driving.record.ask("prompt", text="go")
    driving.record.fault, driving.record.fault_at = LeaseLost("taken"), "select holdfast.put_place"
    with pytest.raises(LeaseLost):
        await driving.run()
    assert driving.record.journal == []


async def test_a_question_is_parked_and_its_answer_goes_on() -> None:
    driving = Driving((Call("work", {"name": "x"}),), (Say("done"),))
    driving.record.ask("prompt", text="go")
    waits = driving.record.ask("prompt", text="then")
    assert await driving.run() == "released"
    assert (driving.effects, driving.ends) == ([], [])
    assert driving.record.seq_of(waits) == "open"
    (asked,) = [entry for entry in driving.record.journal if isinstance(entry, e.ApprovalAsked)]
    wrong = driving.record.ask("answer", question="another", choice="once")
    answer = driving.record.ask("answer", question=asked.call, choice="once")
    driving.model.extend((Say("then done"),))
    driving.rules = DriveRules(park_after=None)
    assert await driving.run() == "released"
    assert driving.effects == ["x"]
    assert driving.ends == ["finished", "finished"]
    assert isinstance(driving.record.seq_of(answer), int)
    assert "no open question" in str(driving.record.seq_of(wrong))


async def test_a_fault_in_the_middle_is_raised_and_the_turn_is_continued_by_the_next() -> None:
    """The server went away in a turn: nothing is held, and the next driver settles it and goes on."""
    driving = Driving((Say("half"), Hold("gate"), Say("never")), (Say("went on"),))
    driving.record.ask("prompt", text="go")

    def away() -> None:
        driving.record.fault, driving.record.fault_at = ServerAway("no room"), "select holdfast.append"
        driving.record.fault_once = False
        driving.model.release("gate")

    with pytest.raises(ServerAway):
        await driving.run(away)
    assert driving.record.held == ""
    assert driving.record.released == []
    driving.record.fault = None
    assert await driving.run() == "released"
    assert driving.prompts == ["go", GO_ON]
    assert driving.ends[-1] == "finished"
    assert len(driving.ends) == len(driving.prompts)


async def test_an_append_in_doubt_is_not_written_twice() -> None:
    driving = Driving((Say("a"),))
    driving.record.ask("prompt", text="go")
    driving.record.fault, driving.record.fault_at = InDoubt("cut"), "select holdfast.append"
    assert await driving.run() == "released"
    assert (driving.prompts, driving.ends) == (["go"], ["finished"])


async def test_a_lost_lease_ends_the_drive_and_writes_nothing_more() -> None:
    driving = Driving((Say("half"), Hold("gate"), Say("never")))
    driving.record.ask("prompt", text="go")
    before: list[int] = []

    def taken() -> None:
        before.append(len(driving.record.entries))
        driving.record.lease = "of another"
        driving.model.release("gate")

    with pytest.raises(LeaseLost):
        await driving.run(taken)
    assert [len(driving.record.entries)] == before


async def test_a_session_in_which_five_workers_died_is_held_and_four_are_not() -> None:
    for tries, held in ((MOST_TRIES - 1, False), (MOST_TRIES, True)):
        driving = Driving((Say("a"),), (Say("went on"),))
        driving.record.ask("prompt", text="go")
        await driving.run()
        # As a worker leaves it that died in the next turn:
        session = driving.record.take()
        began = e.PromptAccepted(turn=2, text="poison")
        session.store.append([began], expected=session.store.length)
        driving.record.tries = tries
        assert await driving.run() == ("held" if held else "released")
        assert ("workers died" in driving.record.held) is held


async def test_a_session_in_which_four_workers_died_is_given_on_by_a_worker_that_ends() -> None:
    for tries, end in ((MOST_TRIES - 1, "requeue"), (MOST_TRIES, "held")):
        driving = Driving((Say("a"),))
        driving.record.ask("prompt", text="go")
        await driving.run()
        session = driving.record.take()
        session.store.append([e.PromptAccepted(turn=2, text="poison")], expected=session.store.length)
        driving.record.tries = tries
        assert await driving.run(drained=True) == end


async def test_a_drained_driver_gives_the_session_to_another() -> None:
    driving = Driving((Say("half"), Hold("gate"), Say("never")))
    driving.record.ask("prompt", text="go")
    driving.rules = DriveRules(grace=0.1)

    def drain() -> None:
        assert driving.driver is not None
        driving.driver.drain()

    assert await driving.run(drain) == "requeue"
    assert driving.record.released == ["again"]
    assert driving.ends == ["external"]


async def test_one_turn_and_no_more_in_a_takeover() -> None:
    driving = Driving((Say("a"),), (Say("b"),))
    driving.rules = DriveRules(one_turn=True)
    for text in ("one", "two"):
        driving.record.ask("prompt", text=text)
    assert await driving.run() == "requeue"
    assert driving.prompts == ["one"]
