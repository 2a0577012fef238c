"""Chat messages with what is not theirs: results of an old kind, calls within a result, names that are no text."""

from __future__ import annotations

import json
import re

import pytest

from holdfast.history import check, repair
from holdfast.history.formats.format import as_array, as_object
from holdfast.history.profiles import PAIRS
from judges import JUDGES
from sdk_types import openai_refusal

Json = dict[str, object]
EVERY_PROFILE = pytest.mark.parametrize("profile", PAIRS["openai-chat"])
USER: Json = {"role": "user", "content": "Which files?"}
RESULT: Json = {"role": "tool", "tool_call_id": "abcdefgh1", "content": "a.txt"}
REMOVE: Json = {"id": "abcdefgh2", "type": "function", "function": {"name": "rm", "arguments": '{"path": "KEPT"}'}}


def called(*calls: Json) -> Json:
    call: Json = {"id": "abcdefgh1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    return {"role": "assistant", "content": "", "tool_calls": [call, *calls]}


def rules(messages: list[object], profile: str) -> set[str]:
    return {each.rule for each in check(messages, format="openai-chat", profile=profile)}


def repaired(messages: list[object], profile: str) -> list[Json]:
    done = repair(messages, format="openai-chat", profile=profile)
    assert done.remaining == ()
    assert repair(done.messages, format="openai-chat", profile=profile).edits == ()
    assert openai_refusal("openai-chat", done.messages) == ""
    return [as_object(each) for each in done.messages]


@EVERY_PROFILE
@pytest.mark.parametrize("fields", [{}, {"tool_call_id": "abcdefgh1"}], ids=["without-id", "with-id"])
def test_a_result_of_the_role_function_that_answers_a_call_with_an_id_becomes_one_with_it(
    profile: str, fields: Json
) -> None:
    messages: list[object] = [USER, called(), {"role": "function", "name": "ls", "content": "a.txt", **fields}]
    assert "result-id-missing" in rules(messages, profile)
    assert repaired(messages, profile)[2] == {**RESULT, "name": "ls"}


def test_a_result_of_the_role_function_that_answers_a_function_call_stays() -> None:
    answer: Json = {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}}
    messages: list[object] = [USER, answer, {"role": "function", "name": "ls", "content": "a.txt"}]
    assert rules(messages, "openai-chat") == set()


@EVERY_PROFILE
def test_calls_within_a_result_are_quoted_in_it(profile: str) -> None:
    messages: list[object] = [USER, called(), {**RESULT, "tool_calls": [REMOVE]}]
    assert "block-misplaced" in rules(messages, profile)
    result = repaired(messages, profile)[2]
    assert result.keys() == RESULT.keys()
    assert str(result["content"]).startswith("a.txt\n\n[A call]\n")
    assert "KEPT" in json.dumps(result)


def test_calls_within_a_result_of_parts_are_one_part_more() -> None:
    parts: list[object] = [{"type": "text", "text": "a.txt"}]
    result = repaired([USER, called(), {**RESULT, "content": parts, "tool_calls": [REMOVE]}], "openai-chat")[2]
    first, *rest = as_array(result["content"])
    assert [first] == parts
    assert "KEPT" in str(rest)


@EVERY_PROFILE
def test_calls_within_a_result_that_is_quoted_are_quoted_too(profile: str) -> None:
    done = repaired([USER, {**RESULT, "tool_calls": [REMOVE]}, USER], profile)
    assert "KEPT" in json.dumps(done)
    assert "a.txt" in json.dumps(done)
    assert all("tool_calls" not in each for each in done)


def test_a_function_call_within_a_result_is_quoted_in_it() -> None:
    result = repaired(
        [USER, called(), {**RESULT, "function_call": {"name": "rm", "arguments": "KEPT"}}], "openai-chat"
    )[2]
    assert "KEPT" in str(result["content"])
    assert "function_call" not in result


@EVERY_PROFILE
@pytest.mark.parametrize(("name", "expected"), [(7, "7"), ({}, None), ([], None), (True, None)])
def test_a_name_of_another_type_is_a_text_or_goes(profile: str, name: object, expected: str | None) -> None:
    messages: list[object] = [{**USER, "name": name}, called(), {**RESULT, "name": name}]
    assert "field-mistyped" in rules(messages, profile)
    done = repaired(messages, profile)
    # Mistral has no name of a user; a result, where names must begin with a letter, gets that of its call.
    users = None if profile in ("mistral", "any") else expected
    assert [each.get("name") for each in done] == [users, None, "ls" if expected and profile == "any" else expected]


