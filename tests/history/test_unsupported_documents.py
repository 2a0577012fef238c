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
SIGNED: list[object] = [
    {"role": "user", "parts": [{"text": "x"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "a"}}}]},
]
HELLO: list[object] = [{"role": "user", "content": "x"}]


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (UI_MESSAGES, "Vercel's AI SDK"),
        (LANGCHAIN, "LangChain"),
        (LANGCHAIN_DICTS, "LangChain"),
        (ADK, "Google's ADK"),
        (TRANSCRIPT, "Claude Code"),
        ({"messages": UI_MESSAGES}, "Vercel's AI SDK"),
    ],
)
@pytest.mark.parametrize("form", ["openai-chat", "anthropic", "gemini"])
def test_a_conversation_of_another_program_is_refused_by_name(document: object, name: str, form: str) -> None:
    for function in (check, repair):
        with pytest.raises(DamageError, match=f"it looks like {name}"):
            function(document, format=form)


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
