"""Whom a confined program wants, read from one head, and whether that was named."""

from __future__ import annotations

import pytest

from holdfast.system.confinement.network.request_head import ProxyRequest, is_named, read_head


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443", ProxyRequest("a.example", 443, None)),
        (b"CONNECT A.Example.:8443 HTTP/1.0", ProxyRequest("a.example", 8443, None)),
        (b"CONNECT [2001:db8::1]:443 HTTP/1.1", ProxyRequest("2001:db8::1", 443, None)),
    ],
)
def test_a_tunnel(head: bytes, expected: ProxyRequest) -> None:
    assert read_head(head) == expected


def test_a_request_is_sent_on_with_the_host_that_was_judged() -> None:
    head = (
        b"GET http://a.example/x?y=1 HTTP/1.1\r\nHost: other.example\r\nProxy-Authorization: Basic x\r\n"
        b"Connection: keep-alive\r\nAccept: */*"
    )
    found = read_head(head)
    assert found is not None
    assert (found.host, found.port) == ("a.example", 80)
    sent = b"GET /x?y=1 HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    assert found.head == sent


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nHost: a.example",
        b"GET https://a.example/ HTTP/1.1",
        b"GET http://user@a.example/ HTTP/1.1",
        b"CONNECT a.example:0 HTTP/1.1",
        b"CONNECT a.example:70000 HTTP/1.1",
        b"CONNECT a/b:443 HTTP/1.1",
        b"CONNECT a.example:443 HTTP/1.1 x",
        b"\x16\x03\x01",
        b"",
    ],
)
def test_what_is_neither_form_is_none(head: bytes) -> None:
    assert read_head(head) is None


@pytest.mark.parametrize(
    ("patterns", "host", "port", "tunnel", "named"),
    [
        (["a.example"], "a.example", 443, True, True),
        (["a.example"], "a.example", 80, False, True),
        (["a.example"], "a.example", 22, True, False),
        (["a.example"], "a.example", 443, False, False),
        (["a.example:22"], "a.example", 22, True, True),
        (["a.example:22"], "a.example", 443, True, False),
        (["*.example"], "a.example", 443, True, True),
        (["*.example"], "b.a.example", 443, True, True),
        (["*.example"], "example", 443, True, False),
        (["*.example"], "evilexample", 443, True, False),
        (["A.Example"], "a.example", 443, True, True),
        (["*"], "anything", 443, True, True),
        (["b.example"], "a.example", 443, True, False),
        ([], "a.example", 443, True, False),
    ],
)
def test_only_a_named_host_on_its_port(patterns: list[str], host: str, port: int, *, tunnel: bool, named: bool) -> None:
    assert is_named(ProxyRequest(host, port, None if tunnel else b""), patterns) is named
