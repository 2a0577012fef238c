"""The commands that need no wait: they change the session, or tell of it, within one step of the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from holdfast.agent.agent import Agent
from holdfast.errors import UsageError
from holdfast.host import commands as c
from holdfast.host import events as h
from holdfast.tool_calls import Mode


def change_at_once(
    agent: Agent, command: c.Command, *, usable: Callable[[str], object], send: Callable[[h.HostEvent], None]
) -> None:
    """Do what the command says; raises `HoldfastError` if that is impossible, also for a model that is not `usable`."""
    match command:
        case c.UseModel(model=model):
            usable(model)
            agent.use_model(model)
        case c.UseSettings(settings=settings):
            agent.use_settings(settings)
        case c.UseMode(mode=mode):
            if mode == "yolo" and not agent.permissions.offered.yolo:
                offered = ", ".join(each for each in get_args(Mode) if each != mode)
                raise UsageError(f"Mode {mode!r} is not offered (expected one of {offered}).")
            agent.mode = mode
        case c.Rename(title=title):
            agent.rename(title)
        case c.Forbid(pattern=pattern):
            if agent.permissions.project is not None:
                agent.permissions.project.forbid(pattern)
        case c.MoveCommand():
            if not agent.tasks.move():
                raise UsageError("Nothing was moved: the model runs no command. Move one while it runs.")
        case c.StopTask(task=task):
            if agent.tasks.ask_to_stop(task, "the user") is None:
                raise UsageError(f"Task {task!r} does not run. See /tasks.")
        case c.ShowTask(task=task):
            send(h.TaskOutput(task, agent.tasks.output_of(task)))
        case _:
            raise AssertionError(f"{type(command).__name__} is served elsewhere")
