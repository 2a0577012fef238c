"""Documents of pydantic-ai: every part it writes and wrote, what a check reports, and how each fault is repaired."""

from __future__ import annotations

import base64
import copy
import json
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic_ai import messages as pai

from holdfast.history import NO_RESULT, Repair, check, find_dangling_tool_call_ids, repair
from holdfast.history.profiles import PAIRS
from pydantic_ai_documents import PNG, Json, every_part, parts, retry

EVERY_PROFILE = pytest.mark.parametrize("profile", PAIRS["pydantic-ai"])


def request(*parts: Json, **fields: object) -> Json:
    return {"kind": "request", "parts": list(parts), **fields}


def response(*parts: Json, **fields: object) -> Json:
    return {"kind": "response", "parts": list(parts), "model_name": "m", **fields}


def user(content: object) -> Json:
    return {"part_kind": "user-prompt", "content": content}


def system(text: str) -> Json:
    return {"part_kind": "system-prompt", "content": text}


def text(content: str) -> Json:
    return {"part_kind": "text", "content": content}


def call(call_id: str | None, name: str = "f", args: object = "{}") -> Json:
    part: Json = {"part_kind": "tool-call", "tool_name": name, "args": args}
    return part if call_id is None else {**part, "tool_call_id": call_id}


def returned(call_id: str | None, content: object = "ok", name: str = "f", **fields: object) -> Json:
    part: Json = {"part_kind": "tool-return", "tool_name": name, "content": content, **fields}
    return part if call_id is None else {**part, "tool_call_id": call_id}


def rules(messages: list[object], profile: str = "openai-chat") -> list[str]:
    return [violation.rule for violation in check(messages, format="pydantic-ai", profile=profile)]


def repaired(messages: list[object], profile: str = "openai-chat") -> Repair:
    """Return the repair: nothing is left to repair, pydantic-ai loads it, and `messages` stays unchanged."""
    before = copy.deepcopy(messages)
    result = repair(messages, format="pydantic-ai", profile=profile)
    assert messages == before
    assert result.remaining == ()
    assert rules(result.messages, profile) == []
    pai.ModelMessagesTypeAdapter.validate_json(json.dumps(result.messages))
    return result


def kinds(messages: list[object]) -> list[list[object]]:
    return [[part["part_kind"] for part in parts(message)] for message in messages]


# --- every part ------------------------------------------------------------------------------------------------------


def test_every_part_is_taken_for_what_it_is_and_comes_back_untouched() -> None:
    messages = every_part()
    assert rules(messages) == []
    result = repair(messages, format="pydantic-ai")
    assert result.edits == ()
    assert result.messages is messages


@EVERY_PROFILE
def test_what_is_repaired_for_a_provider_loads_again_with_every_part(profile: str) -> None:
    messages = [*every_part(), response(call("c1"), call("c9"))]
    result = repaired(messages, profile)
    before, after = ([part for each in some for part in parts(each)] for some in (messages, result.messages))
    for part in before:
        if part["part_kind"] in ("file", "tool-availability-delta", "capability-load-delta"):
            assert part in after
    written = json.dumps(result.messages)
    for word in ("be good", "a text", "with metadata", "looking", "spoken", "again", "what was before", "old feedback"):
        assert word in written


def test_unknown_fields_stay_in_messages_and_parts_that_change() -> None:
    call_part = {**call("a", args={"x": 1}), "x-part": 1}
    result = repaired([request(user("go"), x=1), response(call_part, x=2)], "mistral")
    assert cast("Json", result.messages[1])["x"] == 2
    part = parts(result.messages[1])[0]
    assert part == {**call_part, "tool_call_id": part["tool_call_id"]}
    assert result.messages[0] is not None
    assert kinds(result.messages) == [["user-prompt"], ["tool-call"], ["tool-return"]]


# --- pairs -----------------------------------------------------------------------------------------------------------


