"""Several clients of one host: one question has one answer, and a driver that gives the session on."""

from __future__ import annotations

import asyncio

import pytest

from agent_harness import says, waits
from holdfast.agent.events import Fact
from holdfast.errors import UsageError
from holdfast.host import commands as c
from holdfast.host import events as h
from holdfast.host.hosted_session import RULES_OF
from holdfast.questions import ChoiceName, QuestionRules
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Hold, Say
from holdfast.testing.scripted_model import ScriptedModel
from host_harness import Client, HostRig

CHOICES: tuple[ChoiceName, ...] = ("once", "no")


def asking() -> HostRig:
    """Return a host whose model calls a tool that has to be asked about, then says that it is done."""
    model = ScriptedModel([[Call("change", {})], [Say("done")]])
    return HostRig(model, [says("change", effect="execute")], "ask", RULES_OF["fleet"])


async def until_asked(rig: HostRig) -> str:
    """Return the id of the question, once it is asked."""
    while rig.host.open_question is None:  # noqa: ASYNC110 - there is no event to await
        await asyncio.sleep(0)
    return rig.host.open_question.id


async def test_of_ten_clients_that_answer_at_once_one_counts_and_the_others_are_refused() -> None:
    rig = asking()
    clients = [Client() for _ in range(10)]
    for client in clients:
        rig.host.listen(client.events.append)
    turn = rig.host.submit(c.Prompt("go"))
    question = await until_asked(rig)
    answers = [rig.host.submit(c.Answer(question, CHOICES[number % 2], f"client {number}")) for number in range(10)]
    told = await asyncio.gather(*(each.accepted for each in answers), return_exceptions=True)
    assert [isinstance(each, UsageError) for each in told] == [False, *[True] * 9]
    assert all("no open question" in str(each) for each in told[1:])
    assert rig.host.open_question is None
    await turn.ended
    (answered,) = [each for each in rig.entries if isinstance(each, e.ApprovalAnswered)]
    assert answered.choice == "once"
    assert [each.outcome for each in rig.entries if isinstance(each, e.CallEnded)] == ["ok"]
    for client in clients:
        assert client.of(h.AskClosed) == [h.AskClosed(question)]
        refused = [each.submission for each in client.events if isinstance(each, h.Refused)]
        assert refused == [each.number for each in answers[1:]]
    await rig.host.close()


async def test_a_prompt_that_begins_a_turn_carries_the_id_of_its_client() -> None:
    rig = HostRig(ScriptedModel([[Hold("gate"), Say("one")], [Say("two")]]))
    first = rig.host.submit(c.Prompt("go", id="in-1"))
    await first.accepted
    await rig.host.submit(c.Prompt("then", "later", id="in-2")).accepted
    rig.model.release("gate")
    await first.ended
    ids = [each.queued for each in rig.entries if isinstance(each, e.PromptAccepted)]
    assert ids == ["in-1", "in-2"]
    await rig.host.close()


async def test_a_host_that_only_waits_for_the_user_is_parked_and_another_asks_again() -> None:
    rig = asking()
    assert not await rig.host.park(), "nothing is asked yet"
    rig.host.submit(c.Prompt("go"))
    question = await until_asked(rig)
    assert await rig.host.park()
    assert rig.client.events[-1] == h.Closed()
    assert isinstance(rig.entries[-1], e.ApprovalAsked)
    store = MemoryStore()
    store.append(rig.entries, expected=0)
    model = ScriptedModel([[Say("done")]])
    again = HostRig(model, [says("change", effect="execute")], "ask", RULES_OF["fleet"], store)
    turn = again.host.submit(c.Continue())
    assert await until_asked(again) == question
    again.host.submit(c.Answer(question, "once"))
    ended = await turn.ended
    assert isinstance(ended, e.TurnEnded)
    assert ended.cause == "finished"
    await again.host.close()


async def test_a_host_is_not_parked_while_a_command_of_the_user_runs_or_its_answer_is_on_its_way() -> None:
    model = ScriptedModel([[Call("change", {})], [Say("done")]])
    rig = HostRig(model, [says("change", effect="execute"), waits("bash")], "ask", RULES_OF["screen"])
    rig.host.submit(c.Prompt("go"))
    question = await until_asked(rig)
    shell = rig.host.submit(c.Shell("sleep 60"))
    assert not await rig.host.park(), "a command waits"
    await shell.accepted
    assert not await rig.host.park(), "a command runs"
    rig.host.submit(c.Answer(question, "once"))
    assert not await rig.host.park(), "it is answered"
    rig.host.submit(c.Stop())
    await rig.host.close()
    assert any(isinstance(each, Fact) and isinstance(each.entry, e.ShellEnded) for each in rig.client.events)


async def test_a_mode_that_is_not_offered_is_refused() -> None:
    rig = HostRig(ScriptedModel([]), mode="ask", rules=RULES_OF["server"])
    rig.host.agent.permissions.offered = QuestionRules(yolo=False)
    with pytest.raises(UsageError, match="'yolo' is not offered"):
        await rig.host.submit(c.UseMode("yolo")).accepted
    assert rig.host.agent.mode == "ask"
    await rig.host.submit(c.UseMode("plan")).accepted
    await rig.host.close()
    assert rig.host.agent.mode == "plan"
