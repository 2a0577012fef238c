"""OpenAI's Responses: what its items mean, and that repairing one leaves the others as they were."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.history import NO_RESULT, Repair, check, repair
from holdfast.history.formats.format import as_array, as_object
from holdfast.history.profiles import PAIRS
from holdfast.history.repairs.content import EMPTY_TEXT
from judges import deepseek_refusal, deepseek_thinking_refusal

FORM = "openai-responses"
THINKING = st.sampled_from([None, True, False])
Json = dict[str, object]


def text(words: str, kind: str = "input_text", **more: object) -> Json:
    return {"type": kind, "text": words, **more}


def user(*parts: Json) -> Json:
    return {"type": "message", "role": "user", "content": list(parts)}


def answer(words: str, **more: object) -> Json:
    content = [text(words, "output_text", annotations=[])]
    return {"type": "message", "role": "assistant", "status": "completed", "content": content, **more}


def call(known: object, **more: object) -> Json:
    return {"type": "function_call", "call_id": known, "name": "read", "arguments": "{}", **more}


def output(known: object, content: object = "ok", **more: object) -> Json:
    return {"type": "function_call_output", "call_id": known, "output": content, **more}


def reasoning(item_id: str = "rs_1", **more: object) -> Json:
    return {"type": "reasoning", "id": item_id, "summary": [], "encrypted_content": "enc", **more}


USER = user(text("hi"))
LEFT_OUT = "[An image or file is declared as {}, and was left out.]"
ORPHAN = "[A result whose call is not part of this conversation]"
FILE: Json = {"type": "input_file", "file_id": "file-1"}
PNG: Json = {"type": "input_image", "detail": "auto", "image_url": "https://x/y.png"}
NO_PNG: Json = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,JVBERi0xLjc="}
SEARCHED: Json = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
TOLD: Json = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "so"}]}


def rules(document: object, profile: str | None = None, *, thinking: bool | None = None) -> list[str]:
    return [each.rule for each in check(document, format=FORM, profile=profile, thinking=thinking)]


def repaired(*items: object, profile: str = FORM, thinking: bool | None = None) -> list[Any]:
    """Return the repaired items: nothing is left to repair, and DeepSeek's validator accepts those repaired for it."""
    done: Repair = repair(list(items), format=FORM, profile=profile, thinking=thinking)
    assert done.remaining == ()
    assert repair(done.messages, format=FORM, profile=profile, thinking=thinking).edits == ()
    refusal = deepseek_thinking_refusal if thinking else deepseek_refusal
    assert profile == FORM or refusal(FORM, done.messages) == ""
    return done.messages


VALID: dict[str, list[object]] = {
    "texts and parts": [{"role": "user", "content": "a"}, answer("b"), user(text("c"), PNG, FILE)],
    "roles": [{"role": "developer", "content": "a"}, {"role": "system", "content": "b"}, USER],
    "parallel calls": [USER, call("a"), call("b"), output("b"), output("a")],
    "outputs behind something else": [USER, call("a"), answer("wait"), USER, output("a")],
    "an output of parts": [USER, call("a"), output("a", [text("x"), PNG])],
    "a custom tool": [
        USER,
        {"type": "custom_tool_call", "call_id": "a", "name": "patch", "input": "*** no JSON"},
        {"type": "custom_tool_call_output", "call_id": "a", "output": "ok"},
    ],
    "reasoning": [USER, reasoning(), call("a", id="fc_1"), output("a"), reasoning("rs_2"), answer("b", id="msg_1")],
    "a later call without reasoning": [
        USER,
        reasoning(),
        call("a", id="fc_1"),
        output("a"),
        call("b", id="fc_2"),
        output("b"),
    ],
    "a refusal": [USER, {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}, USER],
    "what the provider ran": [USER, reasoning(), SEARCHED, reasoning("rs_2"), answer("found"), USER],
    "a compaction": [{"type": "compaction", "id": "cmp_1", "encrypted_content": "x"}, USER],
    "what is kept elsewhere": [{"type": "item_reference", "id": "fc_1"}, {"id": "rs_1"}, output("a"), USER],
    "an approval": [
        USER,
        {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "f", "arguments": "{}"},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
    ],
    "a local shell, answered by its own id": [
        USER,
        {"type": "local_shell_call", "id": "lsh_1", "call_id": "a", "action": {}, "status": "completed"},
        {"type": "local_shell_call_output", "id": "a", "output": "{}"},
    ],
}