@EVERY_PROFILE
@pytest.mark.parametrize("state", ["complete", "interrupted"])
def test_a_call_without_result_gets_one_that_pydantic_ai_knows_as_made_up(profile: str, state: str) -> None:
    messages: list[object] = [request(user("go")), response(text("on it"), call("a"), state=state)]
    assert "call-without-result" in rules(messages, profile)
    result = repaired(messages, profile)
    answer = parts(result.messages[2])[0]
    assert (answer["content"], answer["metadata"]) == (NO_RESULT, {"pydantic_ai_synthesized_tool_return": True})
    assert "outcome" not in answer  # old versions refuse the whole list for one they do not know
    assert find_dangling_tool_call_ids(messages) == ["a"]
    assert find_dangling_tool_call_ids(result.messages) == []


def test_a_made_up_result_stands_with_the_others_before_what_the_user_says() -> None:
    answer = request(returned("a"), user("go on"), run_id="r")
    result = repaired([request(user("go")), response(call("a"), call("b")), answer])
    assert kinds(result.messages)[2:] == [["tool-return", "tool-return", "user-prompt"]]
    assert parts(result.messages[2])[0] == parts(answer)[0]
    assert cast("Json", result.messages[2])["run_id"] == "r"


@pytest.mark.parametrize("named", [True, False])
def test_a_retry_with_a_tool_name_is_an_answer_and_without_one_is_what_the_user_says(*, named: bool) -> None:
    again = retry("again", tool_call_id="a", **({"tool_name": "f"} if named else {}))
    messages: list[object] = [request(user("go")), response(call("a")), request(again)]
    assert rules(messages) == ([] if named else ["call-without-result"])
    assert kinds(repaired(messages).messages)[2] == ["retry-prompt"] if named else ["tool-return", "retry-prompt"]


@EVERY_PROFILE
def test_a_result_without_its_call_becomes_quoted_text(profile: str) -> None:
    messages: list[object] = [request(returned("gone", "found it"), user("and?"))]
    assert "result-without-call" in rules(messages, profile)
    result = repaired(messages, profile)
    assert "found it" in json.dumps(result.messages)
    assert {kind for each in kinds(result.messages) for kind in each} == {"user-prompt"}


def test_a_quoted_result_keeps_its_files() -> None:
    image: Json = {"kind": "image-url", "url": "https://example.org/x.png"}
    result = repaired([request(user("go"), returned("gone", ["see", image, {"k": 1}]))])
    content = cast("list[object]", parts(result.messages[0])[1]["content"])
    assert str(content[0]).endswith("\nsee")
    assert content[1:] == [image, '{"k": 1}']


@EVERY_PROFILE
def test_a_result_behind_the_users_text_goes_back_to_its_call(profile: str) -> None:
    messages: list[object] = [
        request(user("go")),
        response(call("a")),
        request(user("are you there?")),
        request(returned("a", "late")),
    ]
    assert ("result-not-adjacent" in rules(messages, profile)) == (profile != "openai-responses")
    result = repaired(messages, profile)
    assert "late" in json.dumps(result.messages)
    if profile != "openai-responses":
        assert parts(result.messages[2])[0]["part_kind"] == "tool-return"


def test_a_text_between_results_of_one_request_goes_behind_them() -> None:
    messages: list[object] = [
        request(user("go")),
        response(call("a"), call("b")),
        request(returned("a"), user("wait"), returned("b")),
    ]
    assert rules(messages) == ["result-not-adjacent"]
    assert kinds(repaired(messages).messages)[2] == ["tool-return", "tool-return", "user-prompt"]


def test_two_different_results_are_both_kept_and_the_same_one_only_once() -> None:
    start = [request(user("go")), response(call("a"))]
    twice = repaired([*start, request(returned("a", "same"), returned("a", "same"))])
    assert kinds(twice.messages)[2] == ["tool-return"]
    different = repaired([*start, request(returned("a", "one"), returned("a", "two"))])
    assert kinds(different.messages)[2] == ["tool-return", "user-prompt"]
    assert "two" in str(parts(different.messages[2])[1]["content"])


