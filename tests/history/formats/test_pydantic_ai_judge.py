"""What pydantic-ai makes of a repaired document: it loads, and what it sends breaks no rule of the provider.

Two rules. pydantic-ai and its models are the oracle: nothing here knows how a message is mapped. Its own repair of a
history, which it makes before every request, is left out.
"""

from __future__ import annotations

import asyncio
import json

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, repair_messages
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from conversations import Piece, conversations
from holdfast.history import check, repair
from holdfast.history.formats.format import as_array
from judges import JUDGES, judge
from renderings import pydantic_ai

CHAT = ("openai-chat", "mistral", "deepseek", "cohere", "openai-compatible", "any")
MESSAGES = ("anthropic", "bedrock", "any")  # DeepSeek has Messages too, but pydantic-ai speaks Chat Completions with it

PARAMETERS = ModelRequestParameters()
OPENAI = OpenAIChatModel("m", provider=OpenAIProvider(api_key="none", base_url="http://127.0.0.1:9"))
RESPONSES = OpenAIResponsesModel("m", provider=OpenAIProvider(api_key="none", base_url="http://127.0.0.1:9"))
ANTHROPIC = AnthropicModel("claude-sonnet-4-0", provider=AnthropicProvider(api_key="none"))


BESIDE = {"null-content"}  # pydantic-ai decides what stands beside calls without a text: no edit of its messages does


def loaded(messages: list[object]) -> list[ModelMessage]:
    """Return the messages as pydantic-ai sends them: requests in a row joined, and nothing else left to repair."""
    found = ModelMessagesTypeAdapter.validate_json(json.dumps(messages))
    joined = repair_messages(found)
    before, after = ([repr(part) for message in each for part in message.parts] for each in (found, joined))
    assert sorted(before) == sorted(after)
    return joined


def sent_to_openai(messages: list[object]) -> dict[str, object]:
    prepared = OPENAI.prepare_messages(loaded(messages), PARAMETERS)
    wire = asyncio.run(OPENAI._map_messages(prepared, PARAMETERS))
    return {"model": "m", "messages": json.loads(json.dumps(wire))}


def sent_to_responses(messages: list[object]) -> list[object]:
    prepared = RESPONSES.prepare_messages(loaded(messages), PARAMETERS)
    _, wire = asyncio.run(RESPONSES._map_messages(prepared, {}, PARAMETERS))
    return json.loads(json.dumps(wire))


def sent_to_anthropic(messages: list[object]) -> dict[str, object]:
    prepared = ANTHROPIC.prepare_messages(loaded(messages), PARAMETERS)
    system, wire = asyncio.run(ANTHROPIC._map_message(prepared, PARAMETERS, {}))
    return {"model": "m", "max_tokens": 1, "system": system, "messages": json.loads(json.dumps(wire))}


@given(pieces=conversations(), profile=st.sampled_from(CHAT))
def test_what_is_sent_in_chat_completions_is_valid(pieces: tuple[Piece, ...], profile: str) -> None:
    repaired = repair(pydantic_ai(pieces), format="pydantic-ai", profile=profile)
    if repaired.remaining:
        return
    body = sent_to_openai(repaired.messages)
    assert [
        each for each in check(body["messages"], format="openai-chat", profile=profile) if each.rule not in BESIDE
    ] == []
    judge("openai-chat", body)


@given(pieces=conversations(), profile=st.sampled_from(MESSAGES))
def test_what_is_sent_in_messages_is_valid(pieces: tuple[Piece, ...], profile: str) -> None:
    repaired = repair(pydantic_ai(pieces), format="pydantic-ai", profile=profile)
    if repaired.remaining:
        return
    body = sent_to_anthropic(repaired.messages)
    assert check(body["messages"], format="anthropic", profile=profile) == []
    if profile != "any":  # a text may stand behind a call, Anthropic joins answers; DeepSeek refuses both
        assert JUDGES["anthropic"].refusal("anthropic", list(as_array(body["messages"]))) == ""
    else:
        judge("anthropic", body)


@given(pieces=conversations(), profile=st.sampled_from(["openai-responses", "any"]))
def test_what_is_sent_in_responses_is_valid(pieces: tuple[Piece, ...], profile: str) -> None:
    repaired = repair(pydantic_ai(pieces), format="pydantic-ai", profile=profile)
    if repaired.remaining:
        return
    assert check(sent_to_responses(repaired.messages), format="openai-responses", profile=profile) == []
