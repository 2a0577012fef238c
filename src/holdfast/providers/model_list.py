"""Fetches a provider's list of models, with limits on time, bytes and pages.

A list is read completely or not at all: a part would look complete. Other responses are not quoted: they could quote
the key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import quote

import httpx2

from holdfast.config.model_servers import ProtocolKind
from holdfast.config.settings import Limits
from holdfast.errors import ProviderFailed, ProviderFault
from holdfast.providers.connection_failures import connection_fault, connection_words
from holdfast.providers.error_mapping import http_failure, redact_failure
from holdfast.providers.http_client import content_encodings, new_client, route_of
from holdfast.providers.http_model import secrets_for, user_agent
from holdfast.providers.model_pages import ListedModel, ModelPage, page_of
from holdfast.providers.protocols import protocol_of
from holdfast.providers.registry import ModelEndpoint, info_of

LIST_PATIENCE = 15.0
"""Seconds for the whole list."""

MOST_BYTES = 8 * 1024 * 1024
"""Bytes of all pages."""

MOST_PAGES = 20
MOST_MODELS = 5_000

_REASONS: dict[ProviderFault, str] = {
    "credentials": "the key was refused",
    "no_credit": "the account has no credit left",
    "not_available": "the provider does not serve this account or region",
    "rate_limited": "too many requests",
    "overloaded": "the provider is overloaded",
    "rejected": "the provider has no such list",
}


async def fetch_models(
    target: ModelEndpoint, limits: Limits, *, http: Callable[[], httpx2.AsyncClient] | None = None
) -> ModelPage:
    """Return all models that the provider of `target` lists, as one page. Raise `ProviderFailed` or `ModelUnusable`.

    `http` makes the client, by default one with the `limits` for connecting.
    """
    client = http() if http else new_client(limits, list_address(target))
    client.follow_redirects = False
    try:
        async with asyncio.timeout(LIST_PATIENCE):
            return await _pages(client, target)
    except TimeoutError:
        raise _failure(target, f"no complete list within {LIST_PATIENCE:g} s", "silent") from None
    except httpx2.TransportError as error:
        route = None if http else route_of(list_address(target))
        raise _failure(target, connection_words(error, route), connection_fault(error)) from error
    except (ValueError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise _failure(target, str(error), "malformed") from error
    finally:
        await client.aclose()


def list_address(target: ModelEndpoint) -> str:
    """Return the base URL for the list, "" if the provider has none."""
    return target.address or info_of(target.provider).address


async def _pages(client: httpx2.AsyncClient, target: ModelEndpoint) -> ModelPage:
    found: dict[str, ListedModel] = {}
    unusable, page_token, room = 0, "", MOST_BYTES
    for _ in range(MOST_PAGES):
        body = await _body(client, target, page_token, room)
        room -= len(body)
        page = page_of(target.provider.kind, body)
        for model in page.models:
            found.setdefault(model.id, model)
        unusable += page.unusable
        if len(found) > MOST_MODELS:
            raise ValueError(f"the list has more than {MOST_MODELS:,} models")
        if not page.next or page.next == page_token:
            return ModelPage(models=tuple(found.values()), unusable=unusable)
        page_token = page.next
    raise ValueError(f"the list has more than {MOST_PAGES} pages")


async def _body(client: httpx2.AsyncClient, target: ModelEndpoint, page_token: str, room: int) -> bytes:
    request = client.build_request(
        "GET",
        _url(target, page_token),
        headers={
            "accept": "application/json",
            "accept-encoding": "identity",
            "user-agent": user_agent(),
            **protocol_of(target.provider.kind).headers(target),
            **target.headers,
        },
    )
    response = await client.send(request, stream=True)
    try:
        if response.is_redirect:
            raise _failure(target, "it sent a redirect, which is not followed", "redirected")
        if response.is_error:
            fault = http_failure(target.name, response.status_code, response.headers, b"").fault
            why = _REASONS.get(fault, "the request failed")
            raise _failure(target, f"{why} (status {response.status_code})", fault)
        if content_encodings(response):
            raise ValueError("the answer is compressed, and unpacked it may be of any size")
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > room:
                raise ValueError(f"the list is longer than {MOST_BYTES // 1024**2} MB")
        return bytes(body)
    finally:
        await response.aclose()


def _url(target: ModelEndpoint, page_token: str) -> str:
    """Return the URL of a page; the query of the base URL is kept."""
    address, _, query = list_address(target).partition("?")
    path, first, following = _PATHS[target.provider.kind]
    parameters = [query, first, f"{following}={quote(page_token, safe='')}" if following and page_token else ""]
    full_query = "&".join(filter(None, parameters))
    return f"{address.rstrip('/')}{path}{'?' if full_query else ''}{full_query}"


_OPENAI = "/models", "", ""
_ANTHROPIC = "/v1/models", "limit=1000", "after_id"
_PATHS: dict[ProtocolKind, tuple[str, str, str]] = {
    "openai-responses": _OPENAI,
    "openai-chat": _OPENAI,
    "mistral": _OPENAI,
    "anthropic": _ANTHROPIC,
    "bedrock": _ANTHROPIC,
    "gemini": ("/v1beta/models", "pageSize=1000", "pageToken"),
}
"""Below the base URL: the path, the query for every page, and the parameter that names the page."""


def _failure(target: ModelEndpoint, why: str, fault: ProviderFault) -> ProviderFailed:
    failed = ProviderFailed(f"The models of {target.provider.name} could not be listed: {why}.", fault=fault)
    return redact_failure(failed, secrets_for(target))