@example([4, 3, 8, 4], 0)
@example([8, 9, 3, 8], 0)
@given(st.lists(st.integers(0, 9), min_size=2, max_size=8), st.integers(0, 3))
def test_the_same_object_twice_is_repaired_like_two_equal_ones(chosen: list[int], frozen: int) -> None:
    documents: tuple[object, ...] = (
        *(request(user("go")), request(user(" ")), request(system("s")), request(user("x"), returned("a"))),
        *(request(returned("a")), request(returned("b"))),
        *(response(text("hi")), response(text("")), response(call("a")), response(call("b"))),
    )
    same = [documents[number] for number in chosen]
    equal = [copy.deepcopy(each) for each in same]
    one, two = (repair(each, format="pydantic-ai", frozen=frozen) for each in (same, equal))
    assert (one.messages, one.edits, one.remaining) == (two.messages, two.edits, two.remaining)


def test_a_real_result_wins_over_one_that_pydantic_ai_made_up() -> None:
    made_up = returned("a", "The tool call was interrupted before a result was produced.")
    result = repaired([request(user("go")), response(call("a")), request(made_up), request(returned("a", "real"))])
    assert "real" in str(parts(result.messages[2])[0]["content"])
    assert "interrupted before" not in json.dumps(result.messages)


def test_calls_that_are_in_parts_and_in_tool_calls_count_once() -> None:
    listed: Json = {"id": "b", "function": {"name": "g", "arguments": "{}"}}
    both = response(call("a"), call("b", "g"), tool_calls=[call("a"), listed])
    results = request(returned("a"), returned("b", name="g"))
    assert rules([request(user("go")), both, results]) == []
    alone = response(tool_calls=[listed])
    result = repaired([request(user("go")), alone, request(user("and?"))])
    assert kinds(result.messages) == [["user-prompt"], [], ["tool-return", "user-prompt"]]
    changed = repaired([request(user("go")), both, results], "mistral")
    assert "tool_calls" not in cast("Json", changed.messages[1])
    assert kinds(changed.messages)[1:] == [["tool-call", "tool-call"], ["tool-return", "tool-return"]]


# --- ids, names, arguments -------------------------------------------------------------------------------------------


@EVERY_PROFILE
def test_calls_of_one_id_get_ids_of_their_own_and_keep_their_results(profile: str) -> None:
    first = [request(user("go")), response(call("a"), call("a")), request(returned("a", "one"), returned("a", "two"))]
    result = repaired([*first, response(call("a")), request(returned("a", "three"))], profile)
    flat = [part for message in result.messages for part in parts(message)]
    ids = [part["tool_call_id"] for part in flat if part["part_kind"] == "tool-call"]
    by_id = {part["tool_call_id"]: part["content"] for part in flat if part["part_kind"] == "tool-return"}
    assert len(set(ids[:2])) == 2 or profile == "gemini"
    if profile in ("anthropic", "cohere", "any"):
        assert [by_id[each] for each in ids] == ["one", "two", "three"]


@pytest.mark.parametrize("call_id", [None, "", 5])
def test_a_call_without_a_usable_id_gets_one_and_so_does_its_result(call_id: object) -> None:
    messages = [request(user("go")), response({**call(None), "tool_call_id": call_id})]
    messages.append(request({**returned(None), "tool_call_id": call_id}))
    assert set(rules(list(messages))) == {"call-id-missing", "result-id-missing"}
    result = repaired(list(messages))
    assert parts(result.messages[1])[0]["tool_call_id"] == parts(result.messages[2])[0]["tool_call_id"]


