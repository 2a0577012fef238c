"""What a store or a cut stream leaves in a field that should hold something else, and more media than a request may."""

from __future__ import annotations

import pytest

from holdfast.history import check, repair
from holdfast.history.formats.format import Json, as_array, as_object
from judges import google_refusal
from sdk_types import anthropic_refusal

USER: Json = {"role": "user", "content": "x"}
ASKED: Json = {"role": "user", "parts": [{"text": "x"}]}
CALL: Json = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "AAAA"}
RESPONSE: Json = {"functionResponse": {"name": "f", "response": {"output": "ok"}}}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
IMAGE: Json = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


def model(*parts: Json) -> Json:
    return {"role": "model", "parts": list(parts)}


def user(*parts: Json) -> Json:
    return {"role": "user", "parts": list(parts)}


def rules(messages: list[object], form: str) -> set[str]:
    return {each.rule for each in check(messages, format=form)}


@pytest.mark.parametrize(
    ("written", "expected"),
    [('{"query": "x"}', {"query": "x"}), ('{"que', {"_unreadable_arguments": '{"que'}), (None, {})],
)
def test_what_the_provider_s_own_tool_was_called_with_is_an_object(written: object, expected: object) -> None:
    used: Json = {"type": "server_tool_use", "id": "srvtoolu_s", "name": "web_search", "input": written}
    found: Json = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_s", "content": []}
    log: list[object] = [USER, {"role": "assistant", "content": [used, found]}, USER]
    assert rules(log, "anthropic") == {"arguments-not-object"}
    done = repair(log, format="anthropic")
    assert done.remaining == ()
    assert as_object(done.messages[1])["content"] == [{**used, "input": expected}, found]


def test_a_call_of_the_provider_s_own_without_input_gets_an_empty_one() -> None:
    used: Json = {"type": "server_tool_use", "id": "srvtoolu_s", "name": "web_search"}
    found: Json = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_s", "content": []}
    done = repair([USER, {"role": "assistant", "content": [used, found]}, USER], format="anthropic")
    assert as_object(done.messages[1])["content"] == [{**used, "input": {}}, found]


def test_more_than_a_hundred_images_lose_the_first() -> None:
    log: list[object] = [{"role": "user", "content": [{"type": "text", "text": "x"}, *(IMAGE for _ in range(100))]}]
    assert repair(log, format="anthropic").messages is log
    more: list[object] = [*log, {"role": "assistant", "content": "so"}, {"role": "user", "content": [IMAGE, IMAGE]}]
    assert [each.rule for each in check(more, format="anthropic")] == ["too-much-media", "too-much-media"]
    done = repair(more, format="anthropic")
    assert done.remaining == ()
    left = as_array(as_object(done.messages[0])["content"])
    assert [as_object(each)["type"] for each in left] == ["text", "text", "text", *(98 * ["image"])]
    assert done.messages[1:] == more[1:]


@pytest.mark.parametrize("wrong", [5, ["a"], {"a": 1}, True])
def test_an_id_that_is_no_text_goes(wrong: object) -> None:
    call: Json = {**CALL, "functionCall": {"name": "f", "args": {}, "id": wrong}}
    response: Json = {"functionResponse": {"name": "f", "response": {"output": "ok"}, "id": wrong}}
    log: list[object] = [ASKED, model(call), user(response)]
    assert google_refusal("gemini", log)
    assert rules(log, "gemini") == {"field-mistyped"}
    done = repair(log, format="gemini")
    assert done.messages == [ASKED, model(CALL), user(RESPONSE)]
    assert google_refusal("gemini", done.messages) == ""


@pytest.mark.parametrize("wrong", [5, [], {}, False, {"a": 1}])
def test_a_signature_that_is_no_text_goes_and_its_call_stays(wrong: object) -> None:
    log: list[object] = [ASKED, model({**CALL, "thoughtSignature": wrong}), user(RESPONSE)]
    done = repair(log, format="gemini")
    assert done.remaining == ()
    call = as_object(as_array(as_object(done.messages[1])["parts"])[0])
    assert call == {**CALL, "thoughtSignature": "skip_thought_signature_validator"}