@pytest.mark.parametrize("items", VALID.values(), ids=VALID)
def test_what_is_valid_is_left_alone(items: list[object]) -> None:
    assert rules(items) == []
    done = repair(items, format=FORM)
    assert done.edits == ()
    assert done.messages is items


# --- calls and results -----------------------------------------------------------------------------------------------


def test_a_missing_output_follows_the_calls_and_unknown_fields_stay() -> None:
    item = call("a", **{"x-unknown": 1})
    had = output("b", status="completed")
    done = repaired(USER, item, call("b"), had, USER, profile="deepseek")
    assert done == [USER, item, call("b"), had, output("a", NO_RESULT), USER]
    assert done[1] is item
    assert done[3] is had


@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("function_call", {"output": NO_RESULT}),
        ("custom_tool_call", {"output": NO_RESULT}),
        ("local_shell_call", {"output": NO_RESULT}),
        ("shell_call", {"output": [{"stdout": "", "stderr": NO_RESULT, "outcome": {"type": "timeout"}}]}),
        ("apply_patch_call", {"output": NO_RESULT, "status": "failed"}),
    ],
)
def test_every_call_of_a_client_is_answered_by_its_kind(kind: str, result: Json) -> None:
    item: Json = {"type": kind, "call_id": "a", "name": "read", "input": "x", "arguments": "{}"}
    assert repaired(USER, item, USER, profile="deepseek") == [
        USER,
        item,
        {"type": f"{kind}_output", "call_id": "a", **result},
        USER,
    ]


def test_a_call_of_the_computer_is_answered_by_an_image_of_nothing() -> None:
    item: Json = {"type": "computer_call", "id": "cu_1", "call_id": "a", "action": {"type": "screenshot"}}
    _, is_now, made_up = repaired(USER, item)
    assert is_now is item
    assert made_up["type"] == "computer_call_output"
    assert made_up["output"]["image_url"].startswith("data:image/png;base64,")


def test_an_output_without_its_call_is_quoted_with_what_it_holds() -> None:
    done = repaired(USER, output("zz", [text("x"), PNG]), output("yy", "plain"), USER)
    assert done[1] == user(text(ORPHAN), text("x"), PNG)
    assert done[2]["content"] == f"{ORPHAN}\nplain"


