"""When holdfast notifies a terminal that the user does not look at, and with which bytes."""

from __future__ import annotations

import msgspec
import pytest

from holdfast.ui.tui.environment.notification import AWAY, Reason, is_away, notification, reason, title
from holdfast.ui.tui.widgets.status_line import Status

IDLE = Status(mode="ask", session="s", cwd="/srv/my;dir\x1b")
BUSY = msgspec.structs.replace(IDLE, doing="working")
QUESTION_OPEN = msgspec.structs.replace(BUSY, question_open=True)


@pytest.mark.parametrize(
    ("before", "now", "why"),
    [
        (BUSY, QUESTION_OPEN, "approval"),
        (QUESTION_OPEN, QUESTION_OPEN, None),
        (QUESTION_OPEN, BUSY, None),
        (BUSY, IDLE, "ended"),
        (IDLE, BUSY, None),
        (BUSY, msgspec.structs.replace(BUSY, seconds=9.0), None),
        (msgspec.structs.replace(BUSY, doing="stopping"), IDLE, None),
        (BUSY, msgspec.structs.replace(IDLE, session="other"), None),
    ],
)
def test_when(before: Status, now: Status, why: Reason | None) -> None:
    assert reason(before, now, stopping="stopping") == why


def test_who_looks_is_not_told() -> None:
    """The terminal's word counts; one that never says is not looked at after a while without a key."""
    assert is_away(focused=False, reports_focus=True, idle=0)
    assert not is_away(focused=True, reports_focus=True, idle=AWAY)
    assert not is_away(focused=True, reports_focus=False, idle=AWAY - 1)
    assert is_away(focused=True, reports_focus=False, idle=AWAY)


def test_the_bytes() -> None:
    assert notification("ended", IDLE, "off", {}) == ""
    assert notification("ended", IDLE, "bell", {}) == "\a"
    assert notification("ended", IDLE, "osc", {"TERM": "xterm-kitty"}) == "\x1b]9;my;dir has finished\x1b\\"
    expected = "\x1b]777;notify;holdfast;my,dir needs your approval\x1b\\"
    assert notification("approval", IDLE, "osc", {"VTE_VERSION": "7400"}) == expected
    assert notification("approval", IDLE, "osc", {"TERM": "foot"}) == expected
    tmux = notification("ended", IDLE, "osc", {"TMUX": "/tmp/x"})
    assert tmux == "\x1bPtmux;\x1b\x1b]9;my;dir has finished\x1b\x1b\\\x1b\\\a"


@pytest.mark.parametrize(("status", "mark"), [(IDLE, ""), (BUSY, "● "), (QUESTION_OPEN, "? ")])
def test_the_title_has_the_state(status: Status, mark: str) -> None:
    assert title(status) == f"\x1b]2;{mark}my;dir · holdfast\x1b\\"
