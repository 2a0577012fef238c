"""The commands: what runs each, what describes its words, and what it does, in one table.

A row names functions as `module:function` and imports none: a command pays for itself alone, and a part that is not
installed is missed only by who asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from holdfast.ui.startup.arguments import Arguments


class ListedCommand(NamedTuple):
    """A command: its main function, the function that makes its parser, and a summary."""

    main: str
    parser: str
    summary: str

    def run(self, argv: list[str], environ: Mapping[str, str]) -> int:
        """Run it and return its exit code. Raise `HoldfastError`."""
        main = cast("Callable[..., int]", resolve_name(self.main))
        return main(argv, environ=environ)

    def make_parser(self) -> ArgumentParser:
        """Return the parser of its words."""
        return cast("Callable[[], ArgumentParser]", resolve_name(self.parser))()


def _command(module: str, summary: str, *, main: str = "main", parser: str = "command_parser") -> ListedCommand:
    return ListedCommand(f"holdfast.ui.{module}:{main}", f"holdfast.ui.{module}:{parser}", summary)


COMMANDS: Mapping[str, ListedCommand] = {
    "setup": _command("commands.setup", "set up a provider, API key and model"),
    "config": _command("commands.config", "show every setting and its source"),
    "doctor": _command("commands.doctor", "check this machine's setup"),
    "models": _command("commands.models", "list models, with window and price"),
    "mcp": _command("commands.mcp", "manage MCP servers"),
    "plugins": _command("commands.plugins", "list plug-ins, and why one is not in use"),
    "sessions": _command("commands.sessions", "manage your sessions"),
    "undo": _command("commands.undo", "take back what a session did to files"),
    "redo": _command("commands.undo", "do again what was undone", main="redo_main", parser="redo_parser"),
    "check": _command("commands.check", "validate a conversation file", main="check_file", parser="check_parser"),
    "repair": _command("commands.check", "repair a conversation file", main="repair_file", parser="repair_parser"),
    "acp": _command("acp.main", "serve an editor over the Agent Client Protocol"),
    "serve": _command("service.main", "serve an HTTP API and a page"),
    "worker": _command("commands.fleet.worker", "drive sessions of a fleet"),
    "fleet": _command("commands.fleet.fleet", "create and watch the database of a fleet"),
    "demo": _command("demo", "watch a demo"),
    "completion": _command("commands.completion", "print a shell completion script"),
}
"""The commands by their first word; any other first word starts a prompt."""

MCP_SERVE = _command("mcp_server.main", "serve your sessions over MCP")
"""`holdfast mcp serve`."""

SESSION_MOVES = "holdfast.ui.commands.fleet.moves:main"
"""What runs `holdfast sessions push|pull|backup` and `sessions verify --store`."""

SESSION_MOVE_OPTIONS = "holdfast.ui.commands.fleet.moves:add_moves"
"""What adds their words to the parser of `holdfast sessions`."""

SESSION_IMPORT = "holdfast.ui.commands.session_import:import_session"
"""What runs `holdfast sessions import`."""

SCREEN_MAIN = "holdfast.ui.tui.main:main"
"""What opens the screen."""


def run_screen(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Open the screen, and return the exit code when it is closed."""
    return cast("Callable[..., int]", resolve_name(SCREEN_MAIN))(arguments, environ=environ)
