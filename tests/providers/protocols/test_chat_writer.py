"""What is written of a conversation for Chat Completions, for each dialect."""

from __future__ import annotations

import json
from typing import cast

import msgspec
import pytest

from holdfast.providers.catalog import MISTRAL_COMPAT
from holdfast.providers.protocols.openai_chat import WIRE
from holdfast.providers.registry import PROVIDERS, resolve_endpoint
from holdfast.session.conversation.conversation import AssistantMessage, Result, UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import Part, SessionOpened
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.tool_calls import Image, ToolSchema
from judges import JUDGES

Json = dict[str, object]
KEYS = {each.key_variable: "k" for each in PROVIDERS.values() if each.key_variable}
TEXT, CALL = TextPart("hello"), CallPart(id="abcdefgh1", name="read", arguments='{"path": "a",  "n": 1}')
CALLED: Json = {"id": "abcdefgh1", "type": "function", "function": {"name": "read", "arguments": CALL.arguments}}
SEALED = [{"type": "reasoning.encrypted", "data": "c2Vh", "id": "rs_1", "format": "openai-responses-v1", "index": 0}]


def written(name: str, *responses: tuple[Part, ...]) -> list[Json]:
    """Return how these responses of the model are written, one after another, by one writer."""
    target = resolve_endpoint(name, KEYS)
    writer = WIRE.writer(target)
    messages = [each for parts in responses for each in writer.message(AssistantMessage(name, parts))]
    return cast("list[Json]", json.loads(msgspec.json.encode(messages)))


def thought(text: str, way: str | None = None, **details: object) -> ThinkingPart:
    return ThinkingPart(text, id=way, details=details or None)


@pytest.mark.parametrize(
    ("name", "parts", "message"),
    [
        ("openai-chat:m", (CALL,), {"content": None, "tool_calls": [CALLED]}),
        ("ollama:m", (CALL,), {"content": "", "tool_calls": [CALLED]}),
        ("ollama:m", (TEXT, CALL), {"content": "hello", "tool_calls": [CALLED]}),
        ("ollama:m", (TEXT, CALL, TextPart("more")), {"content": "hello\n\nmore", "tool_calls": [CALLED]}),
        ("ollama:m", (thought("hm", "reasoning"), TEXT), {"reasoning": "hm", "content": "hello"}),
        ("ollama:m", (thought("hm", "reasoning_text"), TEXT), {"reasoning_text": "hm", "content": "hello"}),
        (
            "vllm:m",
            (thought("a", "reasoning"), TEXT, thought("b", "reasoning")),
            {"reasoning": "a\n\nb", "content": "hello"},
        ),
        (
            "ollama:m",
            (thought("\nhm\n", "content"), TextPart("\n\nhello")),
            {"content": "<think>\nhm\n</think>\n\nhello"},
        ),
        ("ollama:m", (thought("hm"), TEXT), {"content": "<think>\nhm\n</think>\n\nhello"}),
        ("groq:m", (thought("hm", "reasoning"), TEXT), {"content": "hello"}),
        (
            "vllm:m",
            (thought("hm", "thinking"), TEXT),
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": "hello"},
                ]
            },
        ),
        (
            "mistral:m",
            (thought("hm", "reasoning_content"), CALL),
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}], "tool_calls": [CALLED]},
        ),
        (
            "openrouter:m",
            (thought("hm", "reasoning", reasoning_details=SEALED), TEXT, thought("so", "reasoning")),
            {"reasoning_details": SEALED, "content": "hello"},
        ),
        ("openrouter:m", (thought("hm", "reasoning"), TEXT), {"reasoning": "hm", "content": "hello"}),
        (
            "ollama:m",
            (msgspec.structs.replace(CALL, details={"extra_content": {"google": {"thought_signature": "s"}}}),),
            {"content": "", "tool_calls": [CALLED | {"extra_content": {"google": {"thought_signature": "s"}}}]},
        ),
    ],
)
def test_a_response_is_written_as_its_model_wants_it(name: str, parts: tuple[Part, ...], message: Json) -> None:
    assert written(name, parts) == [{"role": "assistant", **message}]