def test_a_flag_that_is_none_goes_and_the_text_stays() -> None:
    log: list[object] = [ASKED, model({"text": "so", "thought": "yes"}), ASKED]
    assert repair(log, format="gemini").messages == [ASKED, model({"text": "so"}), ASKED]


def test_an_empty_thought_goes_but_with_its_signature_it_stays() -> None:
    empty: Json = {"text": "", "thought": True}
    signed: Json = {**empty, "thoughtSignature": "AAAA"}
    log: list[object] = [ASKED, model(empty, CALL), user(RESPONSE)]
    assert rules(log, "gemini") == {"empty-content"}
    assert repair(log, format="gemini").messages == [ASKED, model(CALL), user(RESPONSE)]
    signed_log: list[object] = [ASKED, model(signed, CALL), user(RESPONSE)]
    assert repair(signed_log, format="gemini").messages is signed_log


def test_a_text_under_the_role_of_responses_is_the_user_s() -> None:
    log: list[object] = [{"role": "function", "parts": [{"text": "x"}]}, model(CALL), user(RESPONSE)]
    assert rules(log, "gemini") == {"unknown-role"}
    assert repair(log, format="gemini").messages == [ASKED, *log[1:]]
    older: list[object] = [ASKED, model(CALL), {**user(RESPONSE), "role": "function"}]
    assert repair(older, format="gemini").messages is older


@pytest.mark.parametrize("name", ["g", "f f"])
def test_a_response_has_the_name_of_its_call(name: str) -> None:
    call: Json = {**CALL, "functionCall": {"name": "f", "args": {}, "id": "q"}}
    response: Json = {"functionResponse": {"name": "f", "response": {"output": "ok"}, "id": "q"}}
    wrong: Json = {"functionResponse": {**as_object(response["functionResponse"]), "name": name}}
    log: list[object] = [ASKED, model(call), user(wrong)]
    assert rules(log, "gemini") == {"result-name-wrong"}
    assert repair(log, format="gemini").messages == [ASKED, model(call), user(response)]


def test_a_name_that_mistral_takes_stays() -> None:
    function = {"name": "f", "arguments": "{}"}
    answer: Json = {"role": "assistant", "content": "", "tool_calls": [{"id": "abcdefgh1", "function": function}]}
    result: Json = {"role": "tool", "tool_call_id": "abcdefgh1", "name": "another", "content": "ok"}
    log: list[object] = [USER, answer, result]
    assert repair(log, format="openai-chat", profile="mistral").messages is log
    done = repair([USER, answer, {**result, "name": "f f"}], format="openai-chat", profile="mistral")
    assert done.messages == [USER, answer, {**result, "name": "f"}]


def test_what_stands_beside_parallel_responses_is_reported_as_hearsay() -> None:
    log: list[object] = [ASKED, model(CALL, CALL), user(RESPONSE, RESPONSE, {"text": "x"})]
    assert check(log, format="gemini") == []
    found = check(log, format="gemini", hearsay=True)
    assert [each.rule for each in found if each.rule != "result-not-first"] == ["result-not-alone"]
    single: list[object] = [ASKED, model(CALL), user(RESPONSE, {"text": "x"})]
    assert check(single, format="gemini", hearsay=True) == []


# --- fields beside what is said --------------------------------------------------------------------------------------

SAID: Json = {"role": "assistant", "content": "so"}
BLOCK: Json = {"type": "text", "text": "so"}
ITEM: Json = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]}


