"""Responses for other services than OpenAI's: newer fields go, items that only OpenAI runs become text."""

from __future__ import annotations

import json

import pytest

from holdfast.history import Repair, check, repair
from holdfast.history.formats.format import Json, as_array, as_object
from holdfast.history.rules.profile import OPENAIS_OWN

FORM = "openai-responses"
USER: Json = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}
ANSWER: Json = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "ok", "annotations": []}],
    "id": "msg_1",
}
CALL: Json = {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"}
OUTPUT: Json = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
OTHERS = ["openai-compatible", "any"]


def rules(messages: list[Json], profile: str) -> list[str]:
    return [each.rule for each in check(messages, format=FORM, profile=profile)]


def repaired(messages: list[Json], profile: str) -> Repair:
    done = repair(messages, format=FORM, profile=profile)
    assert done.remaining == ()
    assert repair(done.messages, format=FORM, profile=profile).edits == ()
    return done


NEWER: dict[str, tuple[list[Json], str]] = {
    "phase": ([USER, {**ANSWER, "phase": "commentary"}, USER], "phase"),
    "phase that is null": ([USER, {**ANSWER, "phase": None}, USER], "phase"),
    "namespace": ([USER, {**CALL, "namespace": "mcp__files"}, OUTPUT, ANSWER, USER], "namespace"),
    "namespace of an output": ([USER, CALL, {**OUTPUT, "namespace": "mcp__files"}, ANSWER, USER], "namespace"),
    "caller": ([USER, {**CALL, "caller": {"type": "direct"}}, OUTPUT, ANSWER, USER], "caller"),
    "async": ([USER, {**CALL, "async": True}, OUTPUT, ANSWER, USER], "async"),
    "a breakpoint of the cache": (
        [
            {
                **USER,
                "content": [{"type": "input_text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}}],
            }
        ],
        "prompt_cache_breakpoint",
    ),
}


@pytest.mark.parametrize("profile", OTHERS)
@pytest.mark.parametrize("what", NEWER)
def test_a_field_that_only_openai_knows_goes_and_nothing_is_quoted(what: str, profile: str) -> None:
    messages, field = NEWER[what]
    assert rules(messages, FORM) == []
    assert "unknown-field" in rules(messages, profile)
    done = repaired(messages, profile)
    assert field not in json.dumps(done.messages)
    assert len(json.dumps(done.messages)) < len(json.dumps(messages)) + 120  # `any` wants an answer behind a result


def test_openai_keeps_them() -> None:
    for messages, _ in NEWER.values():
        assert repaired(messages, FORM).messages is messages


@pytest.mark.parametrize("profile", OTHERS)
@pytest.mark.parametrize("kind", sorted(OPENAIS_OWN.split()))
def test_an_item_that_only_openai_runs_becomes_text(kind: str, profile: str) -> None:
    item: Json = {"type": kind.removeprefix("assistant/"), "id": "x_1", "call_id": "c", "name": "zebra", "action": {}}
    messages = [USER, item, ANSWER, USER]
    assert "foreign-content" in rules(messages, profile)
    done = repaired(messages, profile)
    assert {as_object(each)["type"] for each in done.messages} == {"message"}
    assert "zebra" in json.dumps(done.messages)


@pytest.mark.parametrize("profile", OTHERS)
def test_a_search_of_tools_is_quoted_with_what_it_found(profile: str) -> None:
    search: Json = {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {"query": "q"}}
    tool: Json = {"type": "function", "name": "get", "parameters": {"type": "object", "properties": {}}}
    found: Json = {"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": [tool]}
    assert rules([USER, search, found, ANSWER, USER], FORM) == []
    done = repaired([USER, search, found, ANSWER, USER], profile)
    texts = json.dumps([as_object(each)["content"] for each in done.messages])
    assert "tool_search_call" in texts
    assert "get" in texts


@pytest.mark.parametrize("profile", [FORM, "openai-compatible", "any"])
@pytest.mark.parametrize("kind", ["compaction", "compaction_summary"])
def test_a_summary_that_is_encrypted_is_never_words(kind: str, profile: str) -> None:
    messages: list[Json] = [{"type": kind, "encrypted_content": "gAAAAsecret"}, USER]
    done = repaired(messages, profile)
    if profile == FORM:
        assert done.messages == [{"type": "compaction", "encrypted_content": "gAAAAsecret"}, USER]
    else:
        assert done.messages == [USER]


@pytest.mark.parametrize("action", ["open_page", "find_in_page", "find"])
@pytest.mark.parametrize("field", ["query", "queries"])
def test_a_page_has_no_query_and_it_is_not_quoted(action: str, field: str) -> None:
    value: object = "q" if field == "query" else ["q"]
    page: Json = {"type": action, "url": "https://e.org", **({} if action == "open_page" else {"pattern": "p"})}
    search: Json = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {**page, field: value}}
    assert rules([USER, search, ANSWER], FORM) == ["field-mistyped"]
    done = repaired([USER, search, ANSWER, USER], FORM)
    assert done.messages == [USER, {**search, "action": page}, ANSWER, USER]


def test_a_search_keeps_what_it_looks_for() -> None:
    action: Json = {"type": "search", "query": "q", "queries": ["q"]}
    search: Json = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action}
    messages = [USER, search, ANSWER, USER]
    assert repaired(messages, FORM).messages is messages


@pytest.mark.parametrize("item", [ANSWER, CALL])
def test_a_status_that_is_null_is_removed(item: Json) -> None:
    messages = [USER, {**item, "status": None}, *([OUTPUT] if item is CALL else []), USER]
    assert rules(messages, FORM) == ["field-mistyped"]
    assert "status" not in as_object(as_array(repaired(messages, FORM).messages)[1])
