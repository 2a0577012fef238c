"""What is written for Gemini, field by field: Google's own types read it, and signatures go back as they came."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from holdfast.config.model_servers import Server
from holdfast.providers.protocols.body_writer import BodyWriter
from holdfast.providers.protocols.gemini import WIRE
from holdfast.providers.registry import Provider, Providers, known_providers, resolve_endpoint
from holdfast.session.conversation.conversation import (
    AssistantMessage,
    Conversation,
    ConversationMessage,
    Result,
    UserMessage,
)
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import Part, SessionOpened
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.tool_calls import Image, Outcome, ToolSchema
from judges import judge

NAME = "google:gemini-3-m"
TARGET = resolve_endpoint(NAME, {"GEMINI_API_KEY": "sekret"})
GO = UserMessage((), ("go",))
CALL = CallPart("c1", "read", '{"path": "a.txt", "n": 1.0}')
STAND_IN = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="


def conversation(*messages: ConversationMessage, tools: tuple[ToolSchema, ...] = (), system: str = "S") -> Conversation:
    opened = SessionOpened(session="s", cwd="/", model=NAME, system=system, tools=tools, version="0")
    return replace(fold([opened]), messages=messages)


def written(*messages: ConversationMessage, tools: tuple[ToolSchema, ...] = (), system: str = "S") -> dict[str, Any]:
    """Return the body, which Google's types have read."""
    raw = BodyWriter(TARGET, WIRE).body(conversation(*messages, tools=tools, system=system), non_streaming=False)
    judge("gemini", raw)
    return json.loads(raw)


def model_parts(*parts: Part) -> list[dict[str, Any]]:
    """Return what is written of a response."""
    return written(GO, AssistantMessage(NAME, parts))["contents"][1]["parts"]


