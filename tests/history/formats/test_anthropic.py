"""Anthropic's Messages: what its blocks mean, and that repairing one leaves the others as they were."""

from __future__ import annotations

import base64
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.history import NO_RESULT, Repair, check, repair
from holdfast.history.edits import Quote
from holdfast.history.formats.format import as_array, as_object
from holdfast.history.profiles import PAIRS
from holdfast.history.repairs.content import EMPTY_TEXT
from holdfast.history.shape import NO_RESPONSE
from judges import judge

Json = dict[str, object]

USER: Json = {"role": "user", "content": "hi"}
PDF: Json = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjc="}}
NO_PNG: Json = {**PDF, "type": "image"}
FETCH: Json = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_fetch", "input": {"url": "x"}}
FETCHED: Json = {"type": "web_fetch_tool_result", "tool_use_id": "srvtoolu_1", "content": {"type": "web_fetch_result"}}
SIGNED: Json = {"type": "thinking", "thinking": "so", "signature": "c2ln"}


def text(words: str, **more: object) -> Json:
    return {"type": "text", "text": words, **more}


def use(call: str, **more: object) -> Json:
    return {"type": "tool_use", "id": call, "name": "read", "input": {}, **more}


def result(call: str, content: object = "ok", **more: object) -> Json:
    return {"type": "tool_result", "tool_use_id": call, "content": content, **more}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def repaired(*messages: object, profile: str = "anthropic", thinking: bool | None = None) -> Repair:
    """Return the repair: nothing is left to repair, and the judge accepts the messages."""
    done = repair(list(messages), format="anthropic", profile=profile, thinking=thinking)
    assert done.remaining == ()
    judge("anthropic", {"model": "m", "max_tokens": 1, "messages": done.messages})
    return done


VALID = {
    "texts and blocks": [USER, assistant(text("a")), user(text("b"), PDF)],
    "parallel calls": [USER, assistant(use("a"), use("b")), user(result("b"), result("a"), text("and"))],
    "a result without content": [USER, assistant(use("a")), user({"type": "tool_result", "tool_use_id": "a"})],
    "a result of blocks": [USER, assistant(use("a")), user(result("a", [text("x"), PDF]))],
    "an error in words": [USER, assistant(use("a")), user(result("a", [text("x"), text("y")], is_error=True))],
    "thinking": [USER, assistant(SIGNED, {"type": "redacted_thinking", "data": "x"}, use("a")), user(result("a"))],
    "a tool of the provider": [USER, assistant(FETCH, FETCHED, text("read")), USER],
    "a tool of the provider that a client's call holds up": [
        USER,
        assistant(FETCH, use("a")),
        user(result("a")),
        assistant(FETCHED, text("read")),
        USER,
    ],
    "a pause of the provider": [USER, assistant(text("I look"), FETCH)],
    "what is not to be read": [
        user(text("x"), {"type": "tool_addition", "tool": {"type": "tool_reference", "tool_name": "read"}}),
        assistant({"type": "mcp_tool_listing", "mcp_server_name": "s", "tools": []}, text("a"), {"type": "fallback"}),
        USER,
    ],
    "the state of a browser": [
        USER,
        assistant(use("a")),
        user(result("a", [{"type": "browser_state", "tabs": "none"}])),
    ],
    "results, then the user": [USER, assistant(use("a")), user(result("a")), USER],
}


@pytest.mark.parametrize("messages", VALID.values(), ids=VALID)
def test_what_is_valid_is_left_alone(messages: list[object]) -> None:
    assert check(messages, format="anthropic") == []
    done = repair(messages, format="anthropic")
    assert done.edits == ()
    assert done.messages is messages


def test_a_missing_result_stands_before_what_the_user_said_and_unknown_fields_stay() -> None:
    answer = {**assistant(text("wait"), use("a"), use("b")), "x-unknown": 1}
    had = result("a", cache_control={"type": "ephemeral"}, is_error=True)
    messages = [USER, answer, {**user(had, text("stop", x=1)), "x-unknown": [2]}]
    done = repair(messages, format="anthropic", profile="deepseek")
    assert done.messages == [
        USER,
        answer,
        {**user(had, result("b", NO_RESULT), text("stop", x=1)), "x-unknown": [2]},
    ]
    assert done.messages[0] is USER
    assert done.messages[1] is answer


