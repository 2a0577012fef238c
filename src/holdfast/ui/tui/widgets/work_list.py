"""The list above the composer: the to-do list of the model, background tasks, and queued messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from rich.text import Text
from textual.widgets import Static

from holdfast.text import literal
from holdfast.ui.view.blocks import TodoLine

QUEUE_ROWS = 4
"""Maximum messages shown; of more, the number is shown."""

TASK_ROWS = 3
"""Maximum background tasks shown; of more, the number is shown."""

TODO_ROWS = 8
"""Maximum items of the expanded to-do list, around the current one."""

_SHARE = 3  # the list takes at most a third of the screen

_MARKS = {"done": "✓", "doing": "▸", "open": "○"}


class ShownWork(msgspec.Struct, frozen=True):
    """What there is to show: `tasks` are the commands by task ID."""

    queued: Sequence[str] = ()
    tasks: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    todo: Sequence[TodoLine] = ()


def queue_text(messages: Sequence[str]) -> Text:
    """Return one line for each message, in the order in which they will be sent."""
    shown = messages if len(messages) <= QUEUE_ROWS else messages[: QUEUE_ROWS - 1]
    lines = [f"↳ {literal(' '.join(message.split()))}" for message in shown]
    if len(shown) < len(messages):
        lines.append(f"  … {len(messages) - len(shown)} more")
    return Text("\n".join(lines), "dim", no_wrap=True, overflow="ellipsis")


def todo_text(items: Sequence[TodoLine], *, expanded: bool) -> Text:
    """Return the list: one line with the current item, or if `expanded` the items around it.

    Return an empty text if there is no list, or all is done.
    """
    done = sum(item.state == "done" for item in items)
    text = Text(no_wrap=True, overflow="ellipsis")
    if done == len(items):
        return text
    at = next((at for at, item in enumerate(items) if item.state == "doing"), None)
    at = next(at for at, item in enumerate(items) if item.state != "done") if at is None else at
    key = "  ctrl+t: less" if expanded else "  ctrl+t: all"
    if not expanded:
        text.append(f"{_MARKS[items[at].state]} {done}/{len(items)} ", "dim")
        return text.append(_item(items[at])).append(key, "dim")
    text.append(f"To do {done}/{len(items)}", "dim").append(key, "dim")
    first = max(0, min(at - 2, len(items) - TODO_ROWS))
    shown = items[first : first + TODO_ROWS]
    if first:
        text.append(f"\n  … {first} above", "dim")
    for item in shown:
        style = {"done": "dim", "doing": "bold", "open": ""}[item.state]
        text.append(f"\n{_MARKS[item.state]} {_item(item)}", style)
    if left := len(items) - first - len(shown):
        text.append(f"\n  … {left} more", "dim")
    return text


def task_text(tasks: Mapping[str, str]) -> Text:
    """Return one line for each background task, with its command."""
    shown = list(tasks.items()) if len(tasks) <= TASK_ROWS else list(tasks.items())[: TASK_ROWS - 1]
    lines = [f"● {task}  {literal(command)}" for task, command in shown]
    if len(shown) < len(tasks):
        lines.append(f"  … {len(tasks) - len(shown)} more: /tasks")
    return Text("\n".join(lines), "dim", no_wrap=True, overflow="ellipsis")


def _item(item: TodoLine) -> str:
    return literal(" ".join(item.text.split()))


class WorkList(Static):
    """The widget; it takes no room while it is empty."""

    def __init__(self) -> None:
        super().__init__(id="work", markup=False)
        self._work = ShownWork()
        self._expanded = False

    @property
    def work(self) -> ShownWork:
        """Return the shown work; set it to show other work."""
        return self._work

    @work.setter
    def work(self, work: ShownWork) -> None:
        if work != self._work:
            self._work = work
            self._draw()

    def toggle(self) -> bool:
        """Show the whole to-do list, or one line of it. Return whether there is a list."""
        self._expanded = not self._expanded
        self._draw()
        return bool(todo_text(self._work.todo, expanded=False))

    def on_resize(self) -> None:
        """Take no more than a part of the screen."""
        self.styles.max_height = max(1, self.screen.size.height // _SHARE)

    def _draw(self) -> None:
        work = self._work
        parts = (todo_text(work.todo, expanded=self._expanded), task_text(work.tasks), queue_text(work.queued))
        shown = [part for part in parts if part]
        self.update(Text("\n", no_wrap=True, overflow="ellipsis").join(shown))
        self.display = bool(shown)
