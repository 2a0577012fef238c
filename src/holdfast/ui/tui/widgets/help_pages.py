"""Pages over the transcript: help, lines in columns, names and values. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.text import literal
from holdfast.ui.tui.command_parser import SLASH_COMMANDS

if TYPE_CHECKING:
    from holdfast.host.offered_commands import OfferedCommand

_GAP = re.compile(r"\s\s(?=\S)")
"""The gap between two columns of a line."""

_WIDEST = 48
"""Maximum indentation of a last column, which needs room on a narrow screen."""

KEYS: tuple[tuple[str, str], ...] = (
    ("{send}", "send; steer while a turn runs"),
    ("Tab, {queue}", "queue for the next turn; Tab also switches to a dialog"),
    ("{new-line}", "new line"),
    ("{interrupt}", "interrupt the turn; finished work is saved"),
    ("{interrupt} twice", "rewind to an earlier prompt, or clear this one"),
    ("{give-up}", "interrupt; clear the prompt; twice on an empty prompt, quit"),
    ("{quit-if-empty}", "quit if the prompt is empty"),
    ("↑ ↓, {history}", "prompt history; search; ↑ recalls queued messages"),
    ("{page-up}, {page-down}", "scroll; {to-end}, or End at the end of a line, goes to the end"),
    ("{expand}", "expand / collapse all output"),
    ("{todo}", "show all of the to-do list, or one line"),
    ("{background}", "move the model's running command to the background"),
    ("{mode}", "permission mode"),
    ("{attach}", "attach the image in the clipboard"),
    ("{editor}", "edit the prompt in your editor"),
    ("{redraw}, {suspend}", "redraw, suspend"),
    ("@ /", "mention a file, run a command"),
    ("! !!", "run a shell command; !! also shares the output with the model"),
)


def lines_page(title: str, lines: Iterable[str]) -> RenderableType:
    """Return lines below a title; a long line wraps within its last column, unless that leaves too little room."""
    shown: list[RenderableType] = [Text(f"{title}\n", "bold")]
    for line in lines:
        begins = max((gap.end() for gap in _GAP.finditer(line) if gap.end() <= _WIDEST), default=0)
        head, last = Text(line[:begins], no_wrap=True), Text(line[begins:])
        row = Table.grid()
        row.add_row(*([head, last] if begins else [last]))
        shown.append(row)
    return Group(*shown)


def help_pages(key_names: Mapping[str, str], added: Iterable[OfferedCommand]) -> tuple[RenderableType, RenderableType]:
    """Return a page of the keys and one of the commands, with those that plug-ins and servers `added`.

    `key_names` are the keys of each action.
    """
    keys, commands = Table.grid(padding=(0, 2)), Table.grid(padding=(0, 2))
    for key, does in KEYS:
        keys.add_row(Text(f"  {key.format_map(key_names)}", "bold", no_wrap=True), Text(does.format_map(key_names)))
    for command in SLASH_COMMANDS:
        name = f"/{command.name} {command.arguments}".strip()
        also = f" (also {', '.join(f'/{alias}' for alias in command.aliases)})" if command.aliases else ""
        commands.add_row(Text(f"  {name}", "bold", no_wrap=True), Text(f"{command.description}{also}"))
    for each in added:
        commands.add_row(Text(f"  {literal(each.usage)}", "bold", no_wrap=True), Text(literal(each.summary)))
    also = "dim not bold"
    return (
        Group(Text("Keys", "bold").append("  ·  Tab: commands", also), keys),
        Group(Text("Commands", "bold").append("  ·  Tab: keys", also), commands),
    )


def rows_page(title: str, rows: Sequence[tuple[str, str]]) -> Text:
    """Return names and values below a title."""
    text = Text(f"{title}\n\n", "bold")
    for name, value in rows:
        text.append(f"  {name:<16}", "dim not bold").append(f"{literal(value)}\n", "not bold")
    text.right_crop(1)
    return text