@pytest.mark.parametrize(("name", "first"), [("deepseek:m", ""), ("ollama:m", None)])
def test_calls_have_the_field_from_the_first_thinking_on_and_no_message_changes(name: str, first: str | None) -> None:
    responses = ((CALL,), (thought("hm", "reasoning_content"), CALL), (CALL,), (TEXT,))
    messages = written(name, *responses)
    assert [each.get("reasoning_content") for each in messages] == [first, "hm", "", None]
    for count in range(len(responses)):
        assert written(name, *responses[:count]) == messages[:count]


def test_no_field_is_made_up_for_servers_that_name_it_otherwise() -> None:
    (_, after) = written("ollama:m", (thought("hm", "reasoning"), CALL), (CALL,))
    assert set(after) == {"role", "content", "tool_calls"}


def test_results_and_content_of_a_user_are_messages_in_this_order() -> None:
    image = Image(data=b"png", media_type="image/png", width=1, height=1, name="a.png")
    results = (Result("one", "read", "ok", "text"), Result("two", "read", "failed", "no such file"))
    writer = WIRE.writer(resolve_endpoint("ollama:m", {}))
    assert writer.message(UserMessage(results, ("go on",))) == [
        {"role": "tool", "tool_call_id": "one", "content": "text"},
        {"role": "tool", "tool_call_id": "two", "content": "no such file"},
        {"role": "user", "content": "go on"},
    ]
    (shown,) = writer.message(UserMessage((), ("look:", image)))
    assert shown["content"] == [
        {"type": "text", "text": "look:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}},
    ]


def test_the_head_says_model_tools_and_how_to_answer() -> None:
    tool = ToolSchema(name="read", description="Read.", parameters={"type": "object", "required": []})
    sent = fold([SessionOpened(session="s", cwd="/", model="m", system="S", tools=(tool,), version="0")])
    target = resolve_endpoint("openai-chat:m", KEYS)
    parameters: Json = {"type": "object", "required": [], "properties": {}}
    tools: list[Json] = [
        {"type": "function", "function": {"name": "read", "description": "Read.", "parameters": parameters}}
    ]
    both: Json = {"tools": tools, "tool_choice": "auto"}
    streamed: Json = {"model": "m", "stream": True, "stream_options": {"include_usage": True}, **both}
    assert WIRE.head(target, sent, non_streaming=False) == streamed
    assert WIRE.head(target, sent, non_streaming=True) == {"model": "m", **both}
    mistral = resolve_endpoint("mistral:m", KEYS)
    assert WIRE.head(mistral, sent, non_streaming=False) == {"model": "m", "stream": True, **both}
    assert WIRE.writer(target).opening(sent) == [{"role": "system", "content": "S"}]


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://x/v1", "http://x/v1/chat/completions"),
        ("http://x/v1/", "http://x/v1/chat/completions"),
        ("https://x/openai/v1?api-version=preview", "https://x/openai/v1/chat/completions?api-version=preview"),
    ],
)
def test_the_query_of_a_base_url_stays_behind_the_path(base: str, url: str) -> None:
    assert WIRE.url(resolve_endpoint("ollama:m", {"OLLAMA_BASE_URL": base}), non_streaming=False) == url
    assert (
        WIRE.url(resolve_endpoint("openai-chat:m", KEYS), non_streaming=True)
        == "https://api.openai.com/v1/chat/completions"
    )


# --- judges ----------------------------------------------------------------------------------------------------------


def conversation(name: str, *parts: Part) -> list[object]:
    result: Json = {"role": "tool", "tool_call_id": CALL.id, "content": "text"}
    prompt: Json = {"role": "user", "content": "go"}
    return [prompt, *written(name, parts), result, *written(name, (thought("so", "thinking"), TEXT)), prompt]


def test_mistrals_own_library_reads_what_mistral_gets_back() -> None:
    messages = conversation("mistral:m", thought("hm", "thinking"), TEXT, CALL)
    assert MISTRAL_COMPAT.thinking == "parts"
    assert "'thinking'" in str(messages)
    assert JUDGES["mistral-v13"].refusal("openai-chat", messages) == ""


@pytest.mark.parametrize("name", ["openai-chat:m", "ollama:m", "deepseek:m"])
def test_the_types_of_openais_sdk_have_every_message(name: str) -> None:
    prompt: Json = {"role": "user", "content": "go"}
    messages: list[object] = [prompt, *written(name, (thought("hm", "reasoning_content"), TEXT, CALL), (CALL,))]
    assert JUDGES["openai-chat"].refusal("openai-chat", messages) == ""
