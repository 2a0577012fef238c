"""The status line: exactly as wide as the screen whatever it tells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from holdfast.session.journal.parts import Usage
from holdfast.text import printable
from holdfast.ui.tui.widgets.status_line import Status, elapsed_text, status_text, tokens

STATUSES = st.builds(
    Status,
    mode=st.sampled_from(["ask", "accept-edits", "plan", "yolo"]),
    model=st.text(max_size=60),
    doing=st.text(max_size=60),
    asking=st.booleans(),
    seconds=st.floats(0, 1e6),
    queued=st.integers(0, 12),
    context=st.integers(0, 2_000_000),
    window=st.integers(0, 2_000_000),
    branch=st.text(max_size=40),
    usage=st.builds(Usage, input_tokens=st.integers(0, 10**9), cost=st.sampled_from([None, "0", "12.3456"])),
)


@given(STATUSES, st.integers(1, 220), st.integers(0, 10**6))
def test_the_line_fits(status: Status, width: int, frame: int) -> None:
    """Not a cell more or less than there is room for, on one line, without anything a terminal acts on."""
    said = status_text(status, width, frame=frame).plain
    assert cell_len(said) == width
    assert printable(said) == said
    assert "\n" not in said


def test_what_says_least_goes_first() -> None:
    """In a narrow window the model is still there, the branch is not."""
    status = Status(mode="ask", model="anthropic:claude", branch="main", context=12_000, window=200_000)
    assert "main" in status_text(status, 120).plain
    assert "context 12.0k (6 %)" in status_text(status, 120).plain
    narrow = status_text(status, 60).plain
    assert "anthropic:claude" in narrow
    assert "main" not in narrow


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0"), (999, "999"), (1_000, "1.0k"), (123_456, "123k"), (2_500_000, "2.5M")]
)
def test_tokens(count: int, said: str) -> None:
    assert tokens(count) == said


@pytest.mark.parametrize(("seconds", "said"), [(0.4, "0 s"), (59.9, "59 s"), (61, "1 min 01 s"), (3_660, "1 h 01 min")])
def test_durations(seconds: float, said: str) -> None:
    assert elapsed_text(seconds) == said
