"""A provider is asked for its models over a real socket: what goes out, what is refused, and what is kept."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace

from holdfast.config.settings import Limits
from holdfast.errors import ProviderFailed
from holdfast.providers import known_models, model_list
from holdfast.providers.known_models import Favourites, KnownModels, StoredLists, listed_models, with_facts
from holdfast.providers.model_list import fetch_models
from holdfast.providers.model_pages import ListedModel, ModelPage
from holdfast.providers.registry import PROVIDERS, ModelEndpoint, resolve_endpoint
from socket_servers import KEYS, PATHS, Received, environ, listening, read_request

KEY = "sk-the-key-of-the-user-0123456789"

Answer = Callable[[Received], tuple[int, list[str], bytes]]


def pages(*bodies: object) -> Answer:
    """Answer with these bodies in turn, and with the last from then on."""
    left = [*bodies]

    def answer(_: Received) -> tuple[int, list[str], bytes]:
        body = left.pop(0) if len(left) > 1 else left[0]
        return 200, [], body if isinstance(body, bytes) else json.dumps(body).encode()

    return answer


class Listing:
    """A server that has lists of models, and keeps what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[Received] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received = await read_request(reader)
        if received is None:
            return
        self.requests.append(received)
        status, headers, body = self.answer(received)
        lines = [f"HTTP/1.1 {status} As Told", f"content-length: {len(body)}", "connection: close", *headers, "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        await writer.drain()


def endpoint(name: str, port: int) -> ModelEndpoint:
    found = resolve_endpoint(f"{name}:any", environ(f"http://127.0.0.1:{port}", KEY))
    return replace(found, model="")


async def listed(name: str, answer: Answer) -> tuple[ModelPage, list[Received]]:
    server = Listing(answer)
    async with listening(server.serve) as port:
        return await fetch_models(endpoint(name, port), Limits()), server.requests


def openai(*names: str) -> dict[str, object]:
    return {"object": "list", "data": [{"id": name} for name in names]}


TARGETS = {
    "openai": ("/v1/models", "authorization"),
    "openrouter": ("/v1/models", "authorization"),
    "mistral": ("/mistral/v1/models", "authorization"),
    "ollama": ("/ollama/v1/models", ""),
    "anthropic": ("/v1/models?limit=1000", "x-api-key"),
    "bedrock": ("/anthropic/v1/models?limit=1000", "authorization"),
    "google": ("/v1beta/models?pageSize=1000", "x-goog-api-key"),
}


@pytest.mark.parametrize("name", TARGETS)
async def test_each_provider_is_asked_in_its_own_way(name: str) -> None:
    body = {"data": [{"id": "m"}], "models": [{"name": "models/m"}]}
    page, (request,) = await listed(name, pages(body))
    assert page == ModelPage(models=(ListedModel(id="m"),))
    target, header = TARGETS[name]
    assert (request.method, request.target, request.body) == ("GET", target, b"")
    assert [each for each in ("authorization", "x-api-key", "x-goog-api-key") if each in request.headers] == (
        [header] if header else []
    )
    assert request.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(("name", "parameter"), [("anthropic", "after_id"), ("google", "pageToken")])
async def test_every_page_is_asked_for(name: str, parameter: str) -> None:
    first = {"data": [{"id": "a"}], "has_more": True, "last_id": "a&b=c"}
    first |= {"models": [{"name": "models/a"}], "nextPageToken": "a&b=c"}
    last = {"data": [{"id": "b"}], "has_more": False, "last_id": "b", "models": [{"name": "models/b"}]}
    page, requests = await listed(name, pages(first, last))
    assert [model.id for model in page.models] == ["a", "b"]
    tokens = [parse_qs(urlsplit(each.target).query).get(parameter) for each in requests]
    assert tokens == [None, ["a&b=c"]]


async def refused(name: str, answer: Answer) -> ProviderFailed:
    with pytest.raises(ProviderFailed) as failed:
        await listed(name, answer)
    assert KEY not in str(failed.value)
    assert str(failed.value).startswith(f"The models of {name} could not be listed: ")
    return failed.value


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
async def test_a_refusal_is_one_line_that_quotes_nothing(status: int) -> None:
    failed = await refused("openai", lambda _: (status, [], f"the key {KEY} is wrong".encode()))
    assert str(failed).endswith(f"(status {status}).")


async def test_a_redirect_is_not_followed() -> None:
    failed = await refused("openai", lambda _: (302, [f"location: http://127.0.0.1:1/?key={KEY}"], b""))
    assert failed.fault == "redirected"


async def test_a_compressed_list_is_not_unpacked() -> None:
    failed = await refused("openai", lambda _: (200, ["content-encoding: gzip"], b"\x1f\x8b"))
    assert "compressed" in str(failed)


@pytest.mark.parametrize(
    "body",
    [b"<html>hello</html>", b"", b"[" * 99_999, b" " * (10 * 1024 * 1024), b'{"data": {"id": "m"}}'],
    ids=lambda body: repr(body[:12]),
)
async def test_what_is_no_list_is_refused(body: bytes) -> None:
    assert (await refused("openai", pages(body))).fault == "malformed"


async def test_ten_megabytes_of_models_are_not_read_to_their_end() -> None:
    entry = json.dumps({"id": "m", "more": "x" * 1_000})
    body = f'{{"data": [{",".join([entry] * 10_000)}]}}'.encode()
    assert "longer than 8 MB" in str(await refused("openai", pages(body)))


async def test_a_list_of_too_many_models_is_refused() -> None:
    names = (f"m{number}" for number in range(model_list.MOST_MODELS + 1))
    assert "more than 5,000 models" in str(await refused("openai", pages(openai(*names))))


async def test_a_list_just_within_its_limits_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"m{number}" for number in range(model_list.MOST_MODELS)]
    page, _ = await listed("openai", pages(openai(*names)))
    assert len(page.models) == model_list.MOST_MODELS
    number = iter(range(model_list.MOST_PAGES))

    def twenty(_: Received) -> tuple[int, list[str], bytes]:
        last = next(number)
        more = last < model_list.MOST_PAGES - 1
        return 200, [], json.dumps({"data": [{"id": f"m{last}"}], "has_more": more, "last_id": f"m{last}"}).encode()

    page, requests = await listed("anthropic", twenty)
    assert (len(requests), len(page.models)) == (model_list.MOST_PAGES, model_list.MOST_PAGES)
    body = json.dumps(openai("a", "b")).encode()
    monkeypatch.setattr(model_list, "MOST_BYTES", len(body))
    assert len((await listed("openai", pages(body)))[0].models) == 2
    assert "the list is longer than" in str(await refused("openai", pages(body + b" ")))


