"""A conformance suite for any `Tool`: what the agent and the user rely on when a model calls it.

Each law is tried by itself in an empty folder, which is then the working directory. A failure is an AssertionError
that begins with the law's name. No law takes longer than `LONGEST_TOOL_LAW`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import cast, get_args

import msgspec

from holdfast.errors import ToolFailed
from holdfast.testing.named_law import NamedLaw
from holdfast.tool_calls import Effect
from holdfast.tools.returned_output import tool_output
from holdfast.tools.schema_fault import schema_fault
from holdfast.tools.tool import Plan, Tool, ToolContext, ToolOutput

LONGEST_TOOL_LAW = 20.0
"""Seconds for one law; a tool that needs them counts as hung."""
STOP_WITHIN = 2.0
"""Seconds in which a call must end after it was stopped."""
PLAN_WITHIN = 1.0
"""Seconds of a plan: the user waits for it."""
LARGEST_TOOL_RESULT = 1_000_000
"""Characters of a result; the model reads far fewer."""

_RANK: Mapping[str, int] = MappingProxyType({name: at for at, name in enumerate(get_args(Effect))})
_FORBIDDEN = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "socket.connect"})
_WRITING = 3  # any access but reading
_OPENED = "open"
_NOT_JSON = ("", "{", "[]", "null", '"text"')


class _Subject(msgspec.Struct, frozen=True):
    """The tool, and arguments that it accepts."""

    tool: Tool
    arguments: str

    def plan(self) -> Plan:
        return self.tool.plan("c1", self.arguments)


async def check_tool(tool: Tool, arguments: Sequence[Mapping[str, object]]) -> None:
    """Try every law with each of the `arguments`, which the tool must accept. Raise AssertionError for a broken one."""
    assert arguments, "no arguments are given (expected at least one object that the tool accepts)"
    for each in arguments:
        subject = _Subject(tool, msgspec.json.encode(each).decode())
        for name, law in TOOL_LAWS.items():
            with NamedLaw(f"a tool {name}"), _empty_folder():
                await asyncio.wait_for(law(subject), LONGEST_TOOL_LAW)


@contextmanager
def _empty_folder() -> Generator[None]:
    before = Path.cwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


async def _has_a_usable_schema(subject: _Subject) -> None:
    fault = schema_fault(subject.tool.schema)
    assert not fault, f"it {fault}"
    assert subject.tool.schema == subject.tool.schema, "its schema differs from one look to the next"


async def _plans_without_an_effect(subject: _Subject) -> None:
    with _watched() as seen:
        subject.plan()
    assert not seen, f"its plan did {seen[0]} (expected nothing before it is allowed)"
    written = [each.name for each in os.scandir()]
    assert not written, f"its plan wrote {written[0]!r}"


async def _plans_the_same_again(subject: _Subject) -> None:
    first, second = (
        msgspec.structs.replace(each, run=_nothing, release=None) for each in (subject.plan(), subject.plan())
    )
    assert first == second, "two plans of the same arguments differ"


async def _plans_at_once(subject: _Subject) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    subject.plan()
    took = loop.time() - began
    assert took < PLAN_WITHIN, f"its plan took {took:.1f} s"


async def _plans_no_more_than_its_effect(subject: _Subject) -> None:
    planned, declared = subject.plan().effect, subject.tool.effect
    assert _RANK[planned] <= _RANK[declared], f"it plans {planned!r} (expected {declared!r} at most)"


async def _titles_its_plan(subject: _Subject) -> None:
    title = subject.plan().title
    assert title.strip() and title.isprintable(), f"its title is {title!r} (expected one printable line)"  # noqa: PT018 - one sentence


async def _refuses_what_is_no_object(subject: _Subject) -> None:
    for raw in _NOT_JSON if _required(subject) else _NOT_JSON[1:]:
        try:
            subject.tool.plan("c1", raw)
        except ToolFailed as failed:
            _expect_reason(failed, f"it refused {raw!r}")
        else:
            raise AssertionError(f"it accepted {raw!r} as its arguments")


async def _ends_with_an_output(subject: _Subject) -> None:
    try:
        returned = await subject.plan().run(_context())
    except ToolFailed as failed:
        _expect_reason(failed, "it failed")
        return
    raw = cast("object", returned)
    text = raw.text if isinstance(raw, ToolOutput) else raw
    assert not isinstance(text, str) or len(text) <= LARGEST_TOOL_RESULT, f"its result has {len(text):,} characters"
    output = tool_output(returned)
    assert output.text == output.text.encode(errors="replace").decode(), "its result is not valid Unicode"


async def _ends_when_it_is_stopped(subject: _Subject) -> None:
    context = _context()
    running = asyncio.ensure_future(_outcome(subject.plan().run(context)))
    await asyncio.sleep(0)
    context.stop.set()
    done, _ = await asyncio.wait({running}, timeout=STOP_WITHIN)
    if not done:
        running.cancel()
        await asyncio.wait({running}, timeout=STOP_WITHIN)
    assert done, f"it ran on for {STOP_WITHIN:g} s after it was stopped (expected its partial result)"


async def _lets_others_run(subject: _Subject) -> None:
    loop = asyncio.get_running_loop()
    longest, last = 0.0, loop.time()
    running = asyncio.ensure_future(_outcome(subject.plan().run(_context())))
    while not running.done():
        await asyncio.sleep(0.01)
        now = loop.time()
        longest, last = max(longest, now - last), now
    assert longest < PLAN_WITHIN, f"it blocked the event loop for {longest:.1f} s (expected a thread)"


def _expect_reason(failed: ToolFailed, what: str) -> None:
    assert str(failed).strip(), f"{what} without a reason"


async def _outcome(run: Awaitable[ToolOutput]) -> None:
    try:
        tool_output(await run)
    except ToolFailed:
        return


async def _nothing(_: ToolContext) -> ToolOutput:
    return ToolOutput(text="")


def _context() -> ToolContext:
    return ToolContext(call="c1", stop=asyncio.Event(), emit=lambda _: None)


def _required(subject: _Subject) -> bool:
    return bool(subject.tool.schema.parameters.get("required"))


_seen: list[str] | None = None
_hooked: list[bool] = []


@contextmanager
def _watched() -> Generator[list[str]]:
    """Yield a list that gets what code of the block does to processes, the network and files."""
    global _seen  # noqa: PLW0603 - Python's audit hooks cannot be removed: one looks whether a law watches
    if not _hooked:
        sys.addaudithook(_note)
        _hooked.append(True)
    _seen = found = list[str]()
    try:
        yield found
    finally:
        _seen = None


def _note(event: str, args: tuple[object, ...]) -> None:
    if _seen is None:
        return
    if event in _FORBIDDEN or event in ("os.remove", "os.rename", "os.mkdir", "os.rmdir"):
        _seen.append(event)
    elif event == _OPENED and len(args) > 2 and _writes(args[1], args[2]) and not str(args[0]).endswith(".pyc"):  # noqa: PLR2004 - path, mode, flags
        _seen.append(f"open {args[0]!r} for writing")


def _writes(mode: object, flags: object) -> bool:
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return bool(flags & _WRITING) if isinstance(flags, int) else False


_Law = Callable[[_Subject], Awaitable[None]]

TOOL_LAWS: Mapping[str, _Law] = MappingProxyType(
    {
        law.__name__.strip("_").replace("_", " "): law
        for law in (
            _has_a_usable_schema,
            _plans_without_an_effect,
            _plans_the_same_again,
            _plans_at_once,
            _plans_no_more_than_its_effect,
            _titles_its_plan,
            _refuses_what_is_no_object,
            _ends_with_an_output,
            _ends_when_it_is_stopped,
            _lets_others_run,
        )
    }
)
"""The laws of a tool by name: `a tool NAME` is a sentence."""
