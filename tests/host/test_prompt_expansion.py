"""A step may make the text of a prompt: the only wait before the journal, bounded, and ended by a stop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from holdfast.agent.seam import Expanded, ExpandPrompt
from holdfast.errors import ToolFailed, UsageError
from holdfast.host import commands as c
from holdfast.host import prompt_expansion
from holdfast.host.events import Refused
from holdfast.session.journal import entries as e
from holdfast.testing.script import Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tool_calls import Image
from host_harness import HostRig

PICTURE = Image(media_type="image/png", data=b"hi", name="a.png")


def doubled(text: str) -> Awaitable[Expanded] | None:
    """Expand `/twice TEXT`."""

    async def made() -> Expanded:
        return Expanded(text.removeprefix("/twice ") * 2, (PICTURE,))

    return made() if text.startswith("/twice ") else None


def rig_with(*steps: ExpandPrompt) -> HostRig:
    return HostRig(ScriptedModel([[Say("ok")], [Say("ok")]]), expand_prompt=steps)


def prompts(rig: HostRig) -> list[e.PromptAccepted]:
    return [each for each in rig.host.agent.journal.entries() if isinstance(each, e.PromptAccepted)]


async def test_the_prompt_is_what_the_first_step_made_and_the_journal_has_what_was_typed() -> None:
    rig = rig_with(doubled, lambda text: None if text else doubled("/twice never"))
    await rig.host.submit(c.Prompt("/twice ha")).ended
    await rig.host.submit(c.Prompt("plain")).ended
    first, second = prompts(rig)
    assert (first.text, first.typed, first.images) == ("haha", "/twice ha", (PICTURE,))
    assert (second.text, second.typed, second.images) == ("plain", "", ())
    await rig.host.close()


async def test_a_text_that_no_step_knows_waits_for_nothing_before_the_journal() -> None:
    rig = rig_with(doubled)
    plain = rig.host.submit(c.Prompt("plain"))
    steps = 0
    while not prompts(rig):
        await asyncio.sleep(0)
        steps += 1
    without = HostRig(ScriptedModel([[Say("ok")]]))
    other = without.host.submit(c.Prompt("plain"))
    less = 0
    while not prompts(without):
        await asyncio.sleep(0)
        less += 1
    assert steps == less
    await plain.ended
    await other.ended
    await rig.host.close()
    await without.host.close()


@pytest.mark.parametrize("how", ["stop", "close"])
async def test_a_stop_ends_the_wait_and_nothing_is_journalled(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_expansion, "EXPANSION_ENDS", 0.01)
    begun = asyncio.Event()

    def endless(text: str) -> Awaitable[Expanded] | None:
        async def waits() -> Expanded:
            begun.set()
            await asyncio.Event().wait()
            return Expanded(text)

        return waits() if text == "/wait" else None

    rig = rig_with(endless)
    waiting = rig.host.submit(c.Prompt("/wait"))
    await begun.wait()
    if how == "stop":
        rig.host.submit(c.Stop())
    else:
        await rig.host.close()
    with pytest.raises(UsageError, match="was stopped before its text was made"):
        await waiting.ended
    assert prompts(rig) == []
    assert [each.text for each in rig.client.events if isinstance(each, Refused)] == ["/wait"]
    if how == "stop":
        await rig.host.submit(c.Prompt("next")).ended
        assert [each.text for each in prompts(rig)] == ["next"]
        await rig.host.close()


async def test_a_step_that_does_not_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_expansion, "EXPAND_PROMPT", 0.01)

    def endless(text: str) -> Awaitable[Expanded] | None:
        async def waits() -> Expanded:
            await asyncio.Event().wait()
            return Expanded(text)

        return waits()

    rig = rig_with(endless)
    with pytest.raises(ToolFailed, match=r"was not made within 0\.01 s"):
        await rig.host.submit(c.Prompt("go")).ended
    assert prompts(rig) == []
    await rig.host.close()