def test_a_result_goes_before_the_text_it_stood_behind() -> None:
    assert repaired(USER, assistant(use("a")), user(text("steer"), result("a"))).messages[2] == user(
        result("a"), text("steer")
    )
    assert repaired(USER, assistant(use("a")), {"role": "user", "content": "steer"}, user(result("a"))).messages[
        2:
    ] == [user(result("a"), text("steer"))]


def test_a_result_that_the_assistant_holds_goes_to_the_user() -> None:
    assert repaired(USER, assistant(use("a"), result("a"))).messages[1:] == [assistant(use("a")), user(result("a"))]


def test_a_result_in_an_assistant_message_moves_to_a_separate_user_message() -> None:
    assert repaired(USER, assistant(result("zz")), profile="bedrock").messages == [
        USER,
        {"role": "assistant", "content": NO_RESPONSE},
        {"role": "user", "content": "[A result whose call is not part of this conversation]\nok"},
    ]


def test_a_result_without_its_call_is_quoted_with_what_it_holds() -> None:
    assert repaired(user(result("zz", [text("x"), PDF]), text("y"))).messages == [
        user(text("[A result whose call is not part of this conversation]"), text("x"), PDF, text("y"))
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('{"x": 1}', {"x": 1}),
        ('"{\\"x\\": 1}"', {"x": 1}),
        ('{"x', {"_unreadable_arguments": '{"x'}),
        (None, {}),
        ([], {}),
    ],
)
def test_input_is_an_object(written: object, expected: object) -> None:
    done = repaired(USER, assistant(use("a", input=written)), user(result("a")))
    assert done.messages[1] == assistant(use("a", input=expected))


def test_a_text_of_another_providers_kind_is_a_text() -> None:
    message: Json = {"role": "user", "content": ["a", {"type": "input_text", "text": "b"}, {"text": "c"}]}
    assert [each.rule for each in check([message], format="anthropic")] == ["foreign-content"] * 3
    assert repaired(message).messages == [user(text("a"), text("b"), text("c"))]


def wide(width: int, declared: str = "image/png") -> Json:
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, 1)).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": declared, "data": data}}


def test_only_as_many_large_images_go_as_are_too_many_the_first_of_them() -> None:
    images = [wide(2001)] * 19 + [wide(2000)]
    assert repaired(user(wide(2001), wide(2001), *images)).messages[0] == user(
        *[text("[An image is 2001 x 1 pixels, at most 2000 a side are accepted among 22, and was left out.]")] * 2,
        *images,
    )


def test_an_image_that_is_declared_wrongly_and_too_large_goes() -> None:
    (note,) = _texts(repaired(user(wide(8001, "image/jpeg"))).messages[0])
    assert note.endswith("and was left out.]")


@pytest.mark.parametrize("block", [{"type": "text", "text": None}, {"type": "text"}])
def test_a_text_that_is_not_there_goes(block: Json) -> None:
    assert repaired(user(text("a"), block), profile="deepseek").messages == [user(text("a"))]
    assert repaired(USER, assistant(block), USER).messages == [USER, USER]


def test_a_block_in_place_of_a_list_is_one() -> None:
    assert repaired({"role": "user", "content": text("a")}).messages == [{"role": "user", "content": "a"}]


@pytest.mark.parametrize("field", ["parts", "text", "message"])
def test_words_in_another_programs_field_are_not_lost(field: str) -> None:
    done = repaired({"role": "user", "content": "", field: [{"text": "hello"}]}, USER)
    assert "hello" in str(done.messages[0])


def test_calls_in_another_providers_field_are_not_lost() -> None:
    message: Json = {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "function": {"name": "read"}}]}
    (violation,) = check([USER, message, USER], format="anthropic")
    assert violation.rule == "malformed-message"
    assert '"name": "read"' in str(repaired(USER, message, USER).messages[1])


def test_bytes_are_not_quoted_as_words() -> None:
    clip: Json = {"type": "audio", "mimeType": "audio/wav", "data": "iVBORw0KGgo" * 200}
    done = repaired(USER, assistant(use("a")), user(result("a", [text("a clip"), clip])))
    (block,) = as_array(as_object(done.messages[2])["content"])
    assert str(as_object(block)["content"]).startswith("a clip\n{")
    assert "(2200 characters of base64, left out)" in str(block)


