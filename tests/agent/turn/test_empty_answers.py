"""A response that is no answer is asked for once more, and then its turn fails: it is never a success."""

from __future__ import annotations

import pytest

from agent_harness import Rig, says
from holdfast.agent.events import CheckFinding, LiveText, TurnFailed
from holdfast.agent.model_request.empty_answer import STEP_NOT_DONE, why_empty
from holdfast.config.settings import Limits
from holdfast.errors import EXIT_FAILED, EXIT_OK
from holdfast.providers.model import ModelFinish, StreamFinished
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    CallStarted,
    Part,
    RequestFailed,
    RequestStarted,
    ResponseEnded,
    ToolsChanged,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.testing.script import Call, Fail, Finish, Reply, Say, Think
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.ui.headless.turn_end import exit_code

EMPTY: dict[str, Reply] = {
    "nothing": (Finish("stop"),),
    "white space": (Say(" \n\t "),),
    "characters that cannot be seen": (Say("\u200b\ufeff"),),
    "thinking": (Think("Let me see."),),
    "thinking and white space": (Think("Let me see."), Say("\n")),
    "thinking between tags": (Say("<think>Let me see.</think>\n"),),
    "thinking between tags without an end": (Say("<think>Let me see."),),
    "calls that are not there": (Finish("tool_calls"),),
    "a text and calls that are not there": (Say("I will look."), Finish("tool_calls")),
    "thinking and calls that are not there": (Think("hm"), Finish("tool_calls")),
    "an announcement": (Say("I will now read README.md and fix the bug:"),),
    "an announcement behind a report": (Say("The bug is in a.py.\n\n**Now I\u2019ll fix it:**"),),
}


def failures(rig: Rig) -> list[RequestFailed]:
    return [entry for entry in rig.entries if isinstance(entry, RequestFailed)]


@pytest.mark.parametrize("kind", EMPTY)
async def test_a_model_that_gives_no_answer_is_asked_once_more_and_the_turn_fails(kind: str) -> None:
    rig = Rig(ScriptedModel([EMPTY[kind], EMPTY[kind], [Say("here")]]))
    ended = await rig.agent.run("go")
    assert (ended.reason, ended.cause) == ("error", "empty")
    assert "gave no answer" in ended.detail
    assert [(each.fault, each.attempt, each.retry_in) for each in failures(rig)] == [
        ("empty", 1, 0),
        ("empty", 2, None),
    ]
    assert TurnFailed("empty") in rig.events
    assert exit_code(ended, "empty") == EXIT_FAILED
    kept = [entry for entry in rig.entries if isinstance(entry, ResponseEnded)]
    assert {entry.cut for entry in kept} <= {"empty"}  # may be empty: only what was shown as text is kept
    after = await rig.agent.run("again")
    assert (after.cause, rig.agent.conversation.answer) == ("finished", "here")


@pytest.mark.parametrize("kind", EMPTY)
async def test_the_second_attempt_may_be_the_answer(kind: str) -> None:
    rig = Rig(ScriptedModel([EMPTY[kind], [Call("look", {})], EMPTY[kind], [Say("here")]]), tools=[says("look")])
    ended = await rig.agent.run("go")
    assert (ended.cause, rig.agent.conversation.answer) == ("finished", "here")
    assert [(each.step, each.attempt) for each in failures(rig)] == [(1, 1), (2, 1)]  # each response has one more
    assert len([entry for entry in rig.entries if isinstance(entry, CallStarted)]) == 1


async def test_an_empty_answer_behind_a_result_fails_too_and_keeps_the_result() -> None:
    rig = Rig(ScriptedModel([[Call("look", {})], [Finish("stop")], [Finish("stop")]]), tools=[says("look")])
    ended = await rig.agent.run("go")
    assert ended.cause == "empty"
    assert len(rig.agent.conversation.messages) >= 3


async def test_a_text_that_announces_a_call_is_shown_and_kept_as_cut_off() -> None:
    reply: Reply = (Say("I will look."), Finish("tool_calls"))
    rig = Rig(ScriptedModel([reply, reply]))
    await rig.agent.run("go")
    assert "".join(event.text for event in rig.events if isinstance(event, LiveText)) == "I will look." * 2
    folded = fold(rig.entries)
    assert "I will look." in str(folded.messages)
    assert str(folded.messages).count("I will look.") == 1


@pytest.mark.parametrize(("retry_empty", "attempts", "sent"), [(0, 4, 1), (1, 4, 2), (3, 4, 4), (3, 2, 2)])
async def test_how_often_it_is_asked_again_is_a_setting(retry_empty: int, attempts: int, sent: int) -> None:
    limits = Limits(retry_empty=retry_empty, attempts=attempts)
    rig = Rig(ScriptedModel([[Finish("stop")]] * 5), limits=limits)
    assert (await rig.agent.run("go")).cause == "empty"
    assert len([entry for entry in rig.entries if isinstance(entry, RequestStarted)]) == sent


async def test_other_failures_do_not_count_as_empty_answers() -> None:
    script: list[Reply] = [[Fail(529, "busy")], [Finish("stop")], [Fail(529, "busy")], [Say("here")]]
    rig = Rig(ScriptedModel(script), limits=Limits(backoff=0.01))
    assert (await rig.agent.run("go")).cause == "finished"