def test_what_other_results_held_is_quoted() -> None:
    shell = [{"stdout": "so", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
    screen = {"type": "computer_screenshot", "image_url": "https://x/y.png"}
    done = repaired(
        USER,
        {"type": "shell_call_output", "call_id": "a", "output": shell},
        {"type": "computer_call_output", "call_id": "b", "output": screen},
        {"type": "apply_patch_call_output", "call_id": "c", "status": "completed"},
    )
    assert '"stdout": "so"' in done[1]["content"]
    assert done[2]["content"][1] == {"type": "input_image", "image_url": "https://x/y.png"}
    assert '"status": "completed"' in done[3]["content"]


@pytest.mark.parametrize("none", [{"call_id": None}, {"call_id": ""}, {}])
def test_an_output_without_a_call_id_is_quoted_by_its_name_or_goes_to_the_call_of_that_name(none: Json) -> None:
    lost = {"type": "function_call_output", "name": "read", "output": "words", **none}
    assert rules([USER, lost]) == ["result-without-call", "result-id-missing"]
    assert repaired(USER, lost)[1]["content"] == "[A result whose call is not part of this conversation (read)]\nwords"
    assert repaired(USER, call("b", name="bash"), call("a"), output("b"), lost)[4] == {**lost, "call_id": "a"}


def test_a_call_without_an_id_gets_one_with_its_output() -> None:
    _, called, answered = repaired(USER, call(None), output(None), profile="any")
    assert called["call_id"] == answered["call_id"]
    assert len(called["call_id"]) == 9


def test_ids_that_are_too_long_stay_different() -> None:
    one, two = f"{'x' * 64}1", f"{'x' * 64}2"
    done = repaired(USER, call(one), call(two), output(two), output(one), profile=FORM)
    ids = [item["call_id"] for item in done[1:]]
    assert len(set(ids)) == 2
    assert ids[2:] == ids[:2][::-1]


def test_a_call_id_used_again_is_another_call() -> None:
    done = repaired(USER, call("a"), output("a", "one"), call("a"), output("a", "two"), profile="deepseek")
    assert done[1]["call_id"] == done[2]["call_id"] != done[3]["call_id"] == done[4]["call_id"]
    assert [done[2]["output"], done[4]["output"]] == ["one", "two"]


def test_the_real_output_wins_over_a_made_up_one() -> None:
    done = repaired(USER, call("a"), output("a", "aborted"), USER, output("a", "real"), profile="deepseek")
    assert done == [USER, call("a"), output("a", "real"), USER]


def test_nothing_of_the_assistant_stands_between_calls_and_outputs_for_deepseek() -> None:
    items = [USER, call("a"), answer("wait"), TOLD, call("b"), output("a"), output("b")]
    assert rules([each for each in items if each is not TOLD]) == []
    assert repaired(*items, profile="deepseek") == [
        USER,
        answer("wait"),
        TOLD,
        call("a"),
        call("b"),
        output("a"),
        output("b"),
    ]


def test_where_a_response_is_kept_outputs_need_no_call() -> None:
    body: Json = {"model": "m", "previous_response_id": "resp_1", "input": [output("a"), output("a", "again"), USER]}
    assert rules(body) == ["duplicate-result"]
    assert rules({**body, "input": [output("a"), USER]}) == []
    assert rules({"model": "m", "conversation": "conv_1", "input": [output("a"), USER]}) == []
    assert as_array(as_object(repair(body, format=FORM).document)["input"])[0] is as_array(body["input"])[0]


# --- reasoning and ids -----------------------------------------------------------------------------------------------


def test_reasoning_that_nothing_follows_goes() -> None:
    assert repaired(USER, reasoning(), USER) == [USER, USER]
    assert repaired(USER, reasoning(), output("a"), call("b"), output("b"))[1]["role"] == "user"
    both = [USER, reasoning(), reasoning("rs_2"), call("a"), output("a")]
    assert repaired(*both) == both


@pytest.mark.parametrize("content", [[], None])
def test_an_empty_message_does_not_count_as_what_followed(content: object) -> None:
    empty = {"type": "message", "role": "assistant", "content": content}
    assert repaired(USER, reasoning(), empty, call("a"), output("a")) == [USER, reasoning(), call("a"), output("a")]
    assert repaired(USER, reasoning(), empty, USER) == [USER, USER]


def test_reasoning_without_a_summary_gets_an_empty_one() -> None:
    bare = {"type": "reasoning", "id": "rs_1", "encrypted_content": "enc"}
    assert rules([USER, bare, answer("a")]) == ["field-missing"]
    assert repaired(USER, bare, answer("a"))[1] == {**bare, "summary": []}


def test_what_stands_twice_goes_or_loses_its_id() -> None:
    items = [USER, reasoning(), answer("a", id="msg_1"), SEARCHED, USER, reasoning(), answer("b", id="msg_1"), SEARCHED]
    assert repaired(*items) == [*items[:5], answer("b")]


def test_an_item_whose_reasoning_goes_loses_its_id() -> None:
    items = [USER, reasoning(), call("a", id="fc_1"), output("a"), answer("b", id="msg_1"), USER]
    assert repaired(*items, profile="any", thinking=False)[1].keys() == call("a").keys()
    twice = [USER, reasoning(), answer("a", id="msg_1"), USER, reasoning(), answer("b", id="msg_2")]
    assert repaired(*twice)[4] == answer("b")


def test_a_call_that_kept_its_id_where_all_reasoning_was_taken_out_loses_it() -> None:
    items = [USER, call("a", id="fc_1"), output("a"), answer("b", id="msg_1")]
    assert rules(items) == ["item-without-thinking"]
    assert repaired(*items) == [USER, call("a"), output("a"), items[3]]
    assert rules(items, thinking=False) == []
    for known in ({"model": "gpt-4.1"}, {"reasoning": {"effort": "none"}}, {"previous_response_id": "resp_1"}):
        assert rules({**known, "input": items}) == []


@pytest.mark.parametrize("item_id", ["call_1", "__fake_id__", "", f"fc_{'x' * 62}", 7])
def test_an_item_id_that_is_refused_is_left_out(item_id: object) -> None:
    items = [USER, reasoning(), call("a", id=item_id), output("a")]
    assert rules(items) == ["item-id-illegal"]
    assert repaired(*items)[2] == call("a")


def test_encrypted_reasoning_goes_back_to_who_made_it_alone() -> None:
    items = [USER, reasoning(), call("a"), output("a")]
    assert rules(items, "deepseek") == ["thinking-foreign"]
    assert repaired(*items, profile="deepseek") == [USER, call("a"), output("a")]


def test_with_thinking_on_deepseek_gets_some_in_so_many_words_before_calls() -> None:
    done = repaired(
        USER, reasoning(), call("a"), call("b"), output("a"), output("b"), profile="deepseek", thinking=True
    )
    assert done[1]["content"] == [{"type": "reasoning_text", "text": " "}]
    assert done[2:4] == [call("a"), call("b")]
    had = [USER, TOLD, answer("b"), call("a"), output("a")]
    assert repaired(*had, profile="deepseek", thinking=True) == had


# --- what items hold -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"x": 1}, '{"x": 1}'),
        (None, "{}"),
        ("", "{}"),
        ('{"x', '{"_unreadable_arguments": "{\\"x"}'),
    ],
)
def test_arguments_are_the_text_of_an_object(written: object, expected: str) -> None:
    assert repaired(USER, call("abcdefghi", arguments=written), output("abcdefghi"), profile="any")[1] == call(
        "abcdefghi", arguments=expected
    )


