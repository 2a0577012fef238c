"""Fields that a provider does not know: the tables are those of the vendors' own types, and what else there is goes."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

import pydantic
import pytest
from anthropic.types import MessageParam
from anthropic.types.beta import BetaMessageParam
from google.genai import types as google
from mistral_common.protocol.instruct import messages as mistral
from openai.types.chat import ChatCompletionMessage, ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam
from typing_extensions import get_type_hints, is_typeddict

from holdfast.history import check, repair
from holdfast.history.fields import (
    ANTHROPIC_FIELDS,
    GEMINI_FIELDS,
    MISTRAL_FIELDS,
    OPENAI_CHAT_FIELDS,
    OPENAI_RESPONSES_FIELDS,
    Fields,
    Kinds,
)
from holdfast.history.formats.format import Json, as_object
from holdfast.history.profiles import PAIRS, PROFILES

# --- the vendors' own types ------------------------------------------------------------------------------------------


def declared(hint: Any) -> Iterator[Any]:
    """Yield the types of objects that a type allows."""
    origin = get_origin(hint)
    if is_typeddict(hint) or (isinstance(hint, type) and issubclass(hint, pydantic.BaseModel)):
        yield hint
    elif origin in (Required, NotRequired, Annotated):
        yield from declared(get_args(hint)[0])
    elif origin in (Union, types.UnionType) or (origin is not None and origin is not Literal):
        for each in get_args(hint):
            yield from declared(each)


def fields_of(kind: Any) -> Mapping[str, Any]:
    if is_typeddict(kind):
        return get_type_hints(kind, include_extras=True)
    return {field.alias or name: field.annotation for name, field in kind.model_fields.items()}


def says_it_is(kind: Any, by: str) -> list[str]:
    """Return what the field `by` of the object may say, "" if it has none."""
    hint = fields_of(kind).get(by)
    while get_origin(hint) in (Required, NotRequired, Annotated):
        hint = get_args(hint)[0]
    hints = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return [word for each in hints if get_origin(each) is Literal for word in get_args(each)] or [""]


def known_to(kinds: list[Any], table: Kinds, path: str = "") -> Iterator[tuple[str, Fields, set[str], list[Any]]]:
    """Yield each object that the table knows, with the fields that the vendor's types have for it."""
    found: dict[str, list[Any]] = {}
    for kind in kinds:
        for word in says_it_is(kind, table.by) if table.by else [""]:
            found.setdefault(word, []).append(kind)
    for word, fields in table.fields.items():
        if word in found:
            names = {name for kind in found[word] for name in fields_of(kind)}
            yield f"{path}/{word}", fields, names, found[word]
            for key, inner in fields.within:
                types = [
                    each for kind in found[word] if key in fields_of(kind) for each in declared(fields_of(kind)[key])
                ]
                yield from known_to(types, inner, f"{path}/{word}.{key}")


VENDORS: dict[str, tuple[list[Any], Kinds, Mapping[str, set[str]]]] = {
    "anthropic": ([*declared(MessageParam), *declared(BetaMessageParam)], ANTHROPIC_FIELDS, {}),
    "openai-responses": (
        list(declared(ResponseInputItemParam)),
        OPENAI_RESPONSES_FIELDS,
        {"/local_shell_call_output": {"call_id"}, "/reasoning": set()},  # which says with it what it answers
    ),
    "openai-chat": (
        list(declared(ChatCompletionMessageParam)),
        OPENAI_CHAT_FIELDS,
        {
            # Rules on thinking judge two of them; the third is of an answer, and its SDK sends it back.
            "/assistant": {"reasoning_content", "reasoning", "annotations"},
            "/tool": {"name"},  # which was of it once, and is taken
            "/assistant.tool_calls/": {"type"},
        },
    ),
    "gemini": ([google.Content], GEMINI_FIELDS, {}),
}


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.title() for word in rest)


