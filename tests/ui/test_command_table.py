"""The table of commands names functions that are there."""

from __future__ import annotations

from pkgutil import resolve_name

import pytest

from holdfast.ui import command_table
from holdfast.ui.command_table import COMMANDS, MCP_SERVE, ListedCommand
from holdfast.ui.startup.arguments import parser


@pytest.mark.parametrize("command", [*COMMANDS.values(), MCP_SERVE], ids=[*COMMANDS, "mcp serve"])
def test_a_command_names_what_runs_it_and_what_describes_its_words(command: ListedCommand) -> None:
    assert callable(resolve_name(command.main))
    assert command.make_parser().prog.startswith("holdfast ")


@pytest.mark.parametrize("entry", ["SESSION_MOVES", "SESSION_MOVE_OPTIONS", "SESSION_IMPORT", "SCREEN_MAIN"])
def test_what_else_is_named_is_there(entry: str) -> None:
    assert callable(resolve_name(vars(command_table)[entry]))


def test_the_help_of_holdfast_lists_every_command() -> None:
    text = parser().format_help()
    assert [name for name in COMMANDS if name not in text] == []