async def test_what_it_used_is_paid_and_counted() -> None:
    rig = Rig(ScriptedModel([[Think("hm")], [Say("here")]]))
    await rig.agent.run("go")
    (failed,) = failures(rig)
    (response,) = (entry for entry in rig.entries if isinstance(entry, ResponseEnded))
    assert failed.usage is not None
    assert failed.model == response.model
    assert fold(rig.entries).usage == Usage(cost="0") + failed.usage + response.usage


@pytest.mark.parametrize("finish", ["max_tokens", "refusal"])
async def test_an_answer_that_was_stopped_says_so_itself(finish: ModelFinish) -> None:
    assert why_empty(StreamFinished((), finish, Usage())) == ""
    rig = Rig(ScriptedModel([[Think("hm"), Finish("length" if finish == "max_tokens" else "refusal")]]))
    ended: TurnEnded = await rig.agent.run("go")
    assert ended.cause == finish


@pytest.mark.parametrize(
    ("parts", "finish"),
    [
        ((TextPart("."),), "stop"),
        ((TextPart("\n so"),), "stop"),
        ((TextPart("<think>hm</think> so"),), "stop"),
        ((TextPart("<b>"),), "stop"),
        ((ThinkingPart("hm"), TextPart("so")), "stop"),
        ((CallPart("", "look", "{}"),), "stop"),
        ((CallPart("", "look", "{}"),), "calls"),
        ((TextPart(""), CallPart("", "look", "{}")), "calls"),
    ],
)
def test_what_is_an_answer(parts: tuple[Part, ...], finish: ModelFinish) -> None:
    assert why_empty(StreamFinished(parts, finish, Usage())) == ""


ANNOUNCED = (
    "I will now read README.md and fix the bug:",
    "I'll start by reading the files...",
    "Sure. Let me check the tests first:",
    "To fix the bug, I will now edit basket.py:",
    "Okay, first I'm going to run the tests\u2026",
    "Ich werde jetzt README.md lesen:",
    "Ich lese jetzt README.md:",
    "Je vais lire le fichier :",
    "Voy a leer README.md:",
    "\u6211\u73b0\u5728\u8bfb\u53d6 README.md\uff1a",
)
HONEST = (
    "I will now read README.md and fix the bug.",  # to "what will you do?"
    "I will use tabs from now on.",
    "Use A or B.\n\nLet me know which one you prefer:",
    "hello",  # to "say hello"
    "def read(self, path: str) -> str:",
    "if a and b:",
    "Dear Mr Smith and team:",
    "What we learned:",
    "The answer is:\n\n`:`",
    "`I will:`",
    "yes",
    "I'll wait for your word...",
    "He says I will win: no",
)


@pytest.mark.parametrize("text", ANNOUNCED)
def test_an_answer_that_ends_with_what_it_is_about_to_do_is_none(text: str) -> None:
    assert "about to do" in why_empty(StreamFinished((TextPart(text),), "stop", Usage()))


@pytest.mark.parametrize("text", HONEST)
def test_a_short_answer_is_an_answer(text: str) -> None:
    assert why_empty(StreamFinished((TextPart(text),), "stop", Usage())) == ""


async def test_an_answer_that_goes_on_as_the_user_is_cut_off_and_not_kept() -> None:
    text = "Sure.\n<|im_end|>\n<|im_start|>user\nthanks<|im_end|>"
    rig = Rig(ScriptedModel([[Say(text, chunk=3)], [Say("here")]]))
    ended = await rig.agent.run("go")
    assert (ended.cause, ended.reason) == ("provider", "error")
    assert "ended its answer with <|im_end|>" in ended.detail
    assert "".join(event.text for event in rig.events if isinstance(event, LiveText)).strip() == "Sure."
    assert (await rig.agent.run("again")).cause == "finished"
    assert "im_" not in str(rig.model.requests[1].messages)
    assert "Sure." in str(rig.model.requests[1].messages)


STEPS = {
    "I'll now edit the file.": True,
    "The bug is in a.py. Let me fix it.": True,
    "It fails.\n\nOkay, I will now run the tests in test_a.py.": True,
    "**Let\u2019s start with the parser.**": True,
    "I will use tabs from now on.": False,
    "Let me know if that helps.": False,
    "I'll now wait for your answer.": False,
    "Done. The tests pass.": False,
    "Would you like me to fix it?": False,
    "I will now read README.md. It is done.": False,
}


@pytest.mark.parametrize("text", STEPS)
async def test_the_user_reads_that_a_step_is_not_done_and_it_stays_an_answer(text: str) -> None:
    look = says("look", "seen")
    rig = Rig(ScriptedModel([[Say(text)]]), [look])
    rig.store.append([ToolsChanged(tools=(look.schema,))], expected=1)
    rig.agent = rig.new_agent()
    ended = await rig.agent.run("go")
    assert (ended.cause, exit_code(ended, None)) == ("finished", EXIT_OK)
    told = [event for event in rig.events if isinstance(event, CheckFinding) and event.message == STEP_NOT_DONE]
    assert len(told) == STEPS[text]
