"""Questions in a plain terminal: lines in, lines out, so that they work in any terminal session.

Input typed before a question does not answer it; Esc and Enter count as Ctrl+D. Text from other sources is printed with
all control characters written out.
"""

from __future__ import annotations

import getpass
import sys
import termios
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from holdfast.text import literal
from holdfast.ui.startup.settings_sources import display_value, flat
from holdfast.ui.view.columns import home


def is_interactive() -> bool:
    """Return whether standard input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def ask_line(question: str, default: str = "") -> str:
    """Return the typed line, stripped, or the default for an empty one. Raise `EOFError` at the end of input."""
    _discard_typed_input()
    offered = f" [{default}]" if default else ""
    return _unless_cancelled(input(f"{question}{offered}: ")) or default


def ask_hidden(question: str) -> str:
    """Return the typed line, stripped, without echoing it. Raise `EOFError` at the end of input."""
    _discard_typed_input()
    return _unless_cancelled(getpass.getpass(f"{question}: "))


def ask_choice(question: str, names: Sequence[str], *, descriptions: Sequence[str], default: str) -> str:
    """Return the chosen name; the user types its number, the name, or its beginning."""
    width = max(map(len, names))
    for number, (name, what) in enumerate(zip(names, descriptions, strict=True), 1):
        print(f"  {number:>2}  {name:<{width}}  {literal(what)}".rstrip())
    while True:
        typed = ask_line(question, default)
        if typed.isdecimal() and 1 <= int(typed) <= len(names):
            return names[int(typed) - 1]
        near = [typed] if typed in names else [name for name in names if name.startswith(typed)]
        if len(near) == 1:
            return near[0]
        print(f"Invalid choice {typed!r}. Type a number from 1 to {len(names)}, or a name.")


def ask_yes_no(question: str) -> bool:
    """Return whether the user answers yes; any other answer is no. Raise `EOFError` at the end of input."""
    return ask_line(f"{question} [y/N]").lower() in ("y", "yes")


def ask_trust(path: Path, config: msgspec.Struct) -> bool:
    """Show the settings in a project's file at `path`, and return whether the user trusts them."""
    print(f"{home(str(path))} takes effect only if you trust it. It has:\n")
    for name, value in flat(config).items():
        if value not in (None, ()):
            print(f"  {name:<20}  {literal(display_value(value))}")
    print()
    try:
        return ask_yes_no("Trust this version?")
    except EOFError:
        print()
        return False


def _unless_cancelled(typed: str) -> str:
    """Return the typed text, stripped. Raise `EOFError` if it is only Esc."""
    if typed and not typed.strip("\x1b"):
        raise EOFError
    return typed.strip()


def _discard_typed_input() -> None:
    sys.stdout.flush()
    with suppress(termios.error, OSError):  # without a terminal there is no pending input
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
