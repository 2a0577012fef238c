"""The pages on tokens: their columns have room, and two counts that differ are both named."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console, RenderableType

from holdfast.session.conversation.context_breakdown import ContextBreakdown, LargeResult
from holdfast.session.journal.parts import Usage
from holdfast.ui.tui.pages.usage_pages import context_page, usage_text
from holdfast.ui.tui.widgets.status_line import Status


def drawn(page: RenderableType, width: int = 80) -> str:
    console = Console(file=StringIO(), width=width)
    with console.capture() as capture:
        console.print(page)
    return capture.get()


def test_a_long_call_leaves_the_tokens_of_its_result_their_room() -> None:
    large = LargeResult(name="write", arguments='{"path": "' + "x" * 500 + '"}', tokens=36)
    page = context_page(Status(mode="ask", context=40), ContextBreakdown(kinds=(("answers", 40),), largest=(large,)))
    assert "\n  36  write " in drawn(page)


@pytest.mark.parametrize(("estimated", "named"), [(4_300, True), (29, False)])
def test_the_count_of_the_provider_and_the_estimate_are_both_named_if_they_differ(estimated: int, named: bool) -> None:  # noqa: FBT001 - a column of the table
    page = context_page(Status(mode="ask", context=28), ContextBreakdown(kinds=(("answers", estimated),), largest=()))
    assert ("by the provider's count; about" in drawn(page)) == named


def test_the_usage_is_one_line() -> None:
    status = Status(mode="ask", context=2_400, window=200_000, usage=Usage(2_300, 65, cost="0.0125"))
    assert usage_text(status) == "2.3k in, 65 out · context 2.4k of 200k · cost $0.0125"
