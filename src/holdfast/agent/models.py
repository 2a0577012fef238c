"""pydantic-ai's Model classes behind our `Model` protocol: stream, map, translate errors, and nothing else.

Two rules. A response without the provider's own terminal event is never called finished (pydantic-ai makes one up).
What a provider says of a failure may quote the key, and leaves here without it: it is printed, and journalled.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from decimal import Decimal
from http import HTTPStatus
from typing import assert_never

os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # read at import; it would be printed over our own output

import httpx2
from pydantic_ai import exceptions as pai_errors
from pydantic_ai import messages as pai
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings

from holdfast.agent.ahead import ahead
from holdfast.agent.boundary import expect_sound, tokens
from holdfast.agent.log import Log
from holdfast.agent.messages import from_part, raw_arguments, to_messages, to_tools
from holdfast.agent.model import CallDelta, Finish, Finished, StreamEvent, TextDelta, ThinkingDelta
from holdfast.agent.providers import Target
from holdfast.agent.secrets import hidden, spelt
from holdfast.agent.wire import guarded, new_client, private, watched
from holdfast.agent.wires import wire_of
from holdfast.agent.wires.wire import Wire
from holdfast.config import Limits
from holdfast.errors import ModelUnusable, ProviderFailed, ProviderFault
from holdfast.session.conversation import Conversation
from holdfast.session.parts import Usage

LONGEST_EXPLANATION = 500
"""Characters of a provider's explanation that are kept; some quote the request, and some are whole pages."""


class ConnectedModel:
    """A `Model` over pydantic-ai's model for a conversation, and the HTTP client it owns."""

    def __init__(self, target: Target, wire: Wire, http: httpx2.AsyncClient) -> None:
        self._name = target.name
        self._secrets = _secrets_of(target)
        self._wire = wire
        self._model_for = wire.build(target, http)
        self._http = http

    @property
    def name(self) -> str:
        """Return PROVIDER:MODEL."""
        return self._name

    def stream(
        self, conversation: Conversation, *, whole: bool = False
    ) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Send the conversation and yield its events, with `whole` all at once; raises `ProviderFailed`."""
        return self._stream(conversation, whole=whole)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    @asynccontextmanager
    async def _stream(self, conversation: Conversation, *, whole: bool) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        opened = conversation.opened
        parameters = ModelRequestParameters(function_tools=to_tools(opened.tools if opened else ()))
        settings = ModelSettings(max_retries=0)  # the one retry policy is `holdfast.agent.limits`
        try:
            model = self._model_for(conversation)
            messages = to_messages(conversation, marks_errors=self._wire.marks_errors)
            if whole:
                yield self._sound(_at_once(await model.request(messages, settings, parameters), self._name))
                return
            async with model.request_stream(messages, settings, parameters) as response:
                yield self._sound(_events(response, self._name))
        except Exception as error:  # the provider boundary: whatever a library raises becomes ours
            raise failure(error, self._name, self._secrets) from error

    async def _sound(self, events: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
        async for event in events:
            yield expect_sound(event, self._name)


def open_model(
    target: Target,
    *,
    limits: Limits | None = None,
    http: Callable[[], httpx2.AsyncClient] | None = None,
    log: Log | None = None,
) -> ConnectedModel:
    """Return a connection to the target's model; nothing is sent yet.

    Imports the provider's SDK, which takes a second. `http` makes the HTTP client (default: a plain one with pooled
    connections and the `limits` on connecting and writing). Raises `ModelUnusable`.
    """
    wire = wire_of(target.provider.kind)
    client = guarded(http() if http else new_client(limits or Limits()), target.name, wire.terminal, tells=wire.tells)
    if target.provider.foreign:
        private(client, with_key=target.key is not None)
    if log is not None:
        log.hide(_secrets_of(target))  # a key of the keyring was not known when the log began
        watched(client, log)
    ahead(client)  # last: the others see what came
    try:
        return ConnectedModel(target, wire, client)
    except pai_errors.UserError as error:
        said = hidden(str(error), _secrets_of(target))
        raise ModelUnusable(f"Model {target.name!r} cannot be used: {said}. Check its name and settings.") from error


def _secrets_of(target: Target) -> tuple[str, ...]:
    return spelt([target.key.strip()] if target.key else [])


def failure(error: Exception, name: str, secrets: tuple[str, ...] = ()) -> ProviderFailed:
    """Return what a provider library's exception means, with the provider's own explanation but none of the secrets."""
    match next((cause for cause in _causes(error) if isinstance(cause, ProviderFailed)), error):
        case ProviderFailed() as ours:  # of the wire, which a library took for a broken connection, or of this module
            message = hidden(str(ours), secrets)
            return ProviderFailed(message, fault=ours.fault, status=ours.status, retry_after=ours.retry_after)
        case pai_errors.ModelHTTPError() as error:
            said = _short(hidden(_said(error.body), secrets)) or "it gave no reason."
            fault = "too_long" if _is_too_long(error) else _fault(error)
            next_step = _NEXT[fault]
            message = f"Model {name!r} answered with status {error.status_code}: {said} {next_step}"
            return ProviderFailed(message, fault=fault, status=error.status_code, retry_after=error.retry_after)
        case pai_errors.ModelContextWindowExceededError() as error:  # said in a stream
            fault = "too_long"
            return ProviderFailed(
                f"Model {name!r} said: {hidden(_written(error), secrets)}. {_NEXT[fault]}", fault=fault
            )
        case pai_errors.ModelConnectionError():
            fault = "unreachable"
            why = hidden(_root(error), secrets)
            message = f"Model {name!r} could not be reached or broke off: {why}. {_NEXT[fault]}"
            return ProviderFailed(message, fault=fault)
        case pai_errors.ModelAPIError() as error if error.in_stream:
            fault = "cut"
            said = _short(hidden(_said(_written(error)), secrets))
            message = f"Model {name!r} ended its response with an error: {said} {_NEXT[fault]}"
            return ProviderFailed(message, fault=fault)
        case _:
            fault = "malformed"
            why = hidden(_root(error), secrets)
            message = f"Model {name!r} sent what its protocol does not allow: {why}. {_NEXT[fault]}"
            return ProviderFailed(message, fault=fault)


_NEXT: dict[ProviderFault, str] = {
    "rejected": "The same request will be refused again; change it, or choose another model.",
    "too_long": "Shorten it with /compact or /rewind, or choose a model that reads more.",
    "credentials": "Check the key (holdfast config says where it comes from), and that it may use this model.",
    "rate_limited": "Wait and say 'go on'; nothing is lost.",
    "overloaded": "Wait and say 'go on'; nothing is lost.",
    "unreachable": "Check the network and the base address, then say 'go on'; nothing is lost.",
    "silent": "Say 'go on' to try again; nothing is lost.",
    "cut": "Say 'go on' to try again; nothing is lost.",
    "malformed": "Say 'go on' to try again, or choose another model; nothing is lost.",
}


_TEMPORARY = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY})
"""4xx that sending again may cure; the SDKs' own retry lists name the first two."""


