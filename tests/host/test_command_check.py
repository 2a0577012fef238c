"""A command with a field of the wrong type is refused where it comes in: nothing happens, and no entry says it did."""

from __future__ import annotations

import asyncio
from typing import Any, cast, get_args

import msgspec
import pytest

from agent_harness import waits
from holdfast.errors import UsageError
from holdfast.host import commands as c
from holdfast.host import events as h
from holdfast.session.journal import entries as e
from holdfast.session.journal.model_settings import ModelSettings
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tool_calls import Image, Pattern
from host_harness import HostRig

COMMANDS: tuple[type[msgspec.Struct], ...] = get_args(c.Command)

RIGHT: dict[str, object] = {
    "settings": ModelSettings(),
    "pattern": Pattern("execute", "ls"),
    "mode": "plan",
    "choice": "no",
    "turn": 1,
}
"""Values of fields that are no text."""


def right(command: type[msgspec.Struct]) -> dict[str, object]:
    """Return the fields that a command must have, with values of their types."""
    count = len(command.__struct_fields__) - len(command.__struct_defaults__)
    return {name: RIGHT.get(name, "x") for name in command.__struct_fields__[:count]}


WRONG = [(command, name) for command in COMMANDS for name in command.__struct_fields__]


@pytest.mark.parametrize(("command", "field"), WRONG, ids=lambda each: each if isinstance(each, str) else each.__name__)
async def test_each_field_of_each_command_is_checked(command: type[c.Command], field: str) -> None:
    rig = HostRig(ScriptedModel())
    before = len(rig.entries)
    submission = rig.host.submit(command(**cast("dict[str, Any]", {**right(command), field: {"a": 1}})))
    with pytest.raises(UsageError, match=rf"Command {command.__name__} has a wrong field: .*Nothing was done"):
        await submission
    assert len(rig.client.of(h.Refused)) == 1
    assert rig.client.of(h.Accepted) == []
    assert len(rig.entries) == before
    await rig.host.close()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (c.UseMode("accept_edits"), "Invalid enum value 'accept_edits'"),  # pyright: ignore[reportArgumentType] - what a program may pass
        (c.Prompt("x", "never"), "Invalid enum value 'never'"),  # pyright: ignore[reportArgumentType] - likewise
        (c.Prompt("x", images=("/tmp/a.png",)), "Expected `object`, got `str`"),  # pyright: ignore[reportArgumentType] - likewise
        (c.Prompt("x", id="i" * 201), "length <= 200"),
        (c.Prompt("x", id="\ud800"), "is not valid Unicode"),
        (c.Prompt(5), "Expected `str`, got `int`"),  # pyright: ignore[reportArgumentType] - likewise
        (c.Stop("nope"), "Invalid enum value 'nope'"),  # pyright: ignore[reportArgumentType] - likewise
        (c.UseSettings({"effort": "high"}), "Expected `ModelSettings`, got `dict`"),  # pyright: ignore[reportArgumentType] - likewise
        ("hello", "Value of type str is no command"),
    ],
    ids=repr,
)
async def test_a_typing_mistake_is_refused_with_its_reason_and_the_session_goes_on(
    command: c.Command, why: str
) -> None:
    rig = HostRig(ScriptedModel([[Say("hello")]]))
    with pytest.raises(UsageError) as refused:
        await rig.host.submit(command)
    assert why in str(refused.value)
    (told,) = rig.client.of(h.Refused)
    assert isinstance(told, h.Refused)
    assert isinstance(told.text, str)
    ended = await rig.host.submit(c.Prompt("hi"))
    assert isinstance(ended, e.TurnEnded)
    assert ended.reason == "end_turn"
    await rig.host.close()


async def test_a_wrong_stop_stops_nothing_and_the_detail_of_a_right_one_can_be_journalled() -> None:
    rig = HostRig(ScriptedModel([[Call("slow", {})]]), [waits("slow")])
    turn = rig.host.submit(c.Prompt("hi"))
    async with asyncio.timeout(5):
        while not any(isinstance(each, e.CallStarted) for each in rig.entries):  # noqa: ASYNC110 - there is no event to await
            await asyncio.sleep(0)
    rig.host.submit(c.Stop("user", 5))  # pyright: ignore[reportArgumentType] - what a program may pass
    for _ in range(20):
        await asyncio.sleep(0)
    assert not turn.ended.done()
    rig.host.submit(c.Stop("user", "because \ud800"))
    ended = await turn
    assert isinstance(ended, e.TurnEnded)
    assert ended.detail == "because \ufffd"
    await rig.host.close()
    rig.expect_settled()


async def test_lists_stand_for_tuples_in_a_command() -> None:
    rig = HostRig(ScriptedModel([[Say("hello")]]))
    picture = Image("image/png", b"png", "a.png")
    await rig.host.submit(c.Prompt("x", images=[picture]))  # pyright: ignore[reportArgumentType] - what a program may pass
    (accepted,) = [each for each in rig.entries if isinstance(each, e.PromptAccepted)]
    assert accepted.images == (picture,)
    await rig.host.close()
