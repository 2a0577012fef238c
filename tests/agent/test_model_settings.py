"""Settings of a model: journalled when they change, sent with every later request, and told of where they are not."""

from __future__ import annotations

import pytest

from agent_harness import Rig
from holdfast.agent.events import CheckFinding
from holdfast.session.journal.entries import ModelChanged, ModelSettingsChanged
from holdfast.session.journal.model_settings import NO_SETTINGS, ModelSettings
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool
from holdfast.tools.tool import ToolContext, ToolOutput

HIGH = ModelSettings(effort="high", temperature=0.5)
LOW = ModelSettings(effort="low")


async def test_settings_stay_behind_a_rewind_and_reach_the_provider() -> None:
    model = ScriptedModel([[Say("one")], [Say("two")], [Say("three")]])
    rig = Rig(model)
    await rig.agent.run("go")
    rig.agent.use_settings(HIGH)
    rig.agent.use_settings(HIGH)  # nothing changes, so nothing is journalled
    await rig.agent.run("go on")
    await rig.agent.rewind(1)
    await rig.new_agent().run("again")
    assert [each.settings for each in model.requests] == [NO_SETTINGS, HIGH, HIGH]
    assert [entry for entry in rig.entries if isinstance(entry, ModelSettingsChanged)] == [
        ModelSettingsChanged(settings=HIGH)
    ]


async def test_a_change_in_a_turn_counts_from_its_next_request() -> None:
    model = ScriptedModel([[Call("act", {})], [Say("done")]])

    async def act(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        rig.agent.use_settings(LOW)
        return ToolOutput(text="ok", ok=True)

    rig = Rig(model, [FunctionTool("act", "read", act)])
    await rig.agent.run("go")
    assert [each.settings for each in model.requests] == [NO_SETTINGS, LOW]


@pytest.mark.parametrize(
    ("now", "then"),
    [
        (ModelSettings(effort="low", max_output=9), ModelSettings(effort="high")),  # all of it the old model's defaults
        (ModelSettings(effort="max", max_output=9), ModelSettings(effort="max")),
        (ModelSettings(max_output=9), NO_SETTINGS),  # the user took the effort back
        (HIGH, HIGH),
    ],
)
def test_another_model_begins_with_its_defaults_and_keeps_what_the_user_chose(
    now: ModelSettings, then: ModelSettings
) -> None:
    defaults = {"openai-chat:scripted": ModelSettings(effort="low", max_output=9), "b:b": ModelSettings(effort="high")}
    rig = Rig(ScriptedModel([]), defaults=defaults.__getitem__)
    rig.agent.use_settings(now)
    rig.agent.use_model("b:b")
    assert rig.agent.conversation.settings == then
    assert ModelChanged(model="b:b") in rig.entries


async def test_a_setting_that_is_not_sent_is_reported_once_for_each_change() -> None:
    rig = Rig(ScriptedModel([[Say("one")], [Say("two")], [Say("three")]]))
    rig.agent.use_model("openai:gpt-5.1")
    rig.agent.use_settings(ModelSettings(effort="max"))
    await rig.agent.run("go")
    await rig.agent.run("go")
    messages = [event.message for event in rig.events if isinstance(event, CheckFinding)]
    assert messages == ["openai:gpt-5.1 has no effort 'max': 'high' is sent."]
    rig.agent.use_settings(ModelSettings(effort="high"))
    await rig.agent.run("go")
    assert len([event for event in rig.events if isinstance(event, CheckFinding)]) == 1
