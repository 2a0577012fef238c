"""The tool `todo`: the model's task list. It exists only in the conversation."""

from __future__ import annotations

from holdfast.errors import ToolFailed
from holdfast.tool_calls import Effect
from holdfast.tools.builtin.declarations import TODO_SCHEMA, TodoArguments
from holdfast.tools.schema import parse_arguments
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from holdfast.tools.truncation import escape_newlines

_MARKS = {"open": "[ ]", "doing": "[>]", "done": "[x]"}


class TodoTool:
    """Shows the given list. The call and its result are the only storage."""

    schema = TODO_SCHEMA
    effect: Effect = "read"

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return the plan of showing the list; raises `ToolFailed` if an item is blank or listed twice."""
        items = parse_arguments(arguments, TodoArguments, tool="todo").items
        texts = [escape_newlines(item.text.strip()) for item in items]
        for text in texts:
            if not text or texts.count(text) > 1:
                why = "is listed twice" if text else "is blank"
                msg = f"Item {text!r} {why}. Each item must be a separate task. Give the whole list again."
                raise ToolFailed(msg)
        lines = [f"{_MARKS[item.state]} {text}" for item, text in zip(items, texts, strict=True)]
        done = sum(item.state == "done" for item in items)

        async def run(context: ToolContext) -> ToolOutput:
            del context
            return ToolOutput(text="\n".join(lines) or "The list is empty.")

        return Plan(effect="read", title=f"todo: {done} of {len(items)} done", run=run)
