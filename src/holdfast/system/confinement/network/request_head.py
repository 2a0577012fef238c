"""The first lines of what a confined program sends to the proxy: whom it wants, and what to send there. Pure.

Two forms are known: `CONNECT host:443` and `GET http://host/path`. Ports are part of the permission: a host that was
named may be asked on 443 by CONNECT and on 80 otherwise; another port must be named with it (`host:8080`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

HEAD_MOST = 16_384
"""Bytes of a head."""

_LAST_PORT = 65_535
_CONNECT = re.compile(r"CONNECT ([^\s/]{1,300}) HTTP/1\.[01]")
_ABSOLUTE = re.compile(
    r"([A-Z]{1,20}) http://([^\s/?#@]{1,300})((?:[/?][^\s#]*)?)(?:#\S*)? HTTP/1\.[01]", re.IGNORECASE
)
_PLACE = re.compile(r"(?:([A-Za-z0-9._-]+)|\[([0-9A-Fa-f:.]+)\])(?::([0-9]{1,5}))?")
_HOP = frozenset(
    {"connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "trailer", "upgrade", "host"}
)


class ProxyRequest(NamedTuple):
    """A request: the host in lower case, its port, and the head to send there; None if the way is a tunnel."""

    host: str
    port: int
    head: bytes | None


def read_head(head: bytes) -> ProxyRequest | None:
    """Return what a head asks for, None if it is neither of the two forms."""
    lines = head.decode("latin-1").split("\r\n")
    if found := _CONNECT.fullmatch(lines[0]):
        place = _place(found[1], 443)
        return place and ProxyRequest(*place, None)
    found = _ABSOLUTE.fullmatch(lines[0])
    place = _place(found[2], 80) if found else None
    if found is None or place is None:
        return None
    path = found[3] if found[3].startswith("/") else f"/{found[3]}"
    headers = [line for line in lines[1:] if line and line.partition(":")[0].strip().lower() not in _HOP]
    rewritten = [f"{found[1].upper()} {path} HTTP/1.1", f"Host: {found[2]}", *headers, "Connection: close", "", ""]
    return ProxyRequest(*place, "\r\n".join(rewritten).encode("latin-1"))


def _place(text: str, usual: int) -> tuple[str, int] | None:
    found = _PLACE.fullmatch(text)
    if found is None:
        return None
    port = int(found[3] or usual)
    name = (found[1] or found[2]).lower().rstrip(".")
    return (name, port) if name and 0 < port <= _LAST_PORT else None


def is_named(request: ProxyRequest, patterns: Iterable[str]) -> bool:
    """Return whether a pattern names the request's host and port: `host`, `*.domain`, `*`, each also with `:port`."""
    usual = 443 if request.head is None else 80
    for pattern in patterns:
        name, colon, port = (
            pattern.lower().rpartition(":") if re.search(r":\d+$", pattern) else (pattern.lower(), "", "")
        )
        is_host = request.host.endswith(name[1:]) if name.startswith("*.") else name in (request.host, "*")
        if is_host and request.port == (int(port) if colon else usual):
            return True
    return False
