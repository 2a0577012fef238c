"""Tools made from functions of a program: the schema from the types and the docstring, the result from any value.

A sync function runs on a daemon thread, so that it never blocks the event loop. A stop does not wait for it: the call
is journalled as interrupted, its effect unknown, for the thread may go on. An async function is cancelled.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import typing
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar, cast, overload

import msgspec

from holdfast.errors import ToolFailed, UsageError
from holdfast.system.threads import ForeignExit, in_daemon
from holdfast.text import valid_unicode
from holdfast.tool_calls import Effect
from holdfast.tools.returned_output import bounded_text, tool_output
from holdfast.tools.schema import parse_arguments, schema_of
from holdfast.tools.tool import Plan, ToolContext, ToolOutput

P = ParamSpec("P")
R = TypeVar("R")

LONGEST_FUNCTION_NAME = 64
"""Characters of a tool's name: no provider takes more."""

LONGEST_RETURNED = 30_000
"""Bytes of what a function returns that the model reads: the beginning and the end of a longer one."""

CANCELLED = 0.5
"""Seconds that a cancelled async function has to clean up before its call ends without it."""

_EFFECTS = typing.get_args(Effect)
_TITLE = 200


class AuthorTool(Generic[P, R]):
    """A tool that calls a function. The function can still be called as before."""

    def __init__(self, function: Callable[P, R], effect: Effect) -> None:
        """Make it. Raises `UsageError` for a function that no model can call."""
        self.function = function
        self._call: Callable[..., object] = function  # with arguments that were checked at run time
        self.effect: Effect = effect
        self._name = getattr(function, "__name__", "")
        self._arguments = _arguments(function, self._name)
        try:
            self.schema = schema_of(self._name, _description(function, self._name), self._arguments)
        except TypeError as error:
            raise UsageError(
                f"Tool {self._name!r} has an argument that cannot be described to a model: {error}. "
                "Use str, int, float, bool, list, dict, Literal, an enum or a dataclass as its type."
            ) from error

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function."""
        return self.function(*args, **kwargs)

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return a plan that calls the function. Raise `ToolFailed` if the arguments do not fit its types."""
        parsed = parse_arguments(arguments, self._arguments, tool=self._name)
        values: dict[str, object] = {name: _value(parsed, name) for name in parsed.__struct_fields__}
        title = f"{self._name} {arguments}" if len(arguments) <= _TITLE else f"{self._name} {arguments[:_TITLE]}…"

        async def run(context: ToolContext) -> ToolOutput:
            return await self._run(values, context)

        return Plan(effect=self.effect, title=valid_unicode(" ".join(title.split())), detail=arguments, run=run)

    async def _run(self, values: dict[str, object], context: ToolContext) -> ToolOutput:
        work = asyncio.ensure_future(self._returned(values))
        stop = asyncio.ensure_future(context.stop.wait())
        try:
            await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                work.cancel()
                await asyncio.wait({work}, timeout=CANCELLED)
                if not work.done() or work.cancelled():
                    return ToolOutput(text="", interrupted=True)
            if (error := work.exception()) is not None and not isinstance(error, Exception):
                raise ForeignExit(error)
            return output_of_value(work.result(), self._name)
        finally:
            stop.cancel()
            work.cancel()

    async def _returned(self, values: dict[str, object]) -> object:
        function = self._call
        asynchronous = inspect.iscoroutinefunction(function)
        try:
            returned = function(**values) if asynchronous else await in_daemon(lambda: function(**values))
            return await returned if inspect.isawaitable(returned) else returned
        except SystemExit as error:  # in a task it would end the loop, and with it the program
            raise ForeignExit(error) from error


@overload
def tool(function: Callable[P, R], /) -> AuthorTool[P, R]: ...
@overload
def tool(effect: Effect = "execute", /) -> Callable[[Callable[P, R]], AuthorTool[P, R]]: ...
def tool(function: object = "execute", /) -> object:
    """Make a tool of a function: `@tool` alone may do anything and asks the user, `@tool("read")` runs unasked.

    Raises `UsageError` for an unknown effect, and for a function that no model can call.
    """
    if callable(function):
        return AuthorTool(function, "execute")
    if function not in _EFFECTS:
        raise UsageError(f"Effect {function!r} of a tool is unknown (expected one of {', '.join(_EFFECTS)}).")
    effect = cast("Effect", function)

    def decorate(decorated: Callable[P, R]) -> AuthorTool[P, R]:
        return AuthorTool(decorated, effect)

    return decorate


def _value(parsed: msgspec.Struct, name: str) -> object:
    """Return the value of an argument."""
    return cast("object", getattr(parsed, name))  # a struct made for the author's function


def output_of_value(returned: object, name: str) -> ToolOutput:
    """Return what a function returned as the result of its call: a text as it is, None as "Done.", all else as JSON.

    Raises `ToolFailed` for a value that has no JSON.
    """
    match returned:
        case ToolOutput() | str():
            output = tool_output(returned)
            return msgspec.structs.replace(output, text=bounded_text(output.text, LONGEST_RETURNED))
        case None:
            return ToolOutput(text="Done.")
        case _:
            try:
                return ToolOutput(text=bounded_text(msgspec.json.encode(returned).decode(), LONGEST_RETURNED))
            except (TypeError, ValueError, OverflowError, RecursionError) as error:
                raise ToolFailed(
                    f"Tool {name!r} ran and returned {type(returned).__name__}, which cannot be written as JSON. "
                    "Its effect is done, its result cannot be shown. Its author must return a text, or data."
                ) from error


def _description(function: object, name: str) -> str:
    return inspect.getdoc(function) or name.replace("_", " ")


def _arguments(function: Callable[..., object], name: str) -> type[msgspec.Struct]:
    """Return the struct of the function's arguments."""
    if not (name.isidentifier() and name.isascii() and len(name) <= LONGEST_FUNCTION_NAME):
        raise UsageError(
            f"Function {name!r} cannot be a tool: no model can call it (at most {LONGEST_FUNCTION_NAME} ASCII "
            "letters, digits and underscores). Write it as `def` with such a name."
        )
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise UsageError(
            f"Tool {name!r} has a type that cannot be read: {error}. Import or define it at the top of its module."
        ) from error
    fields: list[tuple[str, object] | tuple[str, object, object]] = []
    for each in inspect.signature(function).parameters.values():
        if each.kind not in {each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY}:
            raise UsageError(
                f"Tool {name!r} has the argument {str(each)!r}, which a model cannot pass by name. Give it arguments "
                "with names only."
            )
        if each.name not in hints:
            raise UsageError(f"Tool {name!r} has the argument {each.name!r} without a type. Write {each.name}: str.")
        if each.default is each.empty:
            fields.append((each.name, hints[each.name]))
        else:
            fields.append((each.name, hints[each.name], _default(cast("object", each.default))))
    try:
        struct = msgspec.defstruct(
            name, cast("list[str]", fields), frozen=True, kw_only=True, forbid_unknown_fields=True
        )
    except TypeError as error:
        raise UsageError(
            f"Tool {name!r} cannot be described to a model: {error}. Give it arguments with other types."
        ) from error
    return struct


def _default(value: object) -> object:
    """Return the default for a struct's field; what can change is copied for each call."""
    is_mutable = isinstance(value, (list, dict, set))
    return msgspec.field(default_factory=lambda: copy.copy(value)) if is_mutable else value
