"""The tool `present_plan`: shows a plan to the user, who decides whether and in which mode it is carried out.

Its plan only reads, and the user is asked in every mode. Their decision is journalled before this runs, so the result
states that decision, and never an approval that the user did not give.
"""

from __future__ import annotations

from holdfast.errors import ToolFailed
from holdfast.tool_calls import Effect, Mode
from holdfast.tools.builtin.declarations import PRESENT_PLAN_SCHEMA, PresentPlanArguments
from holdfast.tools.schema import parse_arguments
from holdfast.tools.tool import Plan, ToolContext, ToolOutput

_MEANS: dict[Mode, str] = {
    "accept-edits": "edits in the workspace run without asking; everything else still needs approval",
    "ask": "each change needs the user's approval",
    "plan": "the user has chosen it since, so only reading is allowed until they leave it",
    "yolo": "nothing needs approval",
}


class PresentPlanTool:
    """Asks the user about a plan, and says what they decided."""

    schema = PRESENT_PLAN_SCHEMA
    effect: Effect = "read"

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return the plan of showing the plan; raises `ToolFailed` if it is blank."""
        text = parse_arguments(arguments, PresentPlanArguments, tool="present_plan").plan.strip()
        if not text:
            raise ToolFailed("The plan is blank. Nothing was shown. Give the whole plan as text.")

        async def run(context: ToolContext) -> ToolOutput:
            message = f"The user approved this plan. Mode: {context.mode} ({_MEANS[context.mode]})."
            return ToolOutput(text=message if context.mode == "plan" else f"{message} Carry it out now.")

        return Plan(effect="read", title="present a plan", detail=text, presents=True, run=run)
