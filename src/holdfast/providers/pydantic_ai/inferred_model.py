"""A model of any provider that pydantic-ai knows, behind holdfast's `Model`: `pydantic-ai:PROVIDER:MODEL`.

A response without the provider's own reason for its end is never finished (pydantic-ai would invent one). A provider's
error may quote a key of the environment; it is redacted here, because the message is printed and journalled.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from threading import Lock

os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # read at import; the banner would garble the output

import msgspec
from pydantic_ai import exceptions as pai_errors
from pydantic_ai import messages as pai
from pydantic_ai import models as pai_models
from pydantic_ai.settings import ModelSettings

from holdfast.errors import ModelUnusable, ProviderFailed
from holdfast.providers import error_mapping
from holdfast.providers.connection_failures import connection_failure
from holdfast.providers.credentials.redaction import redact, secrets_of
from holdfast.providers.model import CallDelta, StreamEvent, StreamFinished, TextDelta, ThinkingDelta
from holdfast.providers.model_table import cost_of
from holdfast.providers.protocols.finish_reasons import finish_for, known_finish
from holdfast.providers.protocols.response_parts import token_count
from holdfast.providers.pydantic_ai.messages import arguments_text, from_part, to_messages, to_tools
from holdfast.providers.registry import ModelEndpoint
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import Usage
from holdfast.typed_data import convert_value

_ENVIRON_LOCK = Lock()
"""Held while keys are in the environment: a second model would find those of the first, and not remove them."""


class InferredModel:
    """A `Model` around one of pydantic-ai's, which reads its keys from the environment and connects by itself."""

    def __init__(self, target: ModelEndpoint, model: pai_models.Model) -> None:
        self.name = target.name
        self._facts = target.facts
        self._most = target.provider.overrides_of(target.model).max_output
        self._secrets = secrets_of(target.environ)
        self._model = model
        self._exit_stack: AsyncExitStack | None = None

    async def aclose(self) -> None:
        """Close every connection."""
        exit_stack, self._exit_stack = self._exit_stack, None
        if exit_stack is not None:
            await exit_stack.aclose()

    @asynccontextmanager
    async def stream(
        self, conversation: Conversation, *, non_streaming: bool = False
    ) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        """Send the conversation and yield its events; `non_streaming` asks for one document. Raise `ProviderFailed`."""
        opened = conversation.opened
        parameters = pai_models.ModelRequestParameters(function_tools=to_tools(opened.tools if opened else ()))
        settings = ModelSettings(max_retries=0)  # retries are decided in `holdfast.agent.model_request.retry` only
        if self._most:
            settings["max_tokens"] = self._most
        messages = to_messages(conversation)
        try:
            if self._exit_stack is None:
                self._exit_stack = AsyncExitStack()
                await self._exit_stack.enter_async_context(self._model)
            if non_streaming:
                yield self._response_events(await self._model.request(messages, settings, parameters))
                return
            async with self._model.request_stream(messages, settings, parameters) as response:
                yield self._events(response)
        except Exception as error:  # the provider boundary: any exception of a library becomes a HoldfastError
            raise error_mapping.redact_failure(_failure(error, self.name), self._secrets) from error

    async def _events(self, response: pai_models.StreamedResponse) -> AsyncIterator[StreamEvent]:
        async for event in response:
            match event:
                case pai.PartStartEvent(index=index, part=part):
                    for begun in _part_events(index, part):
                        yield begun
                case pai.PartDeltaEvent(delta=pai.TextPartDelta(content_delta=text)) if text:
                    yield TextDelta(text)
                case pai.PartDeltaEvent(delta=pai.ThinkingPartDelta(content_delta=str() as text)) if text:
                    yield ThinkingDelta(text)
                case pai.PartDeltaEvent(index=index, delta=pai.ToolCallPartDelta() as delta):
                    yield CallDelta(index, delta.tool_name_delta or "", arguments_text(delta.args_delta))
                case _:
                    pass  # part ends, and kinds of parts that holdfast does not request
        for finished in self._end_events(response.get()):
            yield finished

    async def _response_events(self, response: pai.ModelResponse) -> AsyncIterator[StreamEvent]:
        """Yield the events that streaming the response would have yielded."""
        for index, part in enumerate(response.parts):
            for event in _part_events(index, part):
                yield event
        for finished in self._end_events(response):
            yield finished

    def _end_events(self, response: pai.ModelResponse) -> Iterator[StreamFinished]:
        """Yield the end of the response if it has a finish reason; a cleanly closed connection is not enough."""
        details = response.provider_details or {}
        if not details.keys() & {"finish_reason", "refusal", "block_reason"}:
            return
        raw_parts = tuple(ours for part in response.parts for ours in from_part(part))
        parts = convert_value(msgspec.to_builtins(raw_parts), tuple[Part, ...])  # a value of a wrong type ends here
        reason = response.finish_reason or ""
        reason = reason if known_finish(reason) else str(details.get("finish_reason"))
        counted = response.usage
        usage = Usage(
            input_tokens=token_count(counted.input_tokens),
            output_tokens=token_count(counted.output_tokens),
            cache_read_tokens=token_count(counted.cache_read_tokens),
            cache_write_tokens=token_count(counted.cache_write_tokens),
        )
        if counted.has_values():  # what was not counted has no price
            usage = msgspec.structs.replace(usage, cost=cost_of(self._facts, usage))
        yield StreamFinished(parts, finish_for(self.name, reason, parts), usage)


def infer(target: ModelEndpoint) -> InferredModel:
    """Return the model of an endpoint such as `pydantic-ai:groq:llama-4`. Raise `ModelUnusable`.

    pydantic-ai reads keys from the environment of the process. They are there only while it does.
    """
    try:
        with _ENVIRON_LOCK, ExitStack() as cleanup:
            added = target.environ.keys() - os.environ.keys()
            cleanup.callback(lambda: [os.environ.pop(name, None) for name in added])
            os.environ.update({name: target.environ[name] for name in added})
            return InferredModel(target, pai_models.infer_model(target.model))
    except (pai_errors.UserError, ImportError, ValueError) as error:  # an unknown name, no key, no library for it
        reason = redact(str(error), secrets_of(target.environ)).rstrip(".")
        raise ModelUnusable(
            f"Model {target.name!r} cannot be used: {reason}. "
            "Check the name and the provider's settings in the environment."
        ) from error


def _part_events(index: int, part: pai.ModelResponsePart) -> Iterator[StreamEvent]:
    match part:
        case pai.TextPart(content=text) if text:
            yield TextDelta(text)
        case pai.ThinkingPart(content=text) if text:
            yield ThinkingDelta(text)
        case pai.ToolCallPart(tool_name=name, args=args):
            yield CallDelta(index, name, arguments_text(args))
        case _:
            pass


def _failure(error: Exception, name: str) -> ProviderFailed:
    match error:
        case ProviderFailed():
            return error
        case pai_errors.ModelHTTPError():
            body = error.body.encode() if isinstance(error.body, str) else msgspec.json.encode(error.body)
            return error_mapping.http_failure(
                name, error.status_code, error.headers or {}, b"" if error.body is None else body
            )
        case pai_errors.ModelContextWindowExceededError():
            return ProviderFailed(f"Model {name!r} failed: {error}", fault="too_long")
        case pai_errors.ModelConnectionError():
            return connection_failure(name, error)
        case pai_errors.ModelAPIError():
            return error_mapping.stream_failure(name, str(error))
        case _:
            return error_mapping.invalid_response(name, error)