@pytest.mark.parametrize(
    ("form", "right", "wrong"),
    [
        ("openai-chat", SAID, {**SAID, "reasoning_content": 5}),
        ("openai-chat", SAID, {**SAID, "audio": {"id": 5}}),
        ("openai-chat", SAID, {**SAID, "refusal": ["\ud800"]}),
        ("anthropic", {**SAID, "content": [BLOCK]}, {**SAID, "content": [{**BLOCK, "citations": "x"}]}),
        ("openai-responses", ITEM, {**ITEM, "status": "odd"}),
        ("openai-responses", ITEM, {**ITEM, "phase": {}}),
    ],
)
def test_a_field_of_a_wrong_type_goes_and_the_message_stays(form: str, right: Json, wrong: Json) -> None:
    log: list[object] = [USER, wrong, USER]
    assert "field-mistyped" in rules(log, form)
    done = repair(log, format=form)
    assert done.remaining == ()
    if "refusal" not in wrong:  # which says something, were it only the half of a character
        assert done.messages == [USER, right, USER]
    assert repair([USER, right, USER], format=form).edits == ()


def test_what_a_field_of_a_wrong_type_says_becomes_text() -> None:
    done = repair([USER, {**SAID, "refusal": {"text": "KEPT"}}, USER], format="openai-chat")
    assert done.remaining == ()
    assert done.messages[1] == {**SAID, "content": "so\n\n[Field refusal]\nKEPT"}


@pytest.mark.parametrize(
    ("form", "part"),
    [
        ("openai-chat", {"type": "file", "file": {"filename": ["KEPT"]}}),
        ("openai-chat", {"type": "input_audio", "input_audio": "KEPT"}),
        ("anthropic", {"type": "document", "source": {"type": "url", "url": ["KEPT"]}}),
        ("anthropic", {"type": "document", "source": {"type": "KEPT"}}),
    ],
)
def test_what_lacks_what_it_cannot_be_without_is_quoted(form: str, part: Json) -> None:
    log: list[object] = [{"role": "user", "content": [{"type": "text", "text": "x"}, part]}]
    done = repair(log, format=form)
    assert done.remaining == ()
    kinds = [as_object(each).get("type") for each in as_array(as_object(done.messages[0])["content"])]
    assert kinds == ["text", "text"]
    assert repair(done.messages, format=form).edits == ()


SOURCE: Json = {"type": "text", "media_type": "text/plain", "data": "KEPT"}
PAPER: Json = {"type": "document", "source": SOURCE}
FOUND: Json = {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "KEPT"}]}
USED: Json = {"type": "mcp_tool_use", "id": "m", "name": "KEPT", "server_name": "s", "input": {}}
PAGE: Json = {"type": "web_fetch_result", "url": "u", "content": PAPER}


@pytest.mark.parametrize(
    ("role", "block"),
    [
        ("user", {**PAPER, "source": {**SOURCE, "media_type": None}}),
        ("user", {**PAPER, "source": {"type": "content", "content": [{"said": "KEPT"}]}}),
        ("user", {**FOUND, "title": 5}),
        ("user", {**FOUND, "content": "KEPT"}),
        ("user", {**FOUND, "content": [{"type": "text", "said": "KEPT"}]}),
        ("user", {"type": "container_upload", "file_id": ["KEPT"]}),
        ("assistant", {**USED, "server_name": None}),
        ("assistant", {**USED, "name": ["KEPT"]}),
        ("assistant", {"type": "fallback", "from": "KEPT", "to": {"model": "m"}}),
    ],
)
def test_a_block_of_anthropic_s_that_is_nothing_is_quoted(role: str, block: Json) -> None:
    log: list[object] = [USER, {"role": role, "content": [BLOCK, block]}, USER]
    assert anthropic_refusal("anthropic", log)
    done = repair(log, format="anthropic")
    assert done.remaining == ()
    assert anthropic_refusal("anthropic", done.messages) == ""
    assert "KEPT" in str(done.messages)


