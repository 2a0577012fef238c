"""Server-sent events: the same events however the body is cut, and none that is longer than the limit."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.providers import sse
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


def fed(body: bytes, cuts: set[int]) -> list[tuple[str, bytes]]:
    """Return the events of a body that comes in chunks."""
    places = [0, *sorted(cut for cut in cuts if cut < len(body)), len(body)]
    splitter = sse.EventSplitter()
    return [event for start, end in itertools.pairwise(places) for event in splitter.feed(body[start:end])]


@law()
@given(mark=st.booleans(), body=BODIES, cuts=st.sets(st.integers(0, 200)))
@example(mark=False, body=b"data: one\r\n\r\ndata: two\r\n\r\n", cuts={10, 12, 23})
@example(mark=True, body=b"data: one\n\n", cuts={1, 2, 3, 4})
@example(mark=False, body=b"event: a\r\ndata: b\r\r", cuts={9})
def test_an_event_is_the_same_however_the_body_is_cut(body: bytes, cuts: set[int], *, mark: bool) -> None:
    whole = b"\xef\xbb\xbf" * mark + body
    assert fed(whole, cuts) == as_the_standard_says(whole)


def test_an_event_that_nobody_ends_never_came() -> None:
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
    monkeypatch.setattr(sse, "LONGEST_EVENT", 1000)
    splitter = sse.EventSplitter()
    with pytest.raises(sse.EventTooLong):
        list(map(splitter.feed, chunks))


def test_only_one_event_is_measured_not_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LONGEST_EVENT", 1000)
    splitter = sse.EventSplitter()
    events = [event for _ in range(10) for event in splitter.feed(b"data: " + b"x" * 500 + b"\n\n")]
    assert len(events) == 10
