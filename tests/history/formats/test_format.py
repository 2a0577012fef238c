"""What is the same for all formats: words are looked up as words, and roles of other programs are known."""

from __future__ import annotations

import json

import pytest

from holdfast.history import check, repair
from holdfast.history.formats.format import Json, as_object
from holdfast.history.profiles import PAIRS, PROFILES

KEYS = {
    "openai-chat": ("role", "type", "content", "tool_calls", "name"),
    "anthropic": ("role", "type", "content", "source"),
    "openai-responses": ("role", "type", "content", "id", "output", "call_id"),
    "gemini": ("role", "parts", "functionCall", "functionResponse", "text", "inlineData"),
    "pydantic-ai": ("kind", "part_kind", "parts", "content", "tool_calls", "provider_name"),
}
HOLDS = {"gemini": "parts", "pydantic-ai": "parts"}
SPOKEN = {"gemini": "parts"}


@pytest.mark.parametrize("form", PAIRS)
@pytest.mark.parametrize("value", [[], {}, 1, True, [{}], [[]]])
def test_a_value_in_place_of_a_word_is_checked_and_repaired(value: object, form: str) -> None:
    block: Json = dict.fromkeys(KEYS[form], value)
    field = HOLDS.get(form, "content")
    speaks = [{"role": "user", "kind": "request", field: [block]}, {"role": "assistant", "kind": "response"}]
    for message in (block, *speaks, {**speaks[1], field: [block]}, {**block, "role": "assistant", "kind": "response"}):
        for profile in PAIRS[form]:
            check([message], format=form, profile=profile)
            assert repair([message], format=form, profile=profile).remaining == ()


@pytest.mark.parametrize("form", [form for form in PAIRS if form != "pydantic-ai"])
@pytest.mark.parametrize(("written", "role"), [("ai", "assistant"), ("model", "assistant"), ("human", "user")])
def test_who_speaks_is_known_by_other_programs_words_too(form: str, written: str, role: str) -> None:
    key, roles = (
        ("parts", {"user": "user", "assistant": "model"})
        if form == "gemini"
        else ("content", {"user": "user", "assistant": "assistant"})
    )
    content: object = [{"text": "so"}] if form == "gemini" else "so"
    for profile in PAIRS[form]:
        repaired = repair([{"role": written, key: content, "x": 1}], format=form, profile=profile)
        assert repaired.remaining == ()
        unknown: Json = {} if form in PROFILES[profile].fields else {"x": 1}
        expected: Json = {"role": roles[role], key: content, **unknown}
        assert expected in repaired.messages
        assert "so" not in json.dumps([as_object(each) for each in repaired.messages if each != expected])


@pytest.mark.parametrize("profile", PAIRS["openai-chat"])
def test_the_calls_of_an_assistant_by_another_name_are_its_calls(profile: str) -> None:
    call: Json = {"id": "abcdefghi", "name": "f", "args": {"x": "y"}, "type": "tool_call"}
    answer: Json = {"role": "ai", "content": "so", "tool_calls": [call]}
    result: Json = {"role": "tool", "tool_call_id": "abcdefghi", "content": "done"}
    repaired = repair([{"role": "human", "content": "hi"}, answer, result], format="openai-chat", profile=profile)
    assert repaired.remaining == ()
    assert [as_object(each)["role"] for each in repaired.messages[:3]] == ["user", "assistant", "tool"]
    assert as_object(repaired.messages[1])["content"] == "so"