@pytest.mark.parametrize(
    "found",
    [
        [{"type": "web_search_result", "title": "KEPT"}],
        [{"type": "text", "text": "KEPT"}],
        {"type": "KEPT"},
        {**PAGE, "url": None, "type": "web_fetch_result"},
    ],
)
def test_what_the_provider_s_own_tool_found_is_quoted_with_its_call_where_it_is_nothing(found: object) -> None:
    name = "web_fetch" if as_object(found).get("type") == "web_fetch_result" else "web_search"
    called: Json = {"type": "server_tool_use", "id": "srvtoolu_s", "name": name, "input": {}}
    result: Json = {"type": f"{name}_tool_result", "tool_use_id": "srvtoolu_s", "content": found}
    log: list[object] = [USER, {"role": "assistant", "content": [called, result, BLOCK]}, USER]
    assert anthropic_refusal("anthropic", log)
    done = repair(log, format="anthropic")
    assert done.remaining == ()
    assert anthropic_refusal("anthropic", done.messages) == ""
    assert "KEPT" in str(done.messages)


def test_citations_of_anthropic_s_stay_and_others_go() -> None:
    cited: Json = {"type": "char_location", "cited_text": "x", "document_index": 0, "document_title": None}
    cited |= {"start_char_index": 0, "end_char_index": 1}
    log: list[object] = [USER, {"role": "assistant", "content": [{**BLOCK, "citations": [cited]}]}, USER]
    assert repair(log, format="anthropic").messages is log
    for wrong in ({**cited, "document_index": "x"}, {"type": "char_location"}, "x"):
        log[1] = {"role": "assistant", "content": [{**BLOCK, "citations": [wrong]}]}
        assert repair(log, format="anthropic").messages == [USER, {**SAID, "content": [BLOCK]}, USER]


@pytest.mark.parametrize("wrong", [{"args": "KEPT"}, {"id": ["KEPT"]}, {"toolType": ["KEPT"]}])
def test_a_call_of_google_s_own_that_is_nothing_is_repaired(wrong: Json) -> None:
    part: Json = {"toolCall": {"id": "s", "toolType": "GOOGLE_SEARCH_WEB", "args": {}, **wrong}}
    log: list[object] = [ASKED, model(part, {"text": "so"}), ASKED]
    assert google_refusal("gemini", log)
    done = repair(log, format="gemini")
    assert done.remaining == ()
    assert google_refusal("gemini", done.messages) == ""


def test_a_result_beside_a_call_that_is_none_is_quoted() -> None:
    part: Json = {**RESPONSE, "function_call": ["KEPT"]}
    done = repair([ASKED, model(CALL), user(part)], format="gemini")
    assert done.remaining == ()
    assert google_refusal("gemini", done.messages) == ""
    assert "KEPT" in str(done.messages)


def test_files_of_google_s_are_base64_and_in_a_list() -> None:
    text: Json = {"inlineData": {"mimeType": "text/plain", "data": "no base64: KEPT"}}
    done = repair([user({"text": "x"}, text)], format="gemini")
    assert google_refusal("gemini", done.messages) == ""
    assert "KEPT" in str(done.messages)
    for parts in ({"inlineData": {"mimeType": "text/plain", "data": "eA=="}}, ["x"]):
        response: Json = {"functionResponse": {**as_object(RESPONSE["functionResponse"]), "parts": parts}}
        done = repair([ASKED, model(CALL), user(response)], format="gemini")
        assert done.remaining == ()
        assert google_refusal("gemini", done.messages) == ""
        assert as_array(as_object(done.messages[2])["parts"])[0] == RESPONSE


def test_a_call_that_is_a_text_is_quoted() -> None:
    done = repair([USER, {**SAID, "tool_calls": ["KEPT"]}, USER], format="openai-chat")
    assert done.remaining == ()
    assert "KEPT" in str(as_object(done.messages[1])["content"])


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant"])
@pytest.mark.parametrize("kind", ["function_call", "custom_tool_call", "local_shell_call", "reasoning"])
def test_what_was_said_stays_under_the_name_of_another_kind_of_item(kind: str, role: str) -> None:
    if (kind, role) == ("reasoning", "assistant"):  # that is what was thought
        return
    messages = [{"role": role, "content": "Keep the tests green.", "type": kind}, {"role": "user", "content": "go"}]
    repaired = repair(messages, format="openai-responses", profile="openai-responses")
    assert repaired.remaining == ()
    assert "Keep the tests green." in str(repaired.messages)