def _fault(error: pai_errors.ModelHTTPError) -> ProviderFault:
    status = error.status_code
    if isinstance(error, pai_errors.ModelAuthenticationError) or status in (
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
    ):
        return "credentials"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return "rate_limited"
    if status in _TEMPORARY or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "overloaded"
    return "rejected"


_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size|limit)|prompt is too long|input is too long|too many (?:input )?tokens"
    r"|(?:input )?token count .*exceeds",
    re.IGNORECASE,
)
"""What servers say of a conversation that is more than their model reads, beside those that pydantic-ai knows."""


def _is_too_long(error: pai_errors.ModelHTTPError) -> bool:
    if isinstance(error, pai_errors.ModelContextWindowExceededError):
        return True
    if error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return True
    refused = error.status_code in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
    return refused and _TOO_LONG.search(_said(error.body)) is not None


def _said(body: object) -> str:
    """Return the provider's explanation from an error body, all of it."""
    said: object = body
    while isinstance(said, dict):
        inner: dict[str, object] = said  # pyright: ignore[reportUnknownVariableType] - JSON from outside
        said = inner.get("error") or inner.get("message", str(inner))
    return str(said).strip() if said else ""


def _short(text: str) -> str:
    """Return an explanation as a sentence, no longer than is kept: once no key is in it that could be cut in two."""
    text = text if len(text) <= LONGEST_EXPLANATION else f"{text[:LONGEST_EXPLANATION]} […]."
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _root(error: BaseException) -> str:
    """Return the innermost reason: libraries wrap the one that helps."""
    *_, error = _causes(error)
    return f"{type(error).__name__}: {_written(error)}".rstrip(": .")


