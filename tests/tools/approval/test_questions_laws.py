"""Laws of the question about a plan, whatever the plan is."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from holdfast.questions import Question, QuestionRules
from holdfast.tool_calls import Confined, FileChange, Mode, QuestionOption, UserQuestion
from holdfast.tools.approval.question import LONGEST_DETAIL, question_of
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from holdfast.typed_data import decode_json
from laws import law

TEXTS = st.text(max_size=30) | st.sampled_from(
    ("\ud800", "a\x00b", "make test", "rm -rf x", "echo x > .envrc", "{} {}")
)
MODES = st.sampled_from(Mode.__args__)
LEVELS: tuple[tuple[Confined, ...], ...] = ((), ("read",), ("read", "workspace", "network"))


async def _never(_: ToolContext) -> ToolOutput:
    raise AssertionError("asking must not run")


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Draw a plan of any kind, also of texts that are no Unicode."""
    command = draw(TEXTS)
    change = FileChange(path=draw(TEXTS), before=None, after="x")
    options = tuple(QuestionOption(f"{each}", draw(TEXTS)) for each in range(draw(st.integers(1, 10))))
    asked = UserQuestion(text=draw(TEXTS), options=options, several=draw(st.booleans()), by=draw(TEXTS))
    match draw(st.sampled_from(("command", "edit", "plan", "question", "remote"))):
        case "command":
            named = (draw(TEXTS),) if draw(st.booleans()) else ()
            return Plan(
                effect="execute", title=command, command=command, detail=command, run=_never, network=named,
                levels=draw(st.sampled_from(LEVELS)), leaves=draw(TEXTS), sandbox_notice=draw(TEXTS),
            )  # fmt: skip
        case "edit":
            outside = draw(st.none() | TEXTS)
            return Plan(
                effect="write", title=command, changes=(change,), detail=draw(TEXTS), outside=outside, run=_never
            )
        case "plan":
            return Plan(effect="read", title=command, detail=draw(TEXTS), presents=True, run=_never)
        case "question":
            return Plan(effect="read", title=command, detail=draw(TEXTS), question=asked, run=_never)
        case _:
            return Plan(effect="remote", title=command, detail=draw(TEXTS), tool=draw(TEXTS), run=_never)


@law(200, shared_by=2)
@given(plan=plans(), mode=MODES, why=TEXTS)
def test_a_question_is_its_json_and_the_same_plan_gives_it_again(plan: Plan, mode: Mode, why: str) -> None:
    question = question_of(plan, mode=mode, why=why, call="c1")
    assert decode_json(msgspec.json.encode(question), Question) == question
    assert question_of(plan, mode=mode, why=why, call="c1") == question
    assert len({each.name for each in question.choices}) == len(question.choices)
    assert plan.question is not None or not question.choices[-1].allows


@law(200, shared_by=2)
@given(plan=plans(), mode=MODES, project=st.booleans(), yolo=st.booleans())
def test_rules_only_leave_choices_out(plan: Plan, mode: Mode, project: bool, yolo: bool) -> None:  # noqa: FBT001 - hypothesis
    everything = question_of(plan, mode=mode)
    offered = question_of(plan, mode=mode, rules=QuestionRules(project=project, yolo=yolo))
    left_out = [each for each in everything.choices if each not in offered.choices]
    assert [each for each in everything.choices if each not in left_out] == list(offered.choices)
    for each in left_out:  # may be empty: a question that offers none of them
        assert (each.remember == "project" and not project) or (each.mode == "yolo" and not yolo)
    assert msgspec.structs.replace(everything, choices=()) == msgspec.structs.replace(offered, choices=())


def test_a_long_detail_is_cut_with_a_mark_that_says_how_much_is_missing() -> None:
    long = "ä" * LONGEST_DETAIL
    plan = Plan(effect="execute", title="t", command="true", detail=long, run=_never)
    shown, _, mark = question_of(plan, mode="ask").detail.partition("\n")
    assert shown == "ä" * (LONGEST_DETAIL // 2)
    assert mark.startswith(f"[… {LONGEST_DETAIL:,} more bytes")
    whole = msgspec.structs.replace(plan, detail=long[: LONGEST_DETAIL // 2])
    assert question_of(whole, mode="ask").detail == long[: LONGEST_DETAIL // 2]


def test_a_folder_of_many_machines_is_not_offered_to_remember() -> None:
    plan = Plan(effect="execute", title="run: make", command="make", detail="make", run=_never)
    names = [each.name for each in question_of(plan, mode="ask", rules=QuestionRules(project=False)).choices]
    assert names == ["once", "session", "no"]
