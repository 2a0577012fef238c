"""The tools `task` and `stop_task`: what a background task has printed, and its end.

Both have the effect `read`: the user allowed the command when it began, and looking at it, or ending what the model
began itself, changes nothing else.
"""

from __future__ import annotations

from holdfast.errors import ToolFailed
from holdfast.tool_calls import Effect
from holdfast.tools.builtin.declarations import STOP_TASK_SCHEMA, TASK_SCHEMA, StopTaskArguments, TaskArguments
from holdfast.tools.schema import parse_arguments
from holdfast.tools.tool import Plan, Tasks, ToolContext, ToolOutput


class TaskTool:
    """The tool `task`: new output of a background task, and its state."""

    schema = TASK_SCHEMA
    effect: Effect = "read"

    def plan(self, call: str, arguments: str) -> Plan:
        """Return the plan to look at a task. Whether it exists is checked when it runs."""
        args = parse_arguments(arguments, TaskArguments, tool="task")

        async def run(context: ToolContext) -> ToolOutput:
            return await _tasks(context).poll(args.id, call=call, seconds=args.wait_seconds, stop=context.stop)

        return Plan(effect="read", title=f"look at task {args.id}", run=run)


class StopTaskTool:
    """The tool `stop_task`: ends a background task and every process of it."""

    schema = STOP_TASK_SCHEMA
    effect: Effect = "read"

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return the plan to stop a task. Whether it exists is checked when it runs."""
        args = parse_arguments(arguments, StopTaskArguments, tool="stop_task")

        async def run(context: ToolContext) -> ToolOutput:
            return await _tasks(context).stop(args.id)

        return Plan(effect="read", title=f"stop task {args.id}", run=run)


def _tasks(context: ToolContext) -> Tasks:
    if context.tasks is None:
        raise ToolFailed("Background tasks are not available here. Nothing was done.")
    return context.tasks
