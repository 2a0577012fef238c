"""What sent a prompt, and what the user typed, is in the journal; without either the text is the user's own word."""

from __future__ import annotations

import pytest

from agent_harness import Rig
from holdfast.errors import UsageError
from holdfast.session.journal.entries import PromptAccepted
from holdfast.testing.script import Say
from holdfast.testing.scripted_model import ScriptedModel


def accepted(rig: Rig) -> PromptAccepted:
    (found,) = [entry for entry in rig.entries if isinstance(entry, PromptAccepted)]
    return found


@pytest.mark.parametrize(
    ("cause", "typed", "kept"),
    [
        ("", "", ""),
        ("wake", "", ""),
        ("session:20261121-2318-k3f9", "", ""),
        ("", "/greet", "/greet"),
        ("", "hello", ""),
    ],
)
async def test_the_cause_and_what_was_typed_are_journalled(cause: str, typed: str, kept: str) -> None:
    rig = Rig(ScriptedModel([[Say("ok")]]))
    await rig.agent.run("hello", cause=cause, typed=typed)
    assert (accepted(rig).cause, accepted(rig).typed) == (cause, kept)


@pytest.mark.parametrize("cause", ["nobody", "session", "wake up", "person"])
async def test_a_prompt_of_another_cause_is_refused_before_anything_is_journalled(cause: str) -> None:
    rig = Rig(ScriptedModel([]))
    before = rig.entries
    with pytest.raises(UsageError, match="unknown"):
        await rig.agent.run("hello", cause=cause)
    assert rig.entries == before