def test_calls_in_another_providers_field_are_not_lost() -> None:
    message = {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "function": {"name": "read"}}]}
    assert rules([USER, message, USER]) == ["malformed-message"]
    assert '"name": "read"' in str(repaired(USER, message, USER)[1]).replace("'", '"')


def test_a_custom_tool_takes_text() -> None:
    item: Json = {"type": "custom_tool_call", "call_id": "a", "name": "read"}
    assert rules([USER, {**item, "input": "{"}, output("a")]) == []
    assert repaired(USER, item, output("a"), profile="deepseek")[1] == {**item, "input": ""}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, EMPTY_TEXT),
        ("", EMPTY_TEXT),
        ([], EMPTY_TEXT),
        ([text(" "), text("kept")], [text("kept")]),
        ({"y": 2}, '{"y": 2}'),
        ([{"type": "text", "text": "x"}, text("")], "x\n"),
        ([text("x"), NO_PNG], [text("x"), text(LEFT_OUT.format("image/png, but its bytes are application/pdf"))]),
        ([{"type": "input_file", "file_data": "AAAA"}], [text(LEFT_OUT.format("base64 without its type"))]),
        (
            [{"type": "input_file", "filename": "a.pdf", "file_data": "JVBERi0="}],
            [{"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}],
        ),
    ],
)
def test_the_content_of_an_output_is_repaired_and_the_rest_of_it_kept(content: object, expected: object) -> None:
    done = repaired(USER, call("abcdefghi"), output("abcdefghi", content), profile="any")
    assert done[2] == output("abcdefghi", expected)


def test_a_text_in_the_words_of_another_role_is_said_in_its_own() -> None:
    done = repaired(
        USER, {"role": "assistant", "content": [text("a"), text("b", "text")]}, user(text("c", "output_text"))
    )
    assert done[1]["content"] == [text("a", "output_text"), text("b", "output_text")]
    assert done[2] == user(text("c"))


