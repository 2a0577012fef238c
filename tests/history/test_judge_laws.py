"""What judges say of repaired conversations, and of what `check` lets pass; and where they are known to disagree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from disagreements import ASSISTANT, IMAGE, REFUSED, TAKEN, USER, Json, Refused, Taken, called, refusal, returned
from hypothesis import given
from hypothesis import strategies as st
from wire_bodies import BODIES, faulty

from conversations import Piece, conversations
from holdfast.history import check, repair
from holdfast.history.formats.format import as_array, as_object
from judges import JUDGES, Judge
from laws import law
from renderings import RENDERINGS

BENCH = [(name, form) for name, judge in JUDGES.items() for form in judge.formats if form in RENDERINGS]
CORPUS = [
    (path, name)
    for path in sorted((Path(__file__).parents[1] / "corpus").rglob("*.json"))
    for name, judge in JUDGES.items()
    if json.loads(path.read_text())["provider_format"] in judge.formats
]
ASIDE = [(name, form) for name, form in BENCH if form in BODIES]
EVERY_JUDGE = pytest.mark.parametrize(("name", "form"), BENCH)
A_LAW = law(shared_by=len(BENCH))


def promised(judge: Judge) -> list[str]:
    """Return the profiles that the judge has to agree with; `any` promises nothing with thinking on."""
    return [*judge.profiles, *([] if judge.thinking else ["any"])]


@EVERY_JUDGE
@A_LAW
@given(data=st.data(), pieces=conversations())
def test_the_judge_accepts_what_was_repaired(
    name: str, form: str, *, data: st.DataObject, pieces: tuple[Piece, ...]
) -> None:
    judge = JUDGES[name]
    profile = data.draw(st.sampled_from(promised(judge)))
    repaired = repair(RENDERINGS[form](pieces), format=form, profile=profile, thinking=judge.thinking)
    if not repaired.remaining:
        assert refusal(name, form, repaired.messages) == ""


@EVERY_JUDGE
@A_LAW
@given(data=st.data(), pieces=conversations())
def test_what_the_judge_refuses_is_reported(
    name: str, form: str, *, data: st.DataObject, pieces: tuple[Piece, ...]
) -> None:
    judge = JUDGES[name]
    profile = data.draw(st.sampled_from(promised(judge)))
    messages = RENDERINGS[form](pieces)
    repaired = repair(messages, format=form, profile=profile, thinking=judge.thinking).messages
    for each in (messages, *_broken_once(data, repaired)):  # may be empty: this judge took all that was drawn
        if refusal(name, form, each):
            assert check(each, format=form, profile=profile, thinking=judge.thinking) != []


def _broken_once(data: st.DataObject, messages: list[object]) -> Iterator[list[object]]:
    """Yield what is one fault away from a conversation: a message lost, one sent twice, two in the wrong order."""
    if messages:
        at, other = (data.draw(st.integers(0, len(messages) - 1)) for _ in range(2))
        yield [*messages[:at], *messages[at + 1 :]]
        yield [*messages[: at + 1], *messages[at:]]
        swapped = list(messages)
        swapped[at], swapped[other] = messages[other], messages[at]
        yield swapped


@pytest.mark.parametrize(("path", "name"), CORPUS, ids=[f"{path.stem}-{name}" for path, name in CORPUS])
def test_the_judge_accepts_every_conversation_of_the_corpus(path: Path, name: str) -> None:
    case = json.loads(path.read_text())
    form, messages, judge = case["provider_format"], case["messages"], JUDGES[name]
    for profile in promised(judge):
        if refusal(name, form, messages):
            assert check(messages, format=form, profile=profile, thinking=judge.thinking) != []
        repaired = repair(messages, format=form, profile=profile, thinking=judge.thinking)
        assert repaired.remaining == ()
        assert refusal(name, form, repaired.messages) == ""


@pytest.mark.parametrize(("name", "form"), ASIDE)
@A_LAW
@given(data=st.data())
def test_judge_and_check_agree_on_what_is_a_fault_away_from_valid(name: str, form: str, *, data: st.DataObject) -> None:
    judge = JUDGES[name]
    messages = data.draw(faulty(form))
    profile = data.draw(st.sampled_from(promised(judge)))
    error = refusal(name, form, messages)
    if error:
        assert check(messages, format=form, profile=profile, thinking=judge.thinking) != [], error
    repaired = repair(messages, format=form, profile=profile, thinking=judge.thinking)
    assert repaired.remaining == ()
    assert refusal(name, form, repaired.messages) == ""


@pytest.mark.parametrize("form", BODIES)
def test_the_bodies_without_a_fault_are_accepted(form: str) -> None:
    judges = [judge for judge in JUDGES.values() if form in judge.formats]
    said = [judge.refusal(form, body) for judge in judges for body in BODIES[form]]
    assert len(said) == len(judges) * len(BODIES[form]) > 0
    assert said.count("") >= len(judges), said
    assert {words for words in said if "ThinkChunk" not in words} == {""}  # which only some models of Mistral take


@pytest.mark.parametrize("known", REFUSED, ids=lambda known: known.words)
def test_the_judge_still_refuses_what_is_let_pass(known: Refused) -> None:
    for name in known.judges:
        judge = JUDGES[name]
        assert known.words in judge.refusal(known.form, known.example)
        for profile in judge.profiles:
            assert check(known.example, format=known.form, profile=profile, thinking=judge.thinking) == []


@pytest.mark.parametrize("known", TAKEN, ids=lambda known: f"{known.judge}-{known.rule}")
def test_the_judge_still_accepts_what_is_reported(known: Taken) -> None:
    judge = JUDGES[known.judge]
    assert judge.refusal(known.form, known.example) == ""
    for profile in judge.profiles:
        found = check(known.example, format=known.form, profile=profile, thinking=judge.thinking)
        assert {violation.rule for violation in found} == {known.rule}


BLANK: Json = {"role": "user", "content": " "}
ODD = called("abcdefgh1", x=1)
LETS_PASS: dict[str, tuple[str, list[object]]] = {
    "equal roles, blank text, the assistant first": ("mistral-v13", [ASSISTANT, ASSISTANT, USER, BLANK]),
    "the user behind a result, unknown fields": ("mistral-v13", [USER, ODD, returned("abcdefgh1"), USER]),
    "an id of an earlier turn": ("mistral-v13", [USER, *(2 * [called("a"), returned("a")])]),
    "calls and results that do not belong together": ("cohere", [USER, returned("c"), called("a"), USER]),
    "blank text, any order": ("cohere", [ASSISTANT, BLANK, BLANK, {"role": "system", "content": "x"}]),
    "any id": ("cohere", [USER, called("x" * 99 + ":"), returned("x" * 99 + ":")]),
}


@pytest.mark.parametrize(("name", "messages"), LETS_PASS.values(), ids=LETS_PASS)
def test_the_judge_lets_pass_what_its_docstring_says(name: str, messages: list[object]) -> None:
    assert JUDGES[name].refusal("openai-chat", messages) == ""


LEGACY = {"role": "assistant", "content": None, "function_call": {"name": "read", "arguments": "{}"}}
NAMELESS = {"id": "a", "type": "function", "function": {"arguments": "{}"}}
CUSTOM = {"id": "abcdefgh1", "type": "custom", "custom": {"name": "read", "input": "x"}}
FOUND: list[tuple[str, str, str, list[object]]] = [
    ("mistral-v13", "mistral", "call-first", [called("abcdefgh1"), returned("abcdefgh1")]),
    ("mistral-v7", "mistral", "thinking-beside", [USER, {**ASSISTANT, "reasoning_content": "x"}, USER]),
    ("deepseek", "deepseek", "developer-role", [{"role": "developer", "content": "x"}, USER]),
    ("mistral-v13", "mistral", "foreign-content", [USER, LEGACY, {"role": "function", "name": "read", "content": "x"}]),
    (
        "mistral-v13",
        "mistral",
        "foreign-content",
        [USER, called("abcdefgh1", tool_calls=[CUSTOM]), returned("abcdefgh1")],
    ),
    ("mistral-v13", "mistral", "result-name-wrong", [USER, called("abcdefgh1"), returned("abcdefgh1", name="b d")]),
    ("mistral-v13", "mistral", "result-name-missing", [USER, called("abcdefgh1"), returned("abcdefgh1", name="")]),
    ("deepseek", "deepseek", "foreign-content", [USER, {**ASSISTANT, "content": None, "refusal": "x"}, USER]),
    ("deepseek", "deepseek", "tool-name-illegal", [USER, called("a", tool_calls=[NAMELESS]), returned("a")]),
    ("cohere", "cohere", "empty-content", [USER, {"role": "assistant", "content": None}, USER]),
    ("template-mistral-v7", "mistral-templates", "blank-answer", [USER, {"role": "assistant", "content": ""}, USER]),
    (
        "openai-chat",
        "openai-chat",
        "foreign-content",
        [
            USER,
            called("abcdefgh1"),
            returned("abcdefgh1", content=[{"type": "image_url", "image_url": {"url": IMAGE}}]),
        ],
    ),
]
"""Faults that only a judge made known to us."""


@pytest.mark.parametrize(("name", "profile", "rule", "messages"), FOUND, ids=[rule for _, _, rule, _ in FOUND])
def test_what_a_judge_found_is_reported_and_repaired(
    name: str, profile: str, rule: str, messages: list[object]
) -> None:
    assert JUDGES[name].refusal("openai-chat", messages)
    assert rule in {violation.rule for violation in check(messages, format="openai-chat", profile=profile)}
    repaired = repair(messages, format="openai-chat", profile=profile)
    assert repaired.remaining == ()
    assert refusal(name, "openai-chat", repaired.messages) == ""


def test_a_refusal_that_is_joined_to_another_answer_keeps_its_words() -> None:
    messages: list[object] = [USER, ASSISTANT, {"role": "assistant", "content": None, "refusal": "KEPT"}, USER]
    repaired = repair(messages, format="openai-chat", profile="openai-compatible")
    assert repaired.remaining == ()
    assert repaired.messages == [USER, {"role": "assistant", "content": "x\n\nKEPT"}, USER]


@pytest.mark.parametrize("call", [{}, {"tool_call_id": None}])
def test_calls_of_pydantic_ai_get_ids_for_every_provider(call: Json) -> None:
    named: Json = {"tool_name": "ls", **call}
    messages: list[object] = [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "x"}]},
        {"kind": "response", "parts": [{"part_kind": "tool-call", "args": "{}", **named}]},
        {"kind": "request", "parts": [{"part_kind": "tool-return", "content": "x", **named}]},
    ]
    repaired = repair(messages, format="pydantic-ai", profile="gemini")
    assert repaired.remaining == ()
    assert refusal("pydantic-ai", "pydantic-ai", repaired.messages) == ""
    parts = (as_object(as_array(as_object(each)["parts"])[0]) for each in repaired.messages[1:])
    mine, its = (part.get("tool_call_id") for part in parts)
    assert isinstance(mine, str)
    assert mine == its


def test_the_types_of_an_sdk_look_into_lists() -> None:
    nameless = called("a", tool_calls=[{"id": "a", "type": "function", "function": {"arguments": "{}"}}])
    assert "Field required" in refusal("openai-chat", "openai-chat", [USER, nameless, returned("a")])


@pytest.mark.parametrize(
    "following", [[], [USER], [ASSISTANT], [ASSISTANT, USER]], ids=["end", "user", "answer", "both"]
)
def test_the_user_speaks_behind_a_new_result_where_the_provider_lets_him(following: list[object]) -> None:
    messages: list[object] = [USER, called("abcdefgh1"), *following]
    for profile in ("mistral", "mistral-templates", "any"):
        repaired = repair(messages, format="openai-chat", profile=profile)
        assert repaired.remaining == ()
        assert repair(repaired.messages, format="openai-chat", profile=profile).edits == ()
        assert refusal("template-mistral-v3-tekken", "openai-chat", repaired.messages) == ""
