"""The scripted provider as the real SDKs see it, through pydantic-ai, on both transports."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import httpx2
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai.exceptions import ModelAPIError, ModelConnectionError, ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from holdfast.testing.http_transport import ScriptedTransport
from holdfast.testing.script import Call, Cut, Fail, Finish, FinishReason, Ping, Reset, Say, ScriptStep, Think, Wait
from holdfast.testing.scripted_provider import ScriptedProvider
from judges import judge

Wire = Literal["openai-responses", "openai-chat", "anthropic"]
FIRST_CALL: dict[Wire, str] = {"openai-responses": "call_1_2", "openai-chat": "call_1_0", "anthropic": "toolu_1_2"}
Use = Callable[[Model], Awaitable[None]]

TOOLS = [ToolDefinition(name=name) for name in ("read", "list")]
PARAMETERS = ModelRequestParameters(function_tools=TOOLS)
QUESTION: list[ModelMessage] = [ModelRequest(parts=[SystemPromptPart("be brief"), UserPromptPart("hi")])]
EVERYWHERE = pytest.mark.parametrize("transport", ["loopback", "memory"])
ON_ALL = pytest.mark.parametrize("wire", ["openai-responses", "openai-chat", "anthropic"])


@asynccontextmanager
async def model(wire: Wire, url: str, http: httpx2.AsyncClient) -> AsyncGenerator[Model, None]:
    async with http:
        if wire == "anthropic":
            anthropic = AsyncAnthropic(base_url=url, api_key="test-key", http_client=http, max_retries=0)
            yield AnthropicModel("claude-test", provider=AnthropicProvider(anthropic_client=anthropic))
        else:
            openai = AsyncOpenAI(base_url=f"{url}/v1", api_key="test-key", http_client=http, max_retries=0)
            kind = OpenAIChatModel if wire == "openai-chat" else OpenAIResponsesModel
            yield kind("gpt-5.5", provider=OpenAIProvider(openai_client=openai))


def run(wire: Wire, transport: str, steps: list[ScriptStep], use: Use) -> ScriptedProvider:
    """Let `use` talk to a model that plays `steps`; every request must be accepted, complete and good to the judge."""

    async def talk(url: str, http: httpx2.AsyncClient) -> None:
        async with model(wire, url, http) as talking:
            await use(talking)

    provider = ScriptedProvider(steps)
    if transport == "memory":
        asyncio.run(talk("http://provider", httpx2.AsyncClient(transport=ScriptedTransport(provider))))
    else:
        with provider:
            asyncio.run(talk(provider.url, httpx2.AsyncClient()))
    assert (provider.refusals, provider.complaints) == ((), ())
    for request in provider.requests:
        assert request.ended == "completed"
        judge(wire, request.raw)
    return provider


def settings(wire: Wire) -> ModelSettings:
    thinking: Any = {"anthropic_thinking": {"type": "enabled", "budget_tokens": 1024}} if wire == "anthropic" else {}
    return ModelSettings(max_tokens=4096, **thinking)


async def streamed(
    talking: Model, messages: list[ModelMessage], wire: Wire = "openai-chat"
) -> tuple[ModelResponse, int]:
    """Return the response, and the number of events it came in."""
    async with talking.request_stream(messages, settings(wire), PARAMETERS) as response:
        count = 0
        async for _ in response:
            count += 1
        return response.get(), count


def contents(parts: Sequence[ModelResponsePart]) -> list[tuple[str, ...]]:
    """Return what a response says, without what a provider adds."""
    seen: list[tuple[str, ...]] = []
    for part in parts:
        match part:
            case ToolCallPart():
                seen.append((part.tool_name, part.tool_call_id, part.args_as_json_str()))
            case TextPart() | ThinkingPart():
                seen.append((part.part_kind, part.content))
            case _:
                raise AssertionError(part)
    return seen


@EVERYWHERE
@ON_ALL
def test_text_thinking_and_parallel_calls_arrive_and_are_accepted_again(wire: Wire, transport: str) -> None:
    first = (
        Think("hm, I wonder what this could be", chunk=5),
        Say("Let me look. "),
        Ping(),
        Wait(0.001),
        Say("Both at once."),
        Call("read", {"path": "a/long/path/that/is/split"}, chunk=3),
        Call("list", "{}", id="mine"),
    )

    async def use(talking: Model) -> None:
        response, count = await streamed(talking, QUESTION, wire)
        assert contents(response.parts) == [
            ("thinking", "hm, I wonder what this could be"),
            ("text", "Let me look. Both at once."),
            ("read", FIRST_CALL[wire], '{"path":"a/long/path/that/is/split"}'),
            ("list", "mine", "{}"),
        ]
        assert response.finish_reason == ("stop" if wire == "openai-responses" else "tool_call")
        assert response.usage.input_tokens > 10
        assert response.usage.output_tokens > 10
        assert count > 20  # in pieces, not at once
        calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
        results = ModelRequest(parts=[ToolReturnPart(call.tool_name, "ok", call.tool_call_id) for call in calls])
        answer, _ = await streamed(talking, [*QUESTION, response, results], wire)
        assert contents(answer.parts) == [("text", "done")]
        assert answer.finish_reason == "stop"

    provider = run(wire, transport, [first, (Say("done"),)], use)
    replayed = json.dumps(provider.requests[1].body)
    assert "hm, I wonder what this could be" in replayed


@EVERYWHERE
@ON_ALL
def test_the_same_without_a_stream(wire: Wire, transport: str) -> None:
    reply = (Think("hm"), Say("Let me "), Say("look."), Call("read", {"path": "x"}), Call("list", "{}", id="mine"))

    async def use(talking: Model) -> None:
        response = await talking.request(QUESTION, settings(wire), PARAMETERS)
        assert contents(response.parts) == [
            ("thinking", "hm"),
            ("text", "Let me look."),
            ("read", FIRST_CALL[wire], '{"path":"x"}'),
            ("list", "mine", "{}"),
        ]
        assert response.finish_reason == ("stop" if wire == "openai-responses" else "tool_call")

    run(wire, transport, [reply], use)


@ON_ALL
@pytest.mark.parametrize(
    ("reason", "expected"),
    [("stop", "stop"), ("tool_calls", "tool_call"), ("length", "length"), ("refusal", "content_filter")],
)
def test_reasons_to_finish(wire: Wire, reason: FinishReason, expected: str) -> None:
    async def use(talking: Model) -> None:
        response, _ = await streamed(talking, QUESTION, wire)
        never = wire == "openai-responses" and reason == "tool_calls"  # which says "completed"
        assert response.finish_reason == ("stop" if never else expected)

    run(wire, "memory", [(Say("so"), Finish(reason))], use)


@ON_ALL
def test_arguments_that_are_no_json_arrive_as_written(wire: Wire) -> None:
    async def use(talking: Model) -> None:
        response, _ = await streamed(talking, QUESTION, wire)
        (call,) = response.parts
        assert isinstance(call, ToolCallPart)
        assert call.args == '{"path": "a'

    run(wire, "memory", [(Call("read", '{"path": "a'), Finish("length"))], use)


@ON_ALL
def test_thinking_cut_before_its_signature_has_none(wire: Wire) -> None:
    async def use(talking: Model) -> None:
        response, _ = await streamed(talking, QUESTION, wire)
        (part,) = response.parts
        assert isinstance(part, ThinkingPart)
        assert part.content == "half a th"
        assert not part.signature

    run(wire, "memory", [(Think("half a th"), Cut())], use)


@EVERYWHERE
@ON_ALL
def test_errors_keep_their_status_and_their_words(wire: Wire, transport: str) -> None:
    async def use(talking: Model) -> None:
        with pytest.raises(ModelHTTPError) as caught:
            await streamed(talking, QUESTION, wire)
        assert caught.value.status_code == 429
        assert "Slow down" in str(caught.value.body)

    run(wire, transport, [(Wait(0.001), Fail(429, "Slow down", retry_after=1))], use)


@EVERYWHERE
@ON_ALL
@pytest.mark.parametrize("before", [(), (Say("half"),)], ids=["before the status line", "after half"])
def test_a_reset_is_a_connection_error(wire: Wire, transport: str, before: tuple[Say, ...]) -> None:
    async def use(talking: Model) -> None:
        with pytest.raises(ModelConnectionError):
            await streamed(talking, QUESTION, wire)

    run(wire, transport, [(*before, Reset())], use)


@pytest.mark.parametrize("wire", ["anthropic"])
def test_a_foreign_signature_is_refused_when_it_comes_back(wire: Wire) -> None:
    async def talk(provider: ScriptedProvider) -> None:
        async with model(wire, "http://provider", httpx2.AsyncClient(transport=ScriptedTransport(provider))) as talking:
            response, _ = await streamed(talking, QUESTION, wire)
            with pytest.raises(ModelAPIError, match="Invalid `signature` in `thinking` block"):
                await streamed(talking, [*QUESTION, response, ModelRequest(parts=[UserPromptPart("go on")])], wire)

    provider = ScriptedProvider([(Think("hm", signature="Zm9yZWlnbg=="), Say("so"))])
    asyncio.run(talk(provider))
    assert provider.refusals == ("messages.1.content.0: Invalid `signature` in `thinking` block",)