async def test_a_list_without_an_end_is_refused_and_one_that_repeats_itself_ends() -> None:
    number = iter(range(10_000))

    def endless(_: Received) -> tuple[int, list[str], bytes]:
        last = f"m{next(number)}"
        return 200, [], json.dumps({"data": [{"id": last}], "has_more": True, "last_id": last}).encode()

    assert "more than 20 pages" in str(await refused("anthropic", endless))
    page, requests = await listed("anthropic", pages({"data": [{"id": "a"}], "has_more": True, "last_id": "a"}))
    assert (len(requests), len(page.models)) == (2, 1)


async def test_a_server_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_list, "LIST_PATIENCE", 0.05)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del writer
        await reader.read()

    async with listening(silent) as port:
        with pytest.raises(ProviderFailed, match=r"no complete list within 0\.05 s") as failed:
            await fetch_models(endpoint("openai", port), Limits())
    assert failed.value.fault == "silent"


# --- kept, and offered when the provider cannot be asked ------------------------------------------------------------


async def asked_for(port: int, lists: StoredLists, *, refresh: bool = False) -> KnownModels:
    return await listed_models(endpoint("openai", port), Limits(), lists, refresh=refresh)


async def test_a_server_that_is_not_there_is_named_with_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = int(unused.getsockname()[1])
    for name in ("ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ProviderFailed, match=rf"cannot connect to 127\.0\.0\.1:{port}: connection refused\.$"):
        await fetch_models(endpoint("openai", port), Limits())
    monkeypatch.setenv("ALL_PROXY", f"socks5://127.0.0.1:{port}")
    with pytest.raises(ProviderFailed, match=r"through the proxy 'socks5://.*' \(ALL_PROXY\): connection refused"):
        await fetch_models(endpoint("openai", port), Limits())


async def test_a_list_is_kept_for_a_day_and_asked_for_again_on_request(tmp_path: Path) -> None:
    server, lists = Listing(pages(openai("a"), openai("b"))), StoredLists(tmp_path / "cache")
    async with listening(server.serve) as port:
        first = await asked_for(port, lists)
        again = await asked_for(port, lists)
        newer = await asked_for(port, lists, refresh=True)
    assert (first.source, first.models) == ("provider", (ListedModel(id="a"),))
    assert (again.source, again.models) == ("cache", (ListedModel(id="a"),))
    assert (newer.source, newer.models) == ("provider", (ListedModel(id="b"),))
    assert len(server.requests) == 2


async def test_an_old_list_is_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server, lists = Listing(pages(openai("a"), openai("b"))), StoredLists(tmp_path)
    async with listening(server.serve) as port:
        await asked_for(port, lists)
        monkeypatch.setattr(known_models, "LIFETIME", 0)
        assert (await asked_for(port, lists)).models == (ListedModel(id="b"),)


async def test_no_key_is_in_the_cache_and_its_files_are_the_users_own(tmp_path: Path) -> None:
    server, lists = Listing(pages(openai("a"))), StoredLists(tmp_path / "cache")
    async with listening(server.serve) as port:
        address = f"http://user:{KEY}@127.0.0.1:{port}/v1"
        target = replace(endpoint("openai", port), address=address)
        await listed_models(target, Limits(), lists)
    (file,) = (tmp_path / "cache").iterdir()
    assert KEY not in file.read_text() + file.name
    assert file.stat().st_mode & 0o077 == 0
    assert lists.get("openai", address) is not None


async def test_without_the_provider_the_earlier_list_and_the_table_are_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, lists = Listing(pages(openai("mine"))), StoredLists(tmp_path)
    async with listening(server.serve) as port:
        alone = await listed_models(endpoint("openai", port), Limits(), StoredLists(tmp_path / "other"))
        await asked_for(port, lists)
    assert alone.source == "provider"
    offline = await asked_for(port, lists, refresh=True)
    assert offline.source == "cache"
    assert [model.id for model in offline.models] == ["mine"]
    assert offline.missing.startswith("The models of openai could not be listed: ")
    monkeypatch.setattr(known_models, "LIFETIME", 0)
    old = await asked_for(port, lists)
    assert [model.id for model in old.models][:2] == ["mine", "gpt-5.5"]
    never = await asked_for(port, StoredLists(tmp_path / "empty"), refresh=True)
    assert never.source == "table"
    assert "gpt-5.5" in [model.id for model in never.models]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"null", b"\xff", b'{"format": 2}', b'{"format":1,"provider":"x","address":"y","at":0,"models":[]}'],
    ids=repr,
)
async def test_a_damaged_or_foreign_file_is_written_again(tmp_path: Path, content: bytes) -> None:
    server, lists = Listing(pages(openai("a"))), StoredLists(tmp_path)
    async with listening(server.serve) as port:
        path = lists.path("openai", f"http://127.0.0.1:{port}/v1")
        path.write_bytes(content)
        assert (await asked_for(port, lists)).models == (ListedModel(id="a"),)
        assert (await asked_for(port, lists)).source == "cache"


