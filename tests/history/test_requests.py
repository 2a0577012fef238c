"""What only the caller knows of a request, and a request handed over whole: `check` and `repair` use both."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import UsageError
from holdfast.history import Request, check, repair
from holdfast.history.formats.format import Json, as_array, as_object
from holdfast.history.profiles import PAIRS
from holdfast.history.repair import NOT_REPAIRABLE
from laws import law
from wire_documents import DOCUMENTS, mutations

USER: Json = {"role": "user", "content": "x"}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
THOUGHT: Json = {"type": "thinking", "thinking": "hm", "signature": "s"}


def use(call_id: str, name: str = "read") -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def message(role: str, *blocks: Json) -> Json:
    return {"role": role, "content": list(blocks)}


def done(call_id: str) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "x"}


def rules(document: object, form: str, profile: str | None = None, **request: object) -> list[str]:
    return [each.rule for each in check(document, format=form, profile=profile, **request)]  # pyright: ignore[reportArgumentType] - by name


# --- thinking beside the content -------------------------------------------------------------------------------------


def test_an_empty_thinking_stays_where_thinking_is_on() -> None:
    def stored(thought: object) -> Json:
        call = {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        return {"role": "assistant", "content": "", "reasoning_content": thought, "tool_calls": [call]}

    messages = [USER, stored(""), {"role": "tool", "tool_call_id": "a", "content": "x"}]
    body = {"thinking": {"type": "enabled"}, "messages": messages}
    for document, thinking in ((messages, True), (body, None)):
        assert rules(document, "openai-chat", "openai-compatible", thinking=thinking) == []
        unchanged = repair(document, format="openai-chat", profile="openai-compatible", thinking=thinking)
        assert unchanged.messages is messages
    for thinking in (None, False):
        assert rules(messages, "openai-chat", "openai-compatible", thinking=thinking) == ["unknown-field"]
        repaired = repair(messages, format="openai-chat", profile="openai-compatible", thinking=thinking)
        assert "reasoning_content" not in as_object(repaired.messages[1])
    for nothing in (None, 0):
        found = rules([USER, stored(nothing), messages[2]], "openai-chat", "openai-compatible", thinking=True)
        assert found == ["unknown-field"]


# --- a model that takes text only ------------------------------------------------------------------------------------

IMAGES: dict[str, Json] = {
    "openai-chat": message("user", {"type": "image_url", "image_url": {"url": "https://example.org/x.png"}}),
    "anthropic": message("user", {"type": "image", "source": {"type": "url", "url": "https://example.org/x.png"}}),
    "openai-responses": message("user", {"type": "input_image", "image_url": "https://example.org/x.png"}),
    "gemini": {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}]},
    "pydantic-ai": {
        "kind": "request",
        "parts": [{"part_kind": "user-prompt", "content": ["x", {"kind": "image-url", "url": "https://example.org"}]}],
    },
}
PROFILES_OF_IMAGES = [(form, profile) for form in IMAGES for profile in PAIRS[form]]


@pytest.mark.parametrize(("form", "profile"), PROFILES_OF_IMAGES)
def test_a_model_that_takes_text_only_gets_a_note_in_place_of_an_image(form: str, profile: str) -> None:
    messages: list[object] = [IMAGES[form]]
    assert "media-unseen" not in rules(messages, form, profile)
    assert "media-unseen" in rules(messages, form, profile, text_only=True)
    repaired = repair(messages, format=form, profile=profile, text_only=True)
    assert repaired.remaining == ()
    assert "is not accepted by this text-only model, and was left out." in str(repaired.messages)
    assert "example.org" not in str(repaired.messages)
    assert PNG not in str(repaired.messages)


def test_an_image_in_a_result_is_noted_and_the_rest_of_it_stays() -> None:
    image: Json = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    with_image = {**done("a"), "content": [{"type": "text", "text": "kept"}, image]}
    repaired = repair(
        [USER, message("assistant", use("a")), message("user", with_image)], format="anthropic", text_only=True
    )
    result = as_object(as_array(as_object(repaired.messages[2])["content"])[0])
    assert [as_object(each)["type"] for each in as_array(result["content"])] == ["text", "text"]
    assert as_array(result["content"])[0] == {"type": "text", "text": "kept"}


def test_a_file_is_noted_too() -> None:
    paper: Json = {"type": "file", "file": {"file_id": "f"}}
    assert rules([message("user", paper)], "openai-chat", text_only=True) == ["media-unseen"]
    repaired = repair([message("user", paper)], format="openai-chat", text_only=True)
    assert "was left out." in str(repaired.messages)
    assert repaired.remaining == ()


def test_a_document_that_is_text_is_read_by_every_model() -> None:
    paper: Json = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}}
    assert rules([message("user", paper)], "anthropic", text_only=True) == []


# --- whose signatures are valid --------------------------------------------------------------------------------------

SIGNED = [USER, message("assistant", THOUGHT, {"type": "text", "text": "so"}, use("a")), message("user", done("a"))]


@pytest.mark.parametrize(
    ("signed_by", "foreign"),
    [
        (None, False),
        ("anthropic", False),
        ("anthropic:claude-a", False),
        ("claude-a", False),
        ("claude-b", True),
        ("anthropic:claude-b", True),
        ("openai", True),
        ("openai:claude-a", True),
        ("another", True),
    ],
)
def test_thinking_goes_only_to_who_signed_it(signed_by: str | None, *, foreign: bool) -> None:
    found = rules(SIGNED, "anthropic", model="claude-a", signed_by=signed_by)
    assert found == (["thinking-foreign"] if foreign else [])
    repaired = repair(SIGNED, format="anthropic", model="claude-a", signed_by=signed_by)
    assert ("hm" in str(repaired.messages)) is not foreign
    assert as_array(as_object(repaired.messages[1])["content"])[-1] is use_of(SIGNED)
    assert repaired.messages[2] is SIGNED[2]


def use_of(messages: list[Json]) -> object:
    return as_array(messages[1]["content"])[-1]


def test_a_body_names_the_model_itself() -> None:
    body: Json = {"model": "claude-a", "messages": SIGNED, "tools": [{"name": "read"}]}
    assert rules(body, "anthropic", signed_by="claude-b") == ["thinking-foreign"]
    assert rules(body, "anthropic", signed_by="claude-a") == []


def test_a_model_is_compared_with_nothing_where_the_request_names_none() -> None:
    with pytest.raises(UsageError, match="the signing model 'claude-b'"):
        check(SIGNED, format="anthropic", signed_by="claude-b")


def test_encrypted_items_of_another_organisation_go_and_what_they_led_to_stays() -> None:
    items: list[object] = [
        USER,
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "x"},
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "e"},
        USER,
    ]
    assert rules(items, "openai-responses") == []
    repaired = repair(items, format="openai-responses", signed_by="another")
    assert repaired.remaining == ()
    assert repaired.messages == [
        USER,
        {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"},
        items[3],
        USER,
    ]


def test_a_compaction_of_another_says_what_it_says() -> None:
    compacted = message("assistant", {"type": "compaction", "content": "so far", "signature": "s"})
    repaired = repair([USER, compacted, USER], format="anthropic", signed_by="openai")
    assert repaired.remaining == ()
    text = str(as_object(repaired.messages[1])["content"])
    assert text.startswith("[A summary that another model made]")
    assert "so far" in text


def test_geminis_signatures_of_another_go_and_the_current_turn_has_what_stands_for_one() -> None:
    call: Json = {"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "eA=="}
    contents: list[object] = [
        {"role": "user", "parts": [{"text": "x"}]},
        {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "so", "thoughtSignature": "eA=="}, call]},
        {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "x"}}}]},
    ]
    assert rules(contents, "gemini") == []
    repaired = repair(contents, format="gemini", signed_by="anthropic")
    assert repaired.remaining == ()
    assert as_object(repaired.messages[1])["parts"] == [
        {"text": "hm", "thought": True},
        {"text": "so"},
        {"functionCall": call["functionCall"], "thoughtSignature": "skip_thought_signature_validator"},
    ]


# --- what is not stored ----------------------------------------------------------------------------------------------


def stored(*items: Json, **fields: object) -> Json:
    return {"model": "gpt-5", "input": [USER, *items, USER], **fields}


REASONING: Json = {"type": "reasoning", "id": "rs_1", "summary": []}
ANSWER: Json = {"type": "message", "id": "msg_1", "role": "assistant", "content": "so"}


def test_what_stands_for_an_item_goes_where_nothing_is_stored() -> None:
    body = stored({"type": "item_reference", "id": "rs_0"}, REASONING, ANSWER, store=False)
    assert rules(body, "openai-responses").count("item-not-stored") == 2
    repaired = repair(body, format="openai-responses")
    assert repaired.remaining == ()
    assert repaired.messages == [USER, {"type": "message", "role": "assistant", "content": "so"}, USER]
    storing = {**body, "store": True}
    assert repair(storing, format="openai-responses").document is storing


def test_what_can_be_read_without_the_store_stays() -> None:
    items = ({**REASONING, "encrypted_content": "e"}, ANSWER)
    assert rules(stored(*items, store=False), "openai-responses") == []
    assert rules([USER, REASONING, ANSWER, USER], "openai-responses") == []
    assert rules([USER, REASONING, ANSWER, USER], "openai-responses", store=False)[:1] == ["item-not-stored"]


def test_a_conversation_that_goes_on_is_stored() -> None:
    body = stored(REASONING, ANSWER, store=False, previous_response_id="resp_1")
    assert rules(body, "openai-responses") == []


# --- a request handed over whole -------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["anthropic", "bedrock"])
def test_a_request_declares_the_tools_that_were_called(profile: str) -> None:
    body: Json = {
        "messages": [USER, message("assistant", use("a"), use("b", "ls"), use("c")), message("user", *map(done, "abc"))]
    }
    assert rules(body, "anthropic", profile) == ["tools-not-declared"]
    repaired = repair(body, format="anthropic", profile=profile)
    document = as_object(repaired.document)
    assert repaired.remaining == ()
    assert [as_object(tool)["name"] for tool in as_array(document["tools"])] == ["read", "ls"]
    assert document["messages"] is body["messages"]
    again = repair(document, format="anthropic", profile=profile)
    assert again.document is document
    declared = repair(body, format="anthropic", profile=profile, tools=["read", "ls"])
    assert declared.document is body


def test_thinking_is_turned_off_where_the_open_calls_were_made_without() -> None:
    messages = [USER, message("assistant", use("a")), message("user", done("a"))]
    body: Json = {"messages": messages, "tools": [{"name": "read"}], "thinking": {"type": "enabled", "x": 1}}
    assert rules(body, "anthropic") == ["thinking-not-first"]
    repaired = repair(body, format="anthropic")
    assert repaired.remaining == ()
    assert repaired.document == {**body, "thinking": {"type": "disabled"}}
    listed = repair(messages, format="anthropic", thinking=True)
    assert [each.rule for each in listed.remaining] == ["thinking-not-first"]


def test_too_many_cache_markers_beside_the_messages_lose_the_first() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    tools = [{"name": f"t{number}", **mark} for number in range(3)]
    system = [{"type": "text", "text": "be brief", **mark} for _ in range(3)]
    body: Json = {
        "tools": tools,
        "system": system,
        "messages": [message("user", {"type": "text", "text": "x", **mark})],
    }
    repaired = repair(body, format="anthropic")
    document = as_object(repaired.document)
    assert repaired.remaining == ()
    assert document["tools"] == [{"name": "t0"}, {"name": "t1"}, tools[2]]
    assert document["system"] == system
    assert document["messages"] == [message("user", {"type": "text", "text": "x"})]


def test_a_blank_block_of_the_system_prompt_goes() -> None:
    brief = {"type": "text", "text": "be brief"}
    blank = {"type": "text", "text": " ", "cache_control": {"type": "ephemeral"}}
    body: Json = {"system": [blank, brief], "messages": [USER]}
    assert [(each.rule, each.position) for each in check(body, format="anthropic")] == [("blank-text", "system[0]")]
    assert repair(body, format="anthropic").document == {"system": [brief], "messages": [USER]}
    assert repair({"system": [blank], "messages": [USER]}, format="anthropic").document == {"messages": [USER]}


TOOLS: dict[str, list[Json]] = {
    "anthropic": [{"name": name} for name in "fgh"],
    "openai-chat": [{"type": "function", "function": {"name": name}} for name in "fgh"],
    "openai-responses": [{"type": "function", "name": name} for name in "fgh"],
    "gemini": [{"functionDeclarations": [{"name": name} for name in "fgh"]}],
    "pydantic-ai": [{"name": name} for name in "fgh"],
}
KEY = {"openai-responses": "input", "gemini": "contents"}


@pytest.mark.parametrize("form", DOCUMENTS)
@law(shared_by=len(DOCUMENTS))
@given(data=st.data(), thinks=st.sampled_from([None, "enabled", "disabled"]), declares=st.booleans())
def test_a_request_is_repaired_as_a_whole(
    form: str, *, data: st.DataObject, thinks: str | None, declares: bool
) -> None:
    body: Json = {"model": "m", KEY.get(form, "messages"): data.draw(mutations(form))}
    body |= {"tools": TOOLS[form]} if declares else {}
    body |= {"thinking": {"type": thinks}} if thinks else {}
    body |= {"system": [{"type": "text", "text": "", "cache_control": {}}] * 5} if form == "anthropic" else {}
    before = copy.deepcopy(body)
    for profile in PAIRS[form]:
        request: Request = {"store": data.draw(st.sampled_from([None, False]))}
        repaired = repair(body, format=form, profile=profile, **request)
        assert {each.rule for each in repaired.remaining} <= NOT_REPAIRABLE.keys() - {"tools-not-declared"}
        assert thinks is None or "thinking-not-first" not in {each.rule for each in repaired.remaining}
        again = repair(repaired.document, format=form, profile=profile, **request)
        assert again.edits == ()
        assert again.document is repaired.document
    assert body == before