def test_a_name_that_is_null_is_none() -> None:
    assert rules([{**USER, "name": None}], "openai-chat") == set()


@EVERY_PROFILE
@pytest.mark.parametrize(
    "name", [{}, {"name": None}, {"name": ""}, {"name": []}], ids=["none", "null", "empty", "list"]
)
def test_a_result_of_the_role_function_without_a_name_gets_that_of_its_call(profile: str, name: Json) -> None:
    answer: Json = {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}}
    messages: list[object] = [USER, answer, {"role": "function", "content": "a.txt", **name}]
    result = repaired(messages, profile)[2]
    assert result["content"] == "a.txt"
    if profile == "openai-chat":
        assert "result-name-missing" in rules(messages, profile)
        assert result == {"role": "function", "name": "ls", "content": "a.txt"}


@EVERY_PROFILE
@pytest.mark.parametrize("kind", ["function", "custom", None, 5])
@pytest.mark.parametrize("both", [False, True])
def test_a_call_is_of_the_kind_that_it_says_where_it_holds_that(profile: str, kind: object, *, both: bool) -> None:
    fields: Json = {"function": {"name": "ls", "arguments": '{"path": "KEPT1"}'}} if both else {}
    call: Json = {"id": "abcdefgh1", "type": kind, "custom": {"name": "ls", "input": "KEPT2"}, **fields}
    messages: list[object] = [USER, {"role": "assistant", "content": "", "tool_calls": [call]}, RESULT]
    if not both and kind != "custom":
        assert "foreign-content" in rules(messages, profile)
    now = str(repaired(messages, profile)[1])
    assert "KEPT2" in now
    assert "KEPT1" in now or not both


@EVERY_PROFILE
@pytest.mark.parametrize(
    "part",
    [
        {"type": "file", "file": {"url": "https://example.org/KEPT.pdf"}},
        {"type": "file", "file": {"filename": "KEPT"}},
        {"type": "file", "file": {"file_data": "", "filename": "KEPT"}},
        {"type": "input_audio", "input_audio": {"data": "", "format": "wav", "x": "KEPT"}},
    ],
)
def test_a_file_and_a_sound_that_are_nowhere_are_quoted(profile: str, part: Json) -> None:
    messages: list[object] = [{"role": "user", "content": [{"type": "text", "text": "Read this."}, part]}]
    assert "foreign-content" in rules(messages, profile)
    parts = as_array(repaired(messages, profile)[0]["content"])
    assert [as_object(each)["type"] for each in parts] == ["text", "text"]
    assert "KEPT" in str(parts)


@pytest.mark.parametrize("content", [None, "", " ", [{"type": "text", "text": ""}]])
@pytest.mark.parametrize("profile", ["deepseek", "mistral-templates", "openai-compatible", "any"])
def test_a_refusal_beside_a_content_that_says_nothing_is_its_text(profile: str, content: object) -> None:
    messages: list[object] = [USER, {"role": "assistant", "content": content, "refusal": "KEPT"}, USER]
    assert "foreign-content" in rules(messages, profile)
    answer = repaired(messages, profile)[1]
    assert "refusal" not in answer
    assert "KEPT" in str(answer["content"])


def test_what_remains_in_a_repaired_conversation_is_reported() -> None:
    call: Json = {"type": "tool_use", "id": "abcdefgh1", "name": "ls", "input": {}}
    messages: list[object] = [{"role": "user", "content": "Which?"}, {"role": "assistant", "content": [call]}]
    done = repair(messages, format="anthropic", thinking=True)
    assert len(done.edits) == 1
    assert [each.rule for each in done.remaining] == ["thinking-not-first"]


# --- the name of who speaks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["openai-chat", "openai-compatible", "any"])
@pytest.mark.parametrize("name", ["Chart Generator", "a/b", "a|b", "a\\b", "<a>", "a" * 65, "a\n"])
@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_a_name_that_is_refused_is_rewritten(profile: str, name: str, role: str) -> None:
    spoken: list[object] = [{"role": role, "content": "x", "name": name}, {"role": "user", "content": "y"}]
    log = [{"role": "user", "content": "z"}, *spoken] if role == "assistant" else spoken
    at = log.index(spoken[0])
    if profile == "openai-chat":
        assert [each.rule for each in check(log, format="openai-chat")] == ["speaker-name-illegal"]
    done = repair(log, format="openai-chat", profile=profile)
    assert done.remaining == ()
    assert repair(done.messages, format="openai-chat", profile=profile).edits == ()
    if profile == "openai-chat":
        now = str(as_object(done.messages[at])["name"])
        assert now != name
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", now)
        assert done.messages[at] == {"role": role, "content": "x", "name": now}


