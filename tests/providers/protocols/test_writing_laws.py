"""What Anthropic Messages and Responses write is read by their vendors' types, and never changes when it is longer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.config.model_servers import Server
from holdfast.providers.protocols import protocol_of
from holdfast.providers.protocols.body_writer import BodyWriter
from holdfast.providers.protocols.protocol import ProviderProtocol
from holdfast.providers.registry import ModelEndpoint, known_providers, resolve_endpoint
from judges import judge
from laws import law
from sdk_types import anthropic_refusal, openai_refusal
from sendable_conversations import sendable

SERVERS = known_providers(
    {
        "claude-gw": Server(kind="anthropic", base_url="http://gw"),
        "gpt-gw": Server(kind="openai-responses", base_url="http://gw/v1"),
    }
)
ENVIRON = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"), "k") | {"AWS_REGION": "r"}
WIRES = {
    "anthropic:claude-sonnet-5-5": "anthropic",
    "bedrock:anthropic.m": "anthropic",
    "claude-gw:m": "anthropic",
    "openai:gpt-5.5": "openai-responses",
    "gpt-gw:gpt-oss": "openai-responses",
}
EVERY_WIRE = pytest.mark.parametrize("name", WIRES)


def spoken(name: str) -> tuple[ModelEndpoint, ProviderProtocol]:
    endpoint = resolve_endpoint(name, ENVIRON, SERVERS)
    protocol = protocol_of(endpoint.provider.kind)
    assert protocol is not None
    return endpoint, protocol


@EVERY_WIRE
@law(shared_by=len(WIRES))
@given(data=st.data())
def test_what_is_written_is_what_the_vendors_types_declare(name: str, data: st.DataObject) -> None:
    endpoint, protocol = spoken(name)
    raw = BodyWriter(endpoint, protocol).body(data.draw(sendable(name, SERVERS)), non_streaming=False)
    judge(WIRES[name], raw.replace(b'"redacted_thinking","data"', b'"thinking","thinking"'))  # which it does not know
    body: dict[str, Any] = json.loads(raw)
    refusal = anthropic_refusal if WIRES[name] == "anthropic" else openai_refusal
    assert refusal(WIRES[name], body[protocol.messages_field]) == ""


@EVERY_WIRE
@law(shared_by=len(WIRES))
@given(data=st.data())
def test_a_longer_conversation_begins_with_the_bytes_of_a_shorter_one(name: str, data: st.DataObject) -> None:
    endpoint, protocol = spoken(name)
    sent = data.draw(sendable(name, SERVERS))
    body_writer, beginning = BodyWriter(endpoint, protocol), b""
    for length in range(1, len(sent.messages) + 1):
        shorter = replace(sent, messages=sent.messages[:length])
        body = body_writer.body(shorter, non_streaming=False)
        assert body == BodyWriter(endpoint, protocol).body(shorter, non_streaming=False)
        assert body.startswith(beginning)
        beginning = _without_the_last(body, protocol)


def _without_the_last(body: bytes, protocol: ProviderProtocol) -> bytes:
    """Return the body up to its last message, which alone may have what closes a request."""
    messages = json.loads(body)[protocol.messages_field]
    last = json.dumps(messages[-1], separators=(",", ":"), ensure_ascii=False).encode()
    return body[: len(body) - len(b"]}") - len(last)] if len(messages) > 1 else b""
