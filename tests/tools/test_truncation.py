from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from holdfast.tools.truncation import HeadTail, beginning, cap

SENTENCE = re.compile(r"\n\[\.\.\. (\d+) bytes \((\d+) line ends\) left out here \.\.\.\]\n")


def test_short_text_stays_as_it_is() -> None:
    assert cap("", 10) == ""
    assert cap("ten bytes!", 10) == "ten bytes!"


def test_long_text_keeps_head_and_tail() -> None:
    assert cap("aaaaa\nbbb\nccccc", 10) == "aaaaa\n[... 5 bytes (2 line ends) left out here ...]\nccccc"


@given(st.text(), st.integers(2, 40))
def test_what_is_left_out_is_counted_exactly(text: str, limit: int) -> None:
    data = text.encode()
    capped = cap(text, limit)
    if len(data) <= limit:
        assert capped == text
        return
    sentence = SENTENCE.search(capped)
    assert sentence
    head, tail = capped[: sentence.start()], capped[sentence.end() :]
    assert text.startswith(head)
    assert text.endswith(tail)
    missing = data[len(head.encode()) : len(data) - len(tail.encode())]
    assert (int(sentence[1]), int(sentence[2])) == (len(missing), missing.count(b"\n"))
    assert len(head.encode()) + len(tail.encode()) <= limit


@given(st.lists(st.binary(max_size=30), max_size=20), st.integers(2, 40))
def test_pieces_make_no_difference(pieces: list[bytes], limit: int) -> None:
    one, many = HeadTail(limit), HeadTail(limit)
    one.add(b"".join(pieces))
    for piece in pieces:
        many.add(piece)
    assert one.text() == many.text()


def test_an_endless_stream_stays_small() -> None:
    output = HeadTail(1000)
    for _ in range(10_000):
        output.add(b"0123456789abcdef\n" * 10)
    assert len(output.text()) < 1100
    assert "[... 1699000 bytes (99941 line ends)" in output.text()


def test_a_cut_never_splits_a_character() -> None:
    for limit in range(2, 30):
        assert "\ufffd" not in cap("häß€𝄞" * 20, limit)
    assert beginning("a€".encode()[:-1]) == "a"
    assert beginning(b"a\xff") == "a\ufffd"
