"""What a typed line of an editor is, and what an editor cannot do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from agent_harness import opened, says
from holdfast.errors import UsageError
from holdfast.host import commands as c
from holdfast.host import events as h
from holdfast.host.hosted_session import RULES_OF
from holdfast.questions import QuestionRules, older_question
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Hold, Reply, Say
from holdfast.testing.scripted_model import ScriptedModel
from host_harness import HostRig

EDITOR = RULES_OF["editor"]


def prompts(rig: HostRig) -> list[str]:
    return [each.text for each in rig.entries if isinstance(each, e.PromptAccepted)]


def names(rig: HostRig) -> list[str]:
    return [each.name for each in rig.host.slash_commands()]


async def when(holds: Callable[[], object]) -> None:
    """Let the loop run until that holds."""
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110 - there is no event to await
            await asyncio.sleep(0)


def left_open(*replies: Reply) -> HostRig:
    """Return the host of a session whose process died while it asked about a call."""
    store = MemoryStore()
    model = "openai-chat:scripted"
    calls = (CallPart(id="dead00000", name="act", arguments="{}"),)
    store.append(
        [
            opened(),
            e.PromptAccepted(turn=1, text="do it"),
            e.RequestStarted(step=1, attempt=1, model=model),
            e.ResponseEnded(step=1, model=model, parts=calls, usage=Usage(), finish="calls"),
            e.ApprovalAsked(call="dead00000", question=older_question("dead00000", "It runs a command.")),
        ],
        expected=0,
    )
    return HostRig(ScriptedModel(replies), [says("act", effect="execute")], "ask", EDITOR, store)


@pytest.mark.parametrize("line", ["/usr/bin is full", "/compactor", "say /compact", "/tea"])
async def test_a_slash_that_names_no_command_is_a_prompt_of_an_editor(line: str) -> None:
    rig = HostRig(ScriptedModel([[Say("ok")]]), rules=EDITOR)
    await rig.host.submit(c.Typed(line)).ended
    assert prompts(rig) == [line]
    await rig.host.close()


@pytest.mark.parametrize("line", ["/status", " /status\n", "/cost"])
async def test_spaces_around_a_command_change_nothing(line: str) -> None:
    rig = HostRig(ScriptedModel(), rules=EDITOR)
    await rig.host.submit(c.Typed(line)).ended
    assert len(rig.client.of(h.Lines)) == 1
    assert prompts(rig) == []
    await rig.host.close()


@pytest.mark.parametrize("line", ["/new", "/quit", "/clear"])
async def test_a_command_does_not_leave_a_session_that_an_editor_holds(line: str) -> None:
    rig = HostRig(ScriptedModel(), rules=EDITOR)
    with pytest.raises(UsageError, match="an editor opens and closes its sessions"):
        await rig.host.submit(c.Typed(line)).ended
    assert rig.client.of(h.LeaveRequested) == []
    assert {"new", "quit", "continue"}.isdisjoint(names(rig))
    assert {"new", "quit"} <= set(names(HostRig(ScriptedModel(), rules=RULES_OF["plain"])))
    await rig.host.close()


async def test_a_mode_that_the_place_does_not_offer_is_refused_however_it_is_asked_for() -> None:
    rig = HostRig(ScriptedModel(), mode="ask", rules=EDITOR)
    rig.host.agent.permissions.offered = QuestionRules(yolo=False)
    for command in (c.UseMode("yolo"), c.Typed("/permissions yolo"), c.Slash("mode", "yolo")):
        with pytest.raises(UsageError, match="yolo"):
            await rig.host.submit(command).ended
    await rig.host.submit(c.Typed("/mode")).ended
    (lines,) = [each.lines for each in rig.client.events if isinstance(each, h.Lines)]
    assert lines[1] == "Modes: ask, accept-edits, plan."
    assert rig.host.agent.mode == "ask"
    await rig.host.close()


async def test_a_command_stops_the_turn_and_is_done_behind_its_end() -> None:
    rig = HostRig(ScriptedModel([[Hold("never")]]), rules=EDITOR)
    turn = rig.host.submit(c.Typed("first"))
    await when(lambda: any(isinstance(each, e.RequestStarted) for each in rig.entries))
    command = rig.host.submit(c.Typed("/rename Mine"))
    await command.ended
    ended = await turn.ended
    assert isinstance(ended, e.TurnEnded)
    assert ended.cause == "user"
    assert [type(each) for each in rig.entries[-2:]] == [e.TurnEnded, e.Titled]
    await rig.host.close()


async def test_what_is_settled_without_asking_leaves_the_question_open() -> None:
    rig = left_open([Say("whole")])
    length = len(rig.entries)
    await rig.host.submit(c.Continue(ask_again=False)).ended
    assert rig.client.of(h.Asked) == []
    assert len(rig.entries) == length
    assert rig.host.agent.recovery.can_resume
    assert "continue" in names(rig)
    await rig.host.close()


@pytest.mark.parametrize("line", ["do it", "/continue"])
async def test_the_prompt_of_an_open_question_sent_again_asks_it_again(line: str) -> None:
    rig = left_open([Say("whole")])
    turn = rig.host.submit(c.Typed(line))
    await when(lambda: rig.client.of(h.Asked))
    (asked,) = [each for each in rig.client.events if isinstance(each, h.Asked)]
    rig.host.submit(c.Answer(asked.question.id, "once"))
    ended = await turn.ended
    assert isinstance(ended, e.TurnEnded)
    assert (ended.cause, prompts(rig)) == ("finished", ["do it"])
    with pytest.raises(UsageError, match="no question is open"):
        await rig.host.submit(c.Typed("/continue")).ended
    await rig.host.close()


async def test_another_prompt_does_not_ask_the_open_question() -> None:
    rig = left_open([Say("else")])
    await rig.host.submit(c.Typed("something else")).ended
    assert rig.client.of(h.Asked) == []
    assert [each.outcome for each in rig.entries if isinstance(each, e.CallEnded)] == ["not_started"]
    await rig.host.close()
