"""The line at the foot of the screen: what is going on on the left, with what on the right. Its words are pure."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from holdfast.calls import Mode
from holdfast.session.entries import Usage
from holdfast.ui.table import one_line

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
MODES: dict[Mode, str] = {
    "ask": "asks first",
    "accept-edits": "edits freely",
    "plan": "only plans",
    "yolo": "never asks",
}
GAP = 2
LONGEST = 32
"""Characters of a branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What the line tells; `doing` is "" while nothing runs, `seconds` since when it runs; `window` in tokens."""

    mode: Mode
    model: str = ""
    doing: str = ""
    seconds: float = 0.0
    asking: bool = False
    queued: int = 0
    context: int = 0
    window: int = 0
    usage: Usage = Usage(cost="0")  # noqa: RUF009 - frozen
    branch: str = ""


def line(status: Status, width: int, *, frame: int = 0) -> Text:
    """Return the line, exactly `width` cells; what says least goes first where there is no room."""
    left = _left(status, frame)
    facts = _facts(status)
    while facts and left.cell_len + GAP + cell_len(" · ".join(facts)) > width - GAP:
        facts.pop(0)
    right = " · ".join(facts)
    room = max(0, width - GAP - cell_len(right))
    said = Text(" ", no_wrap=True)
    left.truncate(room, overflow="ellipsis", pad=True)
    said.append_text(left)
    said.append(right, "dim")
    return Text(set_cell_size(said.plain, width), spans=said.spans, no_wrap=True)


def _left(status: Status, frame: int) -> Text:
    queued = f" · {status.queued} queued" if status.queued else ""
    if status.asking:
        return Text(f"? your answer is needed{queued} · esc stops", "bold")
    if status.doing:
        said = Text(f"{FRAMES[frame % len(FRAMES)]} ", "bold")
        said.append(one_line(status.doing), "bold")
        said.append(f" {duration(status.seconds)}{queued} · esc stops", "dim")
        return said
    if queued:
        return Text(f"{status.queued} queued and not sent · ↑ takes it back", "dim")
    return Text(f"{MODES[status.mode]} · shift+tab changes that", "dim")


def _facts(status: Status) -> list[str]:
    """Return what the right side tells, the least first."""
    usage = status.usage
    facts: list[str] = []
    if status.branch:
        facts.append(one_line(status.branch)[:LONGEST])
    if usage.input_tokens or usage.output_tokens:
        facts.append(f"{tokens(usage.input_tokens)} in, {tokens(usage.output_tokens)} out")
    if usage.cost is not None and usage.cost != "0":
        facts.append(f"${float(usage.cost):.2f}")
    if status.context:
        used = f" ({share(status.context, status.window)})" if status.window else ""
        facts.append(f"context {tokens(status.context)}{used}")
    if status.doing:
        facts.append(status.mode)
    facts.append(one_line(status.model) or "no model")
    return facts


def share(used: int, window: int) -> str:
    """Return how much of a window is used."""
    return f"{100 * used // window or '<1'} %" if used else "0 %"


def tokens(count: int) -> str:
    """Return a number of tokens as a person says it."""
    for least, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= least:
            return f"{count / least:.1f}{unit}" if count < least * 100 else f"{count // least}{unit}"
    return str(count)


def duration(seconds: float) -> str:
    """Return how long something takes as a person says it."""
    minutes, whole = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {whole:02} s" if minutes else f"{whole} s"


class StatusLine(Widget):
    """The line, drawn."""

    status: reactive[Status] = reactive(Status(mode="ask"))

    def render(self) -> Text:
        """Return the line at the present width."""
        return line(self.status, self.size.width, frame=int(self.status.seconds * 10))
