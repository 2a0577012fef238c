"""The services that search the web: their requests, and how their answers are read. Pure.

An answer is untrusted: every text of it becomes one line without markup, of a bounded length, and an address
that is not http or https is left out.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import cast
from urllib.parse import urlencode, urlsplit

import msgspec

from holdfast.text import printable, valid_unicode
from holdfast.tool_calls import SearchName

LONGEST_SNIPPET = 300
"""Characters of a result's text."""

_LONGEST_TITLE = 200
_LONGEST_ADDRESS = 2_000
_TAG = re.compile(r"<[/!a-zA-Z][^<>]{0,500}>")

_ADDRESSES: Mapping[SearchName, str] = {
    "brave": "https://api.search.brave.com",
    "tavily": "https://api.tavily.com",
    "exa": "https://api.exa.ai",
}
"""Where each service is. SearXNG is the user's own."""

KEY_VARIABLES: Mapping[SearchName, str] = {
    "brave": "BRAVE_API_KEY",
    "tavily": "TAVILY_API_KEY",
    "exa": "EXA_API_KEY",
}
"""The environment variable of each service's key, under which it is also stored. SearXNG needs none."""


class SearchBackend(msgspec.Struct, frozen=True, kw_only=True):
    """The service that is asked. `key` returns its key, "" if there is none; it may block, or raise `HoldfastError`."""

    name: SearchName
    address: str
    key: Callable[[], str]

    @property
    def host(self) -> str:
        """Return the host that is asked."""
        return urlsplit(self.address).hostname or ""


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it is sent; `body` is None for a GET."""

    url: str
    headers: Mapping[str, str]
    body: bytes | None = None


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """One result: each text is one line."""

    title: str
    address: str
    snippet: str = ""


def address_of_backend(name: SearchName, address: str | None) -> str:
    """Return where the service is asked, without a slash at its end; "" for SearXNG without an address."""
    return (address or _ADDRESSES.get(name, "")).rstrip("/")


def address_fault(name: SearchName, address: str | None) -> str:
    """Return why a service cannot be asked at this address, "" if it can."""
    if address is None:
        return "" if name in _ADDRESSES else f"{name} needs an `address`, such as 'http://localhost:8888'"
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return f"{address!r} is not a URL"
    if parts.scheme not in ("http", "https") or not host or not address.isprintable() or " " in address:
        return f"{address!r} is not a URL (expected http:// or https://)"
    if parts.username is not None or parts.query or parts.fragment:
        return "`address` has a user name, a query or a fragment (expected only scheme, host, port and path)"
    if name in KEY_VARIABLES and parts.scheme == "http" and host not in ("localhost", "127.0.0.1", "::1"):
        return f"the key of {name} would be sent unencrypted to {host!r} (expected https://)"
    return ""


def search_request(backend: SearchBackend, key: str, query: str, count: int) -> SearchRequest:
    """Return the request for at most `count` results."""
    headers = {"Accept": "application/json"}
    match backend.name:
        case "searxng":
            return _get(f"{backend.address}/search", headers, q=query, format="json")
        case "brave":
            headers["X-Subscription-Token"] = key
            return _get(f"{backend.address}/res/v1/web/search", headers, q=query, count=str(count))
        case "tavily":
            headers["Authorization"] = f"Bearer {key}"
            return _post(f"{backend.address}/search", headers, query=query, max_results=count)
        case "exa":
            headers["x-api-key"] = key
            text = {"text": {"maxCharacters": LONGEST_SNIPPET}}
            return _post(f"{backend.address}/search", headers, query=query, numResults=count, contents=text)


def _get(address: str, headers: Mapping[str, str], **query: str) -> SearchRequest:
    return SearchRequest(url=f"{address}?{urlencode(query)}", headers=headers)


def _post(address: str, headers: Mapping[str, str], **body: object) -> SearchRequest:
    raw = json.dumps(body).encode()
    return SearchRequest(url=address, headers={**headers, "Content-Type": "application/json"}, body=raw)


def search_results(name: SearchName, raw: bytes, *, count: int) -> tuple[SearchResult, ...]:
    """Return at most `count` results of an answer. Raise `ValueError` with what is wrong with it."""
    try:
        answer: object = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"it is not JSON: {error}") from error
    inner: object = _field(answer, "web") if name == "brave" else answer
    if name == "brave" and isinstance(answer, dict) and inner is None:
        return ()  # Brave leaves out a kind of results of which there are none
    found = _field(inner, "results")
    if not isinstance(found, list):
        raise ValueError("it has no list of results")  # noqa: TRY004 - the answer is wrong, not the call
    return tuple(_read(cast("list[object]", found)))[:count]


def _read(found: list[object]) -> Iterator[SearchResult]:
    for each in found:
        address = _field(each, "url")
        if not isinstance(address, str) or not _is_page(address):
            continue
        words = (_field(each, name) for name in ("content", "description", "text", "snippet"))
        snippet = next((_line(text, LONGEST_SNIPPET) for text in words if isinstance(text, str)), "")
        title = _field(each, "title")
        yield SearchResult(
            title=_line(title, _LONGEST_TITLE) if isinstance(title, str) else "", address=address, snippet=snippet
        )


def results_text(query: str, found: tuple[SearchResult, ...]) -> str:
    """Return the results for the model, numbered: title, address, text."""
    if not found:
        return f"No results for {query!r}. Search with other or fewer words."
    return "\n\n".join(
        "\n   ".join(filter(None, (f"{number}. {each.title or '(no title)'}", each.address, each.snippet)))
        for number, each in enumerate(found, start=1)
    )


def _field(value: object, name: str) -> object:
    return cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None


def _is_page(address: str) -> bool:
    plain = address.isprintable() and " " not in address and len(address) <= _LONGEST_ADDRESS
    return plain and address.startswith(("http://", "https://"))


def _line(text: str, longest: int) -> str:
    """Return a text as one line without markup, cut to `longest` characters."""
    start = text[: longest * 20]  # a bounded amount of work; markup is longer than what it marks
    plain = " ".join(printable(valid_unicode(html.unescape(_TAG.sub("", start)))).split())
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"
