"""What came of one response, counted: events and characters, bytes and keep-alives, and when. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.agent.model import CallDelta, Finished, StreamEvent, TextDelta, ThinkingDelta

_KEEP_ALIVE = re.compile(rb"[\r\n](?::|event: ?ping)")
_TAIL = 12  # bytes of a match that the chunk before may hold


@dataclass(slots=True, kw_only=True)
class Counts:
    """The counts of a response so far; times are seconds of whatever clock `began` is of."""

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
            case Finished():
                pass

    def chunk(self, chunk: bytes) -> None:
        """Count bytes as they come from the wire, and the comments and pings among them that keep it open."""
        seen = self.tail + chunk
        self.bytes += len(chunk)
        self.keep_alives += sum(found.end() > len(self.tail) for found in _KEEP_ALIVE.finditer(seen))
        self.tail = seen[-_TAIL:]

    def told(self, now: float) -> dict[str, object]:
        """Return the counts as a record has them."""
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
    """Return whole milliseconds."""
    return round(seconds * 1000)
