"""Google's Gemini over Google's SDK."""

from __future__ import annotations

import json
import logging
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from google.genai import Client
from google.genai.types import Content, GenerateContentConfig, GenerateContentResponse, HttpOptions, Tool
from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.settings import ModelSettings

from holdfast.providers.pydantic_ai.sdk_protocols.sdk_protocol import NO_KEY, ModelFor, SdkProtocol
from holdfast.providers.registry import ModelEndpoint

logging.getLogger("google_genai").addHandler(logging.NullHandler())  # its warnings would garble the output
for _shape in (Content, Tool, GenerateContentConfig, GenerateContentResponse):
    _shape.model_rebuild()  # the SDK would do it at the first request, on the event loop


class _Named(GoogleProvider):
    """Google's provider under holdfast's provider name, by which signatures are recognized."""

    def __init__(self, name: str, client: Client) -> None:
        super().__init__(client=client)
        self._name = name

    @property
    def name(self) -> str:
        return self._name


class _Closing(GoogleModel):
    """Google's model, which closes a stream's response: the SDK leaves that to the garbage collector."""

    def __init__(self, name: str, provider: _Named, http: httpx2.AsyncClient) -> None:
        super().__init__(name, provider=provider)
        self._came: httpx2.Response | None = None
        http.event_hooks["response"].append(self._note)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        try:
            streaming = super().request_stream(messages, model_settings, model_request_parameters, run_context)
            async with streaming as response:
                yield response
        finally:
            if self._came is not None:
                await self._came.aclose()

    async def _note(self, response: httpx2.Response) -> None:
        self._came = response


def _build(target: ModelEndpoint, http: httpx2.AsyncClient) -> ModelFor:
    # The SDK creates three clients. This one replaces the one in use, the others never load certificates.
    unused = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    options = HttpOptions(  # no deadline and no retries: holdfast has its own
        base_url=target.address,
        httpx_async_client=_patient(http),
        client_args={"verify": unused},
        async_client_args={"ssl": unused},
    )
    client = Client(vertexai=False, api_key=target.key or NO_KEY, http_options=options)
    model = _Closing(target.model, _Named(target.provider.name, client), http)
    return lambda _: model


def _patient(http: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """Make the client use its own timeouts, and return it: the SDK sets others on each request."""
    own = http.timeout.as_dict()

    async def timed(request: httpx2.Request) -> None:
        request.extensions["timeout"] = own

    http.event_hooks["request"].append(timed)
    return http


def _has_finish_reason(event: bytes) -> bool:
    """Return whether one of the event's candidates has a finish reason."""
    if b'"finishReason"' not in event:
        return False
    try:
        told = json.loads(event.removeprefix(b"data: "))
        return any("finishReason" in candidate for candidate in told["candidates"])
    except (ValueError, TypeError, LookupError):  # the SDK fails on it too, and reports it
        return False


WIRE = SdkProtocol(build=_build, terminal=None, marks_errors=True, has_finish_reason=_has_finish_reason)
