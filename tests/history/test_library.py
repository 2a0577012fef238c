"""`check` and `repair` as people call them, and documents as they come."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

import holdfast.history.repair  # the module must not hide the function
from holdfast.errors import DamageError, UsageError
from holdfast.history import (
    NO_RESULT,
    check,
    find_dangling_tool_call_ids,
    repair,
    validate_message_invariants,
)
from holdfast.history.apply_edits import apply
from holdfast.history.document import read_document
from holdfast.history.edits import Fill
from holdfast.history.formats import find_format
from holdfast.history.formats.format import Json, as_array, as_object, project_messages
from holdfast.history.repairs.content import EMPTY_TEXT
from polling import HANGS

SYSTEM: Json = {"role": "system", "content": "be brief"}
USER: Json = {"role": "user", "content": "hi"}


def called(*ids: str, content: str | None = None, arguments: object = "{}", name: str = "read") -> Json:
    function = {"name": name, "arguments": arguments}
    calls = [{"id": each, "type": "function", "function": function} for each in ids]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def returned(call: str, content: object = "ok") -> Json:
    return {"role": "tool", "tool_call_id": call, "content": content}


def rules(messages: object, profile: str = "openai-chat", **more: bool | list[str] | None) -> list[str]:
    thinking, tools = more.get("thinking"), more.get("tools")
    found = check(
        messages,
        format="openai-chat",
        profile=profile,
        thinking=thinking if isinstance(thinking, bool) else None,
        tools=tools if isinstance(tools, list) else None,
        hearsay=more.get("hearsay") is True,
    )
    return [violation.rule for violation in found]


def test_a_violation_says_whose_words_it_quotes() -> None:
    (found,) = check([USER, called("a")], format="openai-chat", profile="deepseek")
    assert found.error_by == "deepseek"
    assert found.error.endswith("(insufficient tool messages following tool_calls message)")
    (found,) = check([USER, called("a")], format="openai-chat", profile="cohere")
    assert found.error_by == "openai-chat"
    (found, *_) = check([USER, called("a")], format="openai-chat", profile="openai-compatible")
    assert found.error_by == "openai-compatible/Moonshot"


def test_words_of_an_error_name_what_they_are_about() -> None:
    messages: list[object] = [USER, {"role": "bogus", "content": "x"}, called("a" * 41), returned("a" * 41)]
    role, length = [found.error for found in check(messages, format="openai-chat")]
    assert role.startswith("Invalid value: 'bogus'. Supported values are: 'system', 'assistant', 'user',")
    assert length == (
        "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a"
        " string with length 41 instead."
    )


def test_a_violation_says_where_what_and_the_words_of_the_provider() -> None:
    (found,) = check([USER, called("a")], format="openai-chat")
    assert found.position == "messages[1].tool_calls[0]"
    assert found.sentence == "The call read ('a') has no result. Every call has a result."
    assert found.error.endswith("did not have response messages: a")


def test_the_repair_of_a_body_replaces_only_its_messages() -> None:
    body = {"model": "m", "messages": [USER, called("a")], "x": [1]}
    repaired = repair(body, format="openai-chat")
    assert repaired.document == {**body, "messages": repaired.messages}
    assert repaired.messages[:2] == body["messages"]
    assert repaired.messages[2] == {"role": "tool", "tool_call_id": "a", "content": NO_RESULT}
    valid = {"messages": [USER]}
    assert repair(valid, format="openai-chat").document is valid


def test_declared_tools_are_used() -> None:
    paired = [USER, called("a"), returned("a")]
    tool = {"type": "function", "function": {"name": "other"}}
    assert rules({"messages": paired, "tools": [tool]}, hearsay=True) == ["tool-not-declared"]
    assert rules(paired, hearsay=True) == []
    assert rules(paired, hearsay=True, tools=["read"]) == []


def test_text_beside_the_messages_is_cleaned_too() -> None:
    body = {"messages": [USER], "metadata": {"note": "cut \ud83d"}}
    assert rules(body) == ["lone-surrogate"]
    repaired = repair(body, format="openai-chat")
    assert as_object(repaired.document)["metadata"] == {"note": "cut \ufffd"}
    assert repaired.messages[0] is USER


def test_a_late_result_goes_back_to_its_call_unless_that_was_sent() -> None:
    late = [USER, called("a"), USER, returned("a", "late words")]
    assert repair(late, format="openai-chat").messages == [USER, late[1], late[3], USER]
    sent = repair(late[:3], format="openai-chat").messages
    repaired = repair([*sent, late[3]], format="openai-chat", frozen=len(sent))
    assert repaired.messages[: len(sent)] == sent
    assert repaired.messages[-1] == {"role": "user", "content": "[A result that came late]\nlate words"}


def test_the_real_result_wins_over_a_made_up_one() -> None:
    repaired = repair([USER, called("a"), returned("a", NO_RESULT), USER, returned("a", "real")], format="openai-chat")
    assert repaired.messages == [USER, called("a"), returned("a", "real"), USER]


def test_a_rule_of_hearsay_warns_and_edits_nothing() -> None:
    messages: list[object] = [{"role": "user", "content": "a\0b"}]
    warned = check(messages, format="openai-chat", hearsay=True)
    assert [(each.rule, each.severity) for each in warned] == [("nul", "warning")]
    result = repair(messages, format="openai-chat")
    assert (result.edits, result.remaining) == ((), ())
    assert result.messages is messages


def test_a_result_recorded_twice_counts_once_and_a_different_one_is_quoted() -> None:
    twice = [USER, called("a"), returned("a", "one"), returned("a", "one"), returned("a", "two")]
    assert repair(twice, format="openai-chat").messages == [
        *twice[:3],
        {"role": "user", "content": "[A further result of a call that has one]\ntwo"},
    ]


def test_a_result_before_its_call_is_not_said_to_be_without_one() -> None:
    repaired = repair([USER, returned("a", "early"), called("a"), USER], format="openai-chat").messages
    assert repaired[1] == {"role": "user", "content": "[A result that no call before it asked for]\nearly"}
    assert repaired[3] == returned("a", NO_RESULT)


def test_ids_that_differ_stay_different() -> None:
    long = "x" * 40
    messages = [USER, called(f"{long}1", f"{long}2"), returned(f"{long}2", "two"), returned(f"{long}1", "one")]
    repaired = repair(messages, format="openai-chat").messages
    calls = [as_object(call)["id"] for call in as_array(as_object(repaired[1])["tool_calls"])]
    assert len(set(calls)) == 2
    assert [as_object(message)["tool_call_id"] for message in repaired[2:]] == calls[::-1]


def test_unreadable_arguments_are_quoted_in_an_object() -> None:
    repaired = repair([USER, called("a", arguments='{"x'), returned("a")], format="openai-chat", profile="cohere")
    assert '{\\"_unreadable_arguments\\": \\"{\\\\\\"x\\"}' in json.dumps(repaired.messages[1])


def test_arguments_that_are_an_object_become_its_text() -> None:
    repaired = repair([USER, called("a", arguments={"x": 1}), returned("a")], format="openai-chat")
    assert repaired.messages[1] == called("a", arguments='{"x": 1}')


def test_a_message_keeps_its_unknown_fields_when_another_field_changes() -> None:
    message = {**called("a", name="browser.open now"), "x-cache": {"k": 1}}
    messages = [USER, message, {"role": "user", "content": "on"}]
    repaired = repair(messages, format="openai-chat", profile="deepseek")
    assert as_object(repaired.messages[1])["x-cache"] is message["x-cache"]
    assert repaired.edits
    assert repaired.remaining == ()


@pytest.mark.parametrize("raw", ["text", 7, None, ["x"], {"role": "bogus", "content": "words"}, {"content": "words"}])
def test_what_is_no_message_is_reported_and_quoted(raw: object) -> None:
    assert set(rules([USER, raw])) <= {"malformed-message", "unknown-role"}
    assert rules([USER, raw])
    repaired = repair([USER, raw], format="openai-chat").messages
    assert rules(repaired) == []
    assert all(
        word in json.dumps(repaired) for word in (["words"] if isinstance(raw, dict) else [str(raw or "null")[:1]])
    )


def test_a_system_message_in_the_middle_becomes_the_users() -> None:
    repaired = repair([SYSTEM, USER, SYSTEM], format="openai-chat", profile="openai-compatible").messages
    assert repaired == [SYSTEM, {"role": "user", "content": "hi\n\n[System message]\nbe brief"}]


def test_content_that_cannot_be_sent_is_said_in_words() -> None:
    block = {"type": "tool_reference", "tool_name": "mcp__gh__issue"}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "see"}, block]},
        called("a"),
        returned("a", [block]),
    ]
    assert rules(messages) == ["foreign-content", "foreign-content"]
    repaired = repair(messages, format="openai-chat").messages
    assert rules(repaired) == []
    assert json.dumps(repaired).count("mcp__gh__issue") == 2


def test_a_message_of_another_program_is_quoted_with_its_speaker_and_its_calls() -> None:
    log = [{"type": "human", "content": "hi"}, {**called("a", arguments='{"x": 1}'), "role": "agent", "content": "so"}]
    question, answered = repair([*log, USER], format="openai-chat").messages[:2]
    assert question == {"role": "user", "content": "[Message of human]\nhi"}
    assert str(as_object(answered)["content"]).startswith("[Message of agent]\n{")
    assert "so" in str(answered)
    assert "x" in str(answered)


def test_words_in_another_programs_field_are_not_lost() -> None:
    message: Json = {"id": "m1", "role": "user", "content": "", "parts": [{"type": "text", "text": "hello"}]}
    assert rules([message]) == ["malformed-message"]
    assert "hello" in str(repair([message], format="openai-chat").messages)


def test_a_hole_in_a_list_of_calls_is_no_call() -> None:
    holed = called("a")
    holed["tool_calls"] = [None, *as_array(holed["tool_calls"])]
    assert rules([USER, holed, returned("a")]) == ["empty-content"]
    assert repair([USER, holed, returned("a")], format="openai-chat").messages == [USER, called("a"), returned("a")]


def test_a_text_that_is_not_there_goes() -> None:
    parts = [{"type": "text", "text": None}, {"type": "text", "text": "a"}]
    done = repair([{"role": "user", "content": parts}], format="openai-chat")
    assert done.messages == [{"role": "user", "content": parts[1:]}]


def test_a_text_of_another_providers_kind_is_a_text() -> None:
    message: Json = {"role": "user", "content": ["a", {"type": "input_text", "text": "b"}]}
    assert rules([message]) == ["foreign-content", "foreign-content"]
    assert repair([message], format="openai-chat").messages == [{"role": "user", "content": "a\n\nb"}]


def test_an_image_is_declared_as_what_it_is() -> None:
    def image(declared: str) -> Json:
        png = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAD0lEQVR42mP4jwMwDC0JALoev0GJ6La7AAAAAElFTkSuQmCC"
        return {"type": "image_url", "image_url": {"url": f"data:{declared};base64,{png}", "detail": "low"}}

    message = {"role": "user", "content": [{"type": "text", "text": "look"}, image("image/jpeg")]}
    done = repair([message], format="openai-chat")
    right = {"role": "user", "content": [{"type": "text", "text": "look"}, image("image/png")]}
    assert done.messages == [right]
    assert done.remaining == ()


@pytest.mark.parametrize("data", ["", "PGh0bWw+NDA0IG5vdCBmb3VuZDwvaHRtbD4="])
def test_what_is_declared_as_an_image_and_is_none_is_reported(data: str) -> None:
    url = f"data:image/png;base64,{data}"
    assert rules([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]) == ["media-invalid"]


def test_an_image_that_is_no_image_leaves_a_note() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:application/pdf;base64,JVBERi0xLjcgeA=="}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "see"}, image]}]
    assert rules(messages) == ["media-invalid"]
    repaired = repair(messages, format="openai-chat").messages
    assert "declared as application/pdf" in json.dumps(repaired)
    assert rules(repaired) == []


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (["", "kept"], ["kept"]),
        (["", " "], EMPTY_TEXT),
        ([], EMPTY_TEXT),
    ],
)
def test_a_blank_part_of_a_result_goes_and_the_others_stay(content: list[str], expected: list[str] | str) -> None:
    def parts(texts: list[str]) -> list[Json]:
        return [{"type": "text", "text": text} for text in texts]

    messages = [USER, called("a"), returned("a", parts(content))]
    form = find_format("openai-chat")
    shape = project_messages(form, messages)
    edits = [Fill((2,), EMPTY_TEXT)]
    assert apply(form, messages, shape, edits).messages[2] == returned(
        "a", expected if expected == EMPTY_TEXT else parts([*expected])
    )


def test_thinking_mode_wants_thinking_beside_calls() -> None:
    body = {"messages": [USER, called("a"), returned("a")], "thinking": {"type": "enabled"}}
    assert rules(body, "deepseek") == ["thinking-required"]
    assert repair(body, format="openai-chat", profile="deepseek").messages[1] == {
        **called("a"),
        "reasoning_content": "",
    }
    assert rules({**body, "thinking": {"type": "disabled"}}, "deepseek") == []


def test_the_calls_without_a_result_are_listed_by_position_as_well_as_by_id() -> None:
    history = [USER, called("a", "b"), returned("a"), USER, called("a", "c"), returned("c"), called(""), USER]
    assert find_dangling_tool_call_ids(history, format="openai-chat") == ["b", "a", "messages[6].tool_calls[0]"]
    repaired = repair(history, format="openai-chat").messages
    assert find_dangling_tool_call_ids(repaired, format="openai-chat") == []


def test_invariants_are_those_that_check_finds() -> None:
    history = [USER, called("a", "b"), returned("a")]
    assert validate_message_invariants(history, format="openai-chat") == check(history, format="openai-chat") != []
    assert validate_message_invariants(repair(history, format="openai-chat").messages, format="openai-chat") == []


def test_calls_go_behind_what_follows_them_also_where_each_is_a_message() -> None:
    first, second = ({"type": "function_call", "call_id": each, "name": "read", "arguments": "{}"} for each in "ab")
    outputs = [{"type": "function_call_output", "call_id": each, "output": "ok"} for each in "ab"]
    text = {"role": "assistant", "content": "and"}
    messages = [USER, first, text, second, *outputs]
    assert check(messages, format="openai-responses") == []
    (found,) = check(messages, format="openai-responses", profile="deepseek")
    assert (found.rule, found.position) == ("call-not-last", "messages[2].content")
    repaired = repair(messages, format="openai-responses", profile="deepseek")
    assert repaired.messages == [USER, text, first, second, *outputs]
    assert all(any(each is was for was in messages) for each in repaired.messages)


def test_thinking_is_compared_in_every_format_that_has_signatures() -> None:
    part = {"part_kind": "thinking", "content": "so?", "signature": "c2ln", "provider_name": "anthropic"}
    user = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hi"}]}
    response = {"kind": "response", "parts": [part, {"part_kind": "text", "content": "x"}]}
    messages = [user, response, user]
    assert check(messages, format="pydantic-ai", profile="anthropic") == []
    (found,) = check(messages, format="pydantic-ai", profile="anthropic", signed={"c2ln": "so"})
    assert (found.rule, found.position) == ("thinking-altered", "messages[1].parts[0]")


def test_a_name_that_was_sent_stays_and_so_does_that_of_its_result() -> None:
    history = [USER, called("a", name="x y"), returned("a"), USER]
    assert repair(history, format="openai-chat", frozen=3).edits == ()
    contents: list[object] = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "x y", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "x y", "response": {"output": "ok"}}}]},
    ]
    repaired = repair(contents, format="gemini", frozen=2)
    assert repaired.edits == ()
    assert "call-without-result" not in {violation.rule for violation in repaired.remaining}


@pytest.mark.parametrize("work", [check, repair])
def test_what_is_nested_too_deep_is_reported_with_its_place(work: Callable[..., object]) -> None:
    deep: object = "text"
    for _ in range(3_000):
        deep = [deep]
    with pytest.raises(DamageError, match=r"levels deep at messages\[1\]\.content"):
        work([USER, {"role": "user", "content": deep}], format="openai-chat")


@dataclass
class Spoken:
    """A message of some SDK."""

    role: str


@pytest.mark.parametrize("work", [check, repair])
def test_objects_of_a_program_are_refused_before_their_words_are_lost(work: Callable[..., object]) -> None:
    with pytest.raises(UsageError, match=r"Message 1 is an object of the class 'Spoken'.*model_dump"):
        work([USER, Spoken("user")], format="openai-chat")


def test_an_empty_conversation_cannot_be_repaired() -> None:
    repaired = repair([], format="openai-chat")
    assert repaired.edits == ()
    assert [violation.rule for violation in repaired.remaining] == ["no-messages"]


@pytest.mark.parametrize("document", [{}, {"input": []}, "text", 7, None])
def test_what_is_no_conversation_is_refused(document: object) -> None:
    with pytest.raises(DamageError, match="'messages'"):
        check(document, format="openai-chat")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(UsageError, match="'nobody'"):
        check([], format="nobody")


def test_a_key_that_stands_twice_is_damage() -> None:
    found = read_document(b'{"messages": [{"role": "user", "content": "a", "content": "b"}]}')
    assert [(each.position, each.column, each.sentence[:29]) for each in found.damage] == [
        ("messages[0].content", 48, "The key 'content' occurs twic")
    ]
    assert read_document(b'[{"role": "user"}]').damage == ()


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (b'[\n{"role": }]', "line 2, column 10"),
        (b"", "line 1, column 1"),
        (b'["NaN",\n -Infinity]', r"line 2, column 2 \(-Infinity"),
        (b"[\n\n" + b"9" * 5000 + b"]", "line 3, column 1 .*5000 digits"),
        (b"[\n" * 100_000, "100000 levels are open at line 100000, column 1,"),
        (b'["",\n\xff]', "line 2, column 1 "),
    ],
)
def test_what_is_no_json_is_damage_with_its_position(text: bytes, where: str) -> None:
    with pytest.raises(DamageError, match=where):
        read_document(text)


def test_the_module_does_not_hide_the_function() -> None:
    assert callable(holdfast.history.repair)
    assert repair is holdfast.history.repair


def test_importing_it_imports_no_model_and_no_format() -> None:
    script = "import sys, holdfast.history; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=HANGS)
    loaded = done.stdout.split()
    assert "holdfast.history.repair" in loaded
    assert not {"pydantic_ai", "pydantic", "holdfast.history.formats.openai_chat"} & set(loaded)
