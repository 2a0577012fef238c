"""Results as other wires write them: what a tool did stays with its call, whichever wire wrote it."""

from __future__ import annotations

import json

import pytest

from holdfast.history import NO_RESULT, check, find_dangling_tool_call_ids, repair
from holdfast.history.formats.format import Json
from holdfast.history.profiles import PAIRS
from holdfast.history.repairs.content import EMPTY_TEXT

ITSELF = {"openai-chat": "chat", "anthropic": "messages", "openai-responses": "items", "gemini": "parts"}
WRITTEN: dict[str, Json] = {
    "chat": {"role": "tool", "tool_call_id": "a", "name": "f", "content": "done"},
    "messages": {"type": "tool_result", "tool_use_id": "a", "name": "f", "content": [{"type": "text", "text": "done"}]},
    "items": {"type": "function_call_output", "call_id": "a", "name": "f", "output": "done"},
    "parts": {"functionResponse": {"id": "a", "name": "f", "response": {"output": "done"}}},
    "pydantic-ai": {"part_kind": "tool-return", "tool_call_id": "a", "tool_name": "f", "content": "done"},
}
MIXED = [
    (form, profile, wire, among)
    for form in ITSELF
    for profile in PAIRS[form]
    for wire in WRITTEN
    for among in (False, True)
    if wire != ITSELF[form]
]


def call(form: str) -> Json:
    """Return a message that asks for a tool."""
    match form:
        case "openai-chat":
            tool_call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            return {"role": "assistant", "content": None, "tool_calls": [tool_call]}
        case "anthropic":
            return {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
        case "openai-responses":
            return {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
        case _:
            return {"role": "model", "parts": [{"functionCall": {"id": "a", "name": "f", "args": {}}}]}


def user_message(form: str, *values: object) -> Json:
    """Return a message of the user."""
    if form == "gemini":
        return {"role": "user", "parts": [{"text": each} if isinstance(each, str) else each for each in values]}
    kind = "input_text" if form == "openai-responses" else "text"
    return {
        "role": "user",
        "content": [{"type": kind, "text": each} if isinstance(each, str) else each for each in values],
    }


@pytest.mark.parametrize(("form", "profile", "wire", "among"), MIXED)
def test_a_result_of_another_wire_answers_its_call(form: str, profile: str, wire: str, among: bool) -> None:  # noqa: FBT001 - a parameter
    written = [user_message(form, WRITTEN[wire], "go on")] if among else [WRITTEN[wire], user_message(form, "go on")]
    messages: list[object] = [user_message(form, "begin"), call(form), *written]
    repaired = repair(messages, format=form, profile=profile)
    assert repaired.remaining == ()
    assert find_dangling_tool_call_ids(repaired.messages, format=form) == []
    text = json.dumps(repaired.messages)
    assert NO_RESULT not in text
    assert text.count("done") == text.count("go on") == 1
    assert repair(repaired.messages, format=form, profile=profile).edits == ()


@pytest.mark.parametrize(("form", "profile", "wire", "among"), MIXED)
def test_one_without_its_call_is_quoted(form: str, profile: str, wire: str, among: bool) -> None:  # noqa: FBT001 - a parameter
    more = {"note": "beside"}
    result = {**WRITTEN[wire], **more}
    if wire == "parts":
        result = {"functionResponse": {"id": "a", "name": "f", "response": {"output": "done"}, **more}}
    messages: list[object] = [
        user_message(form, "begin"),
        *([user_message(form, result)] if among else [result]),
        user_message(form, "go on"),
    ]
    repaired = repair(messages, format=form, profile=profile)
    assert repaired.remaining == ()
    assert all(json.dumps(repaired.messages).count(word) == 1 for word in ("done", "go on", "beside"))


BESIDE: dict[str, Json] = {
    "openai-chat": {"role": "tool", "tool_call_id": "a", "output": "done"},
    "anthropic": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "output": "done"}]},
    "openai-responses": {"type": "function_call_output", "call_id": "a", "content": [{"text": "done"}]},
    "gemini": {"role": "user", "parts": [{"functionResponse": {"id": "a", "name": "f", "output": "done"}}]},
}


