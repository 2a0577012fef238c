"""The format `openai-chat`: what other programs write in its place, and that no speaker loses a word."""

from __future__ import annotations

import json

import pytest

from holdfast.history import repair
from holdfast.history.formats.format import Json, as_array, as_object
from holdfast.history.profiles import PAIRS

USER: Json = {"role": "user", "content": "hi"}


def repaired_messages(messages: list[object], profile: str = "openai-chat") -> list[object]:
    """Return the messages repaired, which the provider then accepts."""
    done = repair(messages, format="openai-chat", profile=profile)
    assert done.remaining == ()
    return done.messages


@pytest.mark.parametrize("profile", PAIRS["openai-chat"])
def test_calls_of_a_list_stay_in_it_whatever_fields_they_have(profile: str) -> None:
    function = {"name": "f", "arguments": "{}"}
    calls = [{"id": each, "type": "function", "name": "f", "function": function} for each in "ab"]
    results = [{"role": "tool", "tool_call_id": each, "content": each} for each in "ab"]
    messages = repaired_messages(
        [USER, {"role": "assistant", "content": "", "tool_calls": calls}, *results, USER], profile
    )
    answer = next(message for message in map(as_object, messages) if message["role"] == "assistant")
    assert [as_object(call)["function"] for call in as_array(answer["tool_calls"])] == [function, function]
    assert "function_call" not in answer


@pytest.mark.parametrize("profile", PAIRS["openai-chat"])
@pytest.mark.parametrize("arguments", [{"path": "x"}, '{"path": "x"}'])
@pytest.mark.parametrize("key", ["arguments", "args"])
def test_a_call_that_is_written_flat_is_the_call_of_its_function(arguments: object, key: str, profile: str) -> None:
    flat = {"id": "abcdefghi", "name": "f", key: arguments}
    result = {"role": "tool", "tool_call_id": "abcdefghi", "content": "ok"}
    messages = repaired_messages([USER, {"role": "assistant", "content": "so", "tool_calls": [flat]}, result], profile)
    (call,) = map(as_object, as_array(as_object(messages[1])["tool_calls"]))
    function = as_object(call["function"])
    assert function["name"] == "f"
    assert json.loads(str(function["arguments"])) == {"path": "x"}
    assert "name" not in call
    assert key not in call


@pytest.mark.parametrize("profile", PAIRS["openai-chat"])
def test_a_result_of_a_function_that_is_known_stays_one_whatever_it_holds(profile: str) -> None:
    called: Json = {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}}
    for written in ("{}", "1", "[[]]", "[[[]]]", "[null]", '[{"type": "nothing"}]'):
        content: object = json.loads(written)
        repaired_messages([USER, called, {"role": "function", "name": "f", "content": content}], profile)


@pytest.mark.parametrize("profile", PAIRS["openai-chat"])
def test_a_custom_call_of_nothing_is_repaired(profile: str) -> None:
    call: Json = {"id": "abcdefghi", "type": "custom", "custom": {}}
    result: Json = {"role": "tool", "tool_call_id": "abcdefghi", "content": "ok"}
    repaired_messages([USER, {"role": "assistant", "content": "", "tool_calls": [call]}, result], profile)


def test_what_two_say_that_are_joined_stays_who_said_it() -> None:
    messages: list[object] = [
        {"role": "user", "content": name or "nobody", **({"name": name} if name else {})}
        for name in ("bob", "eve", "eve", "", "bob")
    ]
    (joined,) = map(as_object, repaired_messages(messages, "openai-compatible"))
    assert joined["name"] == "bob"
    assert joined["content"] == "bob\n\n[eve says]\n\neve\n\neve\n\n[Another says]\n\nnobody\n\n[bob says]\n\nbob"
    (joined,) = map(as_object, repaired_messages(messages[3:], "openai-compatible"))
    assert joined == {"role": "user", "content": "nobody\n\n[bob says]\n\nbob"}


def test_a_second_audio_becomes_text() -> None:
    spoken: list[object] = [
        {"role": "assistant", "content": each, "audio": {"id": each}} for each in ("first", "second")
    ]
    messages = repaired_messages([USER, *spoken, USER], "openai-compatible")
    joined = as_object(messages[1])
    assert joined["audio"] == {"id": "first"}
    assert str(joined["content"]).endswith('[Audio]\n{"id": "second"}')
