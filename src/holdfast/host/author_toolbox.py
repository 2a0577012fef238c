"""The tools of a program's own session: its functions, and those of holdfast's own tools that it names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

from holdfast.errors import UsageError
from holdfast.host.author_tools import AuthorTool
from holdfast.tool_calls import ToolSchema
from holdfast.tools.tool import Instruction, Tool
from holdfast.tools.toolbox import LocalToolbox


class AuthorToolbox(LocalToolbox):
    """The tools of this machine that are `named`, those of the program, and `remote` ones that the user has."""

    def __init__(
        self,
        cwd: Path,
        session_folder: Path,
        *,
        named: frozenset[str],
        authored: Mapping[str, Tool],
        remote: tuple[ToolSchema, ...] = (),
        works_in_folder: bool = True,
    ) -> None:
        super().__init__(
            cwd,
            session_folder,
            declared=named,
            remote=(*(each.schema for each in authored.values()), *remote),
        )
        self._authored = authored
        self._in_folder = works_in_folder
        if authored:
            super().add_tools(authored)

    def add_tools(self, tools: Mapping[str, Tool]) -> None:
        """Serve the tools of plug-ins too, as far as the session declared them."""
        super().add_tools({**tools, **self._authored})

    def redeclare(self, declared: tuple[ToolSchema, ...]) -> tuple[ToolSchema, ...]:
        """Return the tools that the program has now, with the current ones of MCP servers."""
        super().redeclare(self.schemas)
        return declared if set(map(repr, declared)) == set(map(repr, self.schemas)) else self.schemas

    def instructions(self) -> tuple[Instruction, ...]:
        """Return the instructions of the folder, if tools work in it."""
        return super().instructions() if self._in_folder else ()

    @property
    def works_in_folder(self) -> bool:
        """Return whether the model has tools of holdfast's own, which work in the session's folder."""
        return self._in_folder


def split_tools(tools: object) -> tuple[frozenset[str] | None, dict[str, Tool]]:
    """Return the names of holdfast's own tools among `tools`, None for the default ones, and the other tools by name.

    Without any, the session has the default ones. Raises `UsageError` for what is no tool, and for a name used twice.
    """
    from holdfast.tools.builtin.declarations import DECLARATIONS

    builtin = {each.name for each in DECLARATIONS}
    named: set[str] = set()
    authored: dict[str, Tool] = {}
    if isinstance(tools, str) or not isinstance(tools, Iterable):
        raise UsageError(f"Argument tools={tools!r} is not a list of tools. Write tools=[{tools}].")
    for each in cast("Iterable[object]", tools):
        if isinstance(each, str):
            if each not in builtin:
                raise UsageError(
                    f"Tool {each!r} is unknown (expected a function, or one of {', '.join(sorted(builtin))})."
                )
            named.add(each)
            continue
        author_tool = _tool_of(each)
        name = author_tool.schema.name
        if name in authored or name in builtin:
            whose = "holdfast's own" if name in builtin else "another"
            raise UsageError(f"Tool {name!r} has the name of {whose} tool. Rename the function.")
        authored[name] = author_tool
    return (frozenset(named) if named or authored else None), authored


def _tool_of(value: object) -> Tool:
    if is_tool(value):
        return cast("Tool", value)
    if callable(value) and not isinstance(value, type):
        return AuthorTool(value, "execute")
    raise UsageError(
        f"Tool {value!r} cannot be used: it is {type(value).__name__} (expected a function, what @tool made of one, "
        "or the name of one of holdfast's tools)."
    )


def is_tool(value: object) -> bool:
    """Return whether a value has what the protocol `Tool` asks for."""
    return all(hasattr(value, name) for name in ("schema", "effect", "plan"))