@pytest.mark.parametrize("vendor", VENDORS)
def test_the_tables_are_the_vendors_own_types(vendor: str) -> None:
    kinds, table, more = VENDORS[vendor]
    seen: set[str] = set()
    for path, fields, names, _ in known_to(kinds, table):
        known = {camel(name) for name in fields.names} if vendor == "gemini" else set(fields.names)
        assert known == names | more.get(path, set()), path
        seen.add(path)
    assert len(seen) > 8


def test_mistral_knows_only_the_fields_of_its_types() -> None:
    types = {"user": mistral.UserMessage, "assistant": mistral.AssistantMessage, "tool": mistral.ToolMessage}
    for role, kind in types.items():
        assert MISTRAL_FIELDS.fields[role].names == kind.model_fields.keys()
        assert kind.model_config.get("extra") == "forbid"


# --- what is not known goes ------------------------------------------------------------------------------------------

STORED: dict[str, tuple[Json, Json]] = {
    "anthropic": (
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude",
            "content": [{"type": "text", "text": "so", "parsed": None}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 1},
        },
        {"role": "assistant", "content": [{"type": "text", "text": "so"}]},
    ),
    "gemini": (
        {"role": "model", "parts": [{"type": "text", "text": "so"}], "metadata": {"x": 1}},
        {"role": "model", "parts": [{"text": "so"}]},
    ),
    "openai-chat": (
        {"role": "assistant", "content": "so", "refusal": None, "annotations": [], "reasoning_details": []},
        {"role": "assistant", "content": "so", "refusal": None, "annotations": []},
    ),
    "openai-responses": (
        {"role": "assistant", "content": [{"type": "output_text", "text": "so", "cache_control": {}}], "model": "gpt"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "so"}]},
    ),
}
_USER: Json = {"role": "user", "content": "x"}
SAYS: dict[str, Json] = {
    "anthropic": _USER,
    "openai-chat": _USER,
    "openai-responses": _USER,
    "gemini": {"role": "user", "parts": [{"text": "x"}]},
}


@pytest.mark.parametrize("form", STORED)
def test_a_stored_response_is_reported_and_loses_what_only_a_response_has(form: str) -> None:
    stored, expected = STORED[form]
    user = SAYS[form]
    violations = check([user, stored, user], format=form)
    assert {each.rule for each in violations} == {"unknown-field"}
    assert all(each.error_by for each in violations)
    repaired = repair([user, stored, user], format=form)
    assert repaired.messages == [user, expected, user]
    assert repaired.messages[0] is user
    assert repaired.remaining == ()


def test_fields_go_also_where_a_response_of_too_many_calls_is_divided() -> None:
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in range(129)]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "done"} for call in calls]
    messages = [{**_USER, "mood": "good"}, {"role": "assistant", "content": None, "tool_calls": calls}, *results, _USER]
    repaired = repair(messages, format="openai-chat", profile="openai-chat")
    assert repaired.remaining == ()
    assert repaired.messages[0] == _USER
    assert len(repaired.messages) == len(messages) + 1


def test_who_ignores_unknown_fields_gets_them() -> None:
    stored, _ = STORED["anthropic"]
    messages = [SAYS["anthropic"], stored, SAYS["anthropic"]]
    assert check(messages, format="anthropic", profile="deepseek") == []
    assert repair(messages, format="anthropic", profile="deepseek").messages is messages


def test_openai_takes_back_an_answer_as_its_sdk_sends_it_and_groq_does_not() -> None:
    answer = ChatCompletionMessage.model_validate(
        {"role": "assistant", "content": "so", "refusal": None, "annotations": []}
    )
    messages: list[object] = [_USER, answer.model_dump(exclude_unset=True), _USER]  # which is how the SDK writes one
    assert check(messages, format="openai-chat") == []
    cited = {"type": "url_citation", "url_citation": {"start_index": 0, "end_index": 1, "title": "t", "url": "u"}}
    assert check([_USER, {"role": "assistant", "content": "so", "annotations": [cited]}], format="openai-chat") == []
    violations = check(messages, format="openai-chat", profile="openai-compatible")
    assert [(each.position, each.rule) for each in violations] == [("messages[1]", "unknown-field")]
    repaired = repair(messages, format="openai-chat", profile="openai-compatible")
    assert repaired.messages == [_USER, {"role": "assistant", "content": "so"}, _USER]


