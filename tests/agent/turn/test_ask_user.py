"""A question of the model: the user always answers, what they said is never lost, and silence is never an answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import msgspec
import pytest

from agent_harness import Rig, opened
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import ToolFailed
from holdfast.questions import ApprovalAnswer
from holdfast.session.journal.entries import (
    ApprovalAnswered,
    ApprovalAsked,
    CallEnded,
    CallStarted,
    Entry,
    PromptAccepted,
    RequestStarted,
    ResponseEnded,
)
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionToolbox
from holdfast.tool_calls import Effect, Mode
from holdfast.tools.approval.decision import Ask, Deny, Policy, decide
from holdfast.tools.arguments.tolerant_tool import TolerantTool, canonical_name
from holdfast.tools.builtin.ask_user import AskUserTool
from holdfast.tools.permission_rules.permission_rule import permission_rule
from holdfast.tools.permission_rules.rule_set import RuleSet
from holdfast.tools.tool import Plan

ALL: tuple[Mode, ...] = ("ask", "accept-edits", "plan", "yolo")
QUESTION: dict[str, object] = {
    "question": "Which database?",
    "options": [{"label": "SQLite", "description": "one file"}, {"label": "Postgres"}],
}


class User:
    """Answers, and keeps what was asked."""

    def __init__(self, *answers: ApprovalAnswer) -> None:
        self.answers = list(answers)
        self.calls: list[str] = []
        self.waits = asyncio.Event()

    async def __call__(self, call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        assert plan.question is not None
        assert why == plan.question.text
        self.calls.append(call.id)
        self.waits.set()
        if not self.answers:
            await asyncio.Event().wait()
        return self.answers.pop(0)


def consulting(mode: Mode, user: User | None, **more: object) -> Rig:
    model = ScriptedModel([[Call("ask_user", QUESTION)], [Say("so be it")]])
    return Rig(model, mode=mode, ask=user, toolbox=FunctionToolbox([AskUserTool()]), **more)  # pyright: ignore[reportArgumentType] - a store


def ended_call(rig: Rig) -> CallEnded:
    (ended,) = [entry for entry in rig.entries if isinstance(entry, CallEnded)]
    return ended


@pytest.mark.parametrize("mode", ALL)
def test_the_user_is_asked_in_every_mode_unless_a_rule_denies_it(mode: Mode) -> None:
    plan = AskUserTool().plan("c", json.dumps(QUESTION))
    assert plan.effect == "read"
    assert decide(plan, Policy(mode), tool="ask_user") == Ask("Which database?")
    rules = RuleSet(rules=(permission_rule("AskUserQuestion", "deny", source="config.toml"),), root="/", home="/")
    assert isinstance(decide(plan, Policy(mode, (), rules), tool="ask_user"), Deny)


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (ApprovalAnswer(allowed=True, chosen=("SQLite",)), "The user chose: SQLite"),
        (ApprovalAnswer(allowed=True, chosen=("SQLite", "Postgres")), "The user chose: SQLite, Postgres"),
        (ApprovalAnswer(allowed=True, reason="MySQL, as in prod"), "The user answered in their own words: MySQL, as"),
        (
            ApprovalAnswer(allowed=True, reason="for now", chosen=("SQLite",)),
            "The user chose: SQLite\nThey said: for now",
        ),
        (ApprovalAnswer(allowed=True), "The user chose none of the options."),
    ],
)
async def test_the_answer_is_the_result_in_the_user_s_words(mode: Mode, answer: ApprovalAnswer, text: str) -> None:
    rig = consulting(mode, User(answer))
    await rig.agent.run("go")
    assert ended_call(rig).outcome == "ok"
    assert ended_call(rig).text.startswith(text)
    (answered,) = [entry for entry in rig.entries if isinstance(entry, ApprovalAnswered)]
    assert (answered.chosen, answered.words) == (answer.chosen, answer.reason)
    assert rig.agent.mode == mode
    assert not any(isinstance(entry, CallStarted) for entry in rig.entries)


async def test_answer_and_outcome_are_one_append() -> None:
    """A crash leaves both or neither: what the user said is never half known."""
    appends: list[list[type[Entry]]] = []

    class Counting(MemoryStore):
        def append(self, entries: Sequence[Entry], *, expected: int) -> int:
            appends.append([type(entry) for entry in entries])
            return super().append(entries, expected=expected)

    rig = consulting("ask", User(ApprovalAnswer(allowed=True, chosen=("SQLite",))), store=Counting())
    await rig.agent.run("go")
    assert [ApprovalAnswered, CallEnded] in appends


async def test_a_question_that_is_not_answered_is_no_answer() -> None:
    rig = consulting("ask", User(ApprovalAnswer(allowed=False, reason="not now")))
    await rig.agent.run("go")
    assert ended_call(rig).outcome == "denied"
    assert ended_call(rig).text.endswith("say why. They said: not now")


async def test_a_stop_while_it_waits_ends_the_turn_and_says_that_nothing_was_chosen() -> None:
    user = User()
    rig = consulting("ask", user)
    turn = asyncio.ensure_future(rig.agent.run("go"))
    await user.waits.wait()
    rig.agent.stop(StopCause("user"))
    ended = await turn
    assert ended.cause == "user"
    assert ended_call(rig).outcome == "not_started"
    expected = "Not answered: the user stopped the turn while the question was open. No option was chosen."
    assert ended_call(rig).text == expected


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("on_approval", ["deny", "stop"])
async def test_where_no_user_can_be_asked_the_model_decides(mode: Mode, on_approval: str) -> None:
    rig = consulting(mode, None, on_approval=on_approval)
    ended = await rig.agent.run("go")
    assert (ended.cause, ended_call(rig).outcome) == ("finished", "denied")
    assert ended_call(rig).text.startswith("Not answered: no user can be asked in this run. Decide yourself")


def crashed(*more: Entry) -> MemoryStore:
    """Return a session that died at a question."""
    call = CallPart(id="dead00000", name="AskUserQuestion", arguments=json.dumps({"questions": [QUESTION]}))
    store = MemoryStore()
    journal = [
        opened(),
        PromptAccepted(turn=1, text="build it"),
        RequestStarted(step=1, attempt=1, model="openai-chat:scripted"),
        ResponseEnded(step=1, model="openai-chat:scripted", parts=(call,), usage=Usage(), finish="calls"),
        *more,
    ]
    store.append(journal, expected=0)
    return store


ASKED = ApprovalAsked(call="dead00000", why="Which database?")


class Claudes:
    """The tool as a model calls it that knows it by another name."""

    schema = msgspec.structs.replace(AskUserTool.schema, name="AskUserQuestion")
    effect: Effect = "read"

    def plan(self, call: str, arguments: str) -> Plan:
        return TolerantTool(AskUserTool(), called="AskUserQuestion").plan(call, arguments)


def tolerant() -> FunctionToolbox:
    return FunctionToolbox([Claudes()])


@pytest.mark.parametrize("mode", ALL)
async def test_a_question_open_at_a_crash_is_asked_again_once(mode: Mode) -> None:
    user = User(ApprovalAnswer(allowed=True, chosen=("Postgres",)))
    rig = Rig(ScriptedModel([[Say("done")]]), mode=mode, ask=user, toolbox=tolerant(), store=crashed(ASKED))
    await rig.agent.resume_turn()
    assert user.calls == ["dead00000"]
    assert sum(isinstance(entry, ApprovalAsked) for entry in rig.entries) == 1
    assert (ended_call(rig).outcome, ended_call(rig).text) == ("ok", "The user chose: Postgres")


async def test_a_new_prompt_after_a_crash_leaves_it_unanswered() -> None:
    rig = Rig(ScriptedModel([[Say("done")]]), ask=User(), toolbox=tolerant(), store=crashed(ASKED))
    await rig.agent.run("never mind")
    assert ended_call(rig).outcome == "not_started"
    assert ended_call(rig).text.startswith("Not answered: holdfast's process ended")


@pytest.mark.parametrize("name", ["AskUserQuestion", "ask_user_question", "question", "askUser"])
def test_it_is_found_by_the_names_that_models_know(name: str) -> None:
    assert canonical_name(name) == "ask_user"


@pytest.mark.parametrize(
    "arguments",
    [
        QUESTION,
        {"questions": [{**QUESTION, "header": "Database", "multiSelect": False}]},
        {"prompt": "Which database?", "choices": [{"text": "SQLite", "detail": "one file"}, "Postgres"]},
        {"question": "Which database?", "options": json.dumps(QUESTION["options"])},
    ],
)
def test_it_is_read_as_models_write_it(arguments: dict[str, object]) -> None:
    question = TolerantTool(AskUserTool()).plan("c", json.dumps(arguments)).question
    assert question is not None
    assert (question.text, question.several) == ("Which database?", False)
    assert [(each.label, each.description) for each in question.options] == [("SQLite", "one file"), ("Postgres", "")]


def test_several_may_be_chosen_if_the_model_says_so() -> None:
    question = TolerantTool(AskUserTool()).plan("c", json.dumps({**QUESTION, "multiSelect": True})).question
    assert question is not None
    assert question.several


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({**QUESTION, "question": " \n"}, "The question is blank"),
        ({**QUESTION, "options": []}, "has 0 options"),
        ({**QUESTION, "options": ["only one"]}, "has 1 options"),
        ({**QUESTION, "options": list("abcde")}, "has 5 options"),
        ({**QUESTION, "options": ["a", " a "]}, "Option 'a' is given twice"),
        ({**QUESTION, "options": ["a", " "]}, "Option '' is blank"),
        ({"questions": [QUESTION, QUESTION]}, "The call has 2 questions"),
        ({"question": "Which?"}, "options"),
    ],
)
def test_what_is_no_question_is_refused_with_what_to_do(arguments: dict[str, object], why: str) -> None:
    with pytest.raises(ToolFailed, match=why):
        TolerantTool(AskUserTool()).plan("c", json.dumps(arguments))


def test_a_long_question_scrolls_below_the_title() -> None:
    long = AskUserTool().plan("c", json.dumps({**QUESTION, "question": "Which?\n\n- this\n- that"}))
    assert long.detail == "Which?\n\n- this\n- that"
    assert AskUserTool().plan("c", json.dumps(QUESTION)).detail == ""
