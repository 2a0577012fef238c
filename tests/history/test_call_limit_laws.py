"""The laws of a response with more calls than its provider takes: it is split, and each result follows its call."""

from __future__ import annotations

import itertools
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain import PLAIN, Plain

from conversations import Answered, Called, Piece, Returned, Said, Thought, conversations
from holdfast.history import check, repair
from holdfast.history import repair as library
from holdfast.history.apply_edits import apply
from holdfast.history.edits import Edit, Split
from holdfast.history.formats.format import RequestFacts, project_messages
from holdfast.history.profiles import PAIRS, PROFILES
from holdfast.history.repair import NOT_REPAIRABLE
from holdfast.history.repair import repair_shape as edits_of
from holdfast.history.rules import check_shape as broken
from holdfast.history.rules.profile import Profile
from laws import law
from renderings import RENDERINGS

LIMITED = [profile.name for profile in PROFILES.values() if profile.calls is not None]
FEW = {name: msgspec.structs.replace(PROFILES[name], calls=2) for name in LIMITED}
"""The same providers, if they took two calls: every conversation of the laws then has responses to split."""

FLAT = {name: form for name, form in PLAIN.items() if not form.grammar.atomic}
EVERY_GRAMMAR = pytest.mark.parametrize("form", FLAT.values(), ids=FLAT)
A_LAW = law(shared_by=len(FLAT))
FORMATS = [
    (form, profile)
    for form, profiles in PAIRS.items()
    for profile in profiles
    if profile in LIMITED and form != "openai-responses"  # where each call is a separate item
]
MANY = pytest.mark.parametrize("calls", [128, 129, 256, 257])
PAST: tuple[Piece, ...] = (Said("user", "begin"), Answered("begun"))


def story(calls: int, *, text: str | None = "I look.", open_from: int | None = None) -> tuple[Piece, ...]:
    """Return a conversation with a response of so many calls, the results from `open_from` on missing."""
    called = tuple(Called(f"call{number:05}", "read", f'{{"n":{number}}}') for number in range(calls))
    results = tuple(Returned(call.id, "read", f"r{number}.") for number, call in enumerate(called))
    return (
        *PAST,
        Said("user", "look"),
        Answered(text, called),
        *results[:open_from],
        Answered("Done."),
        Said("user", "and now?"),
    )


def test_every_provider_with_a_limit_is_tried() -> None:
    assert set(LIMITED) == {"openai-chat", "openai-compatible", "any"}


@EVERY_GRAMMAR
@A_LAW
@given(pieces=conversations(), limited=st.sampled_from(LIMITED))
def test_what_was_split_is_valid_and_is_split_once(form: Plain, pieces: tuple[Piece, ...], limited: str) -> None:
    messages, _ = _repaired(form, form.render(pieces), FEW[limited])
    found = broken(project_messages(form, messages, RequestFacts()), FEW[limited])
    assert [each.rule for each in found if each.rule not in NOT_REPAIRABLE] == []
    assert messages == [] or _repaired(form, messages, FEW[limited])[1] == ()


@EVERY_GRAMMAR
@A_LAW
@given(pieces=conversations(), limited=st.sampled_from(LIMITED))
def test_without_the_limit_the_same_is_said_in_the_same_order(
    form: Plain, pieces: tuple[Piece, ...], limited: str
) -> None:
    unlimited = msgspec.structs.replace(FEW[limited], calls=None)
    few, without = (_repaired(form, form.render(pieces), profile)[0] for profile in (FEW[limited], unlimited))
    for kinds in (("call",), ("text", "thinking")):
        assert _of(kinds, few) == _of(kinds, without)
    assert sorted(map(str, _of(("result",), few))) == sorted(map(str, _of(("result",), without)))


@EVERY_GRAMMAR
@A_LAW
@given(pieces=conversations(), more=conversations(), limited=st.sampled_from(LIMITED))
def test_what_is_frozen_is_never_split(
    form: Plain, pieces: tuple[Piece, ...], more: tuple[Piece, ...], limited: str
) -> None:
    before = form.render(pieces)
    log = [*before, *form.render(more)]
    messages, edits = _repaired(form, log, FEW[limited], frozen=len(before))
    assert all(new is old for new, old in zip(messages, before, strict=False))
    assert all(int(edit.calls[0][0]) >= len(before) for edit in edits if isinstance(edit, Split))


@MANY
@pytest.mark.parametrize(("form", "profile"), FORMATS)
def test_a_long_response_of_every_format_is_split(form: str, profile: str, calls: int) -> None:
    messages = RENDERINGS[form](story(calls))
    repaired = repair(messages, format=form, profile=profile)
    assert repaired.remaining == ()
    splits = [edit for edit in repaired.edits if isinstance(edit, Split)]
    assert [len(edit.calls) for edit in splits] == [min(128, calls - first) for first in range(128, calls, 128)]
    text = str(repaired.messages)
    places = [text.index(f"r{number}.") for number in range(calls)]
    assert places == sorted(places)
    assert repair(repaired.messages, format=form, profile=profile).edits == ()


@pytest.mark.parametrize("profile", LIMITED)
def test_the_first_calls_stay_and_each_result_stands_behind_its_part(profile: str) -> None:
    messages: Any = RENDERINGS["openai-chat"](story(129))
    repaired: Any = repair(messages, format="openai-chat", profile=profile).messages
    runs = [(role, len(list(run))) for role, run in itertools.groupby(each["role"] for each in repaired)]
    assert runs == [
        *(("user", 1), ("assistant", 1), ("user", 1)),
        *(("assistant", 1), ("tool", 128), ("assistant", 1), ("tool", 1), ("assistant", 1), ("user", 1)),
    ]
    first, second = repaired[3], repaired[3 + 129]
    assert (first["content"], len(first["tool_calls"])) == ("I look.", 128)
    assert (second["content"], second["tool_calls"][0]["function"]["arguments"]) == ("", '{"n":128}')
    for message in (first, second):
        called = [call["id"] for call in message["tool_calls"]]
        results = repaired[repaired.index(message) + 1 :][: len(called)]
        assert [each["tool_call_id"] for each in results] == called
    assert repaired[0] is messages[0]
    assert all(any(new is old for new in repaired) or profile == "any" for old in messages if old["role"] == "tool")


