"""Proxies on real sockets, as they are and as they fail."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from socket_servers import Received, answer, head_bytes, read_request

Mode = Literal[
    "tunnels",  # and answers what is not to be tunnelled itself, as if it had forwarded it
    "wants another password",
    "refuses",
    "cannot reach it",
    "leaves before it answers",
    "leaves within its answer",
    "leaves within the stream",
    "answers something else",
]
DYING: tuple[Mode, ...] = ("leaves before it answers", "leaves within its answer", "answers something else")
_CHUNK = 65_536


@dataclass
class Proxy:
    """A proxy, whatever is asked for: each tunnel leads to `port`, of which `most` bytes come back if it leaves."""

    mode: Mode = "tunnels"
    port: int = 0
    most: int = 0
    asked: list[Received] = field(default_factory=list[Received])

    @property
    def places(self) -> list[str]:
        """Return to where tunnels were asked for, and what was to be forwarded."""
        return [each.target for each in self.asked]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        received = await read_request(reader)
        if received is None:
            return
        self.asked.append(received)
        if (refusal := _REFUSALS.get(self.mode)) is not None:
            writer.write(refusal)
            await writer.drain()
        elif received.method != "CONNECT":
            head, events = answer(received)
            writer.write(head_bytes(head, "connection: close") + b"".join(events))
            await writer.drain()
        else:
            await self._tunnel(reader, writer)

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, there = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        limit = self.most if self.mode == "leaves within the stream" else None
        sending = asyncio.create_task(_copied(reader, there))
        try:
            await _copied(back, writer, limit)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            if limit is not None:
                writer.transport.abort()
            there.close()
            with suppress(ConnectionError):
                await there.wait_closed()


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, most: int | None = None) -> None:
    left = most
    with suppress(ConnectionError):
        while data := await reader.read(_CHUNK if left is None else min(left, _CHUNK)):
            writer.write(data)
            await writer.drain()
            left = None if left is None else left - len(data)
            if left == 0:
                return


def _response(status: str, headers: Sequence[str] = (), body: str = "") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, f"content-length: {len(body)}", "", body]).encode()


_REFUSALS: dict[Mode, bytes] = {
    "wants another password": _response(
        "407 Proxy Authentication Required", ['proxy-authenticate: Basic realm="proxy"']
    ),
    "refuses": _response("403 Forbidden", body="This destination is not allowed."),
    "cannot reach it": _response("502 Bad Gateway"),
    "leaves before it answers": b"",
    "leaves within its answer": b"HTTP/1.1 200 Connection establ",
    "answers something else": b"SSH-2.0-OpenSSH_9.9\r\n\r\n",
}
