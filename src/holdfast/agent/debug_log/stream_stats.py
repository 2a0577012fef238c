"""Statistics of one streamed response: events, characters, bytes, keep-alives and times. Pure."""

from __future__ import annotations

import re

import msgspec

from holdfast.providers.model import CallDelta, StreamEvent, StreamFinished, TextDelta, ThinkingDelta

_KEEP_ALIVE = re.compile(rb"[\r\n](?::|event: ?ping)")
_TAIL = 12  # bytes of a match that may be in the previous chunk


class Counts(msgspec.Struct, kw_only=True):
    """The statistics so far. Times are seconds of the clock that `began` was read from."""

    began: float
    events: int = 0
    text: int = 0
    thinking: int = 0
    arguments: int = 0
    bytes: int = 0
    keep_alives: int = 0
    first_event: float | None = None
    last_event: float | None = None
    tail: bytes = b"\n"

    def event(self, event: StreamEvent, now: float) -> None:
        """Count an event."""
        self.events += 1
        self.last_event = now
        if self.first_event is None:
            self.first_event = now
        match event:
            case TextDelta(text=text):
                self.text += len(text)
            case ThinkingDelta(text=text):
                self.thinking += len(text)
            case CallDelta(arguments=arguments):
                self.arguments += len(arguments)
            case StreamFinished():
                pass

    def chunk(self, chunk: bytes) -> None:
        """Count received bytes, and the comments and pings among them that only keep the connection open."""
        seen = self.tail + chunk
        self.bytes += len(chunk)
        self.keep_alives += sum(found.end() > len(self.tail) for found in _KEEP_ALIVE.finditer(seen))
        self.tail = seen[-_TAIL:]

    def as_fields(self, now: float) -> dict[str, object]:
        """Return the statistics as fields of a log record."""
        return {
            "events": self.events,
            "text": self.text,
            "thinking": self.thinking,
            "arguments": self.arguments,
            "bytes": self.bytes,
            "keep_alives": self.keep_alives,
            "ms": ms(now - self.began),
            "ms_to_first_event": None if self.first_event is None else ms(self.first_event - self.began),
            "ms_since_last_event": None if self.last_event is None else ms(now - self.last_event),
        }


def ms(seconds: float) -> int:
    """Return seconds as whole milliseconds."""
    return round(seconds * 1000)
