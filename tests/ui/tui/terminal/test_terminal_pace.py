"""Pacing: a terminal that is behind is not drawn to, one that never answers is never waited for."""

from __future__ import annotations

import pytest
from textual._xterm_parser import XTermParser
from textual.events import Key

from holdfast.ui.tui.terminal.frames import PlacedText
from holdfast.ui.tui.terminal.terminal_pace import (
    ANSWER_LOST,
    ESCAPE_KEY,
    EVERY,
    OVERDUE,
    STATUS_ANSWER,
    STATUS_QUESTION,
    Pacing,
    ShownRows,
    StatusAnswers,
    lowest,
)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_one_that_never_answers_is_never_waited_for() -> None:
    clock = Clock()
    pacing = Pacing(clock)
    assert pacing.question(10) == STATUS_QUESTION
    for clock.now in (1.0, 5.0, 100.0):
        assert pacing.may_draw
    assert pacing.question(10) == STATUS_QUESTION  # once more, after the first is lost


def test_a_fast_one_is_asked_seldom_and_held_back_when_it_stops() -> None:
    clock = Clock()
    pacing = Pacing(clock)
    pacing.question(0)
    clock.now = 0.001
    pacing.answered()
    assert pacing.question(EVERY - 1) == ""
    assert pacing.question(1) == STATUS_QUESTION
    clock.now += OVERDUE / 2
    assert pacing.may_draw
    clock.now += OVERDUE
    assert not pacing.may_draw
    pacing.answered()
    assert pacing.may_draw


def test_a_slow_one_gets_one_frame_at_a_time() -> None:
    clock = Clock()
    pacing = Pacing(clock)
    pacing.question(0)
    clock.now = 1.0
    pacing.answered()
    assert pacing.is_slow
    assert pacing.question(1) == STATUS_QUESTION
    assert not pacing.may_draw
    clock.now += ANSWER_LOST + 1
    assert pacing.may_draw


def test_an_answer_that_the_shell_has_read_is_not_waited_for() -> None:
    clock = Clock()
    pacing = Pacing(clock)
    pacing.question(0)
    clock.now = 1.0
    pacing.answered()
    pacing.question(0)
    assert not pacing.may_draw
    pacing.forget()
    assert pacing.may_draw
    pacing.answered()  # it came anyway
    assert pacing.question(1) == STATUS_QUESTION


def test_only_changed_rows_are_drawn_again_the_lowest_first() -> None:
    shown = ShownRows()
    frame = [PlacedText(row, 1, f"old {row}") for row in (1, 2, 3)]
    shown.note(frame, full=True)
    shown.note([PlacedText(3, 2, "x")], full=False)
    new = (PlacedText(1, 1, "old 1"), PlacedText(2, 1, "new 2"), PlacedText(3, 1, "old 3"), PlacedText(3, 4, ""))
    assert shown.changed(new) == (new[1], new[2], new[3])
    assert set(lowest(shown.changed(new), 6)) == {new[2], new[3]}
    shown.clear()
    assert shown.changed(new) == new


@pytest.mark.parametrize("cut", range(len(STATUS_ANSWER) + 1))
def test_an_answer_is_taken_out_wherever_it_is_cut(cut: int) -> None:
    answers = StatusAnswers()
    first, found = answers.take("ab" + STATUS_ANSWER[:cut], waits=True)
    second, more = answers.take(STATUS_ANSWER[cut:] + "cd", waits=True)
    assert (first + second, found + more) == ("abcd", 1)


def test_a_lone_escape_is_a_key() -> None:
    answers = StatusAnswers()
    assert answers.take("\x1b", waits=False) == ("\x1b", 0)
    assert answers.take("\x1b", waits=True) == ("", 0)
    assert answers.flush() == "\x1b"


@pytest.mark.parametrize("keys", ["\x1b", "\x1b\x1b", "a\x1b"])
def test_an_escape_before_an_answer_has_ended(keys: str) -> None:
    """What a key sends is not cut by an answer, so the parser has nothing to wait for."""
    remaining, found = StatusAnswers().take(keys + STATUS_ANSWER + "b", waits=True)
    assert (remaining, found) == (keys.replace("\x1b", ESCAPE_KEY) + "b", 1)
    assert [key.key for key in XTermParser().feed(remaining) if isinstance(key, Key)] == [*names(keys), "b"]
    answers = StatusAnswers()
    first, _ = answers.take(keys, waits=True)
    second, _ = answers.take(STATUS_ANSWER + "b", waits=True)
    parser = XTermParser()
    typed = [*parser.feed(first), *parser.feed(second)] if first else [*parser.feed(second)]
    assert [key.key for key in typed if isinstance(key, Key)] == [*names(keys), "b"]


def names(keys: str) -> list[str]:
    return [{"\x1b": "escape"}.get(each, each) for each in keys]
