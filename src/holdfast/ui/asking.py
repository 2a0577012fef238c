"""Questions in a plain terminal: lines in, lines out, so that they work wherever one can log in.

Two rules. What was typed before a question was asked does not answer it; Esc and Enter are as Ctrl+D. What is said by
others is written out in full.
"""

from __future__ import annotations

import getpass
import sys
import termios
from collections.abc import Sequence
from contextlib import suppress

from holdfast.agent.project import ProjectFile
from holdfast.config import ProjectConfig
from holdfast.text import literal
from holdfast.ui.table import home
from holdfast.ui.values import flat, shown


def terminal() -> bool:
    """Return whether there is a person to ask."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def line(question: str, default: str = "") -> str:
    """Return what the person typed, stripped, or the default if that is nothing; raises `EOFError` at its end."""
    _forget_what_was_typed()
    offered = f" [{default}]" if default else ""
    return _unless_left(input(f"{question}{offered}: ")) or default


def hidden(question: str) -> str:
    """Return what the person typed, stripped, without showing it; raises `EOFError` at its end."""
    _forget_what_was_typed()
    return _unless_left(getpass.getpass(f"{question}: "))


def one_of(question: str, names: Sequence[str], *, says: Sequence[str], default: str) -> str:
    """Return the name that the person chose: by its number, by itself, or by its beginning."""
    width = max(map(len, names))
    for number, (name, what) in enumerate(zip(names, says, strict=True), 1):
        print(f"  {number:>2}  {name:<{width}}  {literal(what)}".rstrip())
    while True:
        typed = line(question, default)
        if typed.isdecimal() and 1 <= int(typed) <= len(names):
            return names[int(typed) - 1]
        near = [typed] if typed in names else [name for name in names if name.startswith(typed)]
        if len(near) == 1:
            return near[0]
        print(f"{typed!r} is none of them. Type a number from 1 to {len(names)}, or a name.")


def yes(question: str) -> bool:
    """Return whether the person says yes; everything else is no. Raises `EOFError` at its end."""
    return line(f"{question} [y/N]").lower() in ("y", "yes")


def trusts(file: ProjectFile, config: ProjectConfig) -> bool:
    """Return whether the person trusts the config of a project, having been shown all that it would change."""
    print(f"This project has a config of its own, {home(str(file.path))}. It would set:\n")
    for name, value in flat(config).items():
        if value not in (None, ()):
            print(f"  {name:<20}  {literal(shown(value))}")
    print()
    try:
        return yes("Trust it, until it changes?")
    except EOFError:
        print()
        return False


def _unless_left(typed: str) -> str:
    """Return what was typed, stripped; raises `EOFError` if it is nothing but Esc."""
    if typed and not typed.strip("\x1b"):
        raise EOFError
    return typed.strip()


def _forget_what_was_typed() -> None:
    sys.stdout.flush()
    with suppress(termios.error, OSError):  # no terminal, nothing typed
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
