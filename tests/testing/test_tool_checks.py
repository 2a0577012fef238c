"""The suite for tools: a good tool passes, and each known-bad one breaks the law that its name says."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from holdfast.errors import ToolFailed
from holdfast.testing import TOOL_LAWS, check_tool
from holdfast.tool_calls import Effect, ToolSchema
from holdfast.tools.schema import parse_arguments, schema_of
from holdfast.tools.tool import Plan, ToolContext, ToolOutput


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the tools of this page are called with."""

    article: str


class Good:
    """A tool that keeps every law; the bad ones differ in one thing."""

    effect: Effect = "read"

    @property
    def schema(self) -> ToolSchema:
        return schema_of("stock", "How many pieces there are.", Arguments)

    def plan(self, call: str, arguments: str) -> Plan:
        del call
        article = parse_arguments(arguments, Arguments, tool="stock").article
        self.while_planning()
        return Plan(effect=self.planned, title=self.title(article), run=self.run)

    planned: Effect = "read"

    def title(self, article: str) -> str:
        return f"stock of {article}"

    def while_planning(self) -> None:
        """Do nothing."""

    async def run(self, context: ToolContext) -> ToolOutput:
        del context
        return ToolOutput(text="7 pieces")


class NamedBadly(Good):
    @property
    def schema(self) -> ToolSchema:
        return msgspec.structs.replace(super().schema, name="Stock of all")


class RequiresNothingKnown(Good):
    @property
    def schema(self) -> ToolSchema:
        return msgspec.structs.replace(super().schema, parameters={"type": "object", "required": ["article"]})


class WritesWhilePlanning(Good):
    def while_planning(self) -> None:
        Path("planned").write_text("too early", encoding="utf-8")


class RunsWhilePlanning(Good):
    def while_planning(self) -> None:
        import subprocess

        subprocess.run(["true"], check=True)


class PlansDifferently(Good):
    def title(self, article: str) -> str:
        return f"stock of {article} at {time.monotonic_ns()}"


class PlansSlowly(Good):
    def while_planning(self) -> None:
        time.sleep(1.2)


class PlansMore(Good):
    planned: Effect = "execute"


class SaysNothing(Good):
    def title(self, article: str) -> str:
        del article
        return " "


class AcceptsAnything(Good):
    def plan(self, call: str, arguments: str) -> Plan:
        del call, arguments
        return Plan(effect="read", title="anything", run=self.run)


class SaysTooMuch(Good):
    async def run(self, context: ToolContext) -> ToolOutput:
        del context
        return ToolOutput(text="x" * 2_000_000)


class ReturnsNumbers(Good):
    async def run(self, context: ToolContext) -> ToolOutput:
        del context
        return 7  # pyright: ignore[reportReturnType] - the mistake


class IgnoresTheStop(Good):
    async def run(self, context: ToolContext) -> ToolOutput:
        await asyncio.sleep(0 if context.stop.is_set() else 3)
        return ToolOutput(text="late")


class Blocks(Good):
    async def run(self, context: ToolContext) -> ToolOutput:
        del context
        time.sleep(1.2)  # noqa: ASYNC251 - the mistake
        return ToolOutput(text="late")


class FailsWithAReason(Good):
    async def run(self, context: ToolContext) -> ToolOutput:
        del context
        raise ToolFailed("The shop is closed. Come back at nine.")


BAD: tuple[tuple[Callable[[], Good], str], ...] = (
    (NamedBadly, "has a usable schema"),
    (RequiresNothingKnown, "has a usable schema"),
    (WritesWhilePlanning, "plans without an effect"),
    (RunsWhilePlanning, "plans without an effect"),
    (PlansDifferently, "plans the same again"),
    (PlansSlowly, "plans at once"),
    (PlansMore, "plans no more than its effect"),
    (SaysNothing, "titles its plan"),
    (AcceptsAnything, "refuses what is no object"),
    (SaysTooMuch, "ends with an output"),
    (ReturnsNumbers, "ends with an output"),
    (IgnoresTheStop, "ends when it is stopped"),
    (Blocks, "lets others run"),
)


@pytest.mark.parametrize("tool", [Good, FailsWithAReason])
async def test_a_good_tool_passes(tool: Callable[[], Good]) -> None:
    before = Path.cwd()
    await check_tool(tool(), [{"article": "nails"}])
    assert Path.cwd() == before


@pytest.mark.parametrize(("tool", "law"), BAD, ids=lambda each: getattr(each, "__name__", None))
async def test_a_bad_tool_breaks_its_law(tool: Callable[[], Good], law: str) -> None:
    with pytest.raises(AssertionError, match=f"Law 'a tool {law}' is broken: "):
        await check_tool(tool(), [{"article": "nails"}])


def test_each_law_has_a_tool_that_breaks_it() -> None:
    assert {law for _, law in BAD} == set(TOOL_LAWS)


async def test_no_arguments_check_nothing() -> None:
    with pytest.raises(AssertionError, match="no arguments are given"):
        await check_tool(Good(), [])
