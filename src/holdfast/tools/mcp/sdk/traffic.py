"""What passes between the SDK and a server: which call was sent last, what is read, and the tools that cannot be used.

The SDK refuses a whole list for one tool in it that is not as the protocol says. So a list is read one tool at a time,
before the SDK sees it: the tools that cannot be used are left out, each with the reason.
"""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, cast

import msgspec
from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, RequestId, Tool
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

from holdfast.text import printable, valid_unicode
from holdfast.tools.mcp.stored_tools import UnusableTool
from holdfast.tools.message_frame import MOST_VALUES, ValueCounter, is_wide

if TYPE_CHECKING:
    from typing import Self

LARGEST_MESSAGE = 32 * 1024 * 1024
"""Bytes of one message, unpacked; a server that sends a larger one is disconnected."""

LARGEST_WIDE_MESSAGE = 12 * 1024 * 1024
"""Bytes of one message with characters that are not ASCII: decoded, each of its characters may take four bytes."""

TOO_LARGE = f"it sent a message of more than {LARGEST_MESSAGE // 1024**2} MB"
TOO_WIDE = f"it sent a message of more than {LARGEST_WIDE_MESSAGE // 1024**2} MB that is not plain ASCII"
TOO_COMPLEX = f"it sent a message of more than {MOST_VALUES} values"

LARGEST_TOOL = 256 * 1024
"""Bytes of the declaration of one tool; a larger one is left out."""

MOST_TOOLS = 2_000
"""Tools of a server that are used; further ones are left out."""

UNREADABLE = "The answer cannot be read: "
"""The beginning of an error that stands for an answer that cannot be read."""

LATE_MOST = 256 * 1024
"""Bytes of a stream of events that are read after its call was given up: what came too late may still come."""

UNASKED_MOST = 256 * 1024
"""Bytes that are read at once while the server was asked nothing."""

UNASKED_RATE = 16 * 1024
"""Bytes of a second that are read beyond these: the server waits until it is asked again."""

_LISTEN = "subscriptions/listen"
_FIRST_VERSION = "2025-11-25"  # of the era of the handshake
_LONGEST_NAME = 100


class MessageSize:
    """The size of a message that arrives in pieces."""

    def __init__(self, size: int = 0) -> None:
        """Begin with `size` bytes."""
        self._bytes = size
        self._wide = False
        self._last = b""
        self._values = ValueCounter()

    @property
    def size(self) -> int:
        """Return its bytes so far."""
        return self._bytes

    def fault(self, piece: bytes) -> str:
        """Return why the message is too large with its next piece, "" if it is not."""
        self._bytes += len(piece)
        self._wide = self._wide or is_wide(piece) or (self._last + piece[:1] == b"\\u")
        self._last = piece[-1:]
        self._values.feed(piece)
        if self._bytes > LARGEST_MESSAGE:
            return TOO_LARGE
        if self._wide and self._bytes > LARGEST_WIDE_MESSAGE:
            return TOO_WIDE
        return TOO_COMPLEX if self._values.is_over else ""


