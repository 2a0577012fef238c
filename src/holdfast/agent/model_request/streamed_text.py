"""The text of one answer that has arrived and is not journalled yet."""

from __future__ import annotations

from holdfast.session.journal.entries import ResponseCheckpoint
from holdfast.text import valid_unicode


class StreamedText:
    """The text of an answer since the last checkpoint, in the order of three clocks.

    Each piece is shown at once. After 0.2 s or 4 KB it is kept, so that a kill does not lose it. After a second, and
    before any other fact, it is journalled, so that a power loss does not either.
    """

    def __init__(self, step: int) -> None:
        """Create it empty, for the answer of a step."""
        self._step = step
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._kept_pieces = 0, 0  # how many pieces of each are kept
        self.bytes = 0
        """The bytes since the last checkpoint."""
        self.unkept = 0
        """The bytes that a kill would lose."""

    def add(self, piece: str, *, thinking: bool = False) -> None:
        """Add a piece that has arrived."""
        (self._thinking if thinking else self._text).append(piece)
        size = len(piece) if piece.isascii() else len(piece.encode(errors="replace"))
        self.bytes += size
        self.unkept += size

    def __bool__(self) -> bool:
        """Return whether there is text that is not journalled."""
        return bool(self._text or self._thinking)

    def checkpoint(self) -> ResponseCheckpoint | None:
        """Return the entry of all text since the last checkpoint, None if there is none; `clear` follows its append."""
        return self._entry(self._text, self._thinking)

    def clear(self) -> None:
        """Forget the text, which is journalled."""
        self._text.clear()
        self._thinking.clear()
        self._kept_pieces = 0, 0
        self.bytes = self.unkept = 0

    def take_unkept(self) -> ResponseCheckpoint | None:
        """Return the text that was added since the last call or checkpoint, None if there is none."""
        text, thinking = self._kept_pieces
        entry = self._entry(self._text[text:], self._thinking[thinking:])
        self._kept_pieces = len(self._text), len(self._thinking)
        self.unkept = 0
        return entry

    def _entry(self, text: list[str], thinking: list[str]) -> ResponseCheckpoint | None:
        if not (text or thinking):
            return None
        return ResponseCheckpoint(
            step=self._step, text=valid_unicode("".join(text)), thinking=valid_unicode("".join(thinking))
        )
