"""What no tool, model, disk or listener should do, and some will: the turn settles anyway."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest

from agent_harness import Rig, opened, says, waits
from holdfast.agent.events import Event, Fact, TurnFailed
from holdfast.agent.model_request import connection
from holdfast.config.settings import Limits
from holdfast.errors import AppendConflict, StorageFailed
from holdfast.providers.model import StreamEvent, StreamFinished
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import CallEnded, Entry, PromptAccepted, ResponseEnded, Titled, TurnEnded
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.journal.store import MemoryStore, conflict
from holdfast.system.threads import in_daemon
from holdfast.testing.script import Call, Hold, Reply, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tool_calls import ProcessId
from holdfast.tools.tool import Plan, ToolContext, ToolOutput


async def goes_on(rig: Rig) -> None:
    """Assert that the next prompt gets its answer, and that the fold is that of the journal."""
    rig.model.extend([Say("still here")])
    assert (await rig.agent.run("go on")).cause == "finished"
    assert rig.agent.turn is None
    assert rig.agent.conversation == fold(rig.entries)


async def test_a_tool_that_cancels_itself_has_failed_and_the_turn_goes_on() -> None:
    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        raise asyncio.CancelledError

    rig = Rig(ScriptedModel([[Call("odd", {})], [Say("I see")]]), [FunctionTool("odd", "execute", run)])
    assert (await rig.agent.run("go")).cause == "finished"
    assert rig.results()["odd"].outcome == "failed"
    await goes_on(rig)


class Breaks(ScriptedModel):
    """A model that raises what no model should."""

    @asynccontextmanager
    async def _stream(
        self, conversation: Conversation, *, non_streaming: bool
    ) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        del non_streaming
        self.requests.append(conversation)
        raise ZeroDivisionError
        yield  # pragma: no cover - makes it a generator


async def test_a_model_that_raises_anything_ends_its_response_at_once() -> None:
    rig = Rig(Breaks(), limits=Limits(attempts=1))
    ended = await asyncio.wait_for(rig.agent.run("go"), 2)
    assert ended.cause == "provider"
    assert "ZeroDivisionError" in ended.detail


async def test_the_time_that_our_own_libraries_take_is_not_the_models() -> None:
    model = ScriptedModel([(Say("here"),)])

    async def connect(name: str) -> ScriptedModel:
        del name
        await in_daemon(lambda: time.sleep(0.3))
        return model

    rig = Rig(model, limits=Limits(first_event=0.1, attempts=1))
    rig.agent._connection._connect = connect
    ended = await rig.agent.run("go")
    assert ended.cause == "finished", ended.detail


class Blocked(ScriptedModel):
    """A model before whose first event the event loop is blocked for longer than it may be silent."""

    @asynccontextmanager
    async def _stream(
        self, conversation: Conversation, *, non_streaming: bool
    ) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        await asyncio.sleep(0)
        time.sleep(0.5)  # noqa: ASYNC251 - it is what is tried
        await asyncio.sleep(0.01)
        async with super()._stream(conversation, non_streaming=non_streaming) as events:
            yield events


async def test_the_time_in_which_the_event_loop_is_blocked_is_not_the_models() -> None:
    rig = Rig(Blocked([(Say("here"),)]), limits=Limits(first_event=0.2, attempts=1))
    ended = await rig.agent.run("go")
    assert ended.cause == "finished", ended.detail


async def test_a_connection_that_never_comes_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LOADING", 0.02)

    async def connect(name: str) -> ScriptedModel:
        del name
        await asyncio.sleep(3600)
        raise AssertionError

    rig = Rig(ScriptedModel())
    rig.agent._connection._connect = connect
    ended = await asyncio.wait_for(rig.agent.run("go"), 5)
    assert ended.cause == "provider"
    assert "importing its library took longer" in ended.detail
    assert TurnFailed("not_loaded") in rig.events


class Slow(FunctionToolbox):
    """A toolbox whose former processes take their time."""

    async def wait_for_exit(self, commands: Mapping[str, ProcessId | None]) -> bool:
        await asyncio.sleep(3600)
        return await super().wait_for_exit(commands)


async def test_a_recovery_that_is_cancelled_can_be_done_again() -> None:
    store = MemoryStore()
    store.append([opened(), PromptAccepted(turn=1, text="begun")], expected=0)
    rig = Rig(ScriptedModel(), store=store, toolbox=Slow([]))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(rig.agent.run("go on"), 0.02)
    rig.agent.recovery._toolbox = FunctionToolbox([])
    await goes_on(rig)


@pytest.mark.parametrize("at", range(1, 11))
async def test_a_listener_that_raises_ends_the_turn_and_forks_nothing(at: int) -> None:
    rig = Rig(ScriptedModel([[Call("quick", {}), Call("quick", {"at": 2})], [Say("done")]]), [says("quick")])
    facts = 0

    def emit(event: Event) -> None:
        nonlocal facts
        facts += isinstance(event, Fact)
        if facts == at:
            raise OSError("nobody listens")

    rig.emit = emit
    with pytest.raises(OSError, match="nobody listens"):
        await rig.agent.run("go")
    rig.emit = None
    rig.model._steps.clear()
    await goes_on(rig)


@pytest.mark.parametrize("kind", [BrokenPipeError, ValueError])
async def test_a_listener_of_an_author_that_raises_ends_nothing_and_is_reported_once(kind: type[Exception]) -> None:
    rig = Rig(ScriptedModel([[Call("quick", {})], [Say("done")]]), [says("quick")], ends_with_listener=False)
    heard: list[Event] = []

    def emit(event: Event) -> None:
        heard.append(event)
        raise kind("nobody listens")

    rig.emit = emit
    reported: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    ended = await rig.agent.run("go")
    assert (ended.reason, ended.cause) == ("end_turn", "finished")
    assert rig.results()["quick"].outcome == "ok"
    assert [event.entry for event in heard if isinstance(event, Fact)][-1] == ended
    (context,) = reported
    assert isinstance(context["exception"], kind)
    assert str(context["message"]).startswith("emit raised an exception. The turn goes on.")


async def test_closing_stops_the_turn_that_runs() -> None:
    started = asyncio.Event()
    rig = Rig(ScriptedModel([[Call("slow", {})]]), [waits("slow", started=started)])
    turn = asyncio.create_task(rig.agent.run("go"))
    await started.wait()
    await rig.agent.close()
    assert (await turn).cause == "external"
    assert isinstance(rig.entries[-1], TurnEnded)


class Shared(MemoryStore):
    """A journal to which another process has appended `strange`."""

    strange: Sequence[Entry] = ()

    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        if self.strange:
            super().append(self.strange, expected=self.length)
            self.strange = ()
            raise conflict(expected=expected, found=self.length)
        return super().append(entries, expected=expected)


async def test_entries_of_another_process_are_read_and_the_next_prompt_works() -> None:
    store = Shared()
    store.append([opened()], expected=0)
    rig = Rig(ScriptedModel(), store=store)
    store.strange = [PromptAccepted(turn=1, text="from elsewhere")]
    with pytest.raises(AppendConflict):
        await rig.agent.run("mine")
    await goes_on(rig)
    assert "from elsewhere" in str(rig.model.requests[-1].messages)


class Between(MemoryStore):
    """A journal in which another process writes just before the first entry of a kind is appended."""

    before: type[Entry] | None = None
    strange: Sequence[Entry] = ()

    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        if self.before is not None and any(isinstance(entry, self.before) for entry in entries):
            self.before = None
            super().append(self.strange, expected=self.length)
            raise conflict(expected=expected, found=self.length)
        return super().append(entries, expected=expected)


async def test_a_result_that_is_in_hand_is_not_unknown_because_another_process_wrote() -> None:
    store = Between()
    store.append([opened()], expected=0)
    store.before, store.strange = CallEnded, [Titled(title="from elsewhere")]
    rig = Rig(ScriptedModel([(Call("a", {}),)]), tools=(says("a", "42"),), store=store)
    assert (await rig.agent.run("go")).cause == "storage"
    assert rig.outcomes == {"a": "ok"}
    assert rig.results()["a"].text == "42"
    await goes_on(rig)


async def test_a_turn_that_another_process_has_ended_is_left_as_it_is() -> None:
    store = Between()
    store.append([opened()], expected=0)
    store.before, store.strange = ResponseEnded, [TurnEnded(turn=1, reason="error", cause="crash")]
    rig = Rig(ScriptedModel([(Say("hello"),)]), store=store)
    assert (await rig.agent.run("go")).cause == "storage"
    assert sum(isinstance(entry, TurnEnded) for entry in rig.entries) == 1
    await goes_on(rig)


class Full(MemoryStore):
    """A disk that refuses the outcome of a call, once or more often."""

    refuses = 1

    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        if self.refuses and any(isinstance(entry, CallEnded) for entry in entries):
            self.refuses -= 1
            raise StorageFailed("Journal cannot be written: the disk is full. Free some space.")
        return super().append(entries, expected=expected)


async def test_a_finished_result_is_not_lost_with_the_write_that_failed() -> None:
    store = Full()
    store.append([opened()], expected=0)
    rig = Rig(ScriptedModel([[Call("quick", {})]]), [says("quick", "the answer is 42")], store=store)
    assert (await rig.agent.run("go")).cause == "storage"
    assert rig.results()["quick"].text == "the answer is 42"
    await goes_on(rig)


class NeverGone(FunctionToolbox):
    """The tools of a session whose own supervisor is alive, as it is after each command."""

    async def wait_for_exit(self, commands: Mapping[str, ProcessId | None]) -> bool:
        del commands
        return False


async def test_what_this_process_could_not_write_is_reported_as_that_and_not_as_left_running() -> None:
    store = Full()
    store.append([opened()], expected=0)
    model = ScriptedModel([[Call("quick", {})], [Say("well")]])
    rig = Rig(model, store=store, toolbox=NeverGone([says("quick", "the answer is 42")]))
    store.refuses = 2  # of the call itself, and of the turn that ends by that
    assert (await rig.agent.run("go")).cause == "storage"
    await rig.agent.run("again")
    (left, _) = [entry for entry in rig.entries if isinstance(entry, TurnEnded)]
    assert (left.cause, left.detail) == ("storage", "Journal cannot be written: the disk is full. Free some space.")


async def test_only_the_call_that_was_asked_about_was_not_approved() -> None:
    calls = [Call("act", {}), Call("look", {})]
    rig = Rig(ScriptedModel([calls]), [says("act", effect="execute"), says("look")], "ask")
    await rig.agent.run("go")
    assert "not approved" in rig.results()["act"].text
    assert "not approved" not in rig.results()["look"].text
    assert "before this call began" in rig.results()["look"].text


async def test_a_plan_that_takes_its_time_does_not_hold_up_a_stop() -> None:
    class Ponders(FunctionTool):
        def plan(self, call: str, arguments: str) -> Plan:
            time.sleep(2)
            return super().plan(call, arguments)

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        raise AssertionError((arguments, context))

    rig = Rig(ScriptedModel([[Call("ponders", {})]]), [Ponders("ponders", "write", run)])
    turn = asyncio.create_task(rig.agent.run("go"))
    while not any(isinstance(entry, ResponseEnded) for entry in rig.entries):  # noqa: ASYNC110 - no event to await
        await asyncio.sleep(0)
    rig.agent.stop()
    ended = await asyncio.wait_for(turn, 1)
    assert ended.cause == "user"
    assert rig.results()["ponders"].outcome == "not_started"


async def test_what_arrived_together_with_the_stop_is_kept() -> None:
    rig = Rig(ScriptedModel([[Say("abcdefgh", chunk=1), Hold("never")]]))
    seen: list[int] = []

    def emit(event: Event) -> None:
        rig.events.append(event)
        if getattr(event, "text", "") == "c" and not seen:
            seen.append(1)
            asyncio.get_running_loop().call_soon(rig.agent.stop)

    rig.emit = emit
    await rig.agent.run("go")
    live = "".join(text for event in rig.events if isinstance(text := getattr(event, "text", None), str))
    (cut,) = [entry for entry in rig.entries if isinstance(entry, ResponseEnded)]
    assert "".join(getattr(part, "text", "") for part in cut.parts) == live
    assert live.startswith("abc")


async def test_halves_of_a_character_in_what_a_model_sends_end_nothing() -> None:
    class Odd(ScriptedModel):
        async def _play(self, reply: Reply) -> AsyncGenerator[StreamEvent]:
            del reply
            call = CallPart(id="", name="quick\ud800", arguments='{"x": "\ud800"}', wire_id="\ud800")
            thought = ThinkingPart("hm \ud800", signature="s", details={"x": "\ud800"})
            finish = "calls" if len(self.requests) == 1 else "stop"
            parts = (thought, TextPart("so \ud800"), call) if finish == "calls" else (TextPart("done"),)
            yield StreamFinished(parts, finish, Usage())

    rig = Rig(Odd([[], []]), [says("quick")])
    assert (await rig.agent.run("go")).cause == "finished"
    assert rig.agent.conversation == fold(rig.entries)
