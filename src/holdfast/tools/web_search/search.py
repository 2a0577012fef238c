"""The tool `search`: titles, addresses and the beginnings of pages, from the service that the user configured.

The service is asked over the user's network and proxies, with its key in a header; no message repeats it. A redirect is
not followed: the key would go to an address that only the service chose.
"""

from __future__ import annotations

import os
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from holdfast import __version__
from holdfast.errors import HoldfastError, ToolFailed
from holdfast.system.network_variables import ANY_ADDRESS, network_fault
from holdfast.tool_calls import Effect
from holdfast.tools.bounded_work import run_bounded
from holdfast.tools.builtin.declarations import SEARCH_SCHEMA, SearchArguments
from holdfast.tools.builtin.html_to_markdown import decompress
from holdfast.tools.schema import parse_arguments
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from holdfast.tools.truncation import escape_newlines
from holdfast.tools.web_search.backends import (
    KEY_VARIABLES,
    SearchBackend,
    results_text,
    search_request,
    search_results,
)

if TYPE_CHECKING:
    import httpx2

LARGEST_ANSWER = 2_000_000
"""Most bytes read of an answer."""

LONGEST_SEARCH = 20.0
"""Seconds for a whole search."""

_SILENCE = 10.0
_OK, _ERROR = 200, 400
_KEY_REFUSED, _TOO_MANY = (401, 403), 429
_ADVICE = "Continue without searching, and tell the user."


class SearchTool:
    """Searches with a backend, which is None if none is configured in this run."""

    schema = SEARCH_SCHEMA
    effect: Effect = "read"

    def __init__(self, backend: SearchBackend | None, *, seconds: float = LONGEST_SEARCH) -> None:
        self._backend = backend
        self._seconds = seconds

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return the plan of a search. Nothing is sent. Raises `ToolFailed` for a blank query or without a service."""
        args = parse_arguments(arguments, SearchArguments, tool="search")
        query = " ".join(args.query.split())
        backend = self._backend
        if not query:
            raise ToolFailed("The query is blank. Nothing was sent. Give the words to search for.")
        if backend is None:
            raise ToolFailed(
                "Web search is not configured in this run ([search] in config.toml). Nothing was sent. "
                "Continue without it; fetch a page whose address you know."
            )
        name = _service_name(backend)
        late = f"{name} did not answer within {self._seconds:g} s. Try again later, or continue without it."

        async def run(context: ToolContext) -> ToolOutput:
            work = partial(_search, backend, query, args.count, time.monotonic() + self._seconds + 1)
            stopped = "The search was sent; no results were received yet."
            return await run_bounded(work, context.stop, seconds=self._seconds, stopped=stopped, late=late)

        return Plan(effect="read", title=escape_newlines(f"search {query!r}"), host=backend.host, run=run)


def _service_name(backend: SearchBackend) -> str:
    return f"Search service {backend.name!r} at {backend.host!r}"


def _search(backend: SearchBackend, query: str, count: int, until: float, stop: threading.Event) -> ToolOutput:
    """Return the results; raises `ToolFailed`, with no message that has the key."""
    import httpx2  # 0.2 s that only a search pays

    key = _key(backend)
    prepared = search_request(backend, key, query, count)
    if why := network_fault(os.environ, prepared.url, *ANY_ADDRESS):
        raise ToolFailed(f"{_service_name(backend)} cannot be reached: {why} Nothing was sent. {_ADVICE}")
    headers = {"User-Agent": f"holdfast/{__version__}", "Accept-Encoding": "gzip", **prepared.headers}
    try:
        with httpx2.Client(timeout=_SILENCE, follow_redirects=False) as client:
            request = client.build_request(
                "GET" if prepared.body is None else "POST", prepared.url, headers=headers, content=prepared.body
            )
            response = client.send(request, stream=True)
            try:
                raw, complete = _body(response, stop, until)
            finally:
                response.close()
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        why = _redact(f"{type(error).__name__}: {error}", key)
        raise ToolFailed(f"{_service_name(backend)} cannot be reached: {why}. {_ADVICE}") from None
    if stop.is_set():
        return ToolOutput(text="The search was sent; no results were received yet.", interrupted=True)
    _refuse(backend, response, raw, key)
    if not complete:
        raise ToolFailed(
            f"{_service_name(backend)} sent more than {LARGEST_ANSWER} bytes. They were not read. {_ADVICE}"
        )
    try:
        found = search_results(backend.name, raw, count=count)
    except ValueError as error:
        why = _redact(str(error), key)
        raise ToolFailed(f"{_service_name(backend)} sent an answer that cannot be read: {why}. {_ADVICE}") from None
    return ToolOutput(text=_redact(results_text(query, found), key))


def _key(backend: SearchBackend) -> str:
    variable = KEY_VARIABLES.get(backend.name)
    if variable is None:
        return ""
    try:
        key = backend.key()
    except HoldfastError as error:
        raise ToolFailed(
            f"The key of {_service_name(backend)} cannot be read. {error} Nothing was sent. {_ADVICE}"
        ) from error
    if not key:
        raise ToolFailed(f"{_service_name(backend)} needs a key in {variable}. Nothing was sent. {_ADVICE}")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ToolFailed(f"The key in {variable} is none: it has spaces or signs. Nothing was sent. {_ADVICE}")
    return key


def _body(response: httpx2.Response, stop: threading.Event, until: float) -> tuple[bytes, bool]:
    """Return the body and whether that is all of it."""
    raw = bytearray()
    for piece in response.iter_raw():
        raw += piece
        if len(raw) > LARGEST_ANSWER or stop.is_set() or time.monotonic() > until:
            return bytes(raw[:LARGEST_ANSWER]), False
    encoding = response.headers.get("content-encoding", "").strip().lower()
    plain, more = decompress(
        bytes(raw), encoding, most=LARGEST_ANSWER, url=str(response.request.url.copy_with(query=None))
    )
    return plain, not more


def _refuse(backend: SearchBackend, response: httpx2.Response, raw: bytes, key: str) -> None:
    """Raise `ToolFailed` for an answer that is no list of results."""
    status = response.status_code
    if status == _OK:
        return
    name, variable = _service_name(backend), KEY_VARIABLES.get(backend.name, "")
    detail = _error_detail(raw, key)
    if response.has_redirect_location:
        to = _redact(response.headers["location"].partition("?")[0][:200], key)
        raise ToolFailed(f"{name} redirects to {to!r}, which was not followed. {_ADVICE}")
    if status == _TOO_MANY:
        after = response.headers.get("retry-after", "")
        when = f"in {after} s" if after.isdecimal() and len(after) <= 6 else "later"  # noqa: PLR2004 - some days
        raise ToolFailed(f"{name} refuses so many searches ({status}){detail}. Try again {when}.")
    if status in _KEY_REFUSED:
        what = f"refuses the key in {variable}" if variable else "refuses to answer in JSON, or to answer at all"
        more = "" if variable else " (its settings must list json below search.formats)"
        raise ToolFailed(f"{name} {what} ({status}){detail}{more}. {_ADVICE}")
    fault = "failed" if status >= _ERROR else "gave no results"
    raise ToolFailed(f"{name} {fault} ({status}){detail}. {_ADVICE}")


def _error_detail(raw: bytes, key: str) -> str:
    """Return the beginning of an error's text, "" if it has none or is a page."""
    text = " ".join(raw[:1_000].decode("utf-8", "replace").split())
    return f": {escape_newlines(_redact(text, key)[:200])}" if text and not text.startswith("<") else ""


def _redact(text: str, key: str) -> str:
    return text.replace(key, "[hidden]") if key else text
