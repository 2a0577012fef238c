"""Pages to read over the transcript: the help, lines in columns, names and values. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.text import literal
from holdfast.ui.tui.commands import COMMANDS

_GAP = re.compile(r"\s\s(?=\S)")
"""What is between two columns of a line."""

_WIDEST = 48
"""Cells before a last column, which is to have room on a narrow screen."""

KEYS: tuple[tuple[str, str], ...] = (
    ("Enter", "send; while a turn runs, tell it at the next safe point"),
    ("Tab, Alt+Enter", "while a turn runs, keep it for the next; Tab goes to a question"),
    ("Ctrl+J, Shift+Enter", "begin a line"),
    ("Esc", "stop the turn that runs; what was finished is kept"),
    ("Esc Esc", "go back to an earlier prompt; or clear this one"),
    ("Ctrl+C", "stop; clear the prompt; twice on an empty one, quit"),
    ("Ctrl+D", "quit, if the prompt is empty"),
    ("↑ ↓, Ctrl+R", "earlier prompts; search them; ↑ takes back what waits"),
    ("Page up, Page down", "scroll"),
    ("Ctrl+O", "show all of every block"),
    ("Shift+Tab", "what may run without asking"),
    ("Ctrl+G", "write in $EDITOR"),
    ("Ctrl+L, Ctrl+Z", "draw anew, suspend"),
    ("@ /", "a file, a command"),
    ("! !!", "a shell command of your own; with !! the model is told of it"),
)


def lines_page(title: str, lines: Iterable[str]) -> RenderableType:
    """Return lines to read below a title; one that is too long goes on beneath its last column that leaves room."""
    shown: list[RenderableType] = [Text(f"{title}\n", "bold")]
    for line in lines:
        begins = max((gap.end() for gap in _GAP.finditer(line) if gap.end() <= _WIDEST), default=0)
        head, last = Text(line[:begins], no_wrap=True), Text(line[begins:])
        row = Table.grid()
        row.add_row(*([head, last] if begins else [last]))
        shown.append(row)
    return Group(*shown)


def help_page() -> RenderableType:
    """Return the keys and the commands."""
    keys, commands = Table.grid(padding=(0, 2)), Table.grid(padding=(0, 2))
    for key, does in KEYS:
        keys.add_row(Text(f"  {key}", "bold", no_wrap=True), Text(does))
    for command in COMMANDS:
        name = f"/{command.name} {command.takes}".strip()
        also = f" (also {', '.join(f'/{alias}' for alias in command.aliases)})" if command.aliases else ""
        commands.add_row(Text(f"  {name}", "bold", no_wrap=True), Text(f"{command.does}{also}"))
    title = Text("Keys", "bold").append("  (Esc closes this)", "dim not bold")
    return Group(title, keys, Text("\nCommands", "bold"), commands)


def rows_page(title: str, rows: Sequence[tuple[str, str]]) -> Text:
    """Return names and values below a title."""
    said = Text(f"{title}\n\n", "bold")
    for name, value in rows:
        said.append(f"  {name:<16}", "dim not bold").append(f"{literal(value)}\n", "not bold")
    said.right_crop(1)
    return said
