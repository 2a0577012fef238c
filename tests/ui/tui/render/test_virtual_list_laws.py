"""Laws of the roll: what one looks at stays in sight, and is what one would see if everything were drawn."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from holdfast.agent.events import Event, Fact, LiveText
from holdfast.session.journal.entries import PromptAccepted, RequestStarted
from holdfast.ui.tui.render.heights import Heights
from holdfast.ui.tui.render.line_layout import LineLayout
from holdfast.ui.tui.render.markdown import Prose
from holdfast.ui.tui.render.virtual_list import LinePlace
from holdfast.ui.view.view import View
from laws import law
from transcript_scenes import busy_day, long_session, plain, shown, viewed

EVENTS: list[Event] = [*long_session(60)]


def everything(view: View, width: int) -> list[str]:
    """Return all lines of the view, drawn by a roll that sees them all."""
    return shown(plain(width, rows=100_000, view=view))


steps = st.one_of(
    st.tuples(st.just("scroll"), st.floats(0, 1)),
    st.tuples(st.just("by"), st.floats(-60, 60)),
    st.tuples(st.just("take"), st.floats(1, 40)),
    st.tuples(st.just("width"), st.floats(30, 130)),
)


@law(25)
@given(st.lists(steps, max_size=8), st.integers(5, 40))
def test_what_is_in_sight_is_what_is_there_and_stays(moves: list[tuple[str, float]], rows: int) -> None:
    rest = list(EVENTS)
    view = viewed(rest[:40])
    del rest[:40]
    width = 80
    roll = plain(width, rows=rows, view=view)
    for move, amount in moves:
        before, following = roll.place(roll.top), roll.following
        match move:
            case "scroll":
                roll.scroll_to(int(amount * roll.total))
            case "by":
                roll.scroll_to(max(0, roll.top + int(amount)))
            case "take":
                changed = {key for event in rest[: int(amount)] for key in view.take(event)}
                del rest[: int(amount)]
                roll.update(changed)
            case _:
                width = int(amount)
                roll.fit(roll.styles, width, rows)
        roll.settle()
        if move == "take" and not following:
            now = roll.place(roll.top)
            # The gap above a call may be closed: then the call itself is there.
            assert now == before or (before.piece == -1 and now == LinePlace(before.block, 0, 0))
        complete = everything(view, width)
        seen = shown(roll)
        assert len(seen) == min(rows, len(complete))
        if roll.following:
            assert seen == complete[-len(seen) :]
        else:
            assert any(complete[at : at + len(seen)] == seen for at in range(len(complete)))


@law(5)
@given(st.integers(1, 30))
def test_scrolling_up_by_steps_shows_every_line(step: int) -> None:
    view = viewed(EVENTS)
    roll = plain(80, rows=30, view=view)
    complete = everything(view, 80)
    seen = shown(roll)
    while roll.top:
        top = roll.top
        roll.scroll_to(max(0, top - step))
        roll.settle()
        rows = shown(roll)
        moved = min(step, len(complete) - len(seen))
        seen = [*rows[:moved], *seen]
    assert seen == complete


def test_opening_and_a_frame_cost_the_same_in_a_long_session_as_in_a_short_one() -> None:
    drawn: list[int] = []
    for messages in (40, 4000):
        view = viewed([*long_session(messages)])
        roll = plain(100, rows=40, view=view)
        drawn.append(len(roll.drawn_keys))
        view.take(Fact(10**6, RequestStarted(step=10**6, attempt=1, model="m")))
        began = time.process_time()
        for _ in range(50):
            roll.update(view.take(LiveText(10**6, "word ")))
            roll.settle()
        assert time.process_time() - began < 2
        assert len(roll.drawn_keys) <= drawn[-1] + 1
    assert abs(drawn[0] - drawn[1]) < 5


def test_what_was_looked_at_long_ago_is_drawn_again_when_it_is_looked_at_again() -> None:
    view = viewed([*long_session(6000)])
    roll = plain(80, rows=40, view=view)
    end = shown(roll)
    while roll.top:
        roll.scroll_to(max(0, roll.top - 400))
        roll.settle()
        assert len(roll.drawn_keys) <= 850
    roll.scroll_to(roll.total)
    roll.settle()
    assert shown(roll) == end


def test_of_a_long_block_only_what_is_near_stays_drawn_and_the_rest_keeps_its_place() -> None:
    sheet = LineLayout(plain().styles, 80)
    sheet.update([Prose(f"- item {number}", above=False) for number in range(1000)])
    sheet.draw(0, sheet.height)
    assert (sheet.height, line_text(sheet, 0)) == (1000, "• item 0")
    sheet.draw(900, 950)
    assert (sheet.height, line_text(sheet, 0), line_text(sheet, 899)) == (1000, None, None)
    assert [line_text(sheet, y) for y in range(900, 950)] == [f"• item {y}" for y in range(900, 950)]
    assert sheet.lines_of(0)[0].text() == "• item 0"


def line_text(sheet: LineLayout, y: int) -> str | None:
    """Return what line `y` says, None if it is not drawn."""
    drawn = sheet.line(y)[2]
    return drawn.text() if drawn is not None else None


def test_a_blocks_first_lines_and_all_of_it() -> None:
    view = viewed(busy_day())
    roll = plain(80, rows=2000, view=view)
    few = len(shown(roll))
    roll.toggle_all()
    roll.settle()
    many = len(shown(roll))
    assert many > few + 150
    key = view.keys[0]
    roll.toggle(key)
    roll.toggle(key)
    roll.toggle_all()
    roll.settle()
    assert len(shown(roll)) == few


def test_an_empty_roll() -> None:
    roll = plain()
    assert (roll.total, roll.top, shown(roll), roll.block_at(0)) == (0, 0, [], None)
    roll.scroll_to(5)
    roll.toggle("nothing")
    roll.update(["nothing"])
    roll.settle()
    view = viewed([Fact(1, PromptAccepted(turn=1, text="x"))])
    roll.load(view)
    roll.settle()
    assert shown(roll) == ["▌ x"]


@given(
    st.lists(st.integers(0, 5), max_size=20), st.lists(st.tuples(st.integers(0, 19), st.integers(0, 5)), max_size=10)
)
def test_a_column_knows_where_everything_is(heights: list[int], changes: list[tuple[int, int]]) -> None:
    column = Heights(heights)
    for index, height in changes:
        if index < len(heights):
            column.set(index, height)
            heights[index] = height
        assert column.total == sum(heights)
        for y in range(sum(heights)):
            at, within = column.find(y)
            assert sum(heights[:at]) + within == y
            assert within < heights[at]