def test_every_field_of_a_rich_conversation() -> None:
    image = Image(media_type="image/png", data=b"\xfb\xff\xfe", name="a.png", width=1, height=1)
    results = (Result("c1", "read", "ok", "one"), Result("c2", "list", "failed", "no such folder"))
    tool = ToolSchema(name="read", description="Read.", parameters={"type": "object", "properties": {}})
    body = written(
        UserMessage((), ("look", image)),
        AssistantMessage(NAME, (ThinkingPart("hm"), TextPart("so"), CALL, CallPart("c2", "list", "{}"))),
        UserMessage(results, ("and now?",)),
        tools=(tool,),
    )
    assert body == {
        "systemInstruction": {"role": "user", "parts": [{"text": "S"}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "read",
                        "description": "Read.",
                        "parametersJsonSchema": {"type": "object", "properties": {}},
                    }
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "generationConfig": {"responseModalities": ["TEXT"]},
        "contents": [
            {
                "role": "user",
                "parts": [{"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "+//+"}}],
            },
            {
                "role": "model",
                "parts": [
                    {"text": "hm", "thought": True},
                    {"text": "so"},
                    {
                        "functionCall": {"id": "c1", "name": "read", "args": {"path": "a.txt", "n": 1.0}},
                        "thoughtSignature": STAND_IN,
                    },
                    {"functionCall": {"id": "c2", "name": "list", "args": {}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "c1", "name": "read", "response": {"return_value": "one"}}},
                    {"functionResponse": {"id": "c2", "name": "list", "response": {"error": "no such folder"}}},
                ],
            },
            {"role": "user", "parts": [{"text": "and now?"}]},
        ],
    }


def test_without_tools_and_system_prompt_there_is_no_word_of_them() -> None:
    assert written(GO, system="").keys() == {"generationConfig", "contents"}


@pytest.mark.parametrize("outcome", ["ok", "denied", "not_started", "interrupted"])
def test_only_what_failed_is_an_error(outcome: Outcome) -> None:
    parts = written(GO, AssistantMessage(NAME, (CALL,)), UserMessage((Result("c1", "read", outcome, "text"),), ()))
    assert parts["contents"][2]["parts"][0]["functionResponse"]["response"] == {"return_value": "text"}


@pytest.mark.parametrize("signature", ["c2ln", "-_-_", "+/+/", "c2lnbg==", "c2lnbg"])
def test_a_signature_is_sent_byte_for_byte(signature: str) -> None:
    details: dict[str, object] = {"thought_signature": signature}
    signed = msgspec.structs.replace(CALL, provider="google", details=details)
    assert [part.get("thoughtSignature") for part in model_parts(signed, CALL)] == [signature, None]
    text = model_parts(ThinkingPart("", signature=signature, provider="google"), TextPart("so"))
    assert text == [{"text": "so", "thoughtSignature": signature}]


def test_signed_thinking_without_words_is_only_on_what_follows_it() -> None:
    seal = ThinkingPart("", signature="c2ln", provider="google")
    assert model_parts(seal, CALL, CALL)[0]["thoughtSignature"] == "c2ln"
    assert model_parts(seal, TextPart("a"), TextPart("b")) == [{"text": "a", "thoughtSignature": "c2ln"}, {"text": "b"}]
    first, second, _ = model_parts(seal, ThinkingPart("hm"), TextPart("so"), CALL)[:3]
    assert (first, second) == ({"text": "hm", "thought": True, "thoughtSignature": "c2ln"}, {"text": "so"})


def test_a_signed_thought_keeps_its_own() -> None:
    thought = ThinkingPart("hm", provider="google", details={"thought_signature": "c2ln"})
    assert model_parts(thought, TextPart("so")) == [
        {"text": "hm", "thought": True, "thoughtSignature": "c2ln"},
        {"text": "so"},
    ]


@pytest.mark.parametrize("maker", [None, "elsewhere"])
def test_a_signature_of_another_provider_is_not_sent(maker: str | None) -> None:
    signed = msgspec.structs.replace(CALL, provider=maker, details={"thought_signature": "c2ln"})
    assert model_parts(ThinkingPart("", signature="c2ln", provider=maker), TextPart("so"), signed) == [
        {"text": "so"},
        {"functionCall": {"id": "c1", "name": "read", "args": {"path": "a.txt", "n": 1.0}}}
        | {"thoughtSignature": STAND_IN},
    ]


def test_a_response_that_comes_first_follows_an_empty_prompt() -> None:
    contents = written(AssistantMessage(NAME, (TextPart("hi"),)), GO)["contents"]
    assert contents[0] == {"role": "user", "parts": [{"text": ""}]}


def test_a_response_of_nothing_but_a_seal_is_left_out() -> None:
    assert len(written(GO, AssistantMessage(NAME, (ThinkingPart("", signature="c2ln"),)))["contents"]) == 1


@pytest.mark.parametrize(
    ("raw", "sent"),
    [
        ('{ "b": 1.50,\n "a": 1e2 }', '{ "b": 1.50,\n "a": 1e2 }'),
        ('{"n": 123456789012345678901234567890}', '{"n": 123456789012345678901234567890}'),
        ('{"a": 1, "b": 2, "a": 3}', '{"a":3,"b":2}'),
        ('{"o": {"a": 1, "a": [{}]}}', '{"o":{"a":[{}]}}'),
        ('{"a": ' * 900 + "1" + "}" * 900, '{"a": ' * 900 + "1" + "}" * 900),
    ],
    ids=["as written", "a great number", "a key twice", "a key twice inside", "deep"],
)
def test_arguments_are_sent_as_the_model_wrote_them(raw: str, sent: str) -> None:
    message = AssistantMessage(NAME, (msgspec.structs.replace(CALL, arguments=raw),))
    body = BodyWriter(TARGET, WIRE).body(conversation(GO, message), non_streaming=False)
    assert f'"args":{sent}'.encode() in body


def test_schemas_are_in_the_words_that_gemini_reads() -> None:
    parameters: dict[str, object] = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "const": {"const": 3},
            "kind": {"anyOf": [{"const": "a"}, {"type": "array", "items": {"const": True}}]},
            "$schema": {"type": "string", "enum": ["const"]},
        },
        "required": ["const"],
    }
    tool = ToolSchema(name="t", description="", parameters=parameters)
    declared = written(GO, tools=(tool,))["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"]
    assert declared == {
        "type": "object",
        "properties": {
            "const": {"enum": [3]},
            "kind": {"anyOf": [{"enum": ["a"]}, {"type": "array", "items": {"enum": [True]}}]},
            "$schema": {"type": "string", "enum": ["const"]},
        },
        "required": ["const"],
    }


HOME = "https://generativelanguage.googleapis.com/v1beta"


@pytest.mark.parametrize(
    ("model", "address", "url"),
    [
        ("gemini-3-m", None, f"{HOME}/models/gemini-3-m"),
        ("models/gemini-3-m", None, f"{HOME}/models/gemini-3-m"),
        ("tunedModels/mine", None, f"{HOME}/tunedModels/mine"),
        ("a model?", None, f"{HOME}/models/a%20model%3F"),
        ("m", "http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1beta/models/m"),
    ],
)
def test_where_a_model_is(model: str, address: str | None, url: str) -> None:
    environ = {"GEMINI_API_KEY": "k"} | ({"GOOGLE_GEMINI_BASE_URL": address} if address else {})
    target = resolve_endpoint(f"google:{model}", environ)
    assert WIRE.url(target, non_streaming=True) == f"{url}:generateContent"
    assert WIRE.url(target, non_streaming=False) == f"{url}:streamGenerateContent?alt=sse"


def test_a_server_without_a_key_gets_none() -> None:
    providers: Providers = known_providers({"mine": Server(kind="gemini", base_url="http://here")})
    provider: Provider = providers["mine"]
    assert provider.kind == "gemini"
    assert WIRE.headers(resolve_endpoint("mine:m", {}, providers), conversation()) == {}
    assert WIRE.headers(TARGET, conversation()) == {"x-goog-api-key": "sekret"}
