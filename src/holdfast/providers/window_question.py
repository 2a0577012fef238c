"""Asks a server of the user's own for the context window of its model.

The table of models does not know such a window: it is what the server was started with. Servers tell it in their lists
of models, in pages of their own, or only when they refuse a request (`learned_windows`). An answer that cannot be read
is as good as none: the window stays unknown, and `holdfast doctor` says so.

Sources: `meta.n_ctx` in llama.cpp's `/v1/models` and `n_ctx` in its `/props` (tools/server/README.md);
`max_model_len` of vLLM; `loaded_context_length` of LM Studio's `/api/v0/models`; `context_length` in Ollama's `/api/ps`
while a model is loaded, `num_ctx` in the parameters that `/api/show` lists, and what it was trained with (docs/api.md).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import cast

import httpx2
import msgspec

from holdfast.config.settings import Limits
from holdfast.errors import ModelUnusable
from holdfast.providers.http_client import content_encodings, new_client
from holdfast.providers.http_model import user_agent
from holdfast.providers.learned_windows import is_first_question, keep_window, learned_window
from holdfast.providers.model_pages import page_of
from holdfast.providers.protocols import protocol_of
from holdfast.providers.registry import ModelEndpoint

_SPOKEN = ("openai-chat", "openai-responses")
"""The protocols of the servers that have these pages."""

ASK_WITHIN = 2.0
"""Seconds for all questions to a server."""

LARGEST_PAGE = 1024 * 1024
"""Bytes of one answer. Ollama's page about a model has its template and licence."""

_OK = 200

_Json = Mapping[str, object]


def ask_window(target: ModelEndpoint, limits: Limits) -> int:
    """Return the window of the target's model as its server tells it, 0 if it does not; blocks for `ASK_WITHIN`.

    A server is asked once in this process, and only one of the user's own: others are not asked for what they would
    bill, or log.
    """
    if target.on_own_server and target.address and is_first_question(target.name):
        keep_window(target.name, asyncio.run(_ask(target, limits)))
    return learned_window(target.name)


async def _ask(target: ModelEndpoint, limits: Limits) -> int:
    try:
        client = new_client(limits, target.address or "")
    except ModelUnusable:  # the request that follows says why
        return 0
    try:
        async with asyncio.timeout(ASK_WITHIN):
            body = b""
            for page, read in _PAGES if target.provider.kind in _SPOKEN else ():
                if page == _SHOW and "models" not in _object(body):
                    continue  # the page before it was none of Ollama's: nothing is posted to another server
                body = await _page(client, target, page)
                if window := read(body, target.model):
                    return window
    except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, ValueError):  # as above
        return 0
    finally:
        await client.aclose()
    return 0


async def _page(client: httpx2.AsyncClient, target: ModelEndpoint, path: str) -> bytes:
    """Return a page of the server, b"" for anything but a short, whole and unpacked answer."""
    base = (target.address or "").partition("?")[0].rstrip("/")
    root = base.removesuffix("/v1")
    body = msgspec.json.encode({"model": target.model}) if path == _SHOW else None
    headers = {
        "accept": "application/json",
        "accept-encoding": "identity",
        "user-agent": user_agent(),
        **({"content-type": "application/json"} if body else {}),
        **protocol_of(target.provider.kind).headers(target),
        **target.headers,
    }
    url = f"{base if path == _LIST else root}{path}"
    request = client.build_request("POST" if body else "GET", url, content=body, headers=headers)
    response = await client.send(request, stream=True)
    try:
        if response.status_code != _OK or content_encodings(response):
            return b""
        received = bytearray()
        async for chunk in response.aiter_bytes():
            received += chunk
            if len(received) > LARGEST_PAGE:
                return b""
        return bytes(received)
    finally:
        await response.aclose()


# --- what the pages say ----------------------------------------------------------------------------------------------


def _listed(body: bytes, model: str) -> int:
    """Return the window in a list of models: of this one, or of the only one, whatever it is called there."""
    if not body:
        return 0
    models = page_of("openai-chat", body).models
    named = [each for each in models if each.id == model]
    return (named or models)[0].window if named or len(models) == 1 else 0


def _props(body: bytes, model: str) -> int:
    del model
    props = _object(body)
    return _number(_inner(props, "default_generation_settings").get("n_ctx")) or _number(props.get("n_ctx"))


def _loaded(body: bytes, model: str) -> int:
    models = _object(body).get("models")
    for each in cast("list[object]", models) if isinstance(models, list) else ():
        entry = cast("dict[str, object]", each) if isinstance(each, dict) else {}
        if model in (entry.get("name"), entry.get("model")):
            return _number(entry.get("context_length"))
    return 0


def _shown(body: bytes, model: str) -> int:
    del model
    shown = _object(body)
    parameters = shown.get("parameters")
    if isinstance(parameters, str) and (found := _NUM_CTX.search(parameters)):
        return int(found[1])
    for name, value in _inner(shown, "model_info").items():
        if name.endswith(".context_length"):
            return _number(value)
    return 0


_NUM_CTX = re.compile(r"^num_ctx\s+(\d{1,12})\s*$", re.MULTILINE)
_LIST, _SHOW = "/models", "/api/show"
_PAGES: tuple[tuple[str, Callable[[bytes, str], int]], ...] = (
    (_LIST, _listed),
    ("/props", _props),
    ("/api/v0/models", _listed),
    ("/api/ps", _loaded),
    (_SHOW, _shown),
)
"""What is asked, until one has the answer."""


def _object(body: bytes) -> _Json:
    try:
        value: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _inner(value: _Json, name: str) -> _Json:
    inner = value.get(name)
    return cast("dict[str, object]", inner) if isinstance(inner, dict) else {}


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