def _written(error: BaseException) -> str:
    """Return what the error says, "" if it says nothing: an SDK's may hold a body where it should hold a text."""
    try:
        return str(error)
    except TypeError:
        return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


async def _events(response: StreamedResponse, model: str) -> AsyncIterator[StreamEvent]:
    async for event in response:
        match event:
            case pai.PartStartEvent(part=pai.TextPart(content=text)) if text:
                yield TextDelta(text)
            case pai.PartStartEvent(part=pai.ThinkingPart(content=text)) if text:
                yield ThinkingDelta(text)
            case pai.PartStartEvent(index=index, part=pai.ToolCallPart(tool_name=name, args=args)):
                yield CallDelta(index, name, raw_arguments(args))
            case pai.PartDeltaEvent(delta=pai.TextPartDelta(content_delta=text)) if text:
                yield TextDelta(text)
            case pai.PartDeltaEvent(delta=pai.ThinkingPartDelta(content_delta=str() as text)) if text:
                yield ThinkingDelta(text)
            case pai.PartDeltaEvent(index=index, delta=pai.ToolCallPartDelta() as delta):
                yield CallDelta(index, delta.tool_name_delta or "", raw_arguments(delta.args_delta))
            case _:
                pass  # part ends, and parts of kinds that we do not ask for
    for finished in _finished(response.get(), model):
        yield finished


async def _at_once(response: pai.ModelResponse, model: str) -> AsyncIterator[StreamEvent]:
    """Yield what streaming the response would have yielded."""
    for index, part in enumerate(response.parts):
        match part:
            case pai.TextPart(content=text) if text:
                yield TextDelta(text)
            case pai.ThinkingPart(content=text) if text:
                yield ThinkingDelta(text)
            case pai.ToolCallPart(tool_name=name, args=args):
                yield CallDelta(index, name, raw_arguments(args))
            case _:
                pass  # parts of kinds that we do not ask for
    for finished in _finished(response, model):
        yield finished


def _finished(response: pai.ModelResponse, name: str) -> Iterator[Finished]:
    """Yield the end of the response, if its provider said why it ended: that, and not a polite close, is the end."""
    details = response.provider_details or {}
    if details.keys() & {"finish_reason", "refusal", "block_reason"}:
        parts = tuple(ours for part in response.parts for ours in from_part(part))
        yield Finished(parts, _finish(response, str(details.get("finish_reason")), name), _usage(response))


def _finish(response: pai.ModelResponse, raw: str, name: str) -> Finish:
    """Return how a response ended; raises `ProviderFailed` if the reason it gives is an error, or not known to be none.

    Some servers end a broken response politely, with a reason such as "error" or "network_error".
    """
    match response.finish_reason:
        case "length":
            return "max_tokens"
        case "content_filter":
            return "refusal"
        case "tool_call":
            return "calls"
        case "stop":  # which is what some say of calls, too
            return "calls" if any(isinstance(part, pai.ToolCallPart) for part in response.parts) else "stop"
        case "error" | None if raw in _ALSO_STOP:
            return "stop"
        case "error" | None if raw in _ALSO_LENGTH:
            return "max_tokens"
        case "error" | None:
            raise ProviderFailed(
                f"Model {name!r} ended its response with {raw[:LONGEST_EXPLANATION]!r}, a complete one was expected. "
                "Nothing in it was run; try again.",
                fault="cut",
            )
        case _:
            assert_never(response.finish_reason)


_ALSO_LENGTH = frozenset({"model_length"})
_ALSO_STOP = frozenset({"eos", "eos_token", "end", "pause_turn"})
"""Reasons of servers that speak the protocol with words of their own, and mean a complete response."""


def _usage(response: pai.ModelResponse) -> Usage:
    usage = response.usage
    try:
        price: Decimal | None = response.cost().total_price
    except (LookupError, ValueError, AssertionError):  # a model or an address without a known price
        price = None
    except (TypeError, AttributeError, ArithmeticError):  # counts that are none
        price = None
    return Usage(
        input_tokens=tokens(usage.input_tokens),
        output_tokens=tokens(usage.output_tokens),
        cache_read_tokens=tokens(usage.cache_read_tokens),
        cache_write_tokens=tokens(usage.cache_write_tokens),
        cost=None if price is None else str(price),
    )