def test_the_first_versions_wrote_no_ids_at_all() -> None:
    args: list[object] = [{"args_json": '{"a": 1}'}, {"args_dict": {"a": 1}}]
    calls = response(*(call(None, name, each) for name, each in zip("fg", args, strict=True)))
    result = repaired([request(user("go")), calls, request(returned(None, name="g"), returned(None, name="f"))])
    called, answered = parts(result.messages[1]), parts(result.messages[2])
    assert [part["args"] for part in called] == args
    assert {part["tool_name"]: part["tool_call_id"] for part in called} == {
        part["tool_name"]: part["tool_call_id"] for part in answered
    }


@pytest.mark.parametrize("args", ['{"path": "x', "[1]", "nonsense"])
def test_arguments_that_are_no_object_are_quoted_where_an_object_is_wanted(args: str) -> None:
    messages: list[object] = [request(user("go")), response(call("a", args=args)), request(returned("a"))]
    assert rules(messages) == []
    assert rules(messages, "anthropic") == ["arguments-not-object"]
    quoted = json.loads(str(parts(repaired(messages, "anthropic").messages[1])[0]["args"]))
    assert list(quoted.values()) == [args]


@pytest.mark.parametrize("args", ["[]", "null", " null "])
def test_arguments_that_say_nothing_are_an_empty_object(args: str) -> None:
    messages: list[object] = [request(user("go")), response(call("a", args=args)), request(returned("a"))]
    assert parts(repaired(messages, "anthropic").messages[1])[0]["args"] == "{}"


@pytest.mark.parametrize("args", [None, "", {}, {"a": 1}])
@EVERY_PROFILE
def test_no_arguments_are_an_empty_object(profile: str, args: object) -> None:
    call_id = "abcdefghi"
    assert rules([request(user("go")), response(call(call_id, args=args)), request(returned(call_id))], profile) == []


def test_arguments_of_a_type_that_does_not_load_are_quoted_everywhere() -> None:
    messages: list[object] = [request(user("go")), response(call("a", args=[1])), request(returned("a"))]
    assert rules(messages) == ["arguments-type"]
    assert parts(repaired(messages).messages[1])[0]["args"] == {"_unreadable_arguments": "[1]"}


def test_a_tool_name_that_is_refused_is_replaced_in_the_call_and_in_its_result() -> None:
    again = retry("Unknown tool name", tool_name="browser.tabs open", tool_call_id="a")
    result = repaired([request(user("go")), response(call("a", "browser.tabs open")), request(again)])
    names = [parts(result.messages[at])[0]["tool_name"] for at in (1, 2)]
    assert names[0] == names[1] != "browser.tabs open"


# --- empty, blank, thinking ------------------------------------------------------------------------------------------


@EVERY_PROFILE
def test_a_response_of_nothing_goes_and_a_request_of_nothing_stays(profile: str) -> None:
    marker = request(state="interrupted")
    messages: list[object] = [request(user("go")), response(state="interrupted"), marker, request(user("again"))]
    assert "empty-content" in rules(messages, profile)
    result = repaired(messages, profile)
    assert any(message is marker for message in result.messages)
    assert not any(cast("Json", message)["kind"] == "response" and not parts(message) for message in result.messages)


def test_blank_texts_go_where_they_are_refused_and_the_rest_of_a_list_stays() -> None:
    point: Json = {"kind": "cache-point"}
    prompt = user([" ", "go", point, {"kind": "text-content", "content": ""}])
    messages: list[object] = [request(prompt), response(text(""), call("a")), request(returned("a", ""))]
    assert rules(messages) == []
    result = repaired(messages, "anthropic")
    assert parts(result.messages[0])[0]["content"] == ["go", point]
    assert kinds(result.messages)[1] == ["tool-call"]
    assert parts(result.messages[2])[0]["content"] == "(empty)"


