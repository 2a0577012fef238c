"""Items of Responses that a store or another service made odd: judged by the types of OpenAI's own SDK."""

from __future__ import annotations

import json

import pytest

from holdfast.history import check, repair
from holdfast.history.formats.format import as_array, as_object
from holdfast.history.profiles import PAIRS
from sdk_types import openai_refusal

Json = dict[str, object]
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
    return openai_refusal("openai-responses", messages) == ""


@pytest.mark.parametrize(("messages", "rule"), ODD.values(), ids=ODD)
def test_what_the_sdk_does_not_know_is_reported_and_repaired(messages: list[object], rule: str) -> None:
    assert not loads(messages)
    assert rule in {each.rule for each in check(messages, format="openai-responses")}
    repaired = repair(messages, format="openai-responses")
    assert repaired.remaining == ()
    assert loads(repaired.messages)
    assert ("KEPT" in json.dumps(messages)) == ("KEPT" in json.dumps(repaired.messages))
    assert repair(repaired.messages, format="openai-responses").edits == ()


@pytest.mark.parametrize("kind", ["web_search_call", "file_search_call", "mcp_call", "compaction", "tool_search_call"])
def test_what_the_provider_ran_itself_is_left_as_it_is(kind: str) -> None:
    fields: Json = {"encrypted_content": "e"} if kind == "compaction" else {"call_id": "c", "status": "searching"}
    item: Json = {"type": kind, "id": "x1", **fields}
    assert check([USER, item, ANSWER], format="openai-responses") == []


