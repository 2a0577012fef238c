"""A message with an id runs once, however often and to whichever process it is sent, and each repeat ends as it did."""

from __future__ import annotations

import asyncio

import pytest

from agent_harness import waits
from holdfast.errors import UsageError
from holdfast.host import commands as c
from holdfast.host import events as h
from holdfast.host.hosted_session import RULES_OF
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from host_harness import FakeServers, HostRig

LIBRARY = RULES_OF["library"]


def script(*answers: str) -> ScriptedModel:
    return ScriptedModel([[Say(each)] for each in answers])


def busy() -> HostRig:
    """Return a host whose first turn waits in a call."""
    return HostRig(ScriptedModel([[Call("slow", {})], [Say("one")], [Say("two")]]), [waits("slow")], rules=LIBRARY)


def texts(rig: HostRig) -> list[str]:
    return [each.text for each in rig.entries if isinstance(each, e.PromptAccepted | e.Steered)]


async def in_its_call(rig: HostRig) -> None:
    async with asyncio.timeout(5):
        while not any(isinstance(each, e.CallStarted) for each in rig.entries):  # noqa: ASYNC110 - there is no event to await
            await asyncio.sleep(0)


async def result(submission: c.Submission) -> c.CommandResult:
    return await asyncio.wait_for(submission, 5)


async def restarted(rig: HostRig, model: ScriptedModel) -> HostRig:
    """Close the session, and open its journal in another host."""
    await rig.host.close()
    store = MemoryStore()
    store.append(rig.entries, expected=0)
    return HostRig(model, rules=LIBRARY, store=store)


@pytest.mark.parametrize("when", ["steer", "later"])
async def test_a_message_that_is_sent_twice_while_a_turn_runs_is_queued_once(when: e.When) -> None:
    rig = busy()
    rig.host.submit(c.Prompt("first"))
    await in_its_call(rig)
    one, two = (rig.host.submit(c.Prompt("pay 100", when, id="k1")) for _ in range(2))
    other = rig.host.submit(c.Prompt("pay 200", when, id="k1"))
    with pytest.raises(UsageError, match=r"Message 'k1' was sent before with another text\. Nothing was sent"):
        await result(other)
    assert (await one.accepted, await two.accepted) == ("k1", "k1")
    assert [each.text for each in rig.entries if isinstance(each, e.Queued)] == ["pay 100"]
    rig.host.submit(c.Stop())
    assert await result(one) == await result(two)
    await rig.host.close()


async def test_a_repeat_ends_as_the_first_did_while_that_runs_after_it_ran_and_after_a_restart() -> None:
    rig = HostRig(script("one", "two"), rules=LIBRARY)
    first = rig.host.submit(c.Prompt("pay 100", id="k1"))
    await first.accepted
    beside = rig.host.submit(c.Prompt("pay 100", id="k1"))
    ended = await result(first)
    assert isinstance(ended, e.TurnEnded)
    assert await result(beside) == ended
    assert await result(rig.host.submit(c.Prompt("something else"))) != ended
    assert await result(rig.host.submit(c.Prompt("pay 100", id="k1"))) == ended
    again = await restarted(rig, script("never"))
    assert await result(again.host.submit(c.Prompt("pay 100", id="k1"))) == ended
    with pytest.raises(UsageError, match="another text"):
        await result(again.host.submit(c.Prompt("pay 101", id="k1")))
    assert texts(again) == ["pay 100", "something else"]
    answered = [
        each.submission for each in again.client.of(h.Accepted, h.Refused) if isinstance(each, h.Accepted | h.Refused)
    ]
    assert answered == [1, 2]
    await again.host.close()


async def test_a_message_that_a_stopped_turn_did_not_reach_runs_when_it_is_sent_again() -> None:
    rig = busy()
    rig.host.submit(c.Prompt("first"))
    await in_its_call(rig)
    waiting = rig.host.submit(c.Prompt("pay 100", "later", id="k1"))
    await waiting.accepted
    rig.host.submit(c.Stop())
    ended = await result(waiting)
    assert isinstance(ended, e.TurnEnded)
    assert ended.cause == "user"
    assert texts(rig) == ["first"]
    again = await result(rig.host.submit(c.Prompt("pay 100", id="k1")))
    assert isinstance(again, e.TurnEnded)
    assert (again.turn, again.reason) == (2, "end_turn")
    assert texts(rig) == ["first", "pay 100"]
    assert rig.host.agent.conversation.queued == ()
    await rig.host.close()


async def test_a_message_whose_turn_was_lost_with_its_process_is_settled_and_does_not_run_again() -> None:
    store = MemoryStore()
    rig = HostRig(script(), rules=LIBRARY, store=store)
    store.append([e.PromptAccepted(turn=1, text="pay 100", queued="k1")], expected=store.length)
    rig = HostRig(script("never"), rules=LIBRARY, store=store)
    ended = await result(rig.host.submit(c.Prompt("pay 100", id="k1")))
    assert isinstance(ended, e.TurnEnded)
    assert (ended.turn, ended.cause) == (1, "crash")
    assert texts(rig) == ["pay 100"]
    await rig.host.close()


async def test_a_message_that_was_recalled_is_not_sent_under_its_id() -> None:
    rig = busy()
    rig.host.submit(c.Prompt("first"))
    await in_its_call(rig)
    taken = rig.host.submit(c.Prompt("pay 100", id="k1"))
    await taken.accepted
    await result(rig.host.submit(c.Recall("k1")))
    with pytest.raises(UsageError, match="Message 'k1' was recalled before it was sent"):
        await result(rig.host.submit(c.Prompt("pay 100", id="k1")))
    await rig.host.close()


async def test_the_prompt_of_a_server_is_known_again_by_what_was_typed() -> None:
    servers = FakeServers()
    servers.answer.set()
    rig = HostRig(script("one"), rules=LIBRARY, servers=servers)
    first = await result(rig.host.submit(c.Prompt("/mcp__fake__deploy", id="k1")))
    assert await result(rig.host.submit(c.Prompt("/mcp__fake__deploy", id="k1"))) == first
    assert texts(rig) == ["deploy"]
    await rig.host.close()


async def test_every_work_ends_at_the_close_and_a_wait_that_is_cancelled_ends_nothing() -> None:
    rig = busy()
    submissions = [rig.host.submit(c.Prompt("first"))]
    await in_its_call(rig)
    submissions += [rig.host.submit(c.Prompt("pay 100", "later", id=name)) for name in ("k1", "k1", "k2", "")]
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(submissions[1], 0.01)
    await rig.host.close()
    assert [each.ended.done() and not each.ended.cancelled() for each in submissions] == [True] * 5