@pytest.mark.parametrize("signature", [None, ""])
def test_thinking_without_its_signature_goes_where_one_is_wanted(signature: str | None) -> None:
    thought: Json = {"part_kind": "thinking", "content": "Assume", "signature": signature, "provider_name": "anthropic"}
    messages: list[object] = [request(user("prove it")), response(thought, text("so")), request(user("shorter"))]
    assert rules(messages, "anthropic") == ["thinking-unsigned"]
    assert kinds(repaired(messages, "anthropic").messages)[1] == ["text"]
    assert rules(messages, "openai-chat") == []


@pytest.mark.parametrize(
    ("provider", "expected"),
    [("anthropic", {"anthropic", "bedrock"}), ("azure", {"openai-responses"}), ("google-gla", {"gemini"})],
)
def test_signed_thinking_goes_back_to_its_maker_only(provider: str, expected: set[str]) -> None:
    thought: Json = {"part_kind": "thinking", "content": "hm", "signature": "c2ln"}
    messages: list[object] = [
        request(user("go")),
        response(thought, text("so"), provider_name=provider),
        request(user("and?")),
    ]
    signing = {"anthropic", "bedrock", "openai-responses", "gemini"}
    assert {profile for profile in signing if rules(messages, profile) == []} == expected


def test_what_openai_gave_an_id_stands_once() -> None:
    thought: Json = {
        "part_kind": "thinking",
        "content": "",
        "id": "rs_1",
        "signature": "c2ln",
        "provider_name": "openai",
    }
    answer = response(thought, {**thought, "content": "second summary"}, text("so"))
    messages: list[object] = [request(user("go")), answer, request(user("and?")), answer, request(user("well?"))]
    assert rules(messages, "openai-responses") == ["duplicate-item", "duplicate-item"]
    assert kinds(repaired(messages, "openai-responses").messages)[3] == ["text"]


# --- order -----------------------------------------------------------------------------------------------------------


def test_each_part_of_a_request_is_a_message_where_roles_take_turns() -> None:
    messages: list[object] = [
        request(system("one"), system("two"), user("a"), user(["b"])),
        response(call("c")),
        request(returned("c"), user("next")),
    ]
    assert rules(messages) == []
    assert rules(messages, "openai-compatible") == ["several-systems", "consecutive-roles", "user-after-result"]
    result = repaired(messages, "openai-compatible")
    assert kinds(result.messages) == [
        ["system-prompt", "user-prompt"],
        ["tool-call"],
        ["tool-return"],
        ["text"],
        ["user-prompt"],
    ]
    assert [part["content"] for part in parts(result.messages[0])] == ["one\n\ntwo", ["a", "b"]]


def test_a_stale_system_prompt_becomes_the_users_where_it_may_not_stand() -> None:
    messages: list[object] = [request(system("be good"), user("go")), response(text("yes"))]
    messages.append(request(system("be bad"), user("again"), run_id="2", conversation_id="c"))
    assert rules(messages) == []
    result = repaired(messages, "openai-compatible")
    assert kinds(result.messages) == [["system-prompt", "user-prompt"], ["text"], ["user-prompt"]]
    assert parts(result.messages[2])[0]["content"] == ["[System message]\nbe bad", "again"]


def test_places_are_those_of_the_document() -> None:
    messages: list[object] = [
        request(user("go")),
        response(call("a")),
        request({"part_kind": "tool-availability-delta"}, returned("a"), user("b"), user(["c", " "])),
    ]
    found = check(messages, format="pydantic-ai", profile="openai-compatible")
    assert [violation.position for violation in found] == [
        "messages[2].parts[2]",
        "messages[2].parts[3]",
        "messages[2].parts[3].content[1]",
    ]
    assert {violation.message for violation in found} == {2}
    sentences = [edit.sentence for edit in repaired(messages, "openai-compatible").edits]
    assert any("before messages[2].parts[2]" in sentence for sentence in sentences)
    assert any("messages[2].parts[3] is merged into" in sentence for sentence in sentences)


# --- text and media --------------------------------------------------------------------------------------------------


