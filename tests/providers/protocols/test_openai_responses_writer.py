"""What is written for OpenAI Responses, field by field: nothing is stored, and no item has an ID."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.config.model_servers import Server
from holdfast.providers.protocols.body_writer import BodyWriter
from holdfast.providers.protocols.openai_responses import WIRE
from holdfast.providers.registry import ModelEndpoint, known_providers, resolve_endpoint
from holdfast.session.conversation.conversation import AssistantMessage, Conversation, Result, UserMessage
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.tool_calls import Image
from judges import judge
from sendable_conversations import PARAMETERS, conversation

Json = dict[str, Any]
NAME = "openai:gpt-5.5"
SERVERS = known_providers({"home": Server(kind="openai-responses", base_url="http://home:1/v1/")})
GO = UserMessage((), ("go",))
PIXEL = Image(media_type="image/png", data=b"\xfb\xff\xfe", name="a.png", width=1, height=1)


def target(name: str) -> ModelEndpoint:
    return resolve_endpoint(name, {"OPENAI_API_KEY": "sekret"}, SERVERS)


def written(sent: Conversation, *, non_streaming: bool = False) -> Json:
    raw = BodyWriter(target(sent.model), WIRE).body(sent, non_streaming=non_streaming)
    judge("openai-responses", raw)
    return json.loads(raw)


def items(model: str, *parts: Part) -> list[Json]:
    """Return what is written of a response."""
    return written(conversation(model, GO, AssistantMessage(model, parts), GO))["input"][2:-1]


def summaries(*texts: str) -> list[Json]:
    return [{"type": "summary_text", "text": text} for text in texts]


def test_every_field_of_a_rich_conversation() -> None:
    raw = '{"path": "a.txt", "n": 1.0}'
    tool = {"type": "function", "parameters": PARAMETERS, "strict": False}
    body = written(
        conversation(
            NAME,
            UserMessage((), ("look", PIXEL)),
            AssistantMessage(
                NAME,
                (
                    ThinkingPart("one", signature="seal", id="rs_1", provider="openai"),
                    ThinkingPart("two", id="rs_1", provider="openai"),
                    ThinkingPart("", signature="seal2", id="rs_2", provider="openai"),
                    TextPart("so"),
                    CallPart("c1", "read", raw, wire_id="call_1", item_id="fc_1", provider="openai"),
                ),
            ),
            UserMessage((Result("c1", "read", "failed", "no such file"),), ("and?",)),
        )
    )
    assert body == {
        "model": "gpt-5.5",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"context": "all_turns"},
        "tools": [{**tool, "name": name, "description": f"{name}."} for name in ("read", "list")],
        "tool_choice": "auto",
        "input": [
            {"role": "system", "content": "SYSTEM"},
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "look"},
                    {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,+//+"},
                ],
            },
            {"type": "reasoning", "summary": summaries("one", "two"), "encrypted_content": "seal"},
            {"type": "reasoning", "summary": [], "encrypted_content": "seal2"},
            {"role": "assistant", "content": "so"},
            {"type": "function_call", "call_id": "c1", "name": "read", "arguments": raw},
            {"type": "function_call_output", "call_id": "c1", "output": "no such file"},
            {"role": "user", "content": "and?"},
        ],
    }


@pytest.mark.parametrize(
    ("model", "seals", "keeps"),
    [
        ("gpt-5.5", True, True),
        ("gpt-5.4-pro", True, True),
        ("gpt-6.1-terra", True, True),
        ("gpt-5", True, False),
        ("gpt-5.1-codex", True, False),
        ("o3-mini", True, False),
        ("gpt-5-chat-latest", False, False),
        ("gpt-4.1", False, False),
        ("somebody-elses", False, False),
    ],
)
def test_reasoning_is_asked_for_where_there_is_any(model: str, seals: bool, keeps: bool) -> None:  # noqa: FBT001 - as parametrized
    body = written(conversation(f"openai:{model}", GO))
    assert ("include" in body, "reasoning" in body) == (seals, keeps)


def test_in_one_piece_it_is_the_same_but_for_streaming() -> None:
    streamed, in_one_piece = (written(conversation(NAME, GO), non_streaming=each) for each in (False, True))
    assert streamed.pop("stream") is True
    assert streamed == in_one_piece


def test_an_open_models_own_reasoning_goes_back_as_it_came() -> None:
    raw = ThinkingPart("", id="rs_1", provider="home", details={"raw_content": ["hm", "so"]})
    (item,) = items("home:gpt-oss", raw)
    texts = [{"type": "reasoning_text", "text": text} for text in ("hm", "so")]
    assert item == {"type": "reasoning", "summary": [], "encrypted_content": None, "content": texts}


def test_an_open_models_own_reasoning_may_be_in_a_later_part() -> None:
    first = ThinkingPart("one", id="rs_1", provider="home")
    raw = ThinkingPart("two", id="rs_1", provider="home", details={"raw_content": ["hm"]})
    (item,) = items("home:gpt-oss", first, raw)
    assert item["summary"] == summaries("one", "two")
    assert item["content"] == [{"type": "reasoning_text", "text": "hm"}]


def test_reasoning_without_anything_to_send_is_left_out() -> None:
    """Nothing encrypted comes from this model, so that an item would be empty."""
    assert items("home:m", ThinkingPart("", signature="seal", id="rs_1"), TextPart("so")) == [
        {"role": "assistant", "content": "so"}
    ]


@pytest.mark.parametrize("part", [ThinkingPart("hm"), ThinkingPart("hm", id="reasoning_content")])
def test_reasoning_of_another_protocol_is_text(part: ThinkingPart) -> None:
    assert items("home:m", part) == [{"role": "assistant", "content": "<think>\nhm\n</think>"}]


def test_where_it_is_sent_and_with_which_key() -> None:
    assert WIRE.url(target(NAME), non_streaming=False) == "https://api.openai.com/v1/responses"
    assert WIRE.headers(target(NAME), conversation(NAME)) == {"authorization": "Bearer sekret"}
    assert WIRE.url(target("home:m"), non_streaming=True) == "http://home:1/v1/responses"
    assert WIRE.headers(target("home:m"), conversation(NAME)) == {}


def test_a_query_in_the_address_stays_and_the_key_goes_where_the_server_wants_it() -> None:
    server = Server(
        kind="openai-responses", base_url="http://azure/openai/v1?api-version=1", api_key_env="KEY", auth="api-key"
    )
    endpoint = resolve_endpoint("azure-own:m", {"KEY": "sekret"}, known_providers({"azure-own": server}))
    assert WIRE.url(endpoint, non_streaming=False) == "http://azure/openai/v1/responses?api-version=1"
    assert WIRE.headers(endpoint, conversation(NAME)) == {"api-key": "sekret"}
