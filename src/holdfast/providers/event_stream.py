"""The body of an answer: server-sent events, or what came in their place.

Gateways answer so when the server behind them fails, whatever the content type says. What came is read as what it is:
an error by its own code, a page by its title, and the document of an answer as if the request had not asked for a
stream.

Splits a body of server-sent events into events, whatever chunks it arrives in, with a limit on each event's length.

By the standard (WHATWG HTML, "Server-sent events"): lines end with LF, CR or CRLF; a blank line ends an event; a line
that begins with a colon is a comment; an event without a blank line after it is dropped. Data stays bytes, because JSON
is decoded from bytes, and a library that decodes lines first would replace what is not UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from holdfast.errors import ProviderFailed
from holdfast.history.formats.format import is_object
from holdfast.providers.error_mapping import as_sentence, find_row, row_fault, stream_failure, unnamed
from holdfast.providers.error_words import is_web_page, page_title
from holdfast.providers.protocols.protocol import Delta, ResponseReader
from holdfast.typed_data import decode_json

LONGEST_EVENT = 8 * 1024 * 1024
"""Bytes of one event, or of a response that is not streamed; enough for a file in one call's arguments."""

_MARK = b"\xef\xbb\xbf"  # the byte order mark, which may stand before the first line


class EventTooLong(Exception):
    """An event is longer than `LONGEST_EVENT`."""


class EventSplitter:
    """The state between two chunks: the unfinished line and the unfinished event."""

    def __init__(self) -> None:
        self._line = bytearray()  # unfinished; grown in place: a copy for each small piece takes quadratic time
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0
        self._after_cr = False  # the last chunk ended with CR: an LF at the beginning of the next belongs to it
        self._first = True

    def feed(self, chunk: bytes) -> Iterator[tuple[str, bytes]]:
        """Yield the events that the chunk completes, each as its name ("" if it has none) and its data.

        Raise `EventTooLong` after the events before it. Consume all events before the next call.
        """
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        if not chunk:
            return
        self._after_cr = chunk.endswith(b"\r")
        lines, ended = chunk.splitlines(), chunk.endswith((b"\n", b"\r"))
        if self._line or not ended:
            self._line.extend(lines[0])
            if ended or len(lines) > 1:
                lines[0] = bytes(self._line)
                self._line = bytearray(b"" if ended else lines.pop())
            else:
                lines = []
        for line in lines:
            self._read_line(line)
            if not line and (event := self._end_event()) is not None:
                yield event
        if self._size + len(self._line) > LONGEST_EVENT:
            raise EventTooLong

    def rest(self) -> tuple[str, bytes] | None:
        """Return the event that the end of the body left without its blank line, None if it may be cut.

        Servers close the connection after the last line. An event that is whole JSON was not cut.
        """
        if self._line:
            self._read_line(bytes(self._line))
            self._line = bytearray()
        event = self._end_event()
        return event if event is not None and (_are_messages([event[1]]) or _lines_of(event[1])) else None

    def _read_line(self, line: bytes) -> None:
        self._size += len(line)
        if self._size > LONGEST_EVENT:
            raise EventTooLong
        if self._first:
            self._first = False
            line = line.removeprefix(_MARK)
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")

    def _end_event(self) -> tuple[str, bytes] | None:
        name, data = self._name, self._data
        self._name, self._data, self._size = "", [], 0
        return (name, b"\n".join(data)) if data else None


# --- what the data of an event is ---

_DONE = b"[DONE]"
_ALIVE = frozenset({"ping", "heartbeat", "keepalive", "keep-alive"})
"""Names of events that only say that the connection lives."""


def deltas_in(model: str, name: str, data: bytes, reader: ResponseReader) -> Iterable[Delta]:
    """Read the messages of the protocol that an event holds. Raise `ProviderFailed` for a text in their place."""
    return (delta for message in _messages_in(model, name, data) for delta in reader.event(name, message))


def _messages_in(model: str, name: str, data: bytes) -> Iterable[bytes]:
    """Return the messages of an event: none if it is blank, several if a server left out the blank lines."""
    data = data.strip()
    if not data or (name.casefold() in _ALIVE and not data.startswith(b"{")):
        return ()
    if data.startswith(b"{"):
        return _lines_of(data) or (data,)
    if data.startswith(_DONE):
        return (data,)
    if name == "error":
        raise stream_failure(model, data.decode("utf-8", "replace"))
    raise text_failure(model, data[:LONGEST_BODY_TEXT])


def _lines_of(data: bytes) -> list[bytes]:
    """Return the lines of the data if each is a message, none if it is one message in several lines."""
    lines = data.split(b"\n") if b"\n" in data else []
    return lines if _are_messages(lines) else []


