"""The status line: exactly as wide as the screen whatever it tells."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from holdfast.session.journal.parts import Usage
from holdfast.text import printable
from holdfast.ui.tui.widgets.status_line import Status, elapsed_text, status_text, tokens

STATUSES = st.builds(
    Status,
    mode=st.sampled_from(["ask", "accept-edits", "plan", "yolo"]),
    model=st.text(max_size=60),
    doing=st.text(max_size=60),
    question_open=st.booleans(),
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
    line = status_text(status, width, frame=frame).plain
    assert cell_len(line) == width
    assert printable(line) == line
    assert "\n" not in line


def test_what_says_least_goes_first() -> None:
    """In a narrow window the model is still there, the branch is not."""
    status = Status(mode="ask", model="anthropic:claude", branch="main", context=12_000, window=200_000)
    assert "main" in status_text(status, 120).plain
    assert "anthropic:claude · context ━─────── 6 % · main" in status_text(status, 120).plain
    assert status_text(status, 80).plain.rstrip().endswith("anthropic:claude · ━─────── 6 %")
    assert status_text(status, 60).plain.rstrip().endswith("  claude · 6 %")
    assert status_text(status, 40).plain.rstrip().endswith("ask · shift+tab to cycle")


def test_nothing_jumps_while_a_turn_runs() -> None:
    """The facts stand where they stood, whatever the agent does."""
    idle = Status(mode="ask", model="openai:gpt-5.5", effort="high", branch="main", context=9, window=10)
    busy = msgspec.structs.replace(idle, doing="waiting for gpt-5.5", seconds=75.0, queued=2)
    for width in range(41, 140):
        before, now = (status_text(each, width).plain for each in (idle, busy))
        facts = before.partition("cycle")[2].strip()
        assert now.rstrip().endswith(facts), width
        assert "esc to interrupt" in now, width


def test_what_is_dangerous_or_nearly_full_looks_so() -> None:
    colours = {
        name: f"#00000{at}" for at, name in enumerate(("primary", "secondary", "warning", "error", "background"))
    }
    yolo = status_text(Status(mode="yolo"), 80, colours=colours)
    assert [str(span.style) for span in yolo.spans if "on " in str(span.style)] == ["bold #000004 on #000003"]
    for used, style in ((10, "#000000"), (80, "#000002"), (95, "#000003")):
        line = status_text(Status(mode="ask", model="a:b", context=used, window=100), 120, colours=colours)
        (bar,) = [
            span for span in line.spans if "━" in line.plain[span.start : span.end] and "dim" not in str(span.style)
        ]
        assert str(bar.style) == style


def test_a_line_of_the_users_own_stands_for_the_facts() -> None:
    line = status_text(Status(mode="plan", model="a:b"), 80, user_line=Text("my own line"))
    assert line.plain.rstrip().endswith("  my own line")
    assert line.plain.startswith(" plan")
    assert cell_len(status_text(Status(mode="plan"), 50, user_line=Text("x" * 500)).plain) == 50


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (999, "999"), (1_000, "1.0k"), (123_456, "123k"), (2_500_000, "2.5M")]
)
def test_tokens(count: int, text: str) -> None:
    assert tokens(count) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59.9, "59 s"), (61, "1 min 01 s"), (3_660, "1 h 01 min")])
def test_durations(seconds: float, text: str) -> None:
    assert elapsed_text(seconds) == text
