"""Checks the host and the origin of a request. Pure.

They stop two attacks by another page that the user visits. DNS rebinding: the page's host name points to this machine,
so the browser sends the page's requests here; their `Host` is not this server's. Forged requests: the browser sends
them with this server's cookie; their `Origin` is not the host that they are for.
"""

from __future__ import annotations

import re
from collections.abc import Container
from urllib.parse import urlsplit

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]+)(?::[0-9]*)?")
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""The names of this machine that are always served."""


def host_refusal(host: str, names: Container[str]) -> str:
    """Return why a request with this `Host` is refused, "" if it is allowed."""
    name = host_name(host)
    if name in names:
        return ""
    return f"Host {host!r} is not served here. Start holdfast serve with --host-name {name or 'NAME'} if it should be."


def origin_refusal(host: str, origin: str | None, site: str | None) -> str:
    """Return why a request with these `Host`, `Origin` and `Sec-Fetch-Site` is refused, "" if it is allowed."""
    if site in {"cross-site", "same-site"}:
        return "The request comes from another site. Only holdfast's own page may send it."
    if origin is None:
        return ""
    try:
        same_origin = urlsplit(origin).netloc.lower() == host.lower() and origin.lower().startswith(
            ("http://", "https://")
        )
    except ValueError:
        same_origin = False
    return "" if same_origin else f"Origin {origin!r} is not {host!r}. Only holdfast's own page may send this request."


def host_name(host: str) -> str:
    """Return the name in a `Host` header, in lower case and without a port; all of it if it is malformed."""
    found = _HOST.fullmatch(host.lower())
    return host.lower() if found is None else found[1]
