"""The live region on a terminal: what was printed is there once, in order, and the region below it, whatever comes."""

from __future__ import annotations

import copy
from typing import Literal

import pyte
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ui.tui.terminal.frames import PlacedText, is_full_frame, pieces_of
from holdfast.ui.tui.terminal.live_region import LiveRegion
from laws import law

COLUMNS, LINES = 20, 8

Step = tuple[Literal["print"], int] | tuple[Literal["frame"], int] | tuple[Literal["erase"], int]


class Tmux(pyte.HistoryScreen):
    """A terminal that keeps what is cleared from its first place, as tmux does with `scroll-on-clear`."""

    def erase_in_display(self, how: int = 0, *arguments: int, **named: bool) -> None:
        if how == 0 and (self.cursor.x, self.cursor.y) == (0, 0):
            used = [at for at, line in enumerate(self.display) if line.strip()]
            self.history.top.extend(copy.copy(self.buffer[at]) for at in range(max(used, default=-1) + 1))
        super().erase_in_display(how, *arguments, **named)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("print"), st.integers(0, 12)),
        st.tuples(st.just("frame"), st.integers(1, LINES)),
        st.tuples(st.just("erase"), st.just(0)),
    ),
    max_size=12,
)


def frame(rows: int, mark: str) -> str:
    """Return a frame as Textual writes it: every row at its place, then the cursor."""
    lines = [f"\x1b[{row};1H\x1b[7m{f'{mark}.{row}':{COLUMNS}}\x1b[0m" for row in range(1, rows + 1)]
    return "\n".join(lines) + "\x1b[2;5H"


@law()
@given(STEPS, st.integers(0, LINES - 1))
def test_text_above_and_region_below(steps: list[Step], begins_at: int) -> None:
    screen = Tmux(COLUMNS, LINES, history=1000)
    terminal = pyte.Stream(screen)
    before = [f"shell{number}" for number in range(begins_at)]
    terminal.feed("".join(f"{line}\r\n" for line in before))
    region = LiveRegion()
    printed: list[str] = []
    shown: list[str] = []
    for number, (what, size) in enumerate(steps):
        match what:
            case "print":
                lines = [f"p{number}.{at}" for at in range(size)]
                terminal.feed(region.printed(lines))
                printed += lines
                shown = []
            case "frame":
                terminal.feed(region.frame(pieces_of(frame(size, f"f{number}")), size))
                shown = [f"f{number}.{row}" for row in range(1, size + 1)]
            case "erase":
                terminal.feed(region.erased())
                shown = []
        rows = ["".join(row[at].data for at in range(COLUMNS)).rstrip() for row in screen.history.top]
        rows += [line.rstrip() for line in screen.display]
        assert rows[: len(before) + len(printed) + len(shown)] == [*before, *printed, *shown]
        assert not any(rows[len(before) + len(printed) + len(shown) :])
        assert screen.cursor.x == 0


def test_a_part_of_a_frame_changes_only_its_place() -> None:
    screen = pyte.Screen(COLUMNS, LINES)
    terminal = pyte.Stream(screen)
    region = LiveRegion()
    terminal.feed(region.frame(pieces_of(frame(4, "old")), 4))
    terminal.feed(region.frame(pieces_of("\x1b[3;5Hnew\x1b[1;1H"), 4))
    assert [line.rstrip() for line in screen.display[:4]] == ["old.1", "old.2", "old.new", "old.4"]


def test_a_frame_is_whole_with_every_row_from_end_to_end() -> None:
    pieces = pieces_of(frame(3, "a"))
    assert is_full_frame(pieces, columns=COLUMNS, rows=3)
    assert not is_full_frame(pieces, columns=COLUMNS + 1, rows=3)
    assert not is_full_frame(pieces, columns=COLUMNS, rows=4)
    assert not is_full_frame(pieces[1:], columns=COLUMNS, rows=3)
    assert is_full_frame(pieces_of("\x1b[1;1H\x1b]8;;http://x\x1b\\漢字\x1b]8;;\x1b\\"), columns=4, rows=1)


def test_other_output_is_no_frame() -> None:
    assert pieces_of("\x1b[?25l") == ()
    assert pieces_of("title\x1b[1;1H") == ()
    assert pieces_of("\x1b[2;3Hx\n\x1b[3;3Hy") == (PlacedText(2, 3, "x"), PlacedText(3, 3, "y"))