def test_a_call_without_input_gets_an_empty_one() -> None:
    bare: Json = {"type": "tool_use", "id": "a", "name": "read"}
    assert repaired(USER, assistant(bare), user(result("a")), profile="deepseek").messages[1] == assistant(use("a"))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([text(" "), text("kept")], [text("kept")]),
        ([text(" ")], EMPTY_TEXT),
        ([], EMPTY_TEXT),
        (None, EMPTY_TEXT),
        (
            [text("x"), NO_PNG],
            [text("x"), text("[An image or file is declared as application/pdf, and was left out.]")],
        ),
        ([{"type": "bogus"}, text(" ")], '{"type": "bogus"}\n '),
        ([text("x"), {"type": "tool_reference", "tool_name": "t"}], 'x\n{"tool_name": "t", "type": "tool_reference"}'),
    ],
)
def test_the_content_of_a_result_is_repaired_and_the_rest_of_it_kept(content: object, expected: object) -> None:
    done = repaired(USER, assistant(use("a")), user(result("a", content)))
    assert done.messages[2] == user(result("a", expected))


def test_a_system_message_among_the_messages_is_the_users() -> None:
    done = repaired({"role": "system", "content": "be brief"}, USER, profile="deepseek")
    assert done.messages == [user(text("[System message]\nbe brief"), text("hi"))]


def test_calls_that_the_provider_ran_itself_go_in_pairs() -> None:
    (note,) = _texts(repaired(USER, assistant(FETCH), USER).messages[1])
    assert note.startswith("[A call of the provider's own tool web_fetch, without a result]")
    (note,) = _texts(repaired(USER, assistant(FETCHED), USER).messages[1])
    assert note.startswith("[A result of the provider's own tool]")


@pytest.mark.parametrize("profile", ["deepseek", "any"])
def test_calls_that_another_provider_ran_itself_become_text(profile: str) -> None:
    done = repaired(USER, assistant(text("b"), FETCH, FETCHED), USER, profile=profile)
    assert ["web_fetch" in each for each in _texts(done.messages[1])] == [False, True, True]


def test_thinking_goes_back_signed_or_not_at_all() -> None:
    unsigned: Json = {"type": "thinking", "thinking": "x", "signature": ""}
    assert repaired(USER, assistant(unsigned, text("a")), USER).messages[1] == assistant(text("a"))
    signed = assistant(SIGNED, text("a"))
    assert repaired(USER, signed, {"role": "user", "content": " "}, USER).messages == [USER, signed, USER]


def test_thinking_that_deepseek_wants_is_added_empty() -> None:
    done = repaired(USER, assistant(use("a")), user(result("a")), profile="deepseek", thinking=True)
    assert done.messages[1] == assistant({"type": "thinking", "thinking": "", "signature": ""}, use("a"))


def test_signed_thinking_that_was_changed_goes_where_its_text_is_known() -> None:
    messages = [USER, assistant({**SIGNED, "thinking": "so?"}, use("a")), user(result("a"))]
    assert check(messages, format="anthropic") == check(messages, format="anthropic", signed={"other": "so"}) == []
    (found,) = check(messages, format="anthropic", signed={"c2ln": "so"})
    assert (found.rule, found.position) == ("thinking-altered", "messages[1].content[0]")
    done = repair(messages, format="anthropic", signed={"c2ln": "so"})
    assert (done.messages[1], done.remaining) == (assistant(use("a")), ())
    assert check(messages, format="anthropic", signed={"c2ln": "so?"}) == []


def test_the_last_cache_markers_stay() -> None:
    marked = {"cache_control": {"type": "ephemeral"}}
    messages = [
        user(text("a", **marked), text("b", **marked)),
        assistant(text("c", cache_control=None), use("a", **marked)),
        user(result("a", [text("d", **marked)], **marked), text("e", **marked)),
    ]
    body: Json = {"system": [text("s", **marked)], "messages": messages, "tools": [{"name": "read"}]}
    violations = check(body, format="anthropic")
    assert [(found.rule, found.position) for found in violations] == [
        ("too-many-cache-marks", "messages[0].content[0]"),
        ("too-many-cache-marks", "messages[0].content[1]"),
        ("too-many-cache-marks", "messages[1].content[1]"),
    ]
    done = repair(body, format="anthropic")
    assert done.messages == [
        user(text("a"), text("b")),
        assistant(text("c", cache_control=None), use("a")),
        messages[2],
    ]
    assert done.messages[2] is messages[2]
    frozen = repair(body, format="anthropic", frozen=1)
    assert frozen.messages == [messages[0], done.messages[1], user(result("a", [text("d")]), text("e", **marked))]
    assert frozen.remaining == ()


