"""pydantic-ai's Model classes behind holdfast's `Model` protocol: stream, map and translate errors.

Two rules. A response without the provider's own terminal event is never finished (pydantic-ai would invent one). A
provider's error may quote the API key; it is redacted here, because the message is printed and journalled.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from decimal import Decimal
from typing import assert_never

os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # read at import; the banner would garble the output

import httpx2
from pydantic_ai import exceptions as pai_errors
from pydantic_ai import messages as pai
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings

from holdfast.config.settings import Limits
from holdfast.errors import ModelUnusable, ProviderFailed
from holdfast.providers.credentials.redaction import redact, spellings
from holdfast.providers.error_mapping import LONGEST_EXPLANATION
from holdfast.providers.http_client import new_client, with_limits, with_minimal_headers, with_observer
from holdfast.providers.http_observer import HttpObserver
from holdfast.providers.model import CallDelta, ModelFinish, StreamEvent, StreamFinished, TextDelta, ThinkingDelta
from holdfast.providers.protocols.response_json import token_count
from holdfast.providers.pydantic_ai.error_translation import provider_failure
from holdfast.providers.pydantic_ai.messages import arguments_text, from_part, to_messages, to_tools
from holdfast.providers.pydantic_ai.read_ahead import read_ahead
from holdfast.providers.pydantic_ai.response_types import expect_sound
from holdfast.providers.pydantic_ai.sdk_protocols import sdk_protocol_of
from holdfast.providers.pydantic_ai.sdk_protocols.sdk_protocol import SdkProtocol
from holdfast.providers.registry import ModelEndpoint
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.parts import Usage


class ConnectedModel:
    """A `Model` over pydantic-ai's models and the HTTP client that it owns."""

    def __init__(self, target: ModelEndpoint, wire: SdkProtocol, http: httpx2.AsyncClient) -> None:
        self._name = target.name
        self._secrets = _secrets_of(target)
        self._wire = wire
        self._model_for = wire.build(target, http)
        self._http = http

    @property
    def name(self) -> str:
        return self._name

    def stream(
        self, conversation: Conversation, *, whole: bool = False
    ) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Send the conversation and yield its events; `whole` means without streaming. Raise `ProviderFailed`."""
        return self._stream(conversation, whole=whole)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    @asynccontextmanager
    async def _stream(self, conversation: Conversation, *, whole: bool) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        opened = conversation.opened
        parameters = ModelRequestParameters(function_tools=to_tools(opened.tools if opened else ()))
        settings = ModelSettings(max_retries=0)  # retries are decided in `holdfast.agent.model_request.retry` only
        try:
            model = self._model_for(conversation)
            messages = to_messages(conversation, marks_errors=self._wire.marks_errors)
            if whole:
                yield self._sound(_at_once(await model.request(messages, settings, parameters), self._name))
                return
            async with model.request_stream(messages, settings, parameters) as response:
                yield self._sound(_events(response, self._name))
        except Exception as error:  # the provider boundary: any exception of a library becomes a HoldfastError
            raise provider_failure(error, self._name, self._secrets) from error

    async def _sound(self, events: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
        async for event in events:
            yield expect_sound(event, self._name)


def open_sdk_model(
    target: ModelEndpoint,
    *,
    limits: Limits | None = None,
    http: Callable[[], httpx2.AsyncClient] | None = None,
    log: HttpObserver | None = None,
) -> ConnectedModel:
    """Return a connection to the target's model. Nothing is sent yet.

    Imports the provider's SDK, which takes a second. `http` creates the HTTP client (default: pooled connections with
    the `limits` for connecting and writing). Raise `ModelUnusable`.
    """
    wire = sdk_protocol_of(target.provider.kind)
    client = with_limits(
        http() if http else new_client(limits or Limits()),
        target.name,
        wire.terminal,
        has_finish_reason=wire.has_finish_reason,
    )
    if target.provider.foreign:
        with_minimal_headers(client, with_key=target.key is not None)
    if log is not None:
        log.hide(_secrets_of(target))  # a key from the keyring was unknown when the log started
        with_observer(client, log)
    read_ahead(client)  # last, so that the others see unmerged events
    try:
        return ConnectedModel(target, wire, client)
    except pai_errors.UserError as error:
        said = redact(str(error), _secrets_of(target))
        raise ModelUnusable(f"Model {target.name!r} cannot be used: {said}. Check its name and settings.") from error


def _secrets_of(target: ModelEndpoint) -> tuple[str, ...]:
    return spellings([target.key.strip()] if target.key else [])


async def _events(response: StreamedResponse, model: str) -> AsyncIterator[StreamEvent]:
    async for event in response:
        match event:
            case pai.PartStartEvent(part=pai.TextPart(content=text)) if text:
                yield TextDelta(text)
            case pai.PartStartEvent(part=pai.ThinkingPart(content=text)) if text:
                yield ThinkingDelta(text)
            case pai.PartStartEvent(index=index, part=pai.ToolCallPart(tool_name=name, args=args)):
                yield CallDelta(index, name, arguments_text(args))
            case pai.PartDeltaEvent(delta=pai.TextPartDelta(content_delta=text)) if text:
                yield TextDelta(text)
            case pai.PartDeltaEvent(delta=pai.ThinkingPartDelta(content_delta=str() as text)) if text:
                yield ThinkingDelta(text)
            case pai.PartDeltaEvent(index=index, delta=pai.ToolCallPartDelta() as delta):
                yield CallDelta(index, delta.tool_name_delta or "", arguments_text(delta.args_delta))
            case _:
                pass  # part ends, and kinds of parts that holdfast does not request
    for finished in _finished(response.get(), model):
        yield finished


async def _at_once(response: pai.ModelResponse, model: str) -> AsyncIterator[StreamEvent]:
    """Yield the events that streaming the response would have yielded."""
    for index, part in enumerate(response.parts):
        match part:
            case pai.TextPart(content=text) if text:
                yield TextDelta(text)
            case pai.ThinkingPart(content=text) if text:
                yield ThinkingDelta(text)
            case pai.ToolCallPart(tool_name=name, args=args):
                yield CallDelta(index, name, arguments_text(args))
            case _:
                pass  # kinds of parts that holdfast does not request
    for finished in _finished(response, model):
        yield finished


def _finished(response: pai.ModelResponse, name: str) -> Iterator[StreamFinished]:
    """Yield the end of the response if it has a finish reason; a cleanly closed connection is not enough."""
    details = response.provider_details or {}
    if details.keys() & {"finish_reason", "refusal", "block_reason"}:
        parts = tuple(ours for part in response.parts for ours in from_part(part))
        yield StreamFinished(parts, _finish(response, str(details.get("finish_reason")), name), _usage(response))


def _finish(response: pai.ModelResponse, raw: str, name: str) -> ModelFinish:
    """Return how a response ended. Raise `ProviderFailed` if its finish reason is an error or unknown.

    Some servers end a broken response regularly, with a reason such as "error" or "network_error".
    """
    match response.finish_reason:
        case "length":
            return "max_tokens"
        case "content_filter":
            return "refusal"
        case "tool_call":
            return "calls"
        case "stop":  # some servers also use it for calls
            return "calls" if any(isinstance(part, pai.ToolCallPart) for part in response.parts) else "stop"
        case "error" | None if raw in _ALSO_STOP:
            return "stop"
        case "error" | None if raw in _ALSO_LENGTH:
            return "max_tokens"
        case "error" | None:
            raise ProviderFailed(
                f"Model {name!r} ended its response with {raw[:LONGEST_EXPLANATION]!r}: the response is incomplete. "
                "No call in it was run.",
                fault="cut",
            )
        case _:
            assert_never(response.finish_reason)


_ALSO_LENGTH = frozenset({"model_length"})
_ALSO_STOP = frozenset({"eos", "eos_token", "end", "pause_turn"})
"""Nonstandard finish reasons of servers that mean a complete response."""


def _usage(response: pai.ModelResponse) -> Usage:
    usage = response.usage
    try:
        price: Decimal | None = response.cost().total_price
    except (LookupError, ValueError, AssertionError):  # no known price for the model or address
        price = None
    except (TypeError, AttributeError, ArithmeticError):  # counts that are not numbers
        price = None
    return Usage(
        input_tokens=token_count(usage.input_tokens),
        output_tokens=token_count(usage.output_tokens),
        cache_read_tokens=token_count(usage.cache_read_tokens),
        cache_write_tokens=token_count(usage.cache_write_tokens),
        cost=None if price is None else str(price),
    )
