"""Whether a request may come from where it comes from. Pure.

Two attacks of a page that the user visits elsewhere. DNS rebinding: its name points to this machine, so that the
browser sends us requests as if we were its server; they name its host, which is not ours. Forged requests: the browser
sends our cookie with them; they name its origin, which is not the host that they are for.
"""

from __future__ import annotations

from collections.abc import Container
from urllib.parse import urlsplit

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""The names of this machine that are always served."""


def host_refusal(host: str, names: Container[str]) -> str:
    """Return why a request with this `Host` is refused, "" if it is not."""
    name = host_name(host)
    if name in names:
        return ""
    return f"Host {host!r} is not served here. Start holdfast serve with --host-name {name or 'NAME'} if it should be."


def origin_refusal(host: str, origin: str | None, site: str | None) -> str:
    """Return why a request with these `Host`, `Origin` and `Sec-Fetch-Site` is refused, "" if it is not."""
    if site in {"cross-site", "same-site"}:
        return "This request comes from a page of another site. Only holdfast's own page may send it."
    if origin is None:
        return ""
    try:
        own = urlsplit(origin).netloc.lower() == host.lower() and origin.lower().startswith(("http://", "https://"))
    except ValueError:
        own = False
    return "" if own else f"Origin {origin!r} is not {host!r}. Only holdfast's own page may send this request."


def host_name(host: str) -> str:
    """Return the name in a `Host` header, in lower case and without a port."""
    name = host.lower()
    if name.startswith("["):
        return name.partition("]")[0] + "]"
    return name.partition(":")[0]
