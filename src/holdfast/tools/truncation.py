"""Truncates long output: its beginning and its end, and one exact sentence about what is left out.

A cut never splits a character. What was left out is counted, never guessed.
"""

from __future__ import annotations

import codecs

_CONTINUATION = bytes(range(0x80, 0xC0))
_CONTINUATION_MOST = 3


class HeadTail:
    """The beginning and the end of a byte stream, `limit` bytes in total."""

    __slots__ = ("_head", "_head_size", "_lines", "_out", "_tail", "_tail_size")

    def __init__(self, limit: int) -> None:
        self._head_size = limit // 2
        self._tail_size = limit - self._head_size
        self._head = bytearray()
        self._tail = bytearray()
        self._out = 0
        self._lines = 0

    def add(self, data: bytes) -> None:
        """Append the next bytes of the stream. They may begin or end inside a character."""
        room = self._head_size - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        excess = len(self._tail) - self._tail_size
        if excess > 0:
            self._out += excess
            self._lines += self._tail.count(b"\n", 0, excess)
            del self._tail[:excess]

    def text(self) -> str:
        """Return the whole stream if it was short, else beginning, sentence and end. Invalid UTF-8 becomes U+FFFD."""
        if not self._out:
            return (self._head + self._tail).decode("utf-8", "replace")
        head, cut = _decoded(self._head)
        split = self._tail[:_CONTINUATION_MOST]
        tail = split.lstrip(_CONTINUATION) + self._tail[_CONTINUATION_MOST:]
        size = self._out + len(cut) + len(self._tail) - len(tail)
        sentence = f"\n[... {size} bytes ({self._lines} line ends) left out here ...]\n"
        return head + sentence + tail.decode("utf-8", "replace")


def cap(text: str, limit: int) -> str:
    """Return `text`, or if it exceeds `limit` bytes of UTF-8 its beginning and end with a sentence in between."""
    output = HeadTail(limit)
    output.add(text.encode("utf-8", "replace"))
    return output.text()


def beginning(data: bytes) -> str:
    """Return the text at the beginning of `data`, without a character that its end cuts in two."""
    return _decoded(data)[0]


def escape_newlines(text: str) -> str:
    """Return `text` with line ends escaped, for a title."""
    return text.replace("\r", "\\r").replace("\n", "\\n")


def _decoded(data: bytes | bytearray) -> tuple[str, bytes]:
    """Return the text of `data`, and the bytes of a character that its end cuts in two."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(bytes(data))
    return text, decoder.getstate()[0]