def test_content_that_cannot_be_sent_is_said_in_words() -> None:
    clip: Json = {"type": "input_video", "video_url": {"url": "https://x/y.mp4"}}
    done = repaired(user(text("see"), clip))
    assert done[0]["content"][0] == text("see")
    assert "https://x/y.mp4" in done[0]["content"][1]["text"]


@pytest.mark.parametrize("raw", ["words", 7, {"content": "words"}, {"role": "x", "content": "words"}, {"type": "x"}])
def test_what_is_no_item_is_reported_and_quoted(raw: object) -> None:
    assert set(rules([USER, raw])) <= {"malformed-message", "unknown-role"}
    assert repaired(USER, raw)[1]["role"] == "user"


def test_messages_of_the_user_are_joined_part_by_part_where_turns_are_wanted() -> None:
    assert repaired({"role": "user", "content": "a"}, user(text("b"), PNG), profile="deepseek") == [
        {"role": "user", "content": [text("a"), text("b"), PNG], "type": "message"}
    ]


# --- bodies ----------------------------------------------------------------------------------------------------------


def test_a_text_alone_is_what_the_user_says() -> None:
    body: Json = {"model": "m", "input": "hi"}
    assert rules(body) == []
    assert repair(body, format=FORM).document is body
    broken: Json = {"model": "m", "input": "hi \ud83d"}
    assert repair(broken, format=FORM).document == {"model": "m", "input": [{"role": "user", "content": "hi \ufffd"}]}


def test_a_body_says_its_tools_and_comes_back_with_its_instructions() -> None:
    tools: list[Json] = [
        {"type": "function", "name": "read"},
        {"type": "local_shell"},
        {"type": "namespace", "name": "n", "tools": []},
    ]
    body: Json = {"instructions": "be brief", "tools": tools, "input": [USER, call("a"), call("b", name="bash")]}
    violations = check(body, format=FORM, hearsay=True)
    assert [each.path for each in violations if each.rule == "tool-not-declared"] == [(2,)]
    done = as_object(repair(body, format=FORM).document)
    assert {**done, "input": body["input"]} == body
    assert [as_object(item).get("output") for item in as_array(done["input"])[3:]] == [NO_RESULT, NO_RESULT]


def test_a_system_prompt_beside_the_items_is_cleaned() -> None:
    body: Json = {"instructions": "\ud83d", "input": [USER]}
    assert [each.position for each in check(body, format=FORM)] == ["instructions"]
    assert repair(body, format=FORM).document == {"instructions": "\ufffd", "input": [USER]}


def test_an_empty_input_cannot_be_repaired() -> None:
    assert [each.rule for each in repair({"input": []}, format=FORM).remaining] == ["no-messages"]


# --- any items at all ------------------------------------------------------------------------------------------------

UNKNOWN_TO_THE_JUDGE: list[Json] = [
    {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
    {"id": "msg_1"},  # a reference may leave out its kind
]
UNREAD = ("local_shell_call", "shell_call", "computer_call", "item_reference")  # which it passes over


@pytest.mark.parametrize("item", UNKNOWN_TO_THE_JUDGE, ids=lambda item: str(sorted(item)))
def test_what_openai_takes_is_left_alone_though_the_judge_refuses_it(item: Json) -> None:
    items: list[object] = [USER, item, USER]
    assert rules(items) == []
    assert deepseek_refusal(FORM, items)


_item_ids = st.sampled_from([{}, {}, *({"id": item_id} for item_id in ("fc_1", "rs_1", "msg_1", "ws_2", "bad", None))])
_known = st.sampled_from([{}, *({"call_id": known} for known in ("a", "b", "a", "b", "x" * 70, "", None))])
_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "shell_call", "computer_call", "web_search_call")
_ALONE = ("message", "message", "reasoning", "item_reference", "compaction", "bogus", None, 7)
_kinds = st.sampled_from([*_ALONE, *_CALLS, *_CALLS, *(f"{kind}_output" for kind in _CALLS)])
_texts = st.sampled_from(["said", " ", "", "\ud83d\x00"])
_parts = st.sampled_from([text("said"), text(""), text("x", "output_text"), text("x", "text"), NO_PNG, {}, PNG, "x"])
_contents = st.one_of(_texts, _texts, st.lists(_parts, max_size=2), st.sampled_from([None, 7, {"x": 1}]))


