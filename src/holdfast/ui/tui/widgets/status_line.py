"""The status line: mode and activity at the left; model, context, cost and branch at the right.

Which facts are shown depends only on the width, not on what the agent is doing: nothing jumps while a turn runs. Facts
that do not fit are left out in a fixed order (`_LEVELS`). The text is computed by pure functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from holdfast.session.journal.model_settings import Effort
from holdfast.session.journal.parts import Usage
from holdfast.tool_calls import Mode
from holdfast.ui.view.columns import single_line

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_GAP = 2
_LONGEST = 32
"""Maximum characters of a branch name."""

_ACTIVITY = 52
"""Cells kept free for mode and activity on a wide screen."""
_LEAST_ACTIVITY = 38
"""The same on a narrow screen; without more room, no facts are shown."""
_BAR = 8
"""Cells of the context bar."""
_CROPPED = 8
"""Minimum cells of the activity, however narrow the screen."""

WARM = 0.75
"""Share of the window above which the bar is coloured as a warning; holdfast summarizes at 0.85."""
FULL = 0.9

PLAIN: Mapping[str, str] = MappingProxyType({})
"""No colours: the text contains the same information."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the line; `doing` is "" while idle, `seconds` the time it has run, `window` is in tokens.

    `question_open` is whether a question about a call is open, `model_asks` whether it is the model's own question.
    If not `timed`, the time is not shown: `doing` contains it. `sandbox_required` is whether `yolo` is confined too.
    """

    mode: Mode
    model: str = ""
    effort: Effort | None = None
    doing: str = ""
    seconds: float = 0.0
    timed: bool = True
    question_open: bool = False
    model_asks: bool = False
    queued: int = 0
    tasks: int = 0
    context: int = 0
    window: int = 0
    usage: Usage = Usage(cost="0")
    branch: str = ""
    session: str = ""
    cwd: str = ""
    sandbox_required: bool = False


def status_text(
    status: Status, width: int, *, frame: int = 0, colours: Mapping[str, str] = PLAIN, user_line: Text | None = None
) -> Text:
    """Return the line in exactly `width` cells. `user_line` replaces the facts at the right."""
    activity = max(_LEAST_ACTIVITY, min(_ACTIVITY, width * 5 // 9))
    right = _facts(status, width - activity - _GAP, colours) if user_line is None else user_line.copy()
    right.truncate(max(0, width - activity - _GAP), overflow="ellipsis")
    room = max(0, width - _GAP - right.cell_len)
    left = _left(status, frame, max(0, room - (_GAP if right.plain else 0)), colours)
    left.truncate(room, overflow="ellipsis", pad=True)
    line = Text(" ", no_wrap=True).append_text(left).append_text(right)
    return Text(set_cell_size(line.plain, width), spans=line.spans, no_wrap=True)


def _left(status: Status, frame: int, room: int, colours: Mapping[str, str]) -> Text:
    """Return mode and activity; an activity that does not fit is cut, but not the key that interrupts."""
    mode = _mode(status.mode, colours)
    more = [f" · {status.queued} queued"] if status.queued else []
    more += [f" · {status.tasks} task{'s' * (status.tasks > 1)}"] if status.tasks else []
    if not (status.question_open or status.doing):
        free = [" · not confined"] if status.mode == "yolo" and not status.sandbox_required else []
        key = " · ↑ to edit" if status.queued else " · shift+tab to cycle"
        return _fit_activity(
            room, mode, "", [*free, *more[: bool(status.queued)], key, *more[bool(status.queued) :]], ""
        )
    if status.question_open:
        needed = "Answer needed" if status.model_asks else "Approval needed"
        return _fit_activity(room, mode.append(" "), needed, more, " · esc to interrupt")
    mode.append(f" {FRAMES[frame % len(FRAMES)]} ", "bold")
    time = [f" {elapsed_text(status.seconds)}"] if status.timed else []
    return _fit_activity(room, mode, single_line(status.doing), [*time, *more], " · esc to interrupt")


def _fit_activity(room: int, start: Text, what: str, more: list[str], key: str) -> Text:
    more = list(more)
    while more and start.cell_len + cell_len(what) + sum(map(cell_len, more)) + cell_len(key) > room:
        more.pop()
    rest = "".join(more) + key
    shown = Text(what, "bold")
    shown.truncate(max(_CROPPED, room - start.cell_len - cell_len(rest)), overflow="ellipsis")
    return start.append_text(shown).append(rest, "dim")


def _mode(mode: Mode, colours: Mapping[str, str]) -> Text:
    """Return the mode; `yolo` looks dangerous."""
    if mode == "yolo":
        style = f"bold {colours['background']} on {colours['error']}" if colours else "bold reverse"
        return Text().append(" yolo ", style)
    style = {"accept-edits": "warning", "plan": "secondary"}.get(mode)
    return Text().append(mode, colours[style] if style and colours else "dim")


_LEVELS: tuple[tuple[str, ...], ...] = (
    ("provider", "model", "effort", "context", "bar", "share", "cost", "branch"),
    ("provider", "model", "effort", "context", "bar", "share", "cost"),
    ("provider", "model", "effort", "bar", "share", "cost"),
    ("model", "effort", "bar", "share", "cost"),
    ("model", "effort", "bar", "share"),
    ("model", "effort", "share"),
    ("model", "share"),
    ("model",),
    (),
)
"""The facts to show, from wide to narrow: the branch is left out first, the name of the model last."""


def _facts(status: Status, room: int, colours: Mapping[str, str]) -> Text:
    for shown in _LEVELS:
        line = _join_facts(status, frozenset(shown), colours)
        if line.cell_len <= room:
            return line
    return Text()


def _join_facts(status: Status, shown: frozenset[str], colours: Mapping[str, str]) -> Text:
    facts: list[Text] = []
    if "model" in shown:
        provider, _, name = single_line(status.model).partition(":")
        named = name if name and "provider" not in shown else single_line(status.model)
        effort = f" ({status.effort})" if status.effort and status.model and "effort" in shown else ""
        facts.append(Text().append(f"{named or provider}{effort}" if status.model else "no model", "dim"))
    if status.context and "share" in shown:
        facts.append(_context(status, shown, colours))
    if status.usage.cost is not None and status.usage.cost != "0" and "cost" in shown:
        facts.append(Text().append(f"${float(status.usage.cost):.2f}", "dim"))
    if status.branch and "branch" in shown:
        facts.append(Text().append(single_line(status.branch)[:_LONGEST], "dim"))
    return Text(" · ", "dim").join(facts)


def _context(status: Status, shown: frozenset[str], colours: Mapping[str, str]) -> Text:
    """Return how much of the window is used: a bar and a share, or only tokens if the window is unknown."""
    text = Text().append("context " if "context" in shown else "", "dim")
    if not status.window:
        return text.append(tokens(status.context), "dim")
    used = status.context / status.window
    style = "error" if used >= FULL else "warning" if used >= WARM else ""
    strong = f"bold {colours[style]}" if style and colours else "bold" if style else "dim"
    if "bar" in shown:
        filled = min(_BAR, max(1, round(used * _BAR)))
        text.append("━" * filled, colours.get(style or "primary", strong))
        text.append("─" * (_BAR - filled) + " ", "dim")
    return text.append(share(status.context, status.window), strong)


def share(used: int, window: int) -> str:
    """Return the used share of a window."""
    return f"{100 * used // window or '<1'} %" if used else "0 %"


def tokens(count: int) -> str:
    """Return a readable number of tokens."""
    for least, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= least:
            return f"{count / least:.1f}{unit}" if count < least * 100 else f"{count // least}{unit}"
    return str(count)


def elapsed_text(seconds: float) -> str:
    """Return a readable duration."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