def test_mistral_refuses_what_is_only_null() -> None:
    messages = [
        {"role": "user", "content": "x", "name": "bob"},
        {"role": "assistant", "content": "so", "refusal": None, "audio": None, "function_call": None},
        {"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]},
    ]
    violations = check(messages, format="openai-chat", profile="mistral")
    assert [(each.position, each.rule) for each in violations] == [
        ("messages[0]", "unknown-field"),
        ("messages[1]", "unknown-field"),
        ("messages[2].content[0]", "unknown-field"),
    ]
    assert repair(messages, format="openai-chat", profile="mistral").messages == [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "so"},
        {"role": "user", "content": [{"type": "text", "text": "x"}]},
    ]


def test_a_thinking_block_has_no_cache_marker_and_stays_as_it_was_signed() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    marked = {**thinking, "cache_control": {"type": "ephemeral"}}
    user = SAYS["anthropic"]
    text = {"type": "text", "text": "so"}
    repaired = repair([user, {"role": "assistant", "content": [marked, text]}, user], format="anthropic")
    assert repaired.messages[1] == {"role": "assistant", "content": [thinking, text]}


def test_the_index_that_a_stream_leaves_in_a_call_goes() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "a", "content": "x"}
    messages = [SAYS["openai-chat"], {"role": "assistant", "tool_calls": [{**call, "index": 0}]}, result]
    assert [each.position for each in check(messages, format="openai-chat")] == ["messages[1].tool_calls[0]"]
    assert as_object(repair(messages, format="openai-chat").messages[1])["tool_calls"] == [call]


def test_a_call_that_another_wire_puts_beside_the_content_is_quoted_and_not_lost() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": "wSAID."}'}}
    answer: Json = {"role": "assistant", "content": "so", "tool_calls": [call]}
    user = SAYS["anthropic"]
    repaired = repair([user, answer, user], format="anthropic")
    assert repaired.remaining == ()
    assert "wSAID." in str(repaired.messages[1])
    assert "tool_calls" not in as_object(repaired.messages[1])


def test_a_call_that_is_rewritten_is_not_reported_field_by_field() -> None:
    flat: Json = {"id": "a", "type": "function", "name": "f", "arguments": "{}"}
    result = {"role": "tool", "tool_call_id": "a", "content": "x"}
    messages = [SAYS["openai-chat"], {"role": "assistant", "tool_calls": [{**flat, "index": 0}]}, result]
    assert "unknown-field" not in {each.rule for each in check(messages, format="openai-chat")}
    repaired = repair(messages, format="openai-chat")
    called = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert as_object(repaired.messages[1])["tool_calls"] == [called]
    assert repaired.remaining == ()


def test_what_was_sent_keeps_its_fields() -> None:
    stored, _ = STORED["anthropic"]
    messages = [SAYS["anthropic"], stored, SAYS["anthropic"]]
    repaired = repair(messages, format="anthropic", frozen=2)
    assert repaired.messages is messages
    assert {each.rule for each in repaired.remaining} == {"unknown-field"}


def test_a_profile_has_the_fields_of_a_format_where_it_refuses_others() -> None:
    for name, profile in PROFILES.items():
        refuses = "unknown-field" in profile.rules
        assert refuses == bool(profile.fields), name
        assert all(name in PAIRS[form] for form in profile.fields)


# --- what is said in them is quoted ----------------------------------------------------------------------------------

