"""Items of Responses that a store or another service made odd: judged by the types of OpenAI's own SDK."""

from __future__ import annotations

import json

import pytest
from openai.types.responses import ResponseInputParam
from pydantic import TypeAdapter, ValidationError

from holdfast.history import check, repair

Json = dict[str, object]
TYPES: TypeAdapter[object] = TypeAdapter(ResponseInputParam)
USER: Json = {"role": "user", "content": "x"}
ANSWER: Json = {"type": "message", "role": "assistant", "content": "x"}
REASONING: Json = {"type": "reasoning", "id": "rs_1", "summary": []}
CALL: Json = {"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"}
OUTPUT: Json = {"type": "function_call_output", "call_id": "a", "output": "x"}
ODD: dict[str, tuple[list[object], str]] = {
    "call-id-null": ([USER, {**CALL, "id": None}, OUTPUT], "item-id-illegal"),
    "call-status": ([USER, {**CALL, "status": "finished"}, OUTPUT], "field-mistyped"),
    "call-status-type": ([USER, {**CALL, "status": 1}, OUTPUT], "field-mistyped"),
    "output-status": ([USER, CALL, {**OUTPUT, "status": "ok"}], "field-mistyped"),
    "reasoning-status": ([USER, {**REASONING, "status": "done"}, ANSWER], "field-mistyped"),
    "kind": ([USER, {"type": "frobnicate_call", "id": "x1", "input": "KEPT"}, ANSWER], "foreign-content"),
    "output-kind": ([USER, {"type": "frobnicate_output", "output": "KEPT"}, ANSWER], "foreign-content"),
}


def loads(messages: list[object]) -> bool:
    try:
        TYPES.validate_json(json.dumps(messages))
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(("messages", "rule"), ODD.values(), ids=ODD)
def test_what_the_sdk_does_not_know_is_told_and_mended(messages: list[object], rule: str) -> None:
    assert not loads(messages)
    assert rule in {each.rule for each in check(messages, format="openai-responses")}
    mended = repair(messages, format="openai-responses")
    assert mended.remaining == ()
    assert loads(mended.messages)
    assert ("KEPT" in json.dumps(messages)) == ("KEPT" in json.dumps(mended.messages))
    assert repair(mended.messages, format="openai-responses").edits == ()


@pytest.mark.parametrize("kind", ["web_search_call", "file_search_call", "mcp_call", "compaction", "tool_search_call"])
def test_what_the_provider_ran_itself_is_left_as_it_is(kind: str) -> None:
    own: Json = {"encrypted_content": "e"} if kind == "compaction" else {"call_id": "c", "status": "searching"}
    item: Json = {"type": kind, "id": "x1", **own}
    assert check([USER, item, ANSWER], format="openai-responses") == []


def test_a_status_that_an_item_has_to_have_stays() -> None:
    call: Json = {"type": "apply_patch_call", "call_id": "p", "status": "odd", "operation": {}}
    output: Json = {"type": "apply_patch_call_output", "call_id": "p", "status": "odd"}
    assert repair([USER, call, output], format="openai-responses").edits == ()


def test_a_null_id_of_the_users_message_is_no_fault() -> None:
    assert check([{"type": "message", "id": None, **USER}], format="openai-responses") == []


def test_services_that_speak_responses_want_arguments_that_are_an_object() -> None:
    messages: list[object] = [USER, {**CALL, "arguments": '{"pa'}, OUTPUT]
    assert check(messages, format="openai-responses") == []
    rules = {each.rule for each in check(messages, format="openai-responses", profile="openai-compatible")}
    assert "arguments-not-object" in rules
    mended = repair(messages, format="openai-responses", profile="openai-compatible")
    assert mended.remaining == ()
    assert mended.messages[1] == {**CALL, "arguments": '{"_unreadable_arguments": "{\\"pa"}'}