class StatusLine(Widget):
    """The status line widget."""

    status: reactive[Status] = reactive(Status(mode="ask"))
    user_line: reactive[Text | None] = reactive(None)
    """The output of the user's status command, None without one."""
    editing: reactive[str] = reactive("")
    """The mode of the prompt's editing, "" if it is the usual one."""

    _changed: Callable[[Status], None] | None = None

    def follow(self, changed: Callable[[Status], None]) -> None:
        """Call `changed` with the status, now and whenever anything but the time changes."""
        self._changed = changed
        changed(self.status)

    def show_editing(self, mode: str) -> None:
        """Show how the prompt is edited, "" for the usual way."""
        self.editing = mode

    def show_user_line(self, line: Text | None) -> None:
        """Show the user's line instead of the facts; with None, show the facts."""
        self.user_line = line

    def watch_status(self, before: Status, now: Status) -> None:
        """Report a change."""
        if self._changed is not None and msgspec.structs.replace(before, seconds=now.seconds) != now:
            self._changed(now)

    def render(self) -> Text:
        """Return the line at the current width."""
        colours = self.app.theme_variables  # pyright: ignore[reportUnknownMemberType] - an app of any result
        frame = int(self.status.seconds * 10)
        mark = Text(f" {self.editing}" if self.editing else "", "bold")
        width = self.size.width - mark.cell_len
        return mark.append_text(status_text(self.status, width, frame=frame, colours=colours, user_line=self.user_line))
