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
    if _is_answer(body):
        return reader.document(body)
    raise text_failure(model, body[:LONGEST_BODY_TEXT])


def _is_answer(body: bytes) -> bool:
    """Return whether the body is an object that is not only an error."""
    try:
        value: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
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
