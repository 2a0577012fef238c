"""The bounds of what a model may send, in one answer and in the answers of one turn. Pure.

How it works. A model, or a server in its place, may send without an end. Each event is counted before anything keeps
it. The first one over a bound is not kept, the connection is closed, and the answer ends there as a flood. So memory,
disk and the time of a stop depend on the bounds, not on what a server can send.

Two places count. `AnswerSize` counts the deltas of any `Model`, where the agent puts them together. `WireSize` counts
the events and bytes of a connection, because a server may also send what never becomes a delta.

Example: an answer of 7 MiB is complete. Of one that goes on, 8 MiB arrive; its first and last 32 KiB are kept.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from holdfast.providers.model import CallDelta, TextDelta, ThinkingDelta
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart

MIB = 1024 * 1024

MOST_TEXT = 8 * MIB
"""Bytes of text, thinking and arguments together in one answer."""

MOST_TURN_TEXT = 64 * MIB
"""Bytes of text, thinking and arguments together in all answers of a turn."""

MOST_CALLS = 4_096
"""Calls in one answer."""

MOST_PARTS = 4_096
"""Texts and pieces of thinking in one answer; most answers have one of each."""

LONGEST_CALL_NAME = 1_024
"""Characters of the name of a call."""

MOST_EVENTS = 200_000
"""Events of one answer. A token is at most one, and no model writes as many tokens in one answer."""

MOST_WIRE_BYTES = 64 * MIB
"""Bytes of one response as they arrive; a token takes a few hundred."""


class Flood(Exception):
    """A bound is exceeded; the message says which, after "sent"."""


class AnswerSize:
    """Counts the deltas of one answer. `room` is how many bytes of text the turn has left for it."""

    __slots__ = ("_calls", "_events", "_most", "_of_turn", "bytes")

    def __init__(self, room: int = MOST_TURN_TEXT) -> None:
        self.bytes = 0
        self._most = min(room, MOST_TEXT)
        self._of_turn = room < MOST_TEXT
        self._events = 0
        self._calls: set[int] = set()

    def add(self, delta: TextDelta | ThinkingDelta | CallDelta) -> None:
        """Count a delta. Raise `Flood` if the answer is too large with it."""
        self._events += 1
        if self._events > MOST_EVENTS:
            raise too_many_events()
        if isinstance(delta, CallDelta):
            self.bytes += size_of(delta.name) + size_of(delta.arguments)
            if delta.index not in self._calls:
                self._calls.add(delta.index)
                check_calls(len(self._calls))
        else:  # for every token: no call that can be spared
            text = delta.text
            self.bytes += len(text) if text.isascii() else size_of(text)
        if self.bytes > self._most:
            raise too_much_text(of_turn=self._of_turn)

    def finish(self, parts: Iterable[Part]) -> None:
        """Count the parts of the complete answer, of which deltas may have told nothing. Raise `Flood`."""
        total, calls = 0, 0
        for part in parts:
            total += _part_size(part)
            calls += isinstance(part, CallPart)
        check_calls(calls)
        self.bytes = max(self.bytes, total)
        if self.bytes > self._most:
            raise too_much_text(of_turn=self._of_turn)


class WireSize:
    """Counts the bytes and events of one response as it arrives."""

    __slots__ = ("_bytes", "_events")

    def __init__(self) -> None:
        self._bytes = 0
        self._events = 0

    def add_bytes(self, count: int) -> None:
        """Count bytes. Raise `Flood` if the response is too long with them."""
        self._bytes += count
        if self._bytes > MOST_WIRE_BYTES:
            raise Flood(f"more than {MOST_WIRE_BYTES // MIB} MiB in one response")

    def add_event(self) -> None:
        """Count an event. Raise `Flood` if the response has too many with it."""
        self._events += 1
        if self._events > MOST_EVENTS:
            raise too_many_events()


def answer_room(received: int) -> int:
    """Return how many bytes of text the turn has left after so many."""
    return max(MOST_TURN_TEXT - received, 0)


def check_calls(count: int) -> None:
    """Raise `Flood` if an answer has too many calls."""
    if count > MOST_CALLS:
        raise Flood(f"more than {MOST_CALLS:,} calls in one answer")


def check_parts(count: int) -> None:
    """Raise `Flood` if an answer has too many parts that are not calls."""
    if count > MOST_PARTS:
        raise Flood(f"more than {MOST_PARTS:,} separate texts and pieces of thinking in one answer")


def check_name(length: int) -> None:
    """Raise `Flood` if the name of a call is too long."""
    if length > LONGEST_CALL_NAME:
        raise Flood(f"a call whose name has more than {LONGEST_CALL_NAME:,} characters")


def too_many_events() -> Flood:
    """Return the failure of an answer with too many events."""
    return Flood(f"more than {MOST_EVENTS:,} events in one answer")


def too_much_text(*, of_turn: bool) -> Flood:
    """Return the failure of an answer, or of a turn, with too much text."""
    most, where = (MOST_TURN_TEXT, "in the answers of one turn") if of_turn else (MOST_TEXT, "in one answer")
    return Flood(f"more than {most // MIB} MiB of text, thinking and arguments {where}")


def size_of(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _part_size(part: Part) -> int:
    match part:
        case TextPart(text=text):
            return size_of(text)
        case ThinkingPart(text=text, signature=signature, details=details):
            return size_of(text) + size_of(signature or "") + _details_size(details)
        case CallPart(name=name, arguments=arguments, details=details):
            return size_of(name) + size_of(arguments) + _details_size(details)


def _details_size(details: dict[str, object] | None) -> int:
    try:
        return 0 if details is None else len(msgspec.json.encode(details))
    except (UnicodeEncodeError, TypeError, OverflowError, RecursionError):
        return 0  # not kept: see `response_stream.py`
