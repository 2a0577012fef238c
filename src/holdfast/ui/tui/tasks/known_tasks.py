"""The background tasks as the screen knows them, from the facts it gets."""

from __future__ import annotations

import time
from collections.abc import Iterable

import msgspec

from holdfast.agent.events import Fact
from holdfast.session.journal.tasks import TaskEnded, TaskStarted
from holdfast.ui.tui.widgets.status_line import elapsed_text


class TaskRow(msgspec.Struct, frozen=True):
    """A task: its `command`, when this process heard of it, and its end."""

    command: str
    since: float
    ended: TaskEnded | None = None

    @property
    def state(self) -> str:
        """Return what it does, for the list."""
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
        return tuple(own for own, row in self.rows.items() if row.ended is None)

    def take(self, fact: Fact) -> None:
        """Take in a fact; those that are not about tasks say nothing."""
        match fact.entry:
            case TaskStarted(id=own, command=command):
                self.rows[own] = TaskRow(" ".join(command.split()), time.monotonic())
            case TaskEnded(id=own):
                row = self.rows.get(own, TaskRow("", time.monotonic()))
                self.rows[own] = msgspec.structs.replace(row, ended=fact.entry)
            case _:
                pass
