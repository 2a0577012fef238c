"""The connections of the server: how many there may be, and how long a request may take to come.

Three clocks. The head of a request must be complete some seconds after the connection was made, or after the answer
before it, whatever arrives in between: so also a body that no one reads cannot hold a connection. An answer must make
progress: a client that takes nothing for a minute is cut off. The body has its clock where it is read (`body_of`).

How many connections the server takes: few from callers that it does not know yet, and never the last descriptors.

A caller is known once a request of its connection had a valid token. Until then it could be anyone, so its connection
counts against a limit per address and one for all. Known callers are limited only by the descriptors of the process:
the kernel gives out the lowest free number, so the number of a new socket says how many are in use at least.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections import Counter
from typing import cast

import h11
import msgspec
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from holdfast.ui.service.page import SAFE_HEADERS


class ConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a connection may take. `reserved` descriptors stay free for commands and journals.

    asyncio accepts up to `backlog` connections in one turn of its loop, and shows one to the gate two turns later.
    """

    per_address: int = 64
    unknown: int = 256
    head_seconds: float = 10.0
    head_bytes: int = 16 * 1024
    stalled_seconds: float = 60.0
    reserved: int = 32
    backlog: int = 32


class ConnectionGate:
    """Counts the connections of unknown callers. Used on the server's event loop only."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._unknown: Counter[str] = Counter()

    def refusal(self, address: str, descriptor: int) -> str:
        """Return why a new connection is refused, "" after it was counted."""
        limits = self.limits
        most_open, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        unseen = 3 * limits.backlog  # so many may be accepted before the first of them is looked at
        if most_open != resource.RLIM_INFINITY and descriptor >= most_open - limits.reserved - unseen:
            return "Too many connections are open. Close some, or raise the limit of open files (ulimit -n)."
        if self._unknown[address] >= limits.per_address:
            return f"Too many connections without a token from {address} (at most {limits.per_address})."
        if self._unknown.total() >= limits.unknown:
            return f"Too many connections without a token (at most {limits.unknown}). Try again soon."
        self._unknown[address] += 1
        return ""

    def release(self, address: str) -> None:
        """Count one connection less: its caller is known now, or it was closed."""
        self._unknown[address] -= 1
        if self._unknown[address] <= 0:
            del self._unknown[address]


# --- limited protocol ---

KNOWN_CALLER = "caller_is_known"
"""The name of the function in the state of a request that says that its caller has a valid token."""


class _BoundedHeads(h11.Connection):
    """h11's connection. Its own bound holds for a head that is not complete: this one for a complete head, too."""

    def __init__(self, most: int) -> None:
        super().__init__(h11.SERVER, most)
        self._most = most

    def next_event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        """Return the next event; raises `RemoteProtocolError` for a head with too many bytes."""
        before = len(self.trailing_data[0]) if self.their_state is h11.IDLE else 0
        event = super().next_event()
        if isinstance(event, h11.Request) and before - len(self.trailing_data[0]) > self._most:
            raise h11.RemoteProtocolError("The head of the request is too long.")
        return event


class LimitedProtocol(H11Protocol):
    """uvicorn's connection, closed when it exceeds a limit of its `ConnectionGate`."""

    gate: ConnectionGate

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, {**app_state, KNOWN_CALLER: self._caller_is_known}, _loop)
        self.conn = _BoundedHeads(self.gate.limits.head_bytes)
        self._address = ""
        self._counted = self._refused = False
        self._clock: asyncio.TimerHandle | None = None
        self._write_clock: asyncio.TimerHandle | None = None
        self._unsent = self._unsent_at_end = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Count the connection, or refuse it."""
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self._address = str(peer[0]) if peer else ""
        if why := self.gate.refusal(self._address, transport.get_extra_info("socket").fileno()):
            self._refuse(503, why)
            return
        self._counted = True
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Take bytes, unless the connection is refused."""
        if not self._refused:
            super().data_received(data)

    def handle_events(self) -> None:
        """Stop the clock of the head when a request has begun."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._stop_clock()

    def on_response_complete(self) -> None:
        """Wait for the next head, however much of this request is still to come."""
        if not self.transport.is_closing():
            self._await_head()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are no request, with the headers of every answer."""
        self._refuse(400, f"{msg} Its head may have at most {self.gate.limits.head_bytes // 1024} KB.")

    def connection_lost(self, exc: Exception | None) -> None:
        """Count one connection less."""
        self._stop_clock()
        self.resume_writing()
        self._uncount()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Begin to watch whether the client takes anything."""
        super().pause_writing()
        self._unsent = self.transport.get_write_buffer_size()
        self._watch_writing()

    def resume_writing(self) -> None:
        """End that."""
        super().resume_writing()
        if self._write_clock is not None:
            self._write_clock.cancel()
            self._write_clock = None

    def _caller_is_known(self) -> None:
        self._uncount()

    def _uncount(self) -> None:
        if self._counted:
            self._counted = False
            self.gate.release(self._address)

    def _await_head(self) -> None:
        self._stop_clock()
        self._unsent_at_end = 0
        self._clock = self.loop.call_later(self.gate.limits.head_seconds, self._head_is_late)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _head_is_late(self) -> None:
        """Close the connection, unless its client still takes the answer before."""
        unsent = self.transport.get_write_buffer_size()
        if unsent and (not self._unsent_at_end or unsent < self._unsent_at_end):
            self._unsent_at_end = unsent
            self._clock = self.loop.call_later(self.gate.limits.stalled_seconds, self._head_is_late)
            return
        self.transport.abort()

    def _watch_writing(self) -> None:
        self._write_clock = self.loop.call_later(self.gate.limits.stalled_seconds, self._writing_is_late)

    def _writing_is_late(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        if unsent >= self._unsent:
            self.transport.abort()
            return
        self._unsent = unsent
        self._watch_writing()

    def _refuse(self, status: int, why: str) -> None:
        self._refused = True
        self._stop_clock()
        body = msgspec.json.encode({"error": why})
        headers = {
            **SAFE_HEADERS,
            "content-type": "application/json",
            "content-length": str(len(body)),
            "connection": "close",
        }
        # The client's connection is broken, or has not begun: a new one writes the answer.
        answer = h11.Connection(h11.SERVER)
        answer.receive_data(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        answer.next_event()
        response = h11.Response(status_code=status, headers=list(headers.items()))
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(answer.send(event) or b"")
        self.transport.close()


def limited_protocol(gate: ConnectionGate) -> type[asyncio.Protocol]:
    """Return the protocol of the connections of this gate. Invalid requests are not logged: anyone can send them."""
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    return cast("type[asyncio.Protocol]", type("_GatedProtocol", (LimitedProtocol,), {"gate": gate}))