def test_names_that_differ_stay_different_and_what_is_legal_stays() -> None:
    log: list[object] = [{"role": "user", "content": "x", "name": name} for name in ("a b", "a/b", "J\xf6rg", " ")]
    done = repair(log, format="openai-chat").messages
    first, second = (str(as_object(each)["name"]) for each in done[:2])
    assert first != second
    assert done[2] is log[2]
    assert done[3] == {"role": "user", "content": "x"}


def test_a_result_that_names_its_tool_in_words_that_are_refused_keeps_its_id() -> None:
    call: Json = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    log: list[object] = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "y", "name": "the f"},
    ]
    done = repair(log, format="openai-chat")
    assert done.remaining == ()
    assert {**as_object(done.messages[2]), "name": ""} == {**as_object(log[2]), "name": ""}


# --- thinking as Mistral has it --------------------------------------------------------------------------------------

THOUGHT: Json = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": True}
SAID: Json = {"type": "text", "text": "KEPT"}


def thinking(*content: Json) -> list[object]:
    call: Json = {"id": "abcdefgh1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    answer: Json = {"role": "assistant", "content": [THOUGHT], "tool_calls": [call]}
    return [USER, answer, RESULT, {"role": "assistant", "content": list(content)}, USER]


def test_mistral_gets_its_thinking_back() -> None:
    messages = thinking(THOUGHT, SAID)
    assert check(messages, format="openai-chat", profile="mistral") == []
    assert repair(messages, format="openai-chat", profile="mistral").messages is messages


def of_mistral(messages: list[object]) -> list[Json]:
    done = repair(messages, format="openai-chat", profile="mistral")
    assert done.remaining == ()
    assert repair(done.messages, format="openai-chat", profile="mistral").edits == ()
    assert JUDGES["mistral-v13"].refusal("openai-chat", done.messages) == ""
    return [as_object(each) for each in done.messages]


def test_mistral_keeps_its_thinking_beside_what_is_repaired() -> None:
    messages = thinking(THOUGHT, SAID)
    other = json.loads(json.dumps(messages).replace("abcdefgh1", "call_1"))
    done = of_mistral(other)
    assert [each.get("content") for each in done] == [as_object(each).get("content") for each in messages]
    assert done[1]["tool_calls"] != as_object(messages[1])["tool_calls"]
    assert len(str(done[2]["tool_call_id"])) == 9


@pytest.mark.parametrize("profile", [each for each in PAIRS["openai-chat"] if each != "mistral"])
def test_thinking_of_mistral_s_goes_before_another_sees_it(profile: str) -> None:
    messages = thinking(THOUGHT, SAID)
    violations = check(messages, format="openai-chat", profile=profile)
    assert {"foreign-content"} <= {each.rule for each in violations} <= {"foreign-content", "thinking-off"}
    done = repaired(messages, profile)
    assert "hm" not in json.dumps(done)
    assert done[3]["content"] == [SAID]


@pytest.mark.parametrize(
    "thought", [None, "hm", 5, ["hm"], [{"type": "text"}], [{"type": "image_url"}], {"text": "hm"}]
)
def test_what_is_no_list_of_texts_is_no_thinking_of_mistral_s(thought: object) -> None:
    messages = thinking({"type": "thinking", "thinking": thought}, SAID)
    assert [each.rule for each in check(messages, format="openai-chat", profile="mistral")] == ["foreign-content"]
    quoted, text = as_array(of_mistral(messages)[3]["content"])
    assert as_object(quoted)["type"] == "text"
    assert text == SAID


def test_fields_that_mistral_does_not_know_leave_its_thinking() -> None:
    messages = thinking({**THOUGHT, "signature": "x", "closed": 5}, SAID)
    rules = [each.rule for each in check(messages, format="openai-chat", profile="mistral")]
    assert sorted(rules) == ["field-mistyped", "unknown-field"]
    thought = {key: value for key, value in THOUGHT.items() if key != "closed"}
    assert of_mistral(messages)[3]["content"] == [thought, SAID]