PATCH: Json = {"type": "delete_file", "path": "KEPT"}
PATCHED: Json = {"type": "apply_patch_call", "call_id": "c", "operation": PATCH, "status": "completed"}
SHELL: Json = {"type": "shell_call", "call_id": "c", "action": {"commands": ["KEPT"]}}
ENDED: Json = {"stdout": "KEPT", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
COMPUTER: Json = {
    "type": "computer_call",
    "id": "cu_1",
    "call_id": "c",
    "action": {"type": "type", "text": "KEPT"},
    "pending_safety_checks": [],
    "status": "completed",
}
CODE: Json = {
    "type": "code_interpreter_call",
    "id": "ci_1",
    "code": "KEPT",
    "container_id": "c",
    "outputs": [{"type": "logs", "logs": "x"}],
    "status": "completed",
}
SEARCH: Json = {"type": "file_search_call", "id": "fs_1", "queries": ["KEPT"], "status": "completed"}
SERVED: Json = {"type": "mcp_call", "id": "mcp_1", "name": "f", "arguments": "KEPT", "server_label": "s"}
APPROVAL: Json = {"type": "mcp_approval_response", "approval_request_id": "KEPT", "approve": True}
NEVER_SO: list[tuple[Json, Json]] = [
    (PATCHED, {"status": "odd"}),
    (PATCHED, {"operation": {"type": "KEPT"}}),
    (PATCHED, {"operation": {**PATCH, "path": ["KEPT"]}}),
    (SHELL, {"action": {"commands": "KEPT"}}),
    (SHELL, {"action": {"said": "KEPT"}}),
    (COMPUTER, {"status": 5}),
    (COMPUTER, {"pending_safety_checks": {}}),
    (COMPUTER, {"action": {"type": "type", "text": ["KEPT"]}}),
    (COMPUTER, {"action": {"type": "KEPT"}}),
    (CODE, {"code": ["KEPT"]}),
    (CODE, {"outputs": [{"type": "logs"}]}),
    (CODE, {"id": 5}),
    (SEARCH, {"queries": "KEPT"}),
    (SEARCH, {"queries": [5, "KEPT"]}),
    (SERVED, {"arguments": {"a": "KEPT"}}),
    (SERVED, {"name": None}),
    (APPROVAL, {"approve": ["yes"]}),
]


@pytest.mark.parametrize(("item", "wrong"), NEVER_SO)
def test_an_item_of_openai_s_own_that_is_nothing_is_quoted(item: Json, wrong: Json) -> None:
    items: list[object] = [USER, {**item, **wrong}, ANSWER, USER]
    assert not loads(items)
    assert "foreign-content" in {each.rule for each in check(items, format="openai-responses")}
    done = repair(items, format="openai-responses")
    assert done.remaining == ()
    assert loads(done.messages)
    assert "KEPT" in str(as_object(done.messages[1])["content"])


@pytest.mark.parametrize("item", [CODE, SEARCH, SERVED, APPROVAL], ids=lambda item: str(item["type"]))
def test_an_item_of_openai_s_own_stays(item: Json) -> None:
    items: list[object] = [USER, item, ANSWER, USER]
    assert loads(items)
    assert repair(items, format="openai-responses").messages is items


RESULTS: list[tuple[Json, Json, object]] = [
    (SHELL, {"output": [ENDED]}, None),
    (SHELL, {"output": "KEPT"}, "KEPT"),
    (SHELL, {"output": [{**ENDED, "outcome": "KEPT"}]}, '"KEPT"'),
    (SHELL, {"output": [["KEPT"]]}, "KEPT"),
    (PATCHED, {"status": "failed", "output": "KEPT"}, None),
    (PATCHED, {"status": "completed", "output": ["KEPT"]}, "KEPT"),
    (PATCHED, {"status": "odd", "output": "KEPT"}, '{"output": "KEPT", "status": "odd"}'),
    (PATCHED, {"status": ["KEPT"]}, '{"status": ["KEPT"]}'),
]


@pytest.mark.parametrize(("call", "fields", "expected"), RESULTS)
def test_a_result_of_openai_s_own_kind_says_what_it_held_and_stays_with_its_call(
    call: Json, fields: Json, expected: object
) -> None:
    items: list[object] = [USER, call, {"type": f"{call['type']}_output", "call_id": "c", **fields}]
    assert loads(items) is (expected is None)
    done = repair(items, format="openai-responses")
    assert done.remaining == ()
    assert loads(done.messages)
    assert done.messages[:2] == items[:2]
    if expected is None:
        assert done.messages is items
    elif call is SHELL:
        (stream,) = as_array(as_object(done.messages[2])["output"])
        assert str(expected) in str(as_object(stream)["stderr"])
    else:
        assert as_object(done.messages[2])["output"] == expected


def test_a_null_id_of_the_users_message_is_no_fault() -> None:
    assert check([{"type": "message", "id": None, **USER}], format="openai-responses") == []


def test_services_that_speak_responses_want_arguments_that_are_an_object() -> None:
    messages: list[object] = [USER, {**CALL, "arguments": '{"pa'}, OUTPUT]
    assert check(messages, format="openai-responses") == []
    rules = {each.rule for each in check(messages, format="openai-responses", profile="openai-compatible")}
    assert "arguments-not-object" in rules
    repaired = repair(messages, format="openai-responses", profile="openai-compatible")
    assert repaired.remaining == ()
    assert repaired.messages[1] == {**CALL, "arguments": '{"_unreadable_arguments": "{\\"pa"}'}


# --- what the types of OpenAI's SDK do not know ----------------------------------------------------------------------

SEARCHED: dict[str, object] = {"type": "web_search_call", "id": "ws_1", "status": "completed"}


@pytest.mark.parametrize(
    "item",
    [
        {**SEARCHED, "status": "done"},
        {**SEARCHED, "status": 1},
        {**SEARCHED, "action": {"type": "browse", "url": "https://example.org"}},
        {"type": "mcp_call", "id": "mcp_1", "status": "gone", "name": "f", "arguments": "{}", "server_label": "s"},
    ],
)
def test_a_call_of_the_providers_own_with_an_unknown_value_is_quoted(item: dict[str, object]) -> None:
    items: list[object] = [USER, item, USER]
    assert [(each.rule, each.position) for each in check(items, format="openai-responses")] == [
        ("field-mistyped", "messages[1]")
    ]
    repaired = repair(items, format="openai-responses")
    assert repaired.remaining == ()
    message = as_object(repaired.messages[1])
    assert (message["type"], message["role"]) == ("message", "assistant")
    assert str(item["id"]) in str(message["content"])


@pytest.mark.parametrize(
    "known",
    [
        SEARCHED,
        {**SEARCHED, "status": "searching", "action": {"type": "find_in_page", "pattern": "x", "url": "u"}},
        {**SEARCHED, "action": None},
        {"type": "mcp_call", "id": "mcp_1", "name": "f", "arguments": "{}", "server_label": "s"},
    ],
)
def test_a_call_of_the_providers_own_that_is_known_stays(known: dict[str, object]) -> None:
    items: list[object] = [USER, known, USER]
    assert repair(items, format="openai-responses").messages is items


THOUGHTS = [{"type": "reasoning_text", "text": "first"}, {"type": "reasoning_text", "text": "then"}]


def test_openai_gets_thoughts_in_the_summary() -> None:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "so"}], "content": THOUGHTS}
    items: list[object] = [USER, thought, {"role": "assistant", "content": "x"}, USER]
    violations = check(items, format="openai-responses")
    assert [(each.rule, each.error_by) for each in violations] == [("thinking-in-content", "openai-responses")]
    repaired = repair(items, format="openai-responses")
    summary = [{"type": "summary_text", "text": text} for text in ("so", "first", "then")]
    assert repaired.messages == [USER, {"type": "reasoning", "summary": summary}, *items[2:]]
    for profile in ("deepseek", "openai-compatible"):
        assert "thinking-in-content" not in {
            each.rule for each in check(items, format="openai-responses", profile=profile)
        }