def _are_messages(lines: list[bytes]) -> bool:
    return all(line == _DONE or is_object(_decoded(line)) for line in lines)


def is_stream(begun: bytes) -> bool:
    """Return whether a body that begins so is a stream of events, whatever its content type says."""
    return begun.removeprefix(_MARK).lstrip().startswith(_BEGINNINGS)


_BEGINNINGS = (b"data:", b"event:", b"id:", b"retry:", b":")
LONGEST_BEGINNING = len(_MARK) + max(map(len, _BEGINNINGS))
"""Bytes of a body by which a stream is recognized."""


# --- plain body ---

_FIELDS = (b"data", b"event", b"id", b"retry", b"")
"""The fields of a stream of events; a line without a name is a comment."""


LONGEST_BODY_TEXT = 64 * 1024
"""Bytes of a text that is no document to look at."""


def expect_json(model: str, body: bytes) -> None:
    """Raise `ProviderFailed` if a body is a page or a text, where the request of `model` asked for a document."""
    begun = body[:LONGEST_BODY_TEXT].strip()
    if begun and not begun.startswith((b"{", b"[", _MARK)):
        raise text_failure(model, begun)


def events_of_plain(model: str, body: bytes, reader: ResponseReader) -> Iterable[Delta]:
    """Return the events of a whole answer, none if nothing came. Raise `ProviderFailed` for anything else."""
    body = body.strip()
    if not any(line.partition(b":")[0] not in _FIELDS for line in body.splitlines() if line.strip()):
        return ()
    return deltas_of(model, body, reader)


def deltas_of(model: str, body: bytes, reader: ResponseReader) -> Iterable[Delta]:
    """Return the events of a whole answer: a document, or all messages of a stream as lines or as one list.

    Raise `ProviderFailed` for anything else.
    """
    body = body.strip()
    messages = _messages_of(body)
    if messages is not None:
        return [delta for message in messages for delta in reader.event("", message)]
    if _is_answer(body):
        return reader.document(body)
    raise text_failure(model, body[:LONGEST_BODY_TEXT])


def document_deltas(model: str, body: bytes, reader: ResponseReader) -> Iterable[Delta]:
    """Return the events of the document that was asked for. Raise `ProviderFailed` for anything else."""
    body = body.removeprefix(_MARK).strip()
    if body.startswith(b"[") or _messages_of(body) is not None:
        return deltas_of(model, body, reader)
    expect_json(model, body)
    return reader.document(body)


def _messages_of(body: bytes) -> list[bytes] | None:
    """Return the messages of a body that has them line by line, or as a list, as Gemini sends it; None if it has not.

    An error is none of them.
    """
    if body.startswith(b"["):
        try:
            values = decode_json(body, list[msgspec.Raw])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        found = [bytes(each) for each in values]
    else:
        found = [line for line in body.splitlines() if line.strip()]
    several = len(found) > 1 or (found and body.startswith(b"["))
    return found if several and all(map(_is_message, found)) else None


def _is_message(data: bytes) -> bool:
    value = _decoded(data)
    return is_object(value) and bool(value.keys() & _OF_MESSAGES) and not value.get("error")


def _decoded(data: bytes) -> object:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


_OF_MESSAGES = frozenset({"choices", "candidates", "type", "usageMetadata"})
"""Fields that the messages of a stream have, in one protocol or another."""


def _is_answer(body: bytes) -> bool:
    """Return whether the body is an object that is not only an error."""
    value = _decoded(body)
    return is_object(value) and bool(value.keys() & {"choices", "content", "output", "candidates"})


def page_failure(name: str, text: str) -> ProviderFailed:
    """Return the failure for a web page with status 200; the title may say that a server behind it is busy."""
    title = page_title(text)
    row = find_row((), title, None)
    busy = re.search(r"\b50[0234]\b", title) is not None or (row is not None and row.recovery == "wait")
    message = f"Model {name!r} gave no answer: {title}."
    return ProviderFailed(message, fault="overloaded" if busy else "web_page")


def text_failure(name: str, body: bytes) -> ProviderFailed:
    """Return the failure for a body with status 200 that is not of the protocol: an error as JSON, a page or a text."""
    text = body.decode("utf-8", "replace").strip()
    if is_web_page(text):
        return page_failure(name, text)
    try:
        payload: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        payload = None
    if isinstance(payload, dict | list) and payload:
        return stream_failure(name, payload)  # pyright: ignore[reportUnknownArgumentType] - JSON from outside
    row = find_row((), unnamed(text, name), None)
    fault = None if row is None else row_fault(row)
    return ProviderFailed(
        f"Model {name!r} sent a text in place of an answer: {as_sentence(text)}",
        fault=fault or "malformed",
        refusal="" if row is None or fault is None else row.id,
    )
