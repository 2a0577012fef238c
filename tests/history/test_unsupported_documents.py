"""What a program hands over by mistake is refused with its name, not turned into quoted text."""

from __future__ import annotations

from typing import Any, cast

import pytest

from holdfast.errors import DamageError, UsageError
from holdfast.history import check, repair

UI_MESSAGES: list[object] = [
    {"id": "1", "role": "user", "parts": [{"type": "text", "text": "x"}]},
    {
        "id": "2",
        "role": "assistant",
        "parts": [{"type": "tool-ls", "toolCallId": "c1", "state": "input-available", "input": {}}],
    },
]
LANGCHAIN: list[object] = [
    {"type": "human", "content": "x", "additional_kwargs": {}, "response_metadata": {}, "id": None},
    {"type": "ai", "content": "y", "additional_kwargs": {}, "tool_calls": [], "id": "run-1"},
]
LANGCHAIN_DICTS: list[object] = [{"type": "human", "data": {"content": "x", "type": "human"}}]
ADK: list[object] = [
    {"author": "user", "invocation_id": "e-1", "content": {"role": "user", "parts": [{"text": "x"}]}},
    {"author": "a", "invocationId": "e-1", "content": {"role": "model", "parts": [{"text": "y"}]}},
]
TRANSCRIPT: list[object] = [
    {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "x"}}
]
UI_TEXTS: list[object] = [
    {"id": "1", "role": "user", "parts": [{"type": "text", "text": "x"}]},
    {"id": "2", "role": "assistant", "parts": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "y"}]},
]
RECORDS: list[object] = [{"type": "summary", "summary": "x", "leafUuid": "u"}, *TRANSCRIPT]
CODEX: list[object] = [
    {"timestamp": "t", "type": "session_meta", "payload": {"id": "x"}},
    {"timestamp": "t", "type": "response_item", "payload": {"type": "message", "role": "user", "content": []}},
]
PI: list[object] = [{"type": "session", "id": "s"}, {"type": "message", "message": {"role": "user", "content": "x"}}]
GEMINI_CLI = {"sessionId": "s", "messages": [{"type": "user", "content": "x"}, {"type": "gemini", "content": "y"}]}
JOURNAL: list[object] = [{"kind": "session-opened", "session": "s"}, {"kind": "prompt-accepted", "text": "x"}]
PLAIN_LANGCHAIN: list[object] = [{"type": "human", "content": "x"}, {"type": "ai", "content": "y", "tool_calls": []}]
BLOCKS: list[object] = [{"role": "user", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": "x"}]}]
AUTOGEN: list[object] = [{"source": "user", "content": "x", "type": "TextMessage", "models_usage": None}]
THREAD: dict[str, object] = {"object": "list", "data": [{"object": "thread.message", "role": "user", "content": []}]}
GOOSE: list[object] = [
    {"role": "user", "created": 1, "content": [{"type": "text", "text": "x"}]},
    {"role": "assistant", "created": 2, "content": [{"type": "toolRequest", "id": "c", "toolCall": {}}]},
]
SHARED = {"conversations": [{"from": "human", "value": "x"}, {"from": "gpt", "value": "y"}]}
KERNEL: list[object] = [{"role": "user", "items": [{"content_type": "text", "text": "x"}]}]
RUN_ITEMS: list[object] = [{"type": "message_output_item", "raw_item": {"type": "message", "content": []}}]
SIGNED: list[object] = [
    {"role": "user", "parts": [{"text": "x"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "a"}}}]},
]
HELLO: list[object] = [{"role": "user", "content": "x"}]
PAI: list[object] = [
    {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "x"}]},
    {"kind": "response", "parts": [{"part_kind": "text", "content": "y"}]},
]


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (UI_MESSAGES, "Vercel's AI SDK"),
        (LANGCHAIN, "LangChain"),
        (LANGCHAIN_DICTS, "LangChain"),
        (ADK, "Google's ADK"),
        (TRANSCRIPT, "Claude Code"),
        ({"messages": UI_MESSAGES}, "Vercel's AI SDK"),
        (UI_TEXTS, "Vercel's AI SDK"),
        ({"events": ADK}, "Google's ADK"),
        (RECORDS, "Claude Code"),
        (CODEX, "Codex"),
        (PI, "a session of pi"),
        (GEMINI_CLI, "Gemini CLI"),
        (JOURNAL, "holdfast's own journal"),
        (PLAIN_LANGCHAIN, "LangChain"),
        (BLOCKS, "LlamaIndex"),
        (AUTOGEN, "AutoGen"),
        (THREAD, "OpenAI's Assistants"),
        (GOOSE, "goose"),
        (SHARED, "ShareGPT"),
        (KERNEL, "Semantic Kernel"),
        (RUN_ITEMS, "OpenAI's Agents SDK"),
    ],
)
@pytest.mark.parametrize("form", ["openai-chat", "anthropic", "gemini"])
def test_a_conversation_of_another_program_is_refused_by_name(document: object, name: str, form: str) -> None:
    for function in (check, repair):
        with pytest.raises(DamageError, match=f"it looks like {name}"):
            function(document, format=form)


