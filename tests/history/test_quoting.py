"""What cannot stand as what it is and is quoted: in its words, and with what is legal where they are said."""

from __future__ import annotations

import json
from typing import cast

import pytest

from holdfast.history import Repair, check, repair
from holdfast.history.formats.format import Json, as_array, as_object, words
from holdfast.history.profiles import PAIRS
from holdfast.history.repairs.content import EMPTY_TEXT

HELD: dict[str, list[object]] = {
    "anthropic": [
        {"type": "tool_reference", "tool_name": "f"},
        {"type": "browser_state", "url": "https://example.org"},
        {"type": "text", "text": "said"},
    ],
    "gemini": [{}, {"text": "said"}, {"functionCall": {"name": "f"}}, "said", None],
    "openai-chat": [{"type": "file", "file": {}}, {"type": "text", "text": "said"}],
    "openai-responses": [{"type": "input_file"}, {"type": "input_text", "text": "said"}, {}],
    "pydantic-ai": [
        {"kind": "file", "path": "said"},
        [{"kind": "response"}, "said"],
        [{"kind": "image-url"}, {"kind": "text-content"}, "said", {"kind": "cache-point"}],
    ],
}


def orphan(form: str, content: object) -> list[object]:
    """Return a conversation of one result without a call, which holds that."""
    match form:
        case "anthropic":
            block: Json = {"type": "tool_result", "tool_use_id": "a", "content": content}
            return [{"role": "user", "content": [block]}]
        case "gemini":
            result: Json = {"name": "f", "response": {"output": "said"}, "parts": content}
            return [{"role": "user", "parts": [{"functionResponse": result}]}]
        case "openai-chat":
            return [{"role": "tool", "tool_call_id": "a", "content": content}]
        case "openai-responses":
            return [{"type": "function_call_output", "call_id": "a", "output": content}]
        case _:
            part: Json = {"part_kind": "tool-return", "tool_name": "f", "tool_call_id": "a", "content": content}
            return [{"kind": "request", "parts": [part]}]


def full_repair(messages: list[object], form: str, profile: str) -> Repair:
    """Return the repair, which leaves nothing to repair."""
    repaired = repair(messages, format=form, profile=profile, tools=["f"])
    assert repaired.remaining == ()
    assert repair(repaired.messages, format=form, profile=profile, tools=["f"]).edits == ()
    return repaired


@pytest.mark.parametrize(("form", "profile"), [(form, profile) for form in PAIRS for profile in PAIRS[form]])
def test_what_a_quoted_result_holds_goes_along_only_where_the_user_can_have_it(form: str, profile: str) -> None:
    contents = HELD[form]
    for each in contents if form == "pydantic-ai" else [contents, *([one] for one in contents)]:
        repaired = full_repair(orphan(form, each), form, profile)
        if "said" in json.dumps(each):
            assert "said" in json.dumps(repaired.messages)


@pytest.mark.parametrize("profile", PAIRS["anthropic"])
@pytest.mark.parametrize(
    "block",
    [
        {"type": "server_tool_use", "name": "\ud800x"},
        {"type": "image", "source": {"type": "base64", "media_type": "\ud800x", "data": "AAAA"}},
        {"type": "tool_use", "id": "a", "name": "\ud800x", "input": {}},
    ],
)
def test_names_are_valid_text_in_all_that_is_said_of_them(block: Json, profile: str) -> None:
    messages: list[object] = [{"role": role, "content": [block]} for role in ("assistant", "user")]
    repaired = full_repair(messages, "anthropic", profile)
    sentences = [each.sentence + each.error for each in check(messages, format="anthropic", profile=profile)]
    for text in (
        *sentences,
        *(edit.sentence for edit in repaired.edits),
        json.dumps(repaired.messages, ensure_ascii=False),
    ):
        assert text.encode()


@pytest.mark.parametrize("profile", PAIRS["anthropic"])
@pytest.mark.parametrize("nothing", [{"type": "text"}, {"type": "text", "text": None}])
def test_a_block_of_text_that_is_not_there_says_nothing(nothing: Json, profile: str) -> None:
    use: Json = {"type": "tool_use", "id": "abcdefghi", "name": "f", "input": {}}
    blocks: list[object] = [nothing, {"type": "text", "text": "said"}]
    for content, expected in (([nothing], EMPTY_TEXT), (blocks, "said")):
        result: Json = {"type": "tool_result", "tool_use_id": "abcdefghi", "content": content}
        messages: list[object] = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
        (block,) = as_array(as_object(full_repair(messages, "anthropic", profile).messages[-1])["content"])
        assert words(as_object(block)["content"]).strip() in (expected, "")


