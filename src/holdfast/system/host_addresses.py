"""Looks up the addresses of a host, once for the caller that judges them and connects to what it judged."""

from __future__ import annotations

import socket


def addresses_of(host: str, port: int) -> list[str]:
    """Return a host's IP addresses in the order to try them; raises `OSError` if there are none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(where[0]) for *_, where in found))