@st.composite
def _items(draw: st.DrawFn) -> Json:
    """Return an item of any kind with any fields; calls have names, DeepSeek's validator wants one of any kind."""
    item: Json = {"type": draw(_kinds), **draw(_item_ids), **draw(_known), "name": draw(_texts)}
    for key in ("content", "output", "arguments", "input", "summary"):
        if draw(st.booleans()) and (key != "content" or item["type"] != "reasoning"):
            item[key] = draw(_contents)
    if item["type"] == "message" or draw(st.integers(0, 9)) == 0:
        item["role"] = draw(st.sampled_from(["user", "assistant", "developer", "system", "tool", None, 7]))
    return item


@given(
    items=st.lists(_items(), max_size=7),
    profile=st.sampled_from(PAIRS[FORM]),
    thinking=THINKING,
    frozen=st.integers(0, 3),
)
def test_any_items_at_all_can_be_repaired(
    items: list[object], profile: str, *, thinking: bool | None, frozen: int
) -> None:
    done = repair(items, format=FORM, profile=profile, thinking=thinking)
    assert {each.rule for each in done.remaining} <= {"no-messages"}
    assert repair(done.messages, format=FORM, profile=profile, thinking=thinking).edits == ()
    kinds = [str(as_object(item).get("type")) for item in done.messages]
    if profile != FORM and not any(kind == "None" or kind.startswith(UNREAD) for kind in kinds) and kinds:
        assert deepseek_refusal(FORM, done.messages) == ""
    sent = repair(items, format=FORM, profile=profile, frozen=frozen).messages
    assert all(is_now is was for is_now, was in zip(sent, items[:frozen], strict=False))


@pytest.mark.parametrize("profile", ["any", FORM])  # the others take fields that they do not know, and read none
def test_a_message_that_held_nothing_gives_its_id_to_no_other(profile: str) -> None:
    empty: Json = {"type": "message", "id": "fc_1", "role": "user", "arguments": "KEPT"}
    done = repair([{"role": "user", "content": "hi"}, empty], format=FORM, profile=profile)
    assert done.remaining == ()
    assert "fc_1" not in str(done.messages)
    assert "KEPT" in str(done.messages)


def test_a_reference_that_does_not_go_along_stands_for_no_thinking() -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "a", "output": "ok"}
    items: list[object] = [{"role": "user", "content": "hi"}, {"id": "rs_1"}, call, result]
    assert repair(items, format="openai-responses", profile="any").remaining == ()


@pytest.mark.parametrize("written", ["[[[]]]", "[[]]", '[""]', "[null]", "[{}]"])
def test_a_result_that_holds_nothing_is_filled(written: str) -> None:
    output: object = json.loads(written)
    call = {"type": "function_call", "call_id": "abcdefghi", "name": "f", "arguments": "{}"}
    items: list[object] = [USER, call, {"type": "function_call_output", "call_id": "abcdefghi", "output": output}]
    for profile in ("openai-responses", "deepseek", "any"):
        assert repair(items, format="openai-responses", profile=profile).remaining == ()


def test_what_a_result_that_moves_says_beside_stands_before_its_call() -> None:
    call = {"type": "function_call", "call_id": "a", "name": "computer", "arguments": "{}"}
    result = {"type": "computer_call_output", "call_id": "a", "arguments": "KEPT"}
    done = repair([call, {"type": "message", "role": "user"}, result], format=FORM, profile="any")
    assert done.remaining == ()
    kinds = [as_object(each).get("type") for each in done.messages]
    assert kinds[-2:] == ["function_call", "computer_call_output"]
    assert "KEPT" in str(done.messages[:-2])