def test_thoughts_that_are_encrypted_too_go_from_the_content() -> None:
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "content": THOUGHTS, "encrypted_content": "e"}
    items: list[object] = [USER, sealed, {"role": "assistant", "content": "x"}, USER]
    now = as_object(repair(items, format="openai-responses").messages[1])
    assert now == {key: value for key, value in sealed.items() if key != "content"}
    plain = {**sealed, "content": []}
    assert check([USER, plain, *items[2:]], format="openai-responses") == []


@pytest.mark.parametrize("item_id", [None, "", 5])
def test_reasoning_without_an_id_has_no_field_for_it(item_id: object) -> None:
    items: list[object] = [
        USER,
        {"type": "reasoning", "id": item_id, "summary": []},
        {"role": "assistant", "content": "x"},
    ]
    assert [each.rule for each in check(items, format="openai-responses")] == ["item-id-illegal"]
    assert repair(items, format="openai-responses").messages[1] == {"type": "reasoning", "summary": []}


@pytest.mark.parametrize("content", [{}, "", " ", 0, False, 5, [{}], [None], "x", {"a": "b"}])
@pytest.mark.parametrize("profile", PAIRS["openai-responses"])
def test_reasoning_whose_content_is_no_thoughts_stays_without_it(profile: str, content: object) -> None:
    thought: Json = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}
    messages: list[object] = [USER, {**thought, "content": content}, ANSWER, USER]
    assert check(messages, format="openai-responses", profile=profile) != []
    done = repair(messages, format="openai-responses", profile=profile)
    assert done.remaining == ()
    assert repair(done.messages, format="openai-responses", profile=profile).edits == ()
    if profile == "openai-responses":
        assert done.messages == [USER, thought, ANSWER, USER]


@pytest.mark.parametrize("summary", [["KEPT"], [{"text": "KEPT"}], [{"type": "text", "text": "KEPT"}], [None]])
def test_a_summary_of_what_is_no_summary_is_empty(summary: list[object]) -> None:
    messages: list[object] = [USER, {"type": "reasoning", "id": "rs_1", "summary": summary}, ANSWER, USER]
    assert openai_refusal("openai-responses", messages)
    done = repair(messages, format="openai-responses")
    assert done.messages == [USER, {"type": "reasoning", "id": "rs_1", "summary": []}, ANSWER, USER]


@pytest.mark.parametrize("content", [{}, {"content": " "}, {"content": "x"}])
@pytest.mark.parametrize("profile", ["openai-responses", "any"])
def test_what_a_late_system_message_says_in_another_field_is_the_user_s(profile: str, content: Json) -> None:
    late: Json = {"type": "message", "role": "developer", "arguments": "KEPT", **content}
    done = repair([USER, late, USER], format="openai-responses", profile=profile)
    assert done.remaining == ()
    assert "KEPT" in str(done.messages)


