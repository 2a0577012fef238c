"""The inline screen's frames: which have all rows, and that one of them is always drawn."""

from __future__ import annotations

import pytest
from textual.app import App

from holdfast.ui.tui.terminal.frames import begins_rows, is_full_frame, pieces_of
from holdfast.ui.tui.terminal.inline_screen import MOST_REDRAWS, InlineScreen

FAMILY = "👩\u200d👩\u200d👧"


def frame(*rows: str) -> str:
    """Return a frame with these rows, as Textual writes it."""
    return "\n".join(f"\x1b[{number};1H{row}" for number, row in enumerate(rows, 1))


def test_a_frame_is_whole_if_every_row_is_filled_as_textual_counts() -> None:
    assert is_full_frame(pieces_of(frame("abcd", "\x1b[1mef\x1b[0mgh")), columns=4, rows=2)
    assert not is_full_frame(pieces_of(frame("abcd", "efg")), columns=4, rows=2)
    assert not is_full_frame(pieces_of(frame("abcd")), columns=4, rows=2)
    divided = f"{FAMILY[:1]}\x1b[7m{FAMILY[1:2]}\x1b[0m{FAMILY[2:]}"
    assert is_full_frame(pieces_of(frame(divided)), columns=4, rows=1), "the cursor stands in the emoji"
    assert not begins_rows(pieces_of("\x1b[1;1Ha\x1b[2;3Hb"), 2)


async def test_a_row_that_seems_too_short_is_drawn_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the width of its characters is: else the screen would be asked for again and again, and never drawn."""
    monkeypatch.setenv("COLUMNS", "10")
    monkeypatch.setenv("LINES", "24")
    app: App[object] = App()
    async with app.run_test(size=(10, 4)):
        screen = InlineScreen(app)
        short = frame("one", "two", "three", "four")
        for _ in range(MOST_REDRAWS):
            assert screen._placed(short, pieces_of(short)) == ""
        assert "three" in screen._placed(short, pieces_of(short))
        part = "\x1b[2;3Hb"
        assert "b" in screen._placed(part, pieces_of(part)), "and the next may be a part"
        screen.clear_background("1;2")
        for _ in range(2 * MOST_REDRAWS):
            assert screen._placed(part, pieces_of(part)) == "", "a part does not stand for all rows"
