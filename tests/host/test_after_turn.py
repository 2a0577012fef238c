"""Who may begin a turn behind another: in order, once, with its cause, and not behind what the user stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from holdfast.agent.seam import NextPrompt
from holdfast.host import commands as c
from holdfast.host.wake import Wake
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Hold, Say
from holdfast.testing.scripted_model import ScriptedModel
from host_harness import HostRig
from polling import HANGS


async def until(holds: Callable[[], object]) -> None:
    """Wait for the host to get there."""
    async with asyncio.timeout(HANGS):
        while not holds():  # noqa: ASYNC110 - it says so in no event
            await asyncio.sleep(0.001)


class Once:
    """Begins one turn behind the first prompt of the user."""

    def __init__(self, text: str, cause: str = "goal") -> None:
        self.due = False
        self.prompt: NextPrompt | None = NextPrompt(text, cause)
        self.asked = 0

    def hear(self, entry: e.Entry) -> bool:
        """Be due once a turn has begun."""
        self.due = self.due or isinstance(entry, e.PromptAccepted)
        return False

    def next_prompt(self, conversation: Conversation) -> NextPrompt | None:
        """Return the prompt, once."""
        assert not conversation.is_open
        self.asked += 1
        self.due = False
        prompt, self.prompt = self.prompt, None
        return prompt


def prompts(rig: HostRig) -> list[tuple[str, str]]:
    return [(each.text, each.cause) for each in rig.entries if isinstance(each, e.PromptAccepted)]


def ends(rig: HostRig) -> int:
    return sum(isinstance(each, e.TurnEnded) for each in rig.entries)


async def test_the_first_that_has_a_prompt_begins_the_turn_and_the_next_comes_behind_that() -> None:
    first, second = Once("keep going"), Once("look again", "review")
    rig = HostRig(ScriptedModel([[Say("a")], [Say("b")], [Say("c")]]), after_turn=(first, second))
    await rig.host.submit(c.Prompt("go")).ended
    await until(lambda: ends(rig) == 3)
    assert prompts(rig) == [("go", ""), ("keep going", "goal"), ("look again", "review")]
    await rig.host.close()
    assert ends(rig) == 3


async def test_none_of_them_has_a_prompt_and_the_turn_is_the_last() -> None:
    step = Once("")
    step.prompt = None
    rig = HostRig(ScriptedModel([[Say("a")]]), after_turn=(step,))
    await rig.host.submit(c.Prompt("go")).ended
    await until(lambda: step.asked == 1)
    await rig.host.submit(c.Rename("served behind it")).ended
    assert prompts(rig) == [("go", "")]
    await rig.host.close()


async def test_nothing_begins_behind_a_turn_that_the_user_stopped() -> None:
    step = Once("keep going")
    rig = HostRig(ScriptedModel([[Hold("here")]]), after_turn=(step,))
    turn = rig.host.submit(c.Prompt("go"))
    await until(lambda: len(rig.model.requests) == 1)
    rig.host.submit(c.Stop("user"))
    await turn.ended
    await rig.host.submit(c.Rename("served behind it")).ended
    assert prompts(rig) == [("go", "")]
    assert step.asked == 0
    await rig.host.close()


async def test_nothing_begins_in_a_session_that_closes_and_the_next_process_begins_nothing_by_itself() -> None:
    step = Once("keep going")
    rig = HostRig(ScriptedModel([[Say("a")]]), after_turn=(step,))
    turn = rig.host.submit(c.Prompt("go"))
    while not rig.model.requests:  # noqa: ASYNC110 - a look at each step: the turn has not ended when the session closes
        await asyncio.sleep(0)
    await rig.host.close()
    await asyncio.wait({turn.ended})
    left = prompts(rig)
    stored = MemoryStore()
    stored.append(tuple(rig.entries), expected=0)
    again = HostRig(ScriptedModel([[Say("b")]]), store=stored, after_turn=(Wake(),))
    await again.host.submit(c.Rename("opened again")).ended
    assert prompts(again) == left == [("go", "")]
    await again.host.close()