class Traffic:
    """What a connection has carried: how many lines were `skipped` because they are not messages, and any `fault`.

    `call` is the id of the last request that called a tool, `status` that of HTTP with which it was refused, `broken`
    why there was no answer at all; with `cancels_by_closing`, closing its stream cancels it. `unusable` has the tools
    of the last list that cannot be used, `version` is that of the protocol.
    """

    def __init__(self) -> None:
        self.skipped = 0
        self.fault = ""
        self.call: RequestId | None = None
        self.status = 0
        self.broken = ""
        self.cancels_by_closing = False
        self.version = _FIRST_VERSION
        self.unusable: list[UnusableTool] = []
        self._open: set[RequestId] = set()
        self._given_up: set[RequestId] = set()
        self._listening: set[RequestId] = set()
        self._lists: set[RequestId] = set()
        self._listed = 0
        self._is_asked = asyncio.Event()
        self._credit, self._credited = float(UNASKED_MOST), time.monotonic()

    async def pace(self, size: int) -> None:
        """Return when more may be read behind these bytes: at once while a request waits for its answer, else slowly.

        Nothing depends on what a server says unasked. One that says more than it should waits, and is not ended: it
        may be of use for the next call.
        """
        if self._open - self._listening:
            return
        self._is_asked.clear()
        now = time.monotonic()
        self._credit = min(UNASKED_MOST, self._credit + (now - self._credited) * UNASKED_RATE) - size
        self._credited = now
        if self._credit < 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_asked.wait(), -self._credit / UNASKED_RATE)

    def is_given_up(self, request: RequestId | None) -> bool:
        """Return whether the server was asked to stop this request."""
        return request in self._given_up

    def listens(self, request: RequestId | None) -> bool:
        """Return whether this request is a subscription, which stays open."""
        return request in self._listening

    def sent(self, message: SessionMessage) -> None:
        """Note what is sent."""
        request = message.message
        if isinstance(request, JSONRPCRequest):
            self._open.add(request.id)
            if request.method == _LISTEN:
                self._listening.add(request.id)
            else:
                self._is_asked.set()
        elif isinstance(request, JSONRPCNotification) and request.method == "notifications/cancelled":
            stopped: RequestId = (request.params or {}).get("requestId", "")
            self._open.discard(stopped)
            self._given_up.add(stopped)
        if isinstance(request, JSONRPCRequest) and request.method == "tools/call":
            self.call, self.status, self.broken = request.id, 0, ""
        if isinstance(request, JSONRPCRequest) and request.method == "tools/list":
            self._lists.add(request.id)
            if not (request.params or {}).get("cursor"):
                self.unusable, self._listed = [], 0

    def received(self, message: SessionMessage) -> SessionMessage:
        """Return what the SDK gets of a message: of a list of tools, those that can be used.

        An error without an id (the server could not read the request) gets that of the only request that waits.
        """
        answer = message.message
        if isinstance(answer, JSONRPCError) and answer.id is None and len(self._open) == 1:
            answer = answer.model_copy(update={"id": next(iter(self._open))})
            message = SessionMessage(answer, metadata=message.metadata)
        if isinstance(answer, JSONRPCError | JSONRPCResponse) and answer.id is not None:
            self._open.discard(answer.id)
        if not isinstance(answer, JSONRPCResponse) or answer.id not in self._lists:
            return message
        self._lists.discard(answer.id)
        tools: object = answer.result.get("tools")
        if not isinstance(tools, list):
            return message
        usable: list[object] = []
        for each in cast("list[object]", tools):
            if why := self._fault(each):
                self.unusable.append(UnusableTool(name=_name(each), why=why))
            else:
                self._listed += 1
                usable.append(each)
        result = {**answer.result, "tools": usable}
        return SessionMessage(answer.model_copy(update={"result": result}), metadata=message.metadata)

    def _fault(self, tool: object) -> str:
        """Return why a tool cannot be used, "" if it can."""
        if self._listed >= MOST_TOOLS:
            return f"the server lists more than {MOST_TOOLS} tools"
        if len(msgspec.json.encode(tool)) > LARGEST_TOOL:
            return f"its declaration has more than {LARGEST_TOOL // 1024} KB"
        page: dict[str, object] = {"tools": [tool]}
        if self.version != _FIRST_VERSION:  # fields of the page, which are not the tool's fault
            page |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        try:
            validate_server_result("tools/list", self.version, page)
            Tool.model_validate(tool, by_name=False)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(each) for each in first["loc"] if each not in ("tools", 0))
            return f"`{place}`: {first['msg']}" if place else str(first["msg"])
        return ""


def invalid_message_reason(why: str) -> str:
    """Return why a text is not a message, from what the SDK's types say of it."""
    found = re.search(r"Invalid JSON: ([^\n\[]+)", why)
    return f"it is not JSON ({found[1].strip()})" if found else "it is not a result or an error of JSON-RPC 2.0"


def _name(tool: object) -> str:
    name = cast("dict[str, object]", tool).get("name") if isinstance(tool, dict) else None
    return printable(valid_unicode(name))[:_LONGEST_NAME] if isinstance(name, str) and name else "(no name)"


def with_traffic(streams: TransportStreams, traffic: Traffic) -> TransportStreams:
    """Return the streams, which note in `traffic` what passes."""
    reading, writing = streams
    return _Received(reading, traffic), _Sent(writing, traffic)


class _Sent:
    """A stream of messages to the server."""

    def __init__(self, stream: WriteStream[SessionMessage], traffic: Traffic) -> None:
        self._stream = stream
        self._traffic = traffic

    async def send(self, item: SessionMessage, /) -> None:
        self._traffic.sent(item)
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._stream.__aexit__(exc_type, exc_val, exc_tb)


class _Received:
    """A stream of messages from the server."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception], traffic: Traffic) -> None:
        self._stream = stream
        self._traffic = traffic

    async def receive(self) -> SessionMessage | Exception:
        return self._checked(await self._stream.receive())

    def _checked(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        return self._traffic.received(item) if isinstance(item, SessionMessage) else item

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return self._checked(await anext(self._stream))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._stream.__aexit__(exc_type, exc_val, exc_tb)
