"""The status line: activity at the left, model and usage at the right. Its text is computed by pure functions."""

from __future__ import annotations

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
MODES: dict[Mode, str] = {
    "ask": "ask",
    "accept-edits": "accept edits",
    "plan": "plan",
    "yolo": "yolo",
}
_GAP = 2
_LONGEST = 32
"""Maximum characters of a branch name."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the line; `doing` is "" while idle, `seconds` the time it has run, `window` is in tokens.

    If not `timed`, the time is not shown: `doing` says it.
    """

    mode: Mode
    model: str = ""
    effort: Effort | None = None
    doing: str = ""
    seconds: float = 0.0
    timed: bool = True
    asking: bool = False
    queued: int = 0
    tasks: int = 0
    context: int = 0
    window: int = 0
    usage: Usage = Usage(cost="0")
    branch: str = ""


def status_text(status: Status, width: int, *, frame: int = 0) -> Text:
    """Return the line in exactly `width` cells; if space is short, the least important facts are left out."""
    left = _left(status, frame)
    facts = _facts(status)
    while facts and left.cell_len + _GAP + cell_len(" · ".join(facts)) > width - _GAP:
        facts.pop(0)
    right = " · ".join(facts)
    room = max(0, width - _GAP - cell_len(right))
    said = Text(" ", no_wrap=True)
    left.truncate(room, overflow="ellipsis", pad=True)
    said.append_text(left)
    said.append(right, "dim")
    return Text(set_cell_size(said.plain, width), spans=said.spans, no_wrap=True)


def _left(status: Status, frame: int) -> Text:
    tasks = f" · {status.tasks} task{'s' * (status.tasks > 1)}" if status.tasks else ""
    queued = f" · {status.queued} queued{tasks}" if status.queued else tasks
    if status.asking:
        return Text(f"Approval needed{queued} · esc to interrupt", "bold")
    if status.doing:
        said = Text(f"{FRAMES[frame % len(FRAMES)]} ", "bold")
        said.append(single_line(status.doing), "bold")
        time = f" {elapsed_text(status.seconds)}" if status.timed else ""
        said.append(f"{time}{queued} · esc to interrupt", "dim")
        return said
    if status.queued:
        return Text(f"{status.queued} queued · ↑ to edit{tasks}", "dim")
    return Text(f"{MODES[status.mode]} · shift+tab to cycle{tasks}", "dim")


def _facts(status: Status) -> list[str]:
    """Return the facts at the right, least important first."""
    usage = status.usage
    facts: list[str] = []
    if status.branch:
        facts.append(single_line(status.branch)[:_LONGEST])
    if usage.input_tokens or usage.output_tokens:
        facts.append(f"{tokens(usage.input_tokens)} in, {tokens(usage.output_tokens)} out")
    if usage.cost is not None and usage.cost != "0":
        facts.append(f"${float(usage.cost):.2f}")
    if status.context:
        used = f" ({share(status.context, status.window)})" if status.window else ""
        facts.append(f"context {tokens(status.context)}{used}")
    if status.doing:
        facts.append(status.mode)
    effort = f" ({status.effort})" if status.effort else ""
    facts.append(f"{single_line(status.model)}{effort}" if status.model else "no model")
    return facts


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
    minutes, whole = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {whole:02} s" if minutes else f"{whole} s"


class StatusLine(Widget):
    """The status line widget."""

    status: reactive[Status] = reactive(Status(mode="ask"))

    def render(self) -> Text:
        """Return the line at the current width."""
        return status_text(self.status, self.size.width, frame=int(self.status.seconds * 10))
