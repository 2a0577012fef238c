"""What is written for Anthropic Messages, field by field, at Anthropic, at Amazon and at other servers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.config.model_servers import Server
from holdfast.providers.protocols import protocol_of
from holdfast.providers.protocols.anthropic_messages import WIRE
from holdfast.providers.protocols.body_writer import BodyWriter
from holdfast.providers.registry import ModelEndpoint, known_providers, resolve_endpoint
from holdfast.session.conversation.conversation import AssistantMessage, Conversation, Result, UserMessage
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.testing.protocols.strict_json import parse_strict_json
from holdfast.tool_calls import Image, Outcome
from judges import judge
from sendable_conversations import PARAMETERS, conversation

Json = dict[str, Any]
NAME = "anthropic:claude-sonnet-5-5"
SERVERS = known_providers({"home": Server(kind="anthropic", base_url="http://home:1/api/", api_key_env="HOME_KEY")})
ENVIRON = {
    **dict.fromkeys(("ANTHROPIC_API_KEY", "HOME_KEY", "AWS_BEARER_TOKEN_BEDROCK"), "sekret"),
    "AWS_REGION": "eu-north-1",
}
MARK = {"cache_control": {"type": "ephemeral", "ttl": "5m"}}
GO = UserMessage((), ("go",))
CALL = CallPart("c1", "read", '{"path": "a.txt", "n": 1.0}')
PIXEL = Image(media_type="image/png", data=b"\xfb\xff\xfe", name="a.png", width=1, height=1)


def target(name: str) -> ModelEndpoint:
    return resolve_endpoint(name, ENVIRON, SERVERS)


def written(sent: Conversation, *, non_streaming: bool = False) -> Json:
    raw = BodyWriter(target(sent.model), WIRE).body(sent, non_streaming=non_streaming)
    judge("anthropic", raw.replace(b'"redacted_thinking","data"', b'"thinking","thinking"'))  # which it does not know
    return json.loads(raw)


def blocks(*parts: Part) -> list[Json]:
    """Return what is written of a response."""
    results = tuple(Result(part.id, part.name, "ok", "text") for part in parts if isinstance(part, CallPart))
    sent = conversation(NAME, GO, AssistantMessage(NAME, parts), UserMessage(results, ("go",)))
    return written(sent)["messages"][1]["content"]


def test_every_field_of_a_rich_conversation() -> None:
    body = written(
        conversation(
            NAME,
            UserMessage((), ("look", PIXEL)),
            AssistantMessage(
                NAME,
                (
                    ThinkingPart("hm", signature="sig", provider="anthropic"),
                    ThinkingPart("", signature="data", id="redacted_thinking", provider="anthropic"),
                    TextPart("so"),
                    CALL,
                    CallPart("c2", "list", "{}"),
                ),
            ),
            UserMessage((Result("c1", "read", "ok", "one"), Result("c2", "list", "failed", "no")), ("and?",)),
        )
    )
    image = {"type": "base64", "media_type": "image/png", "data": "+//+"}
    assert body == {
        "model": "claude-sonnet-5-5",
        "max_tokens": 128_000,
        "stream": True,
        "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}},
        "system": [{"type": "text", "text": "SYSTEM", **MARK}],
        "tools": [
            {"name": "read", "description": "read.", "input_schema": PARAMETERS},
            {"name": "list", "description": "list.", "input_schema": PARAMETERS, **MARK},
        ],
        "tool_choice": {"type": "auto"},
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image", "source": image}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "sig"},
                    {"type": "redacted_thinking", "data": "data"},
                    {"type": "text", "text": "so"},
                    {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a.txt", "n": 1.0}},
                    {"type": "tool_use", "id": "c2", "name": "list", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": "one"}],
                        "is_error": False,
                    },
                    {
                        "type": "tool_result",
                        "tool_use_id": "c2",
                        "content": [{"type": "text", "text": "no"}],
                        "is_error": True,
                    },
                    {"type": "text", "text": "and?", **MARK},
                ],
            },
        ],
    }


def test_a_server_that_is_not_anthropics_gets_no_cache_mark() -> None:
    body = written(conversation("home:m", GO))
    assert body["system"] == "SYSTEM"
    assert "cache_control" not in json.dumps(body)


def test_without_a_prompt_and_tools_there_is_no_word_of_them() -> None:
    sent = conversation("home:m", GO, system="")
    assert sent.opened is not None
    body = json.loads(BodyWriter(target("home:m"), WIRE).body(sent, non_streaming=True))
    assert {"system", "stream"}.isdisjoint(body)


@pytest.mark.parametrize("outcome", ["ok", "denied", "not_started", "interrupted"])
def test_only_what_failed_is_an_error(outcome: Outcome) -> None:
    answer = AssistantMessage(NAME, (CALL,))
    body = written(conversation(NAME, GO, answer, UserMessage((Result("c1", "read", outcome, "text"),), ())))
    assert body["messages"][2]["content"][0]["is_error"] is False


def test_arguments_are_sent_as_the_model_wrote_them() -> None:
    raw = '{ "path":"a.txt",\n "n": 1.0, "big": 12345678901234567890, "e": 1e400 }'
    sent = conversation(NAME, GO, AssistantMessage(NAME, (CallPart("c1", "read", raw),)), GO)
    assert raw.encode() in BodyWriter(target(NAME), WIRE).body(sent, non_streaming=False)


@pytest.mark.parametrize(
    ("raw", "sent"),
    [('{"a": 1, "a": 2}', b'"input":{"a":2}'), ('{"a": {"b": 1, "b": [2.5]}}', b'"input":{"a":{"b":[2.5]}}')],
)
def test_a_key_that_stands_twice_is_sent_once_with_its_last_value(raw: str, sent: bytes) -> None:
    body = BodyWriter(target(NAME), WIRE).body(
        conversation(NAME, GO, AssistantMessage(NAME, (CallPart("c1", "read", raw),)), GO), non_streaming=False
    )
    assert sent in body
    assert parse_strict_json(body) == json.loads(body)


def test_arguments_that_are_deep_are_sent() -> None:
    raw = '{"a":' * 900 + "1" + "}" * 900  # DeepSeek's judge reads no such body
    sent = conversation(NAME, GO, AssistantMessage(NAME, (CallPart("c1", "read", raw),)), GO)
    assert raw.encode() in BodyWriter(target(NAME), WIRE).body(sent, non_streaming=False)


def test_empty_text_and_unsigned_thinking_are_left_out() -> None:
    assert blocks(TextPart(""), ThinkingPart("hm"), TextPart("so")) == [{"type": "text", "text": "so"}]
    assert len(written(conversation(NAME, GO, AssistantMessage(NAME, (TextPart(""),)), GO))["messages"]) == 2


def test_the_mark_stands_on_the_last_block_that_may_have_one() -> None:
    thought = ThinkingPart("hm", signature="sig")
    last = BodyWriter(target(NAME), WIRE).body(
        conversation(NAME, GO, AssistantMessage(NAME, (TextPart("so"), thought))), non_streaming=False
    )
    text, thinking = json.loads(last)["messages"][-1]["content"]
    assert "cache_control" in text
    assert "cache_control" not in thinking


def test_the_mark_stays_off_what_the_writer_made() -> None:
    (message,) = WIRE.writer(target(NAME)).message(GO)
    closed = WIRE.closing(target(NAME), message)
    assert "cache_control" in str(closed)
    assert message == {"role": "user", "content": [{"type": "text", "text": "go"}]}


def test_the_mark_moves_and_changes_nothing_that_was_sent() -> None:
    body_writer = BodyWriter(target(NAME), WIRE)
    first = conversation(NAME, GO)
    longer = conversation(NAME, GO, AssistantMessage(NAME, (TextPart("so"),)), GO)
    once, again, then = (body_writer.body(each, non_streaming=False) for each in (first, first, longer))
    assert once == again
    assert json.loads(then)["messages"][0]["content"] == [{"type": "text", "text": "go"}]
    assert then.count(b"cache_control") == once.count(b"cache_control") == 3


@pytest.mark.parametrize(
    ("name", "url", "key"),
    [
        ("anthropic:m", "https://api.anthropic.com/v1/messages", ("x-api-key", "sekret")),
        ("home:m", "http://home:1/api/v1/messages", ("authorization", "Bearer sekret")),
        (
            "bedrock:anthropic.m",
            "https://bedrock-mantle.eu-north-1.api.aws/anthropic/v1/messages",
            ("authorization", "Bearer sekret"),
        ),
    ],
)
def test_where_it_is_sent_and_with_which_key(name: str, url: str, key: tuple[str, str]) -> None:
    endpoint = target(name)
    protocol = protocol_of(endpoint.provider.kind)
    assert protocol is not None
    assert protocol.url(endpoint, non_streaming=True) == protocol.url(endpoint, non_streaming=False) == url
    assert protocol.headers(endpoint, conversation(NAME)) == {"anthropic-version": "2023-06-01", key[0]: key[1]}


@pytest.mark.parametrize(
    ("name", "binds"),
    [
        (NAME, True),
        ("bedrock:eu.anthropic.claude-haiku-5-5", False),
        ("anthropic:claude-opus-5", False),
        ("anthropic:claude-sonnet-4-6", False),
        ("home:claude-sonnet-5-5", False),
    ],
)
def test_thinking_whose_conversation_has_changed_is_dropped_by_the_models_that_would_refuse_it(
    name: str, *, binds: bool
) -> None:
    endpoint = target(name)
    assert ("thinking" in WIRE.head(endpoint, conversation(name, GO), non_streaming=False)) is binds
    assert (
        "anthropic-beta" in WIRE.headers(endpoint, conversation(NAME))
    ) is binds  # the one is refused without the other


def test_a_query_in_the_address_stays_and_the_key_goes_where_the_server_wants_it() -> None:
    server = Server(kind="anthropic", base_url="http://gw/api/?beta=true", api_key_env="HOME_KEY", auth="x-api-key")
    endpoint = resolve_endpoint("own:m", ENVIRON, known_providers({"own": server}))
    assert WIRE.url(endpoint, non_streaming=False) == "http://gw/api/v1/messages?beta=true"
    assert WIRE.headers(endpoint, conversation(NAME)) == {"anthropic-version": "2023-06-01", "x-api-key": "sekret"}


def test_without_a_key_there_is_no_header_of_one() -> None:
    servers = known_providers({"open": Server(kind="anthropic", base_url="http://open")})
    endpoint = resolve_endpoint("open:m", {"ANTHROPIC_AUTH_TOKEN": "other"}, servers)
    assert WIRE.headers(endpoint, conversation(NAME)) == {"anthropic-version": "2023-06-01"}


@pytest.mark.parametrize(
    ("model", "most"),
    [
        ("claude-opus-4-8", 128_000),
        ("claude-sonnet-4-5-20250929", 64_000),
        ("claude-3-5-haiku-latest", 4_096),
        ("claude-opus-4-1", 4_096),
        ("anthropic.claude-haiku-4-5", 64_000),
        ("somebody-elses", 16_384),
    ],
)
def test_the_limit_of_an_answer_is_the_largest_that_the_model_accepts(model: str, most: int) -> None:
    assert written(conversation(f"anthropic:{model}", GO))["max_tokens"] == most
