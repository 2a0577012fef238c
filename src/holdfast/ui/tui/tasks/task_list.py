"""The list of background tasks, and the question on quitting while some run."""

from __future__ import annotations

from holdfast.errors import UsageError
from holdfast.host.commands import ShowTask, StopTask
from holdfast.ui.tui.choices import CommandTarget
from holdfast.ui.tui.widgets.pickers import Choice


def show_tasks(target: CommandTarget, rest: str) -> None:
    """List the tasks: Enter shows output, Ctrl+X stops a task. `ID` and `stop ID` do the same without the list."""
    tasks = target.controller.tasks
    word, _, task = rest.partition(" ")
    if rest and (task.strip() or word) not in tasks.rows:
        known = ", ".join(tasks.rows) or "none yet"
        raise UsageError(f"Unknown task {task.strip() or word!r} (expected one of {known}). See /tasks.")
    if word == "stop":
        target.controller.agent.submit(StopTask(task.strip()))
    elif rest:
        target.controller.agent.submit(ShowTask(word))
    elif not tasks.rows:
        raise UsageError("No background tasks yet. Ctrl+B moves a running command of the model to the background.")
    else:
        choices = [Choice(name, f"{name}  {row.command}", row.state) for name, row in reversed(tasks.rows.items())]
        agent = target.controller.agent
        target.dialogs.pick(
            "Background tasks",
            choices,
            lambda name: agent.submit(ShowTask(name)),
            remove=("stop it", lambda name: agent.submit(StopTask(name))),
        )


def leave(target: CommandTarget) -> None:
    """Quit; while background tasks run, say that they end, and ask."""
    running = target.controller.tasks.running
    if not running:
        target.app.exit(0)
        return
    choices = [Choice("quit", "Quit", "they are ended; the session is saved"), Choice("stay", "Stay", "they run on")]

    def chosen(what: str) -> None:
        if what == "quit":
            target.app.exit(0)

    tasks = "1 background task ends" if len(running) == 1 else f"{len(running)} background tasks end"
    target.dialogs.pick(f"{tasks} with holdfast ({', '.join(running)})", choices, chosen)
