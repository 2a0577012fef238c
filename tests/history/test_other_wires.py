"""Results as other wires write them: what a tool did stays with its call, whoever wrote it down."""

from __future__ import annotations

import json

import pytest

from holdfast.history import NO_RESULT, find_dangling_tool_call_ids, repair
from holdfast.history.formats.format import Json
from holdfast.history.profiles import PAIRS

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
            asked = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            return {"role": "assistant", "content": None, "tool_calls": [asked]}
        case "anthropic":
            return {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
        case "openai-responses":
            return {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
        case _:
            return {"role": "model", "parts": [{"functionCall": {"id": "a", "name": "f", "args": {}}}]}


def said(form: str, *values: object) -> Json:
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
    written = [said(form, WRITTEN[wire], "go on")] if among else [WRITTEN[wire], said(form, "go on")]
    messages: list[object] = [said(form, "begin"), call(form), *written]
    mended = repair(messages, format=form, profile=profile)
    assert mended.remaining == ()
    assert find_dangling_tool_call_ids(mended.messages, format=form) == []
    told = json.dumps(mended.messages)
    assert NO_RESULT not in told
    assert told.count("done") == told.count("go on") == 1
    assert repair(mended.messages, format=form, profile=profile).edits == ()


@pytest.mark.parametrize(("form", "profile", "wire", "among"), MIXED)
def test_one_without_its_call_is_quoted(form: str, profile: str, wire: str, among: bool) -> None:  # noqa: FBT001 - a parameter
    more = {"note": "beside"}
    result = {**WRITTEN[wire], **more}
    if wire == "parts":
        result = {"functionResponse": {"id": "a", "name": "f", "response": {"output": "done"}, **more}}
    messages: list[object] = [said(form, "begin"), *([said(form, result)] if among else [result]), said(form, "go on")]
    mended = repair(messages, format=form, profile=profile)
    assert mended.remaining == ()
    assert all(json.dumps(mended.messages).count(word) == 1 for word in ("done", "go on", "beside"))