def test_text_that_is_no_unicode_is_cleaned_in_parts_and_in_instructions() -> None:
    messages: list[object] = [request(user("half \ud83d"), instructions="\ud83d"), response(text("ok"))]
    messages.append(request(retry("again \ud83d")))
    assert set(rules(messages)) == {"lone-surrogate"}
    assert [violation.position for violation in check(messages, format="pydantic-ai")] == [
        "messages[0].parts[0].content",
        "messages[0].instructions",
        "messages[2].parts[0].content",
    ]
    assert kinds(repaired(messages).messages) == [["user-prompt"], ["text"], ["retry-prompt"]]


def test_images_are_looked_at_in_the_alphabet_that_pydantic_writes() -> None:
    def image(data: bytes) -> Json:
        return {"kind": "binary", "media_type": "image/png", "data": base64.urlsafe_b64encode(data).decode()}

    bad = image(b"%PDF-1.7 \xff\xff\xfe")
    messages: list[object] = [request(user(["see", image(PNG)])), response(call("a"))]
    messages.append(request(returned("a", ["that", image(PNG), bad])))
    assert rules(messages[:1]) == []
    assert rules(messages) == ["media-invalid"]
    content = cast("list[object]", parts(repaired(messages).messages[2])[0]["content"])
    assert content[:2] == ["that", image(PNG)]
    assert "left out" in str(content[2])


# --- documents -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["messages", "message_history"])
def test_the_repair_of_a_session_file_keeps_everything_beside_its_messages(key: str) -> None:
    envelope: Json = {"session_id": "s", "total_tokens": 3, key: [request(user("go")), response(call("a"))]}
    result = repair(envelope, format="pydantic-ai")
    assert result.document == {**envelope, key: result.messages}
    assert kinds(result.messages)[2] == ["tool-return"]
    declaring = {**envelope, "tools": [{"name": "other"}]}
    assert "tool-not-declared" in [
        each.rule for each in check(declaring, format="pydantic-ai", hearsay=True) if each.severity == "warning"
    ]


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        ("not a message", "malformed-message"),
        ({"kind": "request", "parts": None, "content": "lost words"}, "malformed-message"),
        ({"kind": "bogus", "parts": [{"content": "lost words"}]}, "unknown-role"),
        ({"role": "user", "content": "lost words"}, "unknown-role"),
        (request({"part_kind": "bogus", "content": "lost words"}), "foreign-content"),
        (request({"part_kind": "text", "content": "lost words"}), "foreign-content"),
        (request(user({"lost": "words"})), "foreign-content"),
        (request(user([{"kind": ["image-url"], "lost": "words"}])), "foreign-content"),
        (request({"part_kind": ["text"], "content": "lost words"}), "foreign-content"),
        (request("a part"), "foreign-content"),  # pyright: ignore[reportArgumentType] - that is the fault
    ],
)
def test_what_does_not_load_is_reported_and_quoted(bad: object, rule: str) -> None:
    messages = [request(user("go")), bad, response(text("ok"))]
    assert rules(messages) == [rule]
    written = json.dumps(repaired(messages).messages)
    assert "go" in written
    assert "lost" not in json.dumps(bad) or "lost" in written


def test_what_was_sent_is_never_edited_also_half_way_through_an_answer() -> None:
    sent = [request(user("go")), response(call("a"), call("b")), request(returned("a"))]
    result = repair([*sent, request(user("and b?"))], format="pydantic-ai", frozen=3)
    assert all(is_now is was for is_now, was in zip(result.messages, sent, strict=False))
    assert result.remaining == ()
    assert kinds(result.messages)[3:] == [["tool-return", "user-prompt"]]


@pytest.mark.parametrize("sent", [None, "x", 0, Json(), request()])
def test_what_was_sent_stays_the_object_it_was_whatever_it_is(sent: object) -> None:
    for more in (Json(), request(returned("a")), request(user("hi"))):
        assert repair([sent, more], format="pydantic-ai", frozen=1).messages[0] is sent
