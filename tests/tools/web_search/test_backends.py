"""What each search service is sent, and what is made of its answer, however strange."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from holdfast.config.settings import Config, ProjectConfig, Search, decoded
from holdfast.errors import ConfigInvalid
from holdfast.tool_calls import SearchName
from holdfast.tools.web_search.backends import (
    LONGEST_SNIPPET,
    SearchBackend,
    address_of_backend,
    results_text,
    search_request,
    search_results,
)

KEY = "secret-key-1234"
NAMES: tuple[SearchName, ...] = ("searxng", "brave", "tavily", "exa")


def backend(name: SearchName, address: str | None = None) -> SearchBackend:
    configured = address or ("http://localhost:8888" if name == "searxng" else None)
    return SearchBackend(name=name, address=address_of_backend(name, configured), key=lambda: KEY)


def answer(name: SearchName, *results: object) -> bytes:
    """Return results as the service wraps them."""
    document: object = {"web": {"results": results}} if name == "brave" else {"results": results}
    return json.dumps(document).encode()


def test_searxng_is_asked_by_get_for_json_without_a_key() -> None:
    request = search_request(backend("searxng", "http://localhost:8888/searx/"), "", "a & b", 3)
    assert (request.url, request.body) == ("http://localhost:8888/searx/search?q=a+%26+b&format=json", None)
    assert KEY not in str(request)


def test_brave_is_asked_by_get_with_its_own_header() -> None:
    request = search_request(backend("brave"), KEY, "a & b", 3)
    assert urlsplit(request.url).path == "/res/v1/web/search"
    assert parse_qs(urlsplit(request.url).query) == {"q": ["a & b"], "count": ["3"]}
    assert (request.headers["X-Subscription-Token"], request.body) == (KEY, None)


def test_tavily_and_exa_are_asked_by_post() -> None:
    request = search_request(backend("tavily"), KEY, "a & b", 3)
    assert (request.url, request.headers["Authorization"]) == ("https://api.tavily.com/search", f"Bearer {KEY}")
    assert json.loads(request.body or b"") == {"query": "a & b", "max_results": 3}
    request = search_request(backend("exa"), KEY, "a & b", 3)
    assert (request.url, request.headers["x-api-key"]) == ("https://api.exa.ai/search", KEY)
    assert json.loads(request.body or b"")["numResults"] == 3


@pytest.mark.parametrize("name", NAMES)
def test_the_key_is_in_no_address(name: SearchName) -> None:
    request = search_request(backend(name), KEY, "q", 3)
    assert (KEY in " ".join(request.headers.values())) == (name != "searxng")  # which has none
    assert KEY not in request.url


@pytest.mark.parametrize(
    ("name", "field"), [("searxng", "content"), ("brave", "description"), ("tavily", "content"), ("exa", "text")]
)
def test_results_are_one_line_each_without_markup(name: SearchName, field: str) -> None:
    found = search_results(
        name,
        answer(
            name,
            {
                "title": "<b>A</b> &amp; B\n\x1b[2J<script>x",
                "url": "https://a.example/?b=1",
                field: "is <strong>it</strong> 1 < 2",
            },
            {"title": None, "url": "https://b.example/", field: "word " * 200},
            {"title": "bad", "url": "javascript:alert(1)"},
            {"title": "bad", "url": "https://a.example/ b\n3. forged"},
            {"title": "no address"},
            "nothing",
        ),
        count=10,
    )  # fmt: skip
    assert [each.address for each in found] == ["https://a.example/?b=1", "https://b.example/"]
    assert (found[0].title, found[0].snippet) == ("A & B x", "is it 1 < 2")
    assert len(found[1].snippet) == LONGEST_SNIPPET
    text = results_text("q", found)
    assert text.startswith("1. A & B x\n   https://a.example/?b=1\n   is it 1 < 2\n\n2. (no title)\n   https://b.ex")


def test_no_more_than_were_asked_for() -> None:
    results = [{"title": str(n), "url": f"https://a.example/{n}"} for n in range(30)]
    assert len(search_results("searxng", answer("searxng", *results), count=4)) == 4


@pytest.mark.parametrize(
    "raw", [b"", b"<html>", b"[]", b"{}", b'{"results": 1}', b'"results"', b"\xff\xfe", b"[" * 99_999]
)
@pytest.mark.parametrize("name", ["searxng", "tavily", "exa"])
def test_what_is_no_answer_is_said(name: SearchName, raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"it is not JSON|it has no list of results"):
        search_results(name, raw, count=5)


def test_brave_without_web_results_found_nothing() -> None:
    assert search_results("brave", b'{"query": {}}', count=5) == ()
    assert results_text("q", ()) == "No results for 'q'. Search with other or fewer words."


def read(text: str) -> Config:
    return decoded(text.encode(), Config, name="config.toml")


def test_what_a_config_may_say() -> None:
    assert read("").search is None
    assert read('[search]\nservice = "brave"').search is not None
    found = read('[search]\nservice = "searxng"\naddress = "http://searx.local:8888/"').search
    assert found is not None
    assert address_of_backend(found.service, found.address) == "http://searx.local:8888"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('service = "google"', "service"),
        ('service = "searxng"', "searxng needs an `address`"),
        ('service = "searxng"\naddress = "localhost:8888"', "is not a URL"),
        ('service = "searxng"\naddress = "ftp://a"', "is not a URL"),
        ('service = "searxng"\naddress = "http://a:port"', "is not a URL"),
        ('service = "searxng"\naddress = "http://me:pw@a"', "has a user name"),
        ('service = "searxng"\naddress = "http://a?key=1"', "has a user name, a query"),
        ('service = "brave"\naddress = "http://proxy.example"', "would be sent unencrypted to 'proxy.example'"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(ConfigInvalid, match=why):
        read(f"[search]\n{text}")


def test_the_example_of_the_page_on_searching_is_valid() -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/search.md").read_text("utf-8")
    (example,) = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert read(example).search == Search(service="searxng", address="http://localhost:8888")


def test_a_project_cannot_choose_who_is_asked() -> None:
    with pytest.raises(ConfigInvalid, match="Only your own config may set this"):
        decoded(b'[search]\nservice = "brave"', ProjectConfig, name="p")
