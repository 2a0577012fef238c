"""Images of messages that wait: shown with their words when those are sent, and with them only."""

from __future__ import annotations

import asyncio

from agent_harness import Rig, waits
from holdfast.agent.stop_cause import StopCause
from holdfast.session.conversation.conversation import Conversation, UserMessage
from holdfast.session.journal.entries import PromptAccepted, Queued, Steered, TurnEnded
from holdfast.testing.script import Call, Hold, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool
from holdfast.tool_calls import Image
from holdfast.tools.tool import ToolContext, ToolOutput
from shown_images import picture

FIRST, SECOND = picture("first.png"), picture("second.png")


def last_content(sent: Conversation) -> list[str]:
    """Return what the last message says behind its results, each image by its name."""
    last = sent.messages[-1]
    assert isinstance(last, UserMessage)
    return [f"<{one.name}>" if isinstance(one, Image) else one for one in last.content]


def named(image: Image) -> list[str]:
    """Return what an image is sent as."""
    return [f"[Image {image.described}:]", f"<{image.name}>"]


class Held:
    """A turn that is held in a tool, with an image in its prompt."""

    def __init__(self, *after: list[Say | Call | Hold]) -> None:
        self.reached, self.opened = asyncio.Event(), asyncio.Event()
        script = [[Call("gate", {})], *after]
        self.rig = Rig(ScriptedModel(script), [FunctionTool("gate", "read", self._gate)])
        self.agent = self.rig.agent

    async def _gate(self, arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        self.reached.set()
        await self.opened.wait()
        return ToolOutput(text="through")

    async def begin(self) -> asyncio.Task[TurnEnded]:
        turn = asyncio.create_task(self.agent.run("go", images=(FIRST,)))
        await self.reached.wait()
        return turn


async def test_a_steers_image_goes_with_it_and_another_process_sends_the_same() -> None:
    session = Held([Say("as you say")], [Say("still")])
    turn = await session.begin()
    message = session.agent.queue("rather so", "steer", images=(SECOND,))
    session.opened.set()
    assert (await turn).cause == "finished"
    sent = session.rig.model.requests[-1]
    assert last_content(sent) == [*named(SECOND), "rather so"]
    assert Steered(queued=message, text="rather so", images=(SECOND,)) in session.rig.entries

    await session.rig.new_agent().run("go on")
    assert session.rig.model.requests[-1].messages[: len(sent.messages)] == sent.messages


async def test_an_image_for_later_begins_the_next_turn() -> None:
    session = Held([Say("first")], [Say("second")])
    turn = await session.begin()
    message = session.agent.queue("and then", "later", images=(SECOND,))
    session.opened.set()
    await turn
    assert last_content(session.rig.model.requests[1]) == []
    assert last_content(session.rig.model.requests[2]) == [*named(SECOND), "and then"]
    assert PromptAccepted(turn=2, text="and then", queued=message, images=(SECOND,)) in session.rig.entries


async def test_a_recalled_message_shows_no_image() -> None:
    session = Held([Say("first")])
    turn = await session.begin()
    message = session.agent.queue("no", "steer", images=(SECOND,))
    assert session.agent.recall(message) == "no"
    session.opened.set()
    await turn
    assert last_content(session.rig.model.requests[-1]) == []
    assert not any(SECOND.name in str(sent.messages) for sent in session.rig.model.requests)


async def test_an_image_that_waits_when_the_turn_is_stopped_waits_on_with_its_words() -> None:
    started = asyncio.Event()
    rig = Rig(ScriptedModel([[Call("wait", {})], [Say("fine")]]), [waits("wait", started=started)])
    turn = asyncio.create_task(rig.agent.run("go"))
    await started.wait()
    message = rig.agent.queue("and this", "steer", images=(SECOND,))
    rig.agent.stop(StopCause("user"))
    await turn
    (waiting,) = rig.new_agent().conversation.queued
    assert (waiting.on_hold, waiting.message) == (
        True,
        Queued(id=message, text="and this", when="steer", images=(SECOND,)),
    )


async def test_a_rewind_takes_images_back_with_their_prompt_and_leaves_earlier_ones() -> None:
    rig = Rig(ScriptedModel([[Say("one")], [Say("two")], [Say("again")]]))
    await rig.agent.run("see", images=(FIRST,))
    await rig.agent.run("and this", images=(SECOND,))
    assert await rig.agent.rewind(2) == "and this"
    await rig.agent.run("rather not")
    one, _, again = rig.model.requests
    assert again.messages[0] == one.messages[0]
    assert SECOND.name not in str(again.messages)
