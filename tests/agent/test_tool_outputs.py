"""What a tool returns or raises is checked where it comes in, whatever tool it is: a fault of it ends its own call."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from agent_harness import Rig
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import CallEnded
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool
from holdfast.tool_calls import FileSeen, Image
from holdfast.tools.returned_output import LARGEST_OUTPUT_IMAGE, LONGEST_OUTPUT, MOST_OUTPUT_IMAGES
from holdfast.tools.tool import Plan, ToolContext, ToolOutput

Run = Callable[[dict[str, object], ToolContext], Awaitable[object]]

PICTURE = Image("image/png", b"png", "a.png")


def returning(value: object) -> Run:
    async def run(arguments: dict[str, object], context: ToolContext) -> object:
        del arguments, context
        return value

    return run


def raising(error: Callable[[], object]) -> Run:
    async def run(arguments: dict[str, object], context: ToolContext) -> object:
        del arguments, context
        return error()

    return run


def wrong(**fields: object) -> ToolOutput:
    return ToolOutput(**cast("dict[str, Any]", {"text": "t", **fields}))


def throw(error: BaseException) -> object:
    raise error


class OwnBase(BaseException):
    pass


class WithoutText(BaseException):
    def __str__(self) -> str:
        raise ValueError("it has no text")


async def called(run: Run) -> tuple[CallEnded, Rig]:
    tool = FunctionTool("dice", "execute", run)  # pyright: ignore[reportArgumentType] - what an author writes
    rig = Rig(ScriptedModel([[Call("dice", {})], [Say("ok")]]), tools=[tool])
    ended = await rig.agent.run("go")
    assert ended.cause == "finished"
    reading = rig.store.read()  # decodes every entry again
    assert reading.findings == ()
    assert fold(each.entry for each in reading.records).open_calls == ()
    (outcome,) = [each.entry for each in reading.records if isinstance(each.entry, CallEnded)]
    return outcome, rig


@pytest.mark.parametrize(
    ("output", "place"),
    [
        (wrong(images=["/tmp/x.png"]), "$.images[0]"),
        (wrong(images=5), "$.images"),
        (wrong(images=[{"media_type": "image/png", "data": "AA==", "name": "x"}]), "$.images[0]"),
        (wrong(snapshots=["x"]), "$.snapshots[0]"),
        (wrong(text=5), "$.text"),
        (wrong(text=b"5"), "$.text"),
        (wrong(ok="no"), "$.ok"),
        (wrong(interrupted=None), "$.interrupted"),
    ],
    ids=repr,
)
async def test_an_output_with_a_wrong_field_is_the_failure_of_its_call(output: ToolOutput, place: str) -> None:
    ended, _ = await called(returning(output))
    assert ended.outcome == "failed"
    assert "returned a ToolOutput with a wrong field: Expected" in ended.text
    assert place in ended.text
    assert "Its effect is done" in ended.text


async def test_lists_stand_for_tuples_in_an_output() -> None:
    seen = FileSeen("/a", 1)
    ended, _ = await called(returning(wrong(images=[PICTURE], snapshots=[seen])))
    assert (ended.outcome, ended.images, ended.snapshots) == ("ok", (PICTURE,), (seen,))


async def test_a_name_that_is_no_unicode_is_the_failure_of_its_call() -> None:
    for output in (wrong(snapshots=[FileSeen("/\ud800")]), wrong(images=[Image("image/png", b"", "\ud800")])):
        ended, _ = await called(returning(output))
        assert ended.outcome == "failed"
        assert "a name that is not valid Unicode" in ended.text


@pytest.mark.parametrize(
    ("raises", "said"),
    [
        (lambda: throw(OwnBase("base")), "OwnBase: base"),
        (
            lambda: throw(BaseExceptionGroup("g", [KeyboardInterrupt(), ValueError("v")])),
            "BaseExceptionGroup: g (2 sub-exceptions)",
        ),
        (lambda: sys.exit(3), "SystemExit: 3"),
        (lambda: throw(WithoutText()), "WithoutText (its text cannot be read)"),
        (lambda: throw(MemoryError()), "MemoryError"),
    ],
    ids=["base", "group", "exit", "without text", "without words"],
)
async def test_whatever_an_async_tool_raises_is_the_failure_of_its_call(
    raises: Callable[[], object], said: str
) -> None:
    ended, _ = await called(raising(raises))
    assert (ended.outcome, ended.text) == ("failed", f"Tool 'dice' failed while it ran: {said}. Its effect is unknown.")


async def test_a_long_result_is_cut_and_says_so() -> None:
    for run in (returning("x" * 3_000_000), raising(lambda: throw(ValueError("x" * 3_000_000)))):
        ended, _ = await called(run)
        assert LONGEST_OUTPUT < len(ended.text) < LONGEST_OUTPUT + 200
        assert "bytes (0 line ends) left out here" in ended.text


async def test_too_many_and_too_large_images_are_left_out_and_that_is_said() -> None:
    large = Image("image/png", bytes(LARGEST_OUTPUT_IMAGE + 1), "large")
    ended, _ = await called(returning(wrong(images=(large, *[PICTURE] * (MOST_OUTPUT_IMAGES + 1)))))
    assert ended.images == (PICTURE,) * MOST_OUTPUT_IMAGES
    assert ended.text.splitlines()[1:] == [
        f"[image left out: it has {LARGEST_OUTPUT_IMAGE + 1} bytes (at most {LARGEST_OUTPUT_IMAGE})]",
        f"[image left out: at most {MOST_OUTPUT_IMAGES} are shown]",
    ]


class PlansWrong(FunctionTool):
    planned: object = None

    def plan(self, call: str, arguments: str) -> Plan:
        del call, arguments
        return cast("Plan", self.planned)


async def nothing(context: ToolContext) -> ToolOutput:
    del context
    return ToolOutput(text="ran")


@pytest.mark.parametrize(
    ("planned", "said"),
    [
        (None, "returned NoneType (expected Plan)"),
        (Plan(effect="all", title="t", run=nothing), "wrong field: Invalid enum value 'all' - at `$.effect`"),  # pyright: ignore[reportArgumentType] - what an author writes
        (Plan(effect="read", title=5, run=nothing), "wrong field: Expected `str`, got `int` - at `$.title`"),  # pyright: ignore[reportArgumentType] - likewise
        (Plan(effect="read", title="t", run=nothing, changes=("x",)), "wrong field: Expected `object`, got `str`"),  # pyright: ignore[reportArgumentType] - likewise
    ],
    ids=["none", "effect", "title", "changes"],
)
async def test_a_plan_with_a_wrong_field_is_the_failure_of_its_call(planned: object, said: str) -> None:
    tool = PlansWrong("dice", "execute", returning("x"))  # pyright: ignore[reportArgumentType] - what an author writes
    object.__setattr__(tool, "planned", planned)
    rig = Rig(ScriptedModel([[Call("dice", {})], [Say("ok")]]), tools=[tool])
    assert (await rig.agent.run("go")).cause == "finished"
    assert rig.outcomes == {"dice": "failed"}
    assert said in rig.results()["dice"].text
    assert "Nothing was done" in rig.results()["dice"].text
