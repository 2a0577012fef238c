"""The file that a program's name runs, and whether it is that program, or a script or launcher that chooses one.

`python --version` only reads, if `python` is Python. A shim of pyenv, rbenv or asdf of that name is a script that reads
`.python-version` or `.tool-versions` in the folder where it runs, and may start a program of that folder; so may a
launcher of mise or Volta. Behind a wall that costs nothing. Without one, such a name is not a program that is known.

What the system installed is taken as it is: scripts there (`egrep`, `zcat`) read nothing of a project.
"""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.system.bounded_files import open_unblocked, read_beginning

_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib/", "/nix/store/", "/gnu/store/")
_LOCAL = "/usr/local/"
_BINARY = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""How a compiled program begins, on Linux and on macOS."""

_FIRST_LINE = 256
_MOST_INTERPRETERS = 4


def program_file(name: str, folder: str) -> str:
    """Return the file that a program's name runs in a folder, by the search path of commands; "" if there is none."""
    for place in os.environ.get("PATH", os.defpath).split(":"):
        path = Path(folder, place, name)
        if path.is_file() and os.access(path, os.X_OK):
            return str(path.parent.resolve() / name)
    return ""


def chosen_elsewhere(name: str, folder: str) -> str:
    """Return the file of a program's name that may run another program, "" if it is the program itself, or none."""
    for _ in range(_MOST_INTERPRETERS):
        if not (found := program_file(name, folder)):
            return ""
        real = os.path.realpath(found)
        beginning = _beginning(real)
        if not beginning.startswith(b"#!"):
            is_named = _is_of_system(real) or real.rpartition("/")[2].startswith(name)
            return "" if beginning.startswith(_BINARY) and is_named else found
        words = beginning.partition(b"\n")[0][2:].decode("utf-8", "replace").split()
        if not _is_of_system(real) or not words:
            return found
        if words[0].rpartition("/")[2] != "env":
            return "" if _is_of_system(os.path.realpath(words[0])) else found
        if len(words) != 2:  # noqa: PLR2004 - env and a program
            return found
        name = words[1]
    return name


def _is_of_system(path: str) -> bool:
    return path.startswith(_SYSTEM) and not path.startswith(_LOCAL)


def _beginning(path: str) -> bytes:
    try:
        with open_unblocked(Path(path)) as file:
            return read_beginning(file, _FIRST_LINE)
    except OSError:  # it cannot be read, and is not known
        return b""
