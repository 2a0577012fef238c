"""The tool `todo`: the list a model keeps of what it has to do; it lives in the conversation and nowhere else."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from holdfast.calls import Effect
from holdfast.errors import ToolFailed
from holdfast.tools.arguments import parse, schema_of
from holdfast.tools.output import one_line
from holdfast.tools.tool import Context, Output, Plan

_MARKS = {"open": "[ ]", "doing": "[>]", "done": "[x]"}


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing to do."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=200, description="What is to be done, in one line.")]
    state: Annotated[Literal["open", "doing", "done"], msgspec.Meta(description="How far it is.")] = "open"


class TodoArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model says is to be done."""

    items: Annotated[list[Item], msgspec.Meta(max_length=50, description="The whole list, in order.")]


class TodoTool:
    """Shows the list that it is given; the call and its result are all there is of it."""

    schema = schema_of(
        "todo",
        "Keep a list of what is to be done, for work of three steps or more. Each call replaces the whole list: give "
        "every item that still counts, with its state. Mark an item done once you have seen that it is.",
        TodoArguments,
    )
    effect: Effect = "read"

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return the plan of showing the list; raises `ToolFailed` if an item says nothing or stands there twice."""
        items = parse(arguments, TodoArguments, tool="todo").items
        texts = [one_line(item.text.strip()) for item in items]
        for text in texts:
            if not text or texts.count(text) > 1:
                why = "stands in the list twice" if text else "is blank"
                msg = f"Item {text!r} {why}, each a thing of its own was expected. Give the whole list again."
                raise ToolFailed(msg)
        lines = [f"{_MARKS[item.state]} {text}" for item, text in zip(items, texts, strict=True)]
        done = sum(item.state == "done" for item in items)

        async def run(context: Context) -> Output:
            del context
            return Output(text="\n".join(lines) or "The list is empty.")

        return Plan(effect="read", title=f"todo: {done} of {len(items)} done", run=run)