REFERENCE: Json = {"type": "tool_reference", "tool_name": "t"}


@pytest.mark.parametrize("profile", ["anthropic", "deepseek"])
def test_a_result_refers_to_tools_that_are_declared(profile: str) -> None:
    messages = [USER, assistant(use("a")), user(result("a", [REFERENCE]))]
    read: Json = {"name": "read", "input_schema": {"type": "object"}}
    body: Json = {"model": "m", "max_tokens": 1, "messages": messages, "tools": [read]}
    tools = [read, {"name": "t", "input_schema": {"type": "object"}, "defer_loading": True}]
    assert check({**body, "tools": tools}, format="anthropic", profile=profile) == []
    judge("anthropic", {**body, "tools": tools})
    (found,) = check(body, format="anthropic", profile=profile)
    assert found.rule == "reference-not-declared"
    assert "'t'" in found.error
    with pytest.raises(AssertionError, match="not found in available tools"):
        judge("anthropic", body)


def test_blocks_that_the_role_cannot_hold_are_quoted() -> None:
    done = repaired(user(use("a"), SIGNED, FETCHED, {"type": "image"}, {"type": "text", "text": 3}))
    assert [each.partition("\n")[0] for each in _texts(done.messages[0])] == [
        "[A call]",
        *["[Content of a kind that cannot be sent here]"] * 4,
    ]


def test_a_body_says_its_tools_and_thinking_and_comes_back_with_its_system_prompt() -> None:
    system = [text("be brief", cache_control={"type": "ephemeral"})]
    body: Json = {
        "system": system,
        "messages": [USER, assistant(use("a"))],
        "tools": [{"name": "bash"}],
        "thinking": {"type": "enabled"},
    }
    rules = {violation.rule for violation in check(body, format="anthropic", hearsay=True)}
    assert {"tool-not-declared", "thinking-not-first", "call-without-result"} <= rules
    done = repair(body, format="anthropic")
    messages = [USER, assistant(use("a")), user(result("a", NO_RESULT))]
    assert done.document == {**body, "messages": messages, "thinking": {"type": "disabled"}}
    assert done.remaining == ()


def test_a_system_prompt_is_cleaned() -> None:
    body: Json = {"system": [text("\ud83d")], "messages": [USER]}
    (found,) = check(body, format="anthropic")
    assert found.position == "system[0].text"
    assert repair(body, format="anthropic").document == {"system": [text("\ufffd")], "messages": [USER]}


UNKNOWN_TO_THE_JUDGE: list[Json] = [
    assistant({"type": "redacted_thinking", "data": "x"}, text("a")),  # DeepSeek makes none
    assistant({"type": "compaction", "content": "so far"}, text("a")),  # nor compactions
    user({"type": "container_upload", "file_id": "f"}),  # it runs no containers
]


@pytest.mark.parametrize("message", UNKNOWN_TO_THE_JUDGE, ids=lambda message: str(message["content"]))
def test_what_only_anthropic_knows_is_left_alone_though_the_judge_refuses_it(message: Json) -> None:
    messages = [USER, message, USER]
    assert check(messages, format="anthropic", profile="anthropic") == []
    with pytest.raises(AssertionError, match="unknown variant"):
        judge("anthropic", {"model": "m", "max_tokens": 1, "messages": messages})


_blocks = st.sampled_from(
    [
        text("said"),
        text(" "),
        text("\ud83d", cache_control={"type": "ephemeral"}),
        use("a"),
        use("b", input="{"),
        use("a b", name="no name"),
        result("a"),
        result("b", [text(""), NO_PNG]),
        result("c", [{"type": "tool_reference"}, text("")]),
        result("", None),
        SIGNED,
        {"type": "thinking", "thinking": "x"},
        FETCH,
        FETCHED,
        PDF,
        NO_PNG,
        {"type": "bogus"},
        "no block",
    ]
)
_messages = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "user", "assistant", "system", "bogus"]),
        "content": st.one_of(
            st.lists(_blocks, max_size=4), st.lists(_blocks, max_size=4), st.sampled_from(["x", "", 7])
        ),
    }
)