async def test_what_is_no_file_is_no_list(tmp_path: Path) -> None:
    server, lists = Listing(pages(openai("a"))), StoredLists(tmp_path)
    async with listening(server.serve) as port:
        os.mkfifo(lists.path("openai", f"http://127.0.0.1:{port}/v1"))
        assert (await asked_for(port, lists)).source == "provider"


async def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    server = Listing(pages(openai("a")))
    async with listening(server.serve) as port:
        assert (await asked_for(port, StoredLists(tmp_path / "file" / "below"))).models == (ListedModel(id="a"),)


def test_what_the_list_leaves_out_comes_from_the_table() -> None:
    known = with_facts(ListedModel(id="claude-opus-5"), PROVIDERS["anthropic"])
    assert (known.window, known.input_price, known.output_price) == (1_000_000, 5.0, 25.0)
    listed = ListedModel(id="claude-opus-5", window=7, input_price=1.0, output_price=2.0)
    assert with_facts(listed, PROVIDERS["anthropic"]) == listed


def test_favourites_are_kept_and_a_damaged_file_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "state" / "favourites.json"
    assert Favourites(path).toggle("a:b") == ("a:b",)
    assert Favourites(path).toggle("c:d") == ("a:b", "c:d")
    assert Favourites(path).toggle("a:b") == ("c:d",)
    assert Favourites(path).read() == ("c:d",)
    path.write_text("{")
    found, why = Favourites(path).usable()
    assert found == ()
    assert "cannot be read" in why
    with pytest.raises(Exception, match="move it away"):
        Favourites(path).toggle("a:b")
    assert path.read_text() == "{"


def test_every_provider_here_is_one_of_the_servers() -> None:
    assert {PROVIDERS[name].address_variable for name in TARGETS} <= PATHS.keys()
    assert {PROVIDERS[name].key_variable for name in TARGETS} - {None} <= set(KEYS)
