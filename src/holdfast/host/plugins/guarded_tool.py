"""A tool of a plug-in as the agent gets it: within its declared effect, and with the plan of a plain tool."""

from __future__ import annotations

from typing import cast

import msgspec

from holdfast.errors import ToolFailed
from holdfast.tool_calls import Effect, ToolSchema
from holdfast.tools.tool import Plan, Tool

_RANK: dict[Effect, int] = {"read": 0, "write": 1, "execute": 2, "remote": 3}
LONGEST_TITLE = 500
"""Characters of the line that a user is asked with."""


class GuardedTool:
    """A tool whose plan says no more than what any tool may say: its effect, texts, the host and the paths.

    All else in a plan decides how it is approved, confined or journalled, and is not for plug-ins: the name that rules
    use, a question in place of the run, a command and its sandbox.
    """

    def __init__(self, tool: Tool) -> None:
        """Wrap the tool of a plug-in."""
        self._tool = tool
        self._schema = tool.schema
        self._effect: Effect = tool.effect

    @property
    def schema(self) -> ToolSchema:
        """Return the declaration that was checked."""
        return self._schema

    @property
    def effect(self) -> Effect:
        """Return the effect that was declared."""
        return self._effect

    def plan(self, call: str, arguments: str) -> Plan:
        """Return the tool's plan. Raises `ToolFailed`, also for a plan with more effect than was declared."""
        plan = cast("object", self._tool.plan(call, arguments))
        if not isinstance(plan, Plan):
            raise ToolFailed(
                f"Tool {self._schema.name!r} returned {type(plan).__name__} (expected Plan). Nothing was done."
            )
        if _RANK[plan.effect] > _RANK[self._effect]:
            raise ToolFailed(
                f"Tool {self._schema.name!r} plans the effect {plan.effect!r}, but it was registered with "
                f"{self._effect!r}. Nothing was done. Its author has to register what it does."
            )
        return msgspec.structs.replace(
            Plan(effect=plan.effect, title=plan.title[:LONGEST_TITLE], run=plan.run, detail=plan.detail),
            outside=plan.outside,
            host=plan.host,
            reads=plan.reads,
        )
