"""The background tasks of the session, as the facts sent to the screen show them."""

from __future__ import annotations

import time
from collections.abc import Iterable

import msgspec

from holdfast.agent.events import Fact
from holdfast.session.journal.tasks import TaskEnded, TaskStarted
from holdfast.ui.tui.widgets.status_line import elapsed_text


class TaskRow(msgspec.Struct, frozen=True):
    """A task: its `command`, the time when this process first saw it, and its end."""

    command: str
    since: float
    ended: TaskEnded | None = None

    @property
    def state(self) -> str:
        """Return its state, for the list."""
        if self.ended is not None:
            return f"{self.ended.outcome}, {elapsed_text(self.ended.seconds)}"
        return f"runs, {elapsed_text(time.monotonic() - self.since)}"


class KnownTasks:
    """The tasks of the open session, by id, in the order in which they began."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self.rows: dict[str, TaskRow] = {}
        for fact in facts:
            self.take(fact)

    @property
    def running(self) -> tuple[str, ...]:
        """Return the tasks without an end."""
        return tuple(task for task, row in self.rows.items() if row.ended is None)

    def take(self, fact: Fact) -> None:
        """Take in a fact; facts that are not about tasks are ignored."""
        match fact.entry:
            case TaskStarted(id=task, command=command):
                self.rows[task] = TaskRow(" ".join(command.split()), time.monotonic())
            case TaskEnded(id=task):
                row = self.rows.get(task, TaskRow("", time.monotonic()))
                self.rows[task] = msgspec.structs.replace(row, ended=fact.entry)
            case _:
                pass