@pytest.mark.parametrize(
    ("form", "profile"), [(form, each) for form in ("openai-chat", "anthropic") for each in PAIRS[form]]
)
def test_a_block_of_text_without_one_is_not_dropped_with_what_else_it_holds(form: str, profile: str) -> None:
    block: Json = {"type": "text", "content": [{"type": "text", "text": "said"}]}
    repaired = full_repair([{"role": "user", "content": [{"type": "text", "text": "so"}, block]}], form, profile)
    assert "said" in json.dumps(repaired.messages)


def test_a_block_that_became_a_result_keeps_the_words_it_has_elsewhere() -> None:
    blocks: list[object] = [{"type": "tool_result", "text": "said"}]
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": blocks}]
    for profile in PAIRS["anthropic"]:
        assert "said" in str(repair(history, format="anthropic", profile=profile).messages)


def test_calls_that_hold_nothing_leave_no_message_behind() -> None:
    history: list[object] = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [None]},
        {"role": "user", "content": "again"},
    ]
    repaired = repair(history, format="openai-chat", profile="openai-compatible")
    assert repaired.remaining == ()
    assert len(repaired.messages) == 1


def test_a_call_of_the_kind_without_an_id_gets_one_where_its_result_needs_it() -> None:
    history: list[object] = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "tool", "name": "f", "content": "done"},
    ]
    repaired = repair(history, format="openai-chat")
    assert repaired.remaining == ()
    call, result = (as_object(message) for message in repaired.messages[1:])
    assert as_object(as_array(call["tool_calls"])[0])["id"] == result["tool_call_id"]


@pytest.mark.parametrize(
    ("form", "profile"), [(form, profile) for form in ("openai-chat", "pydantic-ai") for profile in PAIRS[form]]
)
def test_a_new_result_has_the_name_that_its_call_has_once_it_is_clean(form: str, profile: str) -> None:
    question: Json = {"role": "user", "content": "x"}
    call: Json = {"id": "abcdefgh1", "type": "function", "function": {"name": "f\ud800", "arguments": "{}"}}
    log: list[object] = [question, {"role": "assistant", "content": "", "tool_calls": [call]}]
    if form == "pydantic-ai":
        part: Json = {"part_kind": "tool-call", "tool_name": "f\ud800", "args": "{}", "tool_call_id": "abcdefgh1"}
        prompt: Json = {"part_kind": "user-prompt", "content": "x"}
        log = [{"kind": "request", "parts": [prompt]}, {"kind": "response", "parts": [part]}]
    done = repair(log, format=form, profile=profile)
    assert done.remaining == ()
    json.dumps(done.messages, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("form", "message"),
    cast(
        "list[tuple[str, Json]]",
        [
            ("openai-chat", {"role": "tool", "tool_call_id": "a", "content": "x", "parts": [{"text": "KEPT"}]}),
            ("openai-responses", {"type": "function_call_output", "call_id": "a", "output": [{}], "content": "KEPT"}),
            (
                "anthropic",
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{}], "output": "KEPT"}],
                },
            ),
            (
                "gemini",
                {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": "x", "output": "KEPT"}}]},
            ),
            ("gemini", {"role": "assistant", "content": "x", "refusal": "KEPT"}),
        ],
    ),
)
def test_what_stands_beside_in_a_result_that_becomes_text_is_quoted(form: str, message: Json) -> None:
    done = repair([message], format=form)
    assert done.remaining == ()
    assert "KEPT" in json.dumps(done.messages)


@pytest.mark.parametrize("profile", PAIRS["openai-chat"])
@pytest.mark.parametrize("field", ["parts", "refusal", "input"])
def test_an_extra_field_of_a_chat_result_that_is_quoted_is_quoted_once(profile: str, field: str) -> None:
    result: Json = {"role": "tool", "tool_call_id": "a", "content": "x", field: [{"type": "text", "text": "KEPT"}]}
    done = repair([{"role": "user", "content": "x"}, result], format="openai-chat", profile=profile)
    assert done.remaining == ()
    assert json.dumps(done.messages).count("KEPT") == 1


@pytest.mark.parametrize("profile", PAIRS["gemini"])
def test_a_result_out_of_a_response_in_two_contents_is_quoted_behind_both(profile: str) -> None:
    orphaned: Json = {"functionResponse": {"name": "g", "response": {"output": "KEPT"}}}
    call: Json = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "AAAA"}
    answers: list[object] = [{"functionResponse": {"name": "f", "response": {"output": str(at)}}} for at in range(2)]
    log: list[object] = [
        {"role": "user", "parts": [{"text": "x"}]},
        {"role": "model", "parts": [orphaned, call]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": answers},
    ]
    done = repair(log, format="gemini", profile=profile)
    assert done.remaining == ()
    question, model, user = (as_array(as_object(each)["parts"]) for each in done.messages)
    assert len(question) == 1
    assert len(model) == len(answers)
    assert list(user[:2]) == answers
    assert "KEPT" in str(user[2])