@pytest.mark.parametrize(("form", "profile"), [(form, profile) for form in ITSELF for profile in PAIRS[form]])
@pytest.mark.parametrize("called", [True, False])
def test_what_a_result_says_in_the_field_of_another_wire_is_what_it_says(
    form: str,
    profile: str,
    called: bool,  # noqa: FBT001 - a parameter
) -> None:
    messages: list[object] = [
        user_message(form, "begin"),
        *([call(form)] if called else []),
        BESIDE[form],
        user_message(form, "go on"),
    ]
    repaired = repair(messages, format=form, profile=profile)
    assert repaired.remaining == ()
    text = json.dumps(repaired.messages)
    assert text.count("done") == 1
    assert ("A result whose call" in text) is not called
    assert not any(nothing in text for nothing in (NO_RESULT, EMPTY_TEXT))


@pytest.mark.parametrize("profile", PAIRS["anthropic"])
@pytest.mark.parametrize("said_after", [{"type": "text", "text": "so"}, {}])
def test_a_server_call_without_a_result_is_repaired_unless_it_ends_its_response(said_after: Json, profile: str) -> None:
    search: Json = {"type": "server_tool_use", "id": "srvtoolu_s", "name": "web_search", "input": {}}
    history: list[object] = [user_message("anthropic", "begin"), {"role": "assistant", "content": [search, said_after]}]
    repaired = repair(history, format="anthropic", profile=profile)
    assert repaired.remaining == ()
    paused: list[object] = [
        history[0],
        {"role": "assistant", "content": [said_after, search] if said_after else [search]},
    ]
    if profile == "anthropic":
        assert repair(paused, format="anthropic", profile=profile).edits == ()


@pytest.mark.parametrize("form", ["openai-chat", "openai-responses", "anthropic"])
def test_content_of_an_unknown_kind_is_reported_with_its_type(form: str) -> None:
    (found,) = check([user_message(form, {"type": "hologram", "data": "x"})], format=form)
    assert found.sentence.startswith("The content of the type 'hologram' is of a kind that")


@pytest.mark.parametrize("form", ["openai-chat", "openai-responses", "anthropic"])
@pytest.mark.parametrize("content", [{"text": " "}, {"type": "text", "text": ""}])
def test_a_text_in_place_of_a_list_is_a_text_in_every_format(form: str, content: Json) -> None:
    for text in (content, {**content, "text": "said"}):
        history: list[object] = [user_message(form, "begin"), {"role": "user", "content": text}]
        for profile in PAIRS[form]:
            repaired = repair(history, format=form, profile=profile)
            assert repaired.remaining == ()
            assert "Content of a kind" not in json.dumps(repaired.messages)
            assert ("said" in json.dumps(repaired.messages)) is (text["text"] == "said")


def test_a_result_in_a_message_of_the_assistant_is_nothing_that_its_thinking_produced() -> None:
    answer: Json = {"role": "assistant", "content": [WRITTEN["messages"]]}
    history: list[object] = [user_message("openai-responses", "begin"), {"type": "reasoning", "summary": []}, answer]
    repaired = repair(history, format="openai-responses")
    assert repaired.remaining == ()
    assert json.dumps(repaired.messages).count("done") == 1


def test_a_call_goes_behind_the_text_of_its_response_where_nothing_else_is_changed() -> None:
    tool_call = {"part_kind": "tool-call", "tool_name": "f", "tool_call_id": "a", "args": "{}"}
    parts: list[object] = [tool_call, {"part_kind": "text", "content": "so"}]
    answer = {"part_kind": "tool-return", "tool_name": "f", "tool_call_id": "a", "content": "done"}
    prompt = {"part_kind": "user-prompt", "content": "begin"}
    history: list[object] = [
        {"kind": "request", "parts": [prompt]},
        {"kind": "response", "parts": parts},
        {"kind": "request", "parts": [answer]},
    ]
    repaired = repair(history, format="pydantic-ai", profile="deepseek")
    assert repaired.remaining == ()
    assert repaired.messages[1] == {"kind": "response", "parts": parts[::-1]}


def test_a_result_inside_a_response_does_not_part_it_from_its_reasoning() -> None:
    """Among the words of a Responses message of the assistant it is quoted: its call only comes behind it."""
    document = [
        {"role": "user", "content": "x"},
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "think"}]},
        {
            "type": "message",
            "role": "assistant",
            "content": [
                {"role": "tool", "tool_call_id": "a", "content": "early"},
                {"type": "output_text", "text": "words"},
            ],
        },
        {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "late"},
    ]
    repaired = repair(document, format="openai-responses", profile="deepseek", thinking=True)
    assert repaired.remaining == ()
    assert "early" in json.dumps(repaired.document)
    assert "late" in json.dumps(repaired.document)
