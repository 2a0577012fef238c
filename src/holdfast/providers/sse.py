"""Splits a body of server-sent events into events, whatever chunks it arrives in, with a limit on each event's length.

By the standard (WHATWG HTML, "Server-sent events"): lines end with LF, CR or CRLF; a blank line ends an event; a line
that begins with a colon is a comment; an event without a blank line after it is dropped. Data stays bytes, because JSON
is decoded from bytes, and a library that decodes lines first would replace what is not UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterator

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
