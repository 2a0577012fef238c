"""Server-sent events: the same events however the body is cut, and none that is longer than the limit."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.providers import event_stream
from laws import law

LINE_ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])
LINES = st.sampled_from(
    [
        b"data: one",
        b"data:two",
        b"data:  spaced",
        b"data",
        b"data: caf\xc3\xa9",
        b"data: \xff",
        b"event: ping",
        b"event:",
        b": a comment",
        b"id: 7",
        b"retry: 100",
        b"datax: no field",
        b" data: indented",
        b"",
        b"",
    ]
)
BODIES = st.lists(st.tuples(LINES, LINE_ENDS), max_size=30).map(
    lambda lines: b"".join(b"".join(line) for line in lines)
)


def as_the_standard_says(body: bytes) -> list[tuple[str, bytes]]:
    """Return the events of a whole body, read line by line as WHATWG's text tells."""
    events: list[tuple[str, bytes]] = []
    name, data = "", list[bytes]()
    *lines, _unended = re.split(rb"\r\n|\n|\r", body.removeprefix(b"\xef\xbb\xbf"))
    for line in lines:
        if not line:
            if data:
                events.append((name, b"\n".join(data)))
            name, data = "", []
        elif not line.startswith(b":"):
            field, _, value = line.partition(b":")
            value = value[1:] if value.startswith(b" ") else value
            if field == b"data":
                data.append(value)
            elif field == b"event":
                name = value.decode("utf-8", "replace")
    return events


def chunks_of(body: bytes, cuts: set[int]) -> list[bytes]:
    """Return the body as the chunks in which it comes."""
    places = [0, *sorted(cut for cut in cuts if cut < len(body)), len(body)]
    return [body[start:end] for start, end in itertools.pairwise(places)]


def fed(body: bytes, cuts: set[int]) -> list[tuple[str, bytes]]:
    """Return the events of a body that comes in chunks."""
    splitter = event_stream.EventSplitter()
    return [event for chunk in chunks_of(body, cuts) for event in splitter.feed(chunk)]


def until_too_long(chunks: Iterable[bytes]) -> tuple[list[tuple[str, bytes]], bool]:
    """Return the events that came, and whether one was too long."""
    splitter, events = event_stream.EventSplitter(), list[tuple[str, bytes]]()
    try:
        for chunk in chunks:
            for event in splitter.feed(chunk):
                events.append(event)
    except event_stream.EventTooLong:
        return events, True
    return events, False


@law()
@given(mark=st.booleans(), body=BODIES, cuts=st.sets(st.integers(0, 200)))
@example(mark=False, body=b"data: one\r\n\r\ndata: two\r\n\r\n", cuts={10, 12, 23})
@example(mark=True, body=b"data: one\n\n", cuts={1, 2, 3, 4})
@example(mark=False, body=b"event: a\r\ndata: b\r\r", cuts={9})
def test_an_event_is_the_same_however_the_body_is_cut(body: bytes, cuts: set[int], *, mark: bool) -> None:
    marked = b"\xef\xbb\xbf" * mark + body
    assert fed(marked, cuts) == as_the_standard_says(marked)


def test_an_event_that_the_server_does_not_end_never_came() -> None:
    assert fed(b"data: one\n\ndata: two\n", set()) == [("", b"one")]


@pytest.mark.parametrize(
    "chunks",
    [
        [b"data: " + b"x" * 1000],
        [b"x" * 600, b"x" * 600],
        [b"data: " + b"x" * 400 + b"\n"] * 3,
        [b"data: one\n\n", b": " + b"x" * 1000 + b"\n"],
        [b"data: \n" * 200],
    ],
)
def test_an_event_that_is_too_long_is_refused_as_it_comes(chunks: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "LONGEST_EVENT", 1000)
    assert until_too_long(chunks)[1]


def test_an_event_just_within_the_limit_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "LONGEST_EVENT", 1000)
    longest = b"data: " + b"x" * 994
    assert until_too_long([longest, b"\n\n"]) == ([("", b"x" * 994)], False)
    assert until_too_long([longest + b"x", b"\n\n"]) == ([], True)


def test_only_one_event_is_measured_not_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "LONGEST_EVENT", 1000)
    splitter = event_stream.EventSplitter()
    events = [event for _ in range(10) for event in splitter.feed(b"data: " + b"x" * 500 + b"\n\n")]
    assert len(events) == 10


@law()
@given(bodies=st.lists(BODIES, max_size=3), size=st.integers(0, 40), cuts=st.sets(st.integers(0, 300)))
@example(bodies=[b"data: one\n\n"], size=33, cuts=set())
@example(bodies=[b"data: one\n\n", b"data: two\n\n"], size=33, cuts={3, 20})
def test_what_came_before_a_too_long_one_comes_however_it_is_cut(
    bodies: list[bytes], size: int, cuts: set[int]
) -> None:
    """Also the place of the error does not depend on the cuts."""
    body = (b"\ndata: " + b"x" * size + b"\n\n").join([*bodies, b""])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_stream, "LONGEST_EVENT", 32)
        in_one_piece, by_byte, cut = ({1_000_000}, set(range(len(body))), cuts)
        events = [until_too_long(chunks_of(body, each)) for each in (in_one_piece, by_byte, cut)]
    assert events[0] == events[1] == events[2]
    assert events[0][1] or size <= 26 or not bodies


class Counted(bytes):
    """A chunk that counts the bytes of what is made of it, and those that are searched."""

    total = 0

    @classmethod
    def counted(cls, data: bytes) -> Counted:
        cls.total += len(data)
        return cls(data)

    def __add__(self, other: Any) -> Counted:
        return self.counted(bytes(self) + other)

    def __radd__(self, other: Any) -> Counted:
        return self.counted(other + bytes(self))

    def __contains__(self, part: Any) -> bool:
        return part in bytes(self.counted(self))

    def splitlines(self, keepends: bool = False) -> list[bytes]:  # noqa: FBT001, FBT002 - as of bytes
        return [Counted(line) for line in bytes(self.counted(self)).splitlines(keepends)]


@law(20)
@given(lines=st.lists(st.integers(0, 3_000), min_size=1, max_size=4), step=st.integers(1, 100))
@example(lines=[5_000], step=1)
@example(lines=[1] * 2_000, step=1_000)
@example(lines=[1] * 2_000, step=100_000)
def test_the_work_grows_with_the_body_and_not_with_its_pieces(lines: list[int], step: int) -> None:
    body = b"".join(b"data: " + b"x" * length + b"\n" for length in lines) + b"\n"
    Counted.total = 0
    splitter = event_stream.EventSplitter()
    events = [event for at in range(0, len(body), step) for event in splitter.feed(Counted(body[at : at + step]))]
    assert len(events) == 1
    assert Counted.total <= 6 * len(body) + 100