_ASKED: Json = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_DONE: Json = {"role": "tool", "tool_call_id": "a", "content": "ok"}
_CALLED: Json = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
_USED: Json = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
_RETURNED: Json = {"type": "tool_result", "tool_use_id": "a", "content": "ok"}
_PART: Json = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "AAAA"}
OUT_OF_PLACE: dict[str, tuple[str, list[Json]]] = {
    "beside a message's content": ("anthropic", [{**_USER, "text": "wSAID."}]),
    "in a block": ("anthropic", [_USER, {"role": "assistant", "content": [{**_USED, "output": "wSAID."}]}]),
    "in a call that lacks its arguments": (
        "anthropic",
        [_USER, {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "text": "wSAID."}]}],
    ),
    "in a result": (
        "anthropic",
        [
            _USER,
            {"role": "assistant", "content": [_USED]},
            {"role": "user", "content": [{**_RETURNED, "text": "wSAID."}]},
        ],
    ),
    "in a call": ("openai-chat", [_USER, {"role": "assistant", "tool_calls": [{**_ASKED, "output": "wSAID."}]}, _DONE]),
    "in a result's message": (
        "openai-chat",
        [_USER, {"role": "assistant", "tool_calls": [_ASKED]}, {**_DONE, "output": {"out": "wSAID."}}],
    ),
    "in a part of a result": (
        "openai-chat",
        [
            _USER,
            {"role": "assistant", "tool_calls": [_ASKED]},
            {**_DONE, "content": [{"type": "text", "text": "ok", "content": "wSAID."}]},
        ],
    ),
    "in an item": (
        "openai-responses",
        [
            _USER,
            {**_CALLED, "output": [{"type": "text", "text": "wSAID."}]},
            {"type": "function_call_output", "call_id": "a", "output": "ok"},
        ],
    ),
    "in a result's item": (
        "openai-responses",
        [_USER, _CALLED, {"type": "function_call_output", "call_id": "a", "output": [], "content": "wSAID."}],
    ),
    "in a result without its call": (
        "openai-responses",
        [{"type": "local_shell_call_output", "role": "system", "content": "wSAID."}, _USER],
    ),
    "in a result that is quoted": (
        "openai-responses",
        [{"type": "function_call_output", "call_id": "z", "output": "ok", "text": "wSAID."}, _USER],
    ),
    "in a part": ("gemini", [SAYS["gemini"], {"role": "model", "parts": [{**_PART, "output": "wSAID."}]}]),
}


@pytest.mark.parametrize("profile", ["own", "any"])
@pytest.mark.parametrize("place", OUT_OF_PLACE)
def test_what_is_said_in_an_unknown_field_is_quoted(place: str, profile: str) -> None:
    form, messages = OUT_OF_PLACE[place]
    name = PAIRS[form][0] if profile == "own" else profile
    violations = check(messages, format=form, profile=name)
    assert {each.rule for each in violations} & {"unknown-field", "result-without-call"}
    repaired = repair(messages, format=form, profile=name)
    assert str(repaired.messages).count("wSAID.") == 1
    assert repaired.remaining == ()
    assert repair(repaired.messages, format=form, profile=name).edits == ()


def test_a_field_that_says_nothing_goes_beside_one_that_does() -> None:
    user: Json = {**_USER, "output": "wSAID.", "usage": {"x": 1}, "text": " ", "input": 5}
    repaired = repair([user], format="openai-chat")
    assert repaired.messages == [{"role": "user", "content": "x\n\n[Field output]\nwSAID."}]
    assert [each.sentence for each in repaired.edits] == [
        "The provider does not know these fields of messages[0]; they are removed: usage, text, input.",
        "The provider does not know these fields of messages[0]; they are quoted as text: output.",
    ]


def test_a_result_of_the_older_kind_gets_the_id_that_its_call_gets() -> None:
    call: Json = {"id": {}, "type": "custom", "custom": {"name": "f", "input": "x"}}
    messages = [_USER, {"role": "assistant", "tool_calls": [call]}, {"role": "function", "name": "f", "content": "ok"}]
    repaired = repair(messages, format="openai-chat")
    assert repaired.remaining == ()
    assert as_object(repaired.messages[2])["role"] == "tool"
