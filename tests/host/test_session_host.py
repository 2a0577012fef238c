"""What a host does with each command, and the traps that random stories found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from agent_harness import opened, says, waits
from holdfast.agent.events import Fact
from holdfast.errors import StorageFailed, ToolFailed, UsageError
from holdfast.host import commands as c
from holdfast.host import events as h
from holdfast.host.hosted_session import RULES_OF, Surface
from holdfast.host.wake import WAKE_PROMPT
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import MemoryStore
from holdfast.session.journal.tasks import TaskEnded
from holdfast.testing.script import Call, Hold, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool
from holdfast.tools.tool import ToolContext, ToolOutput
from host_harness import Client, FakeServers, HostRig


class FullStore(MemoryStore):
    """A store that refuses entries of a kind, once that is set."""

    refused: type | None = None

    def append(self, entries: Sequence[e.Entry], *, expected: int) -> int:
        """Append, or raise that the disk is full."""
        if self.refused is not None and any(isinstance(each, self.refused) for each in entries):
            raise StorageFailed("The disk is full. Free some space.")
        return super().append(entries, expected=expected)


def kinds(rig: HostRig, *wanted: type) -> list[str]:
    return [type(each).__name__ for each in rig.client.of(*wanted)]


async def reached(rig: HostRig, entry: type) -> None:
    """Let the loop run until the client has heard of such an entry."""
    await when(lambda: any(isinstance(each, Fact) and isinstance(each.entry, entry) for each in rig.client.events))


async def when(holds: Callable[[], object]) -> None:
    """Let the loop run until that holds."""
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110 - there is no event to await
            await asyncio.sleep(0)


def prompts(rig: HostRig) -> list[str]:
    return [each.text for each in rig.entries if isinstance(each, e.PromptAccepted)]


async def test_a_prompt_is_accepted_by_its_entry_and_ends_with_its_turn() -> None:
    rig = HostRig(ScriptedModel([[Say("hello")]]))
    submission = rig.host.submit(c.Prompt("hi"))
    assert await submission.accepted == ""
    assert not submission.ended.done()
    ended = await submission.ended
    assert isinstance(ended, e.TurnEnded)
    assert kinds(rig, h.Busy, h.Idle, h.Accepted) == ["Busy", "Accepted", "Idle"]
    assert rig.client.of(h.Idle) == [h.Idle(ended)]
    await rig.host.close()


async def test_a_command_of_the_user_is_accepted_by_its_start_and_not_by_its_end() -> None:
    rig = HostRig(ScriptedModel(), [waits("bash")])
    shell = rig.host.submit(c.Shell("sleep 60"))
    await asyncio.wait_for(shell.accepted, 5)
    assert not shell.ended.done()
    assert [type(each) for each in rig.entries[1:]] == [e.ShellStarted]
    rig.host.submit(c.Stop())
    ended = await shell.ended
    assert isinstance(ended, e.ShellEnded)
    assert ended.outcome == "interrupted"
    await rig.host.close()


async def test_a_turn_that_begins_while_a_command_runs_tells_no_second_busy() -> None:
    rig = HostRig(ScriptedModel([[Say("hello")]]), [waits("bash")])
    await rig.host.submit(c.Shell("sleep 60")).accepted
    await rig.host.submit(c.Prompt("hi")).ended
    assert kinds(rig, h.Busy, h.Idle) == ["Busy"]
    rig.host.submit(c.Stop())
    await rig.host.close()
    assert kinds(rig, h.Busy, h.Idle) == ["Busy", "Idle"]


async def test_two_commands_that_end_together_tell_one_idle() -> None:
    rig = HostRig(ScriptedModel(), [waits("bash")])
    shells = [rig.host.submit(c.Shell("sleep 60")) for _ in range(2)]
    await asyncio.gather(*(each.accepted for each in shells))
    rig.host.submit(c.Stop())
    await asyncio.gather(*(each.ended for each in shells))
    await asyncio.sleep(0)
    assert kinds(rig, h.Busy, h.Idle) == ["Busy", "Idle"]
    await rig.host.close()


async def test_what_still_waits_when_the_session_closes_is_refused() -> None:
    rig = HostRig(ScriptedModel([[Hold("never")]]))
    waiting = [rig.host.submit(c.Prompt(f"prompt {number}")) for number in range(3)]
    await rig.host.close()
    for submission in waiting:
        with pytest.raises(UsageError, match="was closed before"):
            await asyncio.wait_for(submission.accepted, 5)
    refused = [each for each in rig.client.events if isinstance(each, h.Refused)]
    assert [each.text for each in refused] == ["prompt 0", "prompt 1", "prompt 2"]
    assert prompts(rig) == []
    late = rig.host.submit(c.Prompt("too late"))
    with pytest.raises(UsageError):
        await late.ended
    assert isinstance(rig.client.events[-1], h.Closed)


async def test_a_stop_reaches_what_was_submitted_before_it_and_nothing_after() -> None:
    rig = HostRig(ScriptedModel([[Say("the second")]]))
    first = rig.host.submit(c.Prompt("first"))
    rig.host.submit(c.Stop())
    second = rig.host.submit(c.Prompt("second"))
    ended = await first.ended
    assert isinstance(ended, e.TurnEnded)
    assert (ended.cause, prompts(rig)[0]) == ("user", "first")
    assert len(rig.model.requests) == 0
    ended = await second.ended
    assert isinstance(ended, e.TurnEnded)
    assert (ended.cause, prompts(rig)) == ("finished", ["first", "second"])
    assert len(rig.model.requests) == 1
    await rig.host.close()


async def test_a_command_that_was_stopped_before_it_began_begins_and_is_stopped() -> None:
    rig = HostRig(ScriptedModel(), [waits("bash")])
    shell = rig.host.submit(c.Shell("sleep 60"))
    rig.host.submit(c.Stop())
    ended = await shell.ended
    assert isinstance(ended, e.ShellEnded)
    assert ended.outcome == "interrupted"
    await rig.host.close()


async def test_a_stop_ends_the_wait_for_a_server_and_the_text_returns() -> None:
    rig = HostRig(ScriptedModel())
    waiting = rig.host.submit(c.Prompt("/mcp__fake__review"))
    await when(lambda: rig.servers.waiting)
    rig.host.submit(c.Stop())
    with pytest.raises(ToolFailed):
        await waiting.accepted
    assert [each.text for each in rig.client.events if isinstance(each, h.Refused)] == ["/mcp__fake__review"]
    assert rig.client.of(h.Busy, h.Idle) == []
    before = rig.host.submit(c.Prompt("/mcp__fake__again"))
    rig.host.submit(c.Stop())
    with pytest.raises(UsageError, match="before its text was made"):
        await before.accepted
    assert rig.servers.waiting == 1
    await rig.host.close()


async def test_a_message_for_the_running_turn_is_queued_and_ends_with_it() -> None:
    rig = HostRig(ScriptedModel([[Hold("first")], [Say("both")]]))
    turn = rig.host.submit(c.Prompt("first"))
    await reached(rig, e.RequestStarted)
    queued = rig.host.submit(c.Prompt("second", "later", id="row-7"))
    assert await queued.accepted == "row-7"
    assert not queued.ended.done()
    rig.model.release("first")
    assert isinstance(await turn.ended, e.TurnEnded)
    assert isinstance(await queued.ended, e.TurnEnded)
    assert prompts(rig) == ["first", "second"]
    await rig.host.close()


@pytest.mark.parametrize(("surface", "sent", "returned"), [
    ("screen", ["first"], ["later one\n\nlater two"]),
    ("stream", ["first", "later one", "later two"], []),
    ("plain", ["first"], []),
])  # fmt: skip
async def test_what_a_stopped_turn_did_not_reach(surface: Surface, sent: list[str], returned: list[str]) -> None:
    rig = HostRig(ScriptedModel([[Hold("never")], [Say("one")], [Say("two")]]), rules=RULES_OF[surface])
    turn = rig.host.submit(c.Prompt("first"))
    await reached(rig, e.RequestStarted)
    for text in ("later one", "later two"):
        await rig.host.submit(c.Prompt(text, "later")).accepted
    rig.host.submit(c.Stop())
    await turn.ended
    assert prompts(rig) == sent
    assert [each.text for each in rig.client.events if isinstance(each, h.Returned)] == returned
    still_queued = rig.host.agent.conversation.queued
    assert len(still_queued) == (2 if surface == "plain" else 0)
    order = kinds(rig, h.Returned, h.Idle)
    assert order == [*(["Returned"] if returned else []), "Idle"]
    await rig.host.close()


async def test_messages_stay_queued_for_a_user_who_leaves() -> None:
    rig = HostRig(ScriptedModel([[Hold("never")]]), rules=RULES_OF["screen"])
    turn = rig.host.submit(c.Prompt("first"))
    await reached(rig, e.RequestStarted)
    await rig.host.submit(c.Prompt("for later", "later")).accepted
    rig.host.keep_messages()
    rig.host.submit(c.Stop("signal"))
    await turn.ended
    assert [each.message.text for each in rig.host.agent.conversation.queued] == ["for later"]
    assert rig.client.of(h.Returned) == []
    await rig.host.close()


@pytest.mark.parametrize("cause", ["signal", "output", "max_cost"])
async def test_after_a_stop_that_ends_the_run_nothing_more_is_sent(cause: e.Cause) -> None:
    rig = HostRig(ScriptedModel([[Hold("never")]]), rules=RULES_OF["stream"])
    turn = rig.host.submit(c.Prompt("first"))
    await reached(rig, e.RequestStarted)
    second = rig.host.submit(c.Prompt("second", "later"))
    await second.accepted
    rig.host.submit(c.Stop(cause))
    await turn.ended
    await second.ended  # who waits for the end of all that it sent does not wait for ever
    assert prompts(rig) == ["first"]
    await rig.host.close()


async def test_a_second_prompt_of_an_editor_stops_the_first() -> None:
    rig = HostRig(ScriptedModel([[Hold("never")], [Say("second")]]), rules=RULES_OF["editor"])
    first = rig.host.submit(c.Prompt("first"))
    await reached(rig, e.RequestStarted)
    second = rig.host.submit(c.Prompt("second"))
    ended = [await first.ended, await second.ended]
    assert [each.cause for each in ended if isinstance(each, e.TurnEnded)] == ["user", "finished"]
    await rig.host.close()


async def test_a_prompt_that_cannot_be_journalled_returns_and_nothing_else_does() -> None:
    store = FullStore()
    begun = e.PromptAccepted(turn=1, text="first")
    held = e.Queued(id="q3", text="of an earlier process", when="later")
    store.append([opened(), begun, held, e.TurnEnded(turn=1, reason="cancelled", cause="user")], expected=0)
    store.refused = e.PromptAccepted
    rig = HostRig(ScriptedModel(), store=store)
    with pytest.raises(StorageFailed):
        await rig.host.submit(c.Prompt("lost?")).ended
    assert rig.client.of(h.Refused) == [h.Refused(1, "The disk is full. Free some space.", None, "lost?")]
    assert rig.client.of(h.Returned, h.Accepted) == []
    await rig.host.close()


async def test_text_is_code_only_where_it_was_typed() -> None:
    rig = HostRig(ScriptedModel([[Say("one")], [Say("two")]]), [says("bash", effect="execute")])
    await rig.host.submit(c.Prompt("!rm x")).ended
    await rig.host.submit(c.Prompt("/quit")).ended
    assert prompts(rig) == ["!rm x", "/quit"]
    assert not any(isinstance(each, e.ShellStarted) for each in rig.entries)
    await rig.host.submit(c.Typed("!!ls")).ended
    shell = [each for each in rig.entries if isinstance(each, e.ShellStarted)]
    assert [(each.command, each.shared) for each in shell] == [("ls", True)]
    rig.host.submit(c.Typed("/quit"))
    rig.host.submit(c.Typed("/new"))
    await rig.host.submit(c.Typed("/rename My title")).ended
    assert rig.client.of(h.LeaveRequested) == [h.LeaveRequested(), h.LeaveRequested(renew=True)]
    assert rig.host.agent.conversation.title == "My title"
    await rig.host.close()


async def test_a_surface_without_a_keyboard_types_nothing() -> None:
    rig = HostRig(ScriptedModel(), rules=RULES_OF["stream"])
    with pytest.raises(UsageError, match="reads no commands"):
        await rig.host.submit(c.Typed("/rename x")).ended
    await rig.host.close()


@pytest.mark.parametrize(("line", "answer"), [
    ("/model", "Now: openai-chat:scripted."),
    ("/effort high", "Model settings: effort high."),
    ("/effort what", "Levels: "),
    ("/permissions plan", "Mode: plan."),
    ("/mode", "Modes: "),
    ("/rename", "set the title"),
    ("/status", "Session rig, 0 turns."),
    ("/cost", "Tokens: 0 in, 0 out"),
    ("/help", "/compact: "),
])  # fmt: skip
async def test_a_slash_command_is_answered_in_lines(line: str, answer: str) -> None:
    rig = HostRig(ScriptedModel(), rules=RULES_OF["plain"])
    submission = rig.host.submit(c.Typed(line))
    await submission.ended
    (lines,) = [each for each in rig.client.events if isinstance(each, h.Lines)]
    assert lines.submission == submission.number
    assert any(answer in each for each in lines.lines)
    await rig.host.close()


@pytest.mark.parametrize("line", ["/nonsense", "/mode what", "/uncompact", "/compact"])
async def test_a_slash_command_that_cannot_be_done_is_refused_and_its_text_returns(line: str) -> None:
    rig = HostRig(ScriptedModel(), rules=RULES_OF["plain"])
    with pytest.raises(UsageError):
        await rig.host.submit(c.Typed(line)).ended
    assert [each.text for each in rig.client.events if isinstance(each, h.Refused)] == [line]
    await rig.host.close()


async def test_the_first_answer_wins_and_one_that_was_not_offered_is_refused() -> None:
    rig = HostRig(ScriptedModel([[Call("change", {})], [Say("done")]]), [says("change", effect="execute")], "ask")
    other = Client()
    turn = rig.host.submit(c.Prompt("go"))
    await when(lambda: rig.client.of(h.Asked))
    rig.host.listen(other.events.append)
    (asked,) = [each for each in other.events if isinstance(each, h.Asked)]
    with pytest.raises(UsageError, match="not offered"):
        await rig.host.submit(c.Answer(asked.question.id, "free")).accepted
    first = rig.host.submit(c.Answer(asked.question.id, "once"))
    second = rig.host.submit(c.Answer(asked.question.id, "no", "never"))
    await first.accepted
    with pytest.raises(UsageError, match="no open question"):
        await second.accepted
    await turn.ended
    assert [each.outcome for each in rig.entries if isinstance(each, e.CallEnded)] == ["ok"]
    assert other.of(h.AskClosed) == [h.AskClosed(asked.question.id)]
    await rig.host.close()


def served() -> tuple[FunctionTool, asyncio.Event]:
    """Return a background command, and what ends it."""
    over = asyncio.Event()

    async def serve(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        await over.wait()
        return ToolOutput(text="served")

    return FunctionTool("serve", "execute", serve, background=True), over


async def test_a_task_that_ends_during_a_turn_begins_none() -> None:
    tool, over = served()
    rig = HostRig(ScriptedModel([[Call("serve", {})], [Hold("here"), Say("It has ended.")]]), [tool], wake=True)
    turn = rig.host.submit(c.Prompt("serve it"))
    await when(lambda: len(rig.model.requests) == 2)
    over.set()
    await reached(rig, TaskEnded)
    await rig.host.submit(c.Rename("served after the wake-up")).ended
    rig.model.release("here")
    await turn.ended
    assert prompts(rig) == ["serve it"]
    assert not any(isinstance(each, e.Queued) for each in rig.entries)
    await rig.host.close()


async def test_an_ended_task_begins_a_turn_if_nothing_runs() -> None:
    tool, over = served()
    model = ScriptedModel([[Call("serve", {})], [Say("It runs.")], [Say("It has ended.")]])
    rig = HostRig(model, [tool], wake=True)
    await rig.host.submit(c.Prompt("serve it")).ended
    assert not any(isinstance(each, TaskEnded) for each in rig.entries)
    over.set()
    await when(lambda: len([each for each in rig.entries if isinstance(each, e.TurnEnded)]) == 2)
    assert prompts(rig) == ["serve it", WAKE_PROMPT]
    numbers = [each.submission for each in rig.client.events if isinstance(each, h.Accepted | h.Refused)]
    assert numbers == [1]  # no client submitted the other
    await rig.host.close()


@pytest.mark.parametrize("stops", [False, True])
async def test_a_task_that_ends_during_the_last_answer_begins_a_turn_behind_it(*, stops: bool) -> None:
    over = asyncio.Event()

    async def serve(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        await over.wait()
        return ToolOutput(text="served")

    tool = FunctionTool("serve", "execute", serve, background=True)
    last = [Say("It runs."), Hold("written")]
    model = ScriptedModel([[Call("serve", {})], last, [Say("It has ended.")], [Say("Yes.")]])
    rig = HostRig(model, [tool], wake=True)
    turn = rig.host.submit(c.Prompt("serve it"))
    await when(lambda: len(model.requests) == 2)
    over.set()
    await when(lambda: any(isinstance(each, TaskEnded) for each in rig.entries))
    if stops:
        await rig.host.submit(c.Stop("user")).ended
    else:
        model.release("written")
    await turn.ended
    if stops:  # what the user stopped does not begin again by itself
        await rig.host.submit(c.Prompt("well?")).ended
        assert prompts(rig) == ["serve it", "well?"]
    else:
        await when(lambda: len([each for each in rig.entries if isinstance(each, e.TurnEnded)]) == 2)
        assert prompts(rig) == ["serve it", WAKE_PROMPT]
        assert [each.cause for each in rig.entries if isinstance(each, e.PromptAccepted)] == ["", "wake"]
    await rig.host.close()


async def test_an_internal_error_is_sent_and_raised_to_the_client_that_waits() -> None:
    rig = HostRig(ScriptedModel(), servers=FakeServers(fault=ZeroDivisionError("hi")))
    with pytest.raises(ZeroDivisionError):
        await rig.host.submit(c.Prompt("/mcp__fake__hi")).ended
    (refused,) = [each for each in rig.client.events if isinstance(each, h.Refused)]
    assert (refused.fault, refused.text) == ("bug", "/mcp__fake__hi")
    await rig.host.close()


async def test_a_rewind_returns_the_text_and_is_refused_while_a_turn_runs() -> None:
    rig = HostRig(ScriptedModel([[Say("one")], [Hold("never")]]))
    await rig.host.submit(c.Prompt("first")).ended
    assert await rig.host.submit(c.Rewind(1)).ended == "first"
    assert [each.text for each in rig.client.events if isinstance(each, h.Returned)] == ["first"]
    await rig.host.submit(c.Prompt("second")).accepted
    with pytest.raises(UsageError, match="busy"):
        await rig.host.submit(c.Rewind(1)).ended
    await rig.host.close()


async def test_a_question_that_a_crash_left_open_is_asked_again_without_a_new_entry() -> None:
    store = MemoryStore()
    rig = HostRig(ScriptedModel([[Call("change", {})]]), [says("change", effect="execute")], "ask", store=store)
    rig.host.submit(c.Prompt("go"))
    await reached(rig, e.ApprovalAsked)
    left = list(rig.entries)  # the process is killed here
    again = MemoryStore()
    again.append(left, expected=0)
    rig2 = HostRig(ScriptedModel([[Say("done")]]), [says("change", effect="execute")], "ask", store=again)
    resumed = rig2.host.submit(c.Continue())
    await resumed.accepted
    (asked,) = [each for each in rig2.client.events if isinstance(each, h.Asked)]
    assert len([each for each in rig2.entries if isinstance(each, e.ApprovalAsked)]) == 1
    rig2.host.submit(c.Answer(asked.question.id, "once"))
    assert isinstance(await resumed.ended, e.TurnEnded)
    await rig2.host.close()
    await rig.host.close()