def test_what_other_programs_share_with_a_format_is_not_refused() -> None:
    known: list[tuple[str, list[object]]] = [
        ("openai-chat", [{"role": "user", "content": [{"type": "text", "text": "x"}]}]),
        ("anthropic", [{"role": "user", "content": [{"type": "text", "text": "x"}], "id": "msg_1"}]),
        ("gemini", [{"role": "user", "parts": [{"text": "x"}, {"text": "y", "type": "text"}]}]),
        ("openai-responses", [{"type": "message", "role": "user", "content": "x", "id": "msg_1"}]),
        ("pydantic-ai", [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "x"}]}]),
    ]
    for form, document in known:
        assert repair(document, format=form).remaining == ()


@pytest.mark.parametrize("key", ["blocks", "items"])
def test_content_under_another_key_is_quoted_and_not_dropped(key: str) -> None:
    raw = {"role": "user", key: [{"kind": "x", "words": "zebra"}]}
    for form in ("openai-chat", "anthropic", "openai-responses"):
        assert "zebra" in str(repair([raw], format=form).messages)


@pytest.mark.parametrize(
    ("model", "rules"),
    [
        ("gemini-2.5-flash", []),
        ("models/gemini-2.0-flash", []),
        ("gemini-3-pro-preview", ["signature-required"]),
        (None, ["signature-required"]),
    ],
)
def test_only_gemini_3_signs_its_calls(model: str | None, rules: list[str]) -> None:
    assert [found.rule for found in check(SIGNED, format="gemini", model=model)] == rules
    assert (repair(SIGNED, format="gemini", model=model).messages == SIGNED) == (not rules)


def test_a_fact_that_is_none_is_named() -> None:
    wrong = cast("Any", {"modle": "gpt-4.1"})
    with pytest.raises(UsageError, match=r"Unknown fact 'modle' .* \(expected some of model, tools"):
        check(HELLO, format="openai-chat", **wrong)
    with pytest.raises(UsageError, match=r"'frozen' is -1"):
        repair(HELLO, format="openai-chat", frozen=-1)


def test_tools_are_names_or_declarations() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "rm", "arguments": "{}"}}
    called = [
        *HELLO,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a"},
    ]
    declared = cast("Any", [{"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}])
    as_names = check(called, format="openai-chat", tools=["ls"])
    assert check(called, format="openai-chat", tools=declared) == as_names
    with pytest.raises(UsageError, match="'tools' has no names"):
        check(called, format="openai-chat", tools=cast("Any", [{"name": 1}]))


@pytest.mark.parametrize(
    ("document", "named", "real"),
    [
        (SIGNED, "openai-chat", "gemini"),
        (SIGNED, "anthropic", "gemini"),
        ([*HELLO, {"role": "assistant", "content": "y"}], "gemini", "openai-chat"),
        ([*HELLO, {"role": "assistant", "content": "y"}], "pydantic-ai", "openai-chat"),
        (PAI, "anthropic", "pydantic-ai"),
    ],
)
def test_a_supported_format_named_as_another_is_refused_with_its_name(
    document: list[object], named: str, real: str
) -> None:
    for read in (check, repair):
        with pytest.raises(DamageError, match=f"in the format {named}: .* in the format {real}"):
            read(document, format=named)
    assert repair(document, format=real).remaining == ()
    assert repair(document[:1], format=named).edits  # one message may be a damaged one
    assert repair(document, format=named, frozen=len(document)).messages == document
