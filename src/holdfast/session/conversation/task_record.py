"""The background tasks of a session by its journal: which run, and whose end the model has not read yet."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.session.conversation.conversation import OpenCall, OpenTask
from holdfast.session.conversation.fold_state import TasksState
from holdfast.session.journal.entries import ProcessStarted
from holdfast.session.journal.tasks import TaskEnded, TaskStarted


class TaskRecord:
    """The tasks so far. Entries that only damage can cause (a second end, an end without a start) are absorbed."""

    def __init__(self) -> None:
        self._open: dict[str, OpenTask] = {}
        self._ended: dict[str, TaskEnded] = {}

    def copy(self) -> TaskRecord:
        """Return an independent copy."""
        other = TaskRecord()
        other._open, other._ended = self._open.copy(), self._ended.copy()
        return other

    def state(self) -> TasksState:
        """Return the state."""
        return TasksState(self.open, self.ended)

    @classmethod
    def restored(cls, saved: TasksState) -> TaskRecord:
        """Return the record of this state."""
        record = cls()
        record._open = {task.started.id: task for task in saved.open}
        record._ended = {ended.id: ended for ended in saved.ended}
        return record

    @property
    def open(self) -> tuple[OpenTask, ...]:
        """Return the tasks without an end."""
        return tuple(self._open.values())

    @property
    def ended(self) -> tuple[TaskEnded, ...]:
        """Return how tasks ended, on any branch: a rewind undoes no effect."""
        return tuple(self._ended.values())

    def begin(self, entry: TaskStarted, call: OpenCall | None) -> None:
        """Record the start of a task; the process of its `call`, if known, is the task's."""
        if entry.id not in self._ended:
            self._open[entry.id] = OpenTask(entry, process=call.process if call else None)

    def process(self, entry: ProcessStarted) -> None:
        """Record the process of the task that the call began, if it began one."""
        for name, task in self._open.items():
            if task.started.call == entry.call:
                self._open[name] = msgspec.structs.replace(task, process=entry.process)

    def end(self, entry: TaskEnded) -> bool:
        """Record an end and return whether it is the first of this task."""
        self._open.pop(entry.id, None)
        is_first = entry.id not in self._ended
        self._ended.setdefault(entry.id, entry)
        return is_first

    def note(self, task: str, notes: Sequence[str]) -> str:
        """Return the note about the end of the task if the model has yet to read it (it is in `notes`), else ""."""
        ended = self._ended.get(task)
        return ended.note if ended is not None and ended.note in notes else ""

    def unreported(self, notes: Sequence[str]) -> tuple[str, ...]:
        """Return the tasks whose end the model has yet to read (it is in `notes`), in the order of their ends."""
        return tuple(task for task in self._ended if self.note(task, notes))
