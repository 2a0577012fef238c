"""Where the programs are that holdfast starts by itself: never in the folder that it works in.

A search path may lead into the workspace: `./bin`, `node_modules/.bin`, an active virtual environment. What lies there
came with the repository, or a command of the model wrote it. A command that names such a program is asked about; the
program that builds the wall, searches or compares would run without a question, and outside of every wall.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

_SYSTEM = ("/usr", "/bin", "/sbin", "/opt", "/nix", "/gnu")


def trusted_program(name: str, *workspaces: str | Path, environ: Mapping[str, str] | None = None) -> str:
    """Return the absolute path of a program by the search path, "" if none lies outside of the workspaces.

    A relative folder of the search path does not count. In a workspace that contains a folder of the system, such as
    `/`, the system's own programs do.
    """
    folders = [os.path.realpath(each) for each in workspaces]
    search = (os.environ if environ is None else environ).get("PATH", os.defpath)
    for place in search.split(os.pathsep):
        if not os.path.isabs(place):  # noqa: PTH117 - a text of the environment, "" among them
            continue
        found = shutil.which(name, path=place)
        if found and not any(_lies_in(each, folder) for each in _places(found) for folder in folders):
            return found
    return ""


def trusted_search_path(*workspaces: str | Path, environ: Mapping[str, str] | None = None) -> str:
    """Return the search path without what lies in the workspaces, for programs that start others by their names."""
    folders = [os.path.realpath(each) for each in workspaces]
    search = (os.environ if environ is None else environ).get("PATH", os.defpath)
    outer = (
        place
        for place in search.split(os.pathsep)
        if os.path.isabs(place)  # noqa: PTH117 - as above
        and not any(_lies_in(each, folder) for each in (place, os.path.realpath(place)) for folder in folders)
    )
    return os.pathsep.join(outer)


def _places(program: str) -> tuple[str, ...]:
    """Return where a program lies: by its name, with its folder's links followed, and with its own."""
    folder, _, name = program.rpartition("/")
    return program, f"{os.path.realpath(folder)}/{name}", os.path.realpath(program)


def _lies_in(path: str, folder: str) -> bool:
    is_system = any(_is_below(path, each) and _is_below(each, folder) for each in _SYSTEM)
    return _is_below(path, folder) and not is_system


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
