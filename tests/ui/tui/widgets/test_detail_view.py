"""The scrollable view: keys that come before the new content is laid out mean the size that it will have."""

from __future__ import annotations

from textual.app import App, ComposeResult

from holdfast.ui.tui.pages.file_diffs import ShownDiff
from holdfast.ui.tui.render.diff import Change
from holdfast.ui.tui.widgets.detail_view import DetailView

ROWS = 10


class Shown(App[None]):
    def compose(self) -> ComposeResult:
        view = DetailView()
        view.styles.max_height = ROWS
        yield view


def lines(count: int) -> ShownDiff:
    return ShownDiff("a.txt", tuple(Change("+", f"line {number}", number) for number in range(1, count + 1)))


async def test_a_page_is_a_page_before_the_new_content_has_its_place() -> None:
    async with Shown().run_test() as pilot:
        view = pilot.app.query_one(DetailView)
        view.show(lines(1).fragments())
        await pilot.pause()
        assert view.size.height == 1
        view.show(lines(60).fragments())
        view.scroll_page(1)
        view.scroll_page(1)
        await pilot.pause()
        assert view.size.height == ROWS
        assert view.scroll_offset.y == 2 * (ROWS - 1)


async def test_what_will_fit_does_not_overflow_before_it_has_its_place() -> None:
    async with Shown().run_test() as pilot:
        view = pilot.app.query_one(DetailView)
        view.show(lines(1).fragments())
        await pilot.pause()
        view.show(lines(5).fragments())
        assert not view.overflows
        view.show(lines(ROWS + 1).fragments())
        assert view.overflows
