"""Notifications for a user who looks elsewhere: when, and with which bytes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Literal

from holdfast.config.settings import NotifyKind
from holdfast.ui.tui.widgets.status_line import Status
from holdfast.ui.view.columns import single_line

AWAY = 30.0
"""Seconds without a key after which the user is away, if the terminal never reports its focus."""

Reason = Literal["approval", "ended"]

_REASONS: Mapping[Reason, str] = {"approval": "needs your approval", "ended": "has finished"}
_LONGEST = 80


def reason(before: Status, now: Status, *, stopping: str) -> Reason | None:
    """Return why to notify the user now: a question was opened, or a turn ended that the user did not stop."""
    if now.question_open and not before.question_open:
        return "approval"
    if before.doing and not now.doing and before.doing != stopping and before.session == now.session:
        return "ended"
    return None


def is_away(*, focused: bool, reports_focus: bool, idle: float) -> bool:
    """Return whether the user looks elsewhere; `idle` is the number of seconds since the last key."""
    return not focused if reports_focus else idle >= AWAY


def notification(why: Reason, status: Status, kind: NotifyKind, environ: Mapping[str, str]) -> str:
    """Return the bytes to write: a bell, a desktop notification (OSC 9 or OSC 777), or nothing."""
    if kind == "off":
        return ""
    if kind == "bell":
        return "\a"
    message = f"{_folder(status)} {_REASONS[why]}"
    if environ.get("VTE_VERSION") or environ.get("TERM", "").startswith(("rxvt", "foot")):
        sequence = f"\x1b]777;notify;holdfast;{message.replace(';', ',')}\x1b\\"
    else:
        sequence = f"\x1b]9;{message}\x1b\\"
    if environ.get("TMUX"):  # passed through if tmux allows it; it always shows the bell
        escaped = sequence.replace("\x1b", "\x1b\x1b")
        return f"\x1bPtmux;{escaped}\x1b\\\a"
    return sequence


def title(status: Status) -> str:
    """Return what sets the window's title (OSC 2): the folder, with a mark for what holdfast is doing."""
    mark = "? " if status.question_open else "● " if status.doing else ""
    return f"\x1b]2;{mark}{_folder(status)} · holdfast\x1b\\"


def _folder(status: Status) -> str:
    return single_line(PurePath(status.cwd).name or "/")[:_LONGEST]
