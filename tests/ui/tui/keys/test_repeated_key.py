"""A key pressed twice in a row."""

from __future__ import annotations

from holdfast.ui.tui.keys.repeated_key import RepeatedKey


def test_the_second_press_counts_and_the_third_is_a_first() -> None:
    now = 0.0
    keys = RepeatedKey(1.0, clock=lambda: now)
    assert [keys.press("a"), keys.press("a"), keys.press("a")] == [False, True, False]
    assert [keys.press("b"), keys.press("a")] == [False, False]
    now = 1.5
    assert not keys.press("a"), "too late"