@given(st.lists(_messages, max_size=6), st.sampled_from(PAIRS["anthropic"]), st.integers(0, 3))
def test_any_blocks_at_all_can_be_repaired(messages: list[object], profile: str, frozen: int) -> None:
    done = repair(messages, format="anthropic", profile=profile)
    assert {each.rule for each in done.remaining} <= {"no-messages"}
    assert repair(done.messages, format="anthropic", profile=profile).edits == ()
    judged = repair(messages, format="anthropic", profile="deepseek").messages
    if judged:
        judge("anthropic", {"model": "m", "max_tokens": 1, "messages": judged})
    sent = repair(messages, format="anthropic", profile=profile, frozen=frozen).messages
    assert all(is_now is was for is_now, was in zip(sent, messages[:frozen], strict=False))


def json_quoted(block: Json) -> str:
    return "[A call of the provider's own tool web_fetch]\n" + json.dumps(block, sort_keys=True)


def test_a_tool_of_the_provider_that_the_user_does_not_wait_for_is_quoted() -> None:
    (call, late) = check([USER, assistant(FETCH), USER, assistant(FETCHED), USER], format="anthropic")
    assert (call.rule, call.message, late.rule, late.message) == (
        "server-call-without-result",
        1,
        "server-result-without-call",
        3,
    )
    waiting = assistant(FETCH, use("a"))
    done = repaired(USER, waiting, user(result("a"), result("a", "other")), assistant(FETCHED), USER)
    assert [edit.path for edit in done.edits if isinstance(edit, Quote)] == [
        (1, "content", 0),
        (3, "content", 0),
        (2, "content", 1),
    ]


def test_a_call_of_the_provider_s_own_is_quoted_where_what_is_the_user_s_goes_out_of_its_response() -> None:
    done = repaired(USER, assistant(result("a"), FETCH))
    assert [edit.path for edit in done.edits if isinstance(edit, Quote)] == [(1, "content", 1), (1, "content", 0)]


@pytest.mark.parametrize("field", ["tool_calls", "function_call"])
def test_a_field_that_is_none_of_anthropic_s_stands_behind_no_call(field: str) -> None:
    log: list[object] = [USER, {**assistant(text("x"), use("a")), field: [[]]}, user(result("a"))]
    assert check(log, format="anthropic", profile="deepseek") == []


def test_a_call_of_the_provider_s_own_before_a_message_that_goes_is_quoted_where_the_response_went_on() -> None:
    log: list[object] = [USER, assistant(FETCH, text("x")), {"role": "user", "content": []}]
    assert "server-call-without-result" in {each.rule for each in check(log, format="anthropic")}
    done = repaired(*log)
    assert [edit.path for edit in done.edits if isinstance(edit, Quote)] == [(1, "content", 0)]


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([use("a"), text("x")], [text("x"), use("a")]),
        ([use("a"), text("x"), use("b")], [text("x"), use("a"), use("b")]),
        (
            [SIGNED, use("a"), text("x"), text("y"), SIGNED, use("b")],
            [SIGNED, text("x"), text("y"), use("a"), SIGNED, use("b")],
        ),
        ([use("a"), FETCH], [text(json_quoted(FETCH)), use("a")]),
    ],
)
def test_what_stands_behind_a_call_goes_before_it_where_the_judge_wants_that(
    blocks: list[Json], expected: list[Json]
) -> None:
    results = user(*(result(str(block["id"])) for block in blocks if block["type"] == "tool_use"))
    messages = [USER, assistant(*blocks), results]
    assert check(messages, format="anthropic") == [] or FETCH in blocks
    with pytest.raises(AssertionError, match=r"immediately after|server tools"):
        judge("anthropic", {"model": "m", "max_tokens": 1, "messages": messages})
    (found, *_) = check(messages, format="anthropic", profile="deepseek")
    assert (found.rule, found.path) == ("call-not-last", (1, "content", blocks.index(use("a")) + 1))
    done = repaired(*messages, profile="deepseek")
    assert done.messages == [USER, assistant(*expected), results]


def _texts(message: object) -> list[str]:
    """Return the texts of a message that holds nothing else."""
    content = as_object(message).get("content")
    return [content] if isinstance(content, str) else [str(as_object(block)["text"]) for block in as_array(content)]