def test_results_that_are_missing_are_made_up_behind_the_part_of_their_call() -> None:
    repaired: Any = repair(RENDERINGS["openai-chat"](story(130, open_from=100)), format="openai-chat").messages
    result_ids = [each["tool_call_id"] for each in repaired if each["role"] == "tool"]
    assert result_ids == [call["id"] for each in repaired for call in each.get("tool_calls", ())]
    assert "No result was recorded" in repaired[-3]["content"]


def test_signed_thinking_and_words_stay_on_the_first_part() -> None:
    pieces = list(story(129))
    answer = pieces[3]
    assert isinstance(answer, Answered)
    pieces[3] = Answered(answer.text, answer.calls, Thought("hm", "c2lnbmVk"))
    repaired: Any = repair(
        RENDERINGS["pydantic-ai"](tuple(pieces)), format="pydantic-ai", profile="openai-chat"
    ).messages
    first, second, _ = [each for each in repaired if each["kind"] == "response"][1:]
    kinds = [part["part_kind"] for part in first["parts"]]
    assert kinds.count("tool-call") == 128
    assert kinds[:-128] == ["thinking", "text"]
    assert first["parts"][0]["signature"] == "c2lnbmVk"
    assert [part["part_kind"] for part in second["parts"]] == ["tool-call"]


def test_a_user_message_with_results_and_words_is_divided() -> None:
    messages: Any = RENDERINGS["anthropic"](story(130))
    users: Any = [message for message in messages if message["role"] == "user"]
    results = next(each for each in users if isinstance(each["content"], list) and len(each["content"]) > 1)
    results["content"].append({"type": "text", "text": "and mind the gap"})
    repaired: Any = repair(messages, format="anthropic", profile="any").messages
    kinds = [[part["type"] for part in each["content"]] for each in repaired if isinstance(each["content"], list)]
    runs = [[(kind, len(list(run))) for kind, run in itertools.groupby(each)] for each in kinds]
    assert [("tool_result", 128)] in runs
    assert [("tool_result", 2), ("text", 1)] in runs


def test_each_part_of_a_response_for_gemini_begins_with_a_signature() -> None:
    calls: list[object] = [{"functionCall": {"id": f"c{n:08}", "name": "read", "args": {}}} for n in range(129)]
    results = [{"functionResponse": {"id": f"c{n:08}", "name": "read", "response": {"a": n}}} for n in range(129)]
    messages: list[object] = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": calls},
        {"role": "user", "parts": results},
    ]
    repaired: Any = repair(messages, format="gemini", profile="any").messages
    assert check(repaired, format="gemini", profile="any") == []
    answers = [message["parts"] for message in repaired if message["role"] == "model"]
    assert [len(parts) for parts in answers] == [128, 1]
    assert all("thoughtSignature" in parts[0] for parts in answers)


def test_two_responses_that_are_joined_are_split_where_together_they_are_too_many() -> None:
    ids = [[f"{part}{number}" for number in range(100)] for part in "ab"]
    calls = [
        [{"id": id_, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id_ in part] for part in ids
    ]
    messages: list[object] = [
        {"role": "user", "content": "go"},
        *({"role": "assistant", "content": None, "tool_calls": part} for part in calls),
        *({"role": "tool", "tool_call_id": id_, "content": "done"} for part in ids for id_ in part),
    ]
    repaired = repair(messages, format="openai-chat")
    sent = cast("list[dict[str, list[object]]]", repaired.messages)
    assert repaired.remaining == ()
    assert [len(each["tool_calls"]) for each in sent if "tool_calls" in each] == [128, 72]


def test_an_edit_says_what_it_does() -> None:
    repaired = repair(RENDERINGS["openai-chat"](story(129)), format="openai-chat")
    (split,) = [each for each in repaired.edits if isinstance(each, Split)]
    assert split.sentence == (
        "The response at messages[3] has more calls than the provider accepts: those from messages[3].tool_calls[128]"
        " on (1) move to a separate response, after the results of the others."
    )


def known(raw: object) -> object:
    """Return JSON without the field that no provider knows."""
    if isinstance(raw, list):
        return [known(each) for each in cast("list[object]", raw)]
    if isinstance(raw, dict):
        return {key: known(each) for key, each in cast("dict[str, object]", raw).items() if key != "x-unknown"}
    return raw


def test_one_that_is_not_too_long_is_the_same_object() -> None:
    messages = [known(each) for each in RENDERINGS["openai-chat"](story(128))]
    assert check(messages, format="openai-chat") == []
    assert library(messages, format="openai-chat").messages is messages


def _repaired(
    form: Plain, messages: list[object], profile: Profile, frozen: int = 0
) -> tuple[list[object], tuple[Edit, ...]]:
    shape = project_messages(form, messages, RequestFacts())
    edits = edits_of(shape, profile, frozen=frozen)
    return apply(form, messages, shape, edits).messages, edits


def _of(kinds: tuple[str, ...], messages: Any) -> list[Any]:
    items = [item for message in messages for item in message["items"] if item["kind"] in kinds]
    return [{key: value for key, value in item.items() if value} for item in items]