@pytest.mark.parametrize(
    "wrong", [{"output": "KEPT"}, {"output": {"type": "KEPT"}}, {"input": "KEPT"}, {"output": {"image_url": ["KEPT"]}}]
)
def test_what_a_screenshot_cannot_hold_is_quoted_elsewhere(wrong: Json) -> None:
    seen: Json = {"type": "computer_call_output", "call_id": "c"}
    seen |= {"output": {"type": "computer_screenshot", "image_url": "https://example.org/x.png"}}
    items: list[object] = [USER, COMPUTER, seen]
    assert repair(items, format="openai-responses").messages is items
    done = repair([USER, {**COMPUTER, "action": {"type": "wait"}}, {**seen, **wrong}], format="openai-responses")
    assert done.remaining == ()
    assert loads(done.messages)
    assert "KEPT" in str(done.messages)


def test_reasoning_before_a_message_that_gets_words_only_now_produced_nothing() -> None:
    thought: Json = {"type": "reasoning", "summary": []}
    message: Json = {"type": "message", "role": "user", "output": "KEPT"}
    items: list[object] = [USER, thought, message, ANSWER, USER]
    assert "thinking-unbound" in {each.rule for each in check(items, format="openai-responses")}
    done = repair(items, format="openai-responses")
    assert done.remaining == ()
    assert thought not in done.messages
    assert "KEPT" in str(done.messages)


@pytest.mark.parametrize("fields", [{}, {"id": None}, {"id": 5}, {"id": ["KEPT"]}])
@pytest.mark.parametrize("profile", PAIRS["openai-responses"])
def test_a_reference_to_nothing_is_quoted(profile: str, fields: Json) -> None:
    items: list[object] = [USER, {"type": "item_reference", **fields}, ANSWER, USER]
    assert check(items, format="openai-responses", profile=profile) != []
    done = repair(items, format="openai-responses", profile=profile)
    assert done.remaining == ()
    assert "item_reference" in str(as_object(done.messages[1])["content"])


_SHELL: Json = {"type": "shell_call", "call_id": "a", "action": {"commands": ["ls"]}}
_RAN: Json = {"stdout": "x", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
_PATCH: Json = {
    "type": "apply_patch_call",
    "call_id": "b",
    "status": "completed",
    "operation": {"type": "delete_file", "path": "x"},
}


@pytest.mark.parametrize("caller", [5, "zebra", [5], {"zebra": 5}, {"type": "program"}])
def test_who_called_a_shell_or_a_patch_goes_where_it_is_of_a_wrong_type(caller: object) -> None:
    log: list[object] = [
        _SHELL,
        {"type": "shell_call_output", "call_id": "a", "output": [_RAN]},
        _PATCH,
        {"type": "apply_patch_call_output", "call_id": "b", "status": "completed"},
    ]
    assert check(log, format="openai-responses") == []
    wrong: list[object] = [{**as_object(each), "caller": caller} for each in log]
    found = check(wrong, format="openai-responses")
    assert [(each.rule, each.message) for each in found] == [("field-mistyped", at) for at in range(4)]
    done = repair(wrong, format="openai-responses").messages
    assert ["caller" in as_object(each) for each in done] == [False] * 4
    items: list[object] = [{**as_object(each), "caller": {"type": "direct"}} for each in log]
    assert check(items, format="openai-responses") == []


@pytest.mark.parametrize("role", ["user", "system", "developer"])
def test_what_the_user_says_is_no_thinking_whatever_its_kind(role: str) -> None:
    log: list[object] = [{"type": "reasoning", "role": role, "content": "wKEPT1."}, {"role": "user", "content": "x"}]
    for profile in PAIRS["openai-responses"]:
        done = repair(log, format="openai-responses", profile=profile)
        assert done.remaining == ()
        assert "wKEPT1." in json.dumps(done.messages)
