"""Finds another name of a file: a link under which some program would run it by itself.

It never raises, and checks only a few folders: those above the file, and those where links to scripts are common.
"""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.system.safe_paths import SafePath
from holdfast.tools.workspace.autorun_files import runs_by_itself

_USUAL = (".git/hooks", ".githooks", ".husky", ".github", ".github/workflows", ".vscode", ".claude", ".cursor")


def other_name(root: Path, path: str, place: SafePath) -> str:
    """Return the name in the workspace under which another program runs the file at `place`, "" if none is found.

    `path` is the path as the model wrote it; `place` is where it leads.
    """
    written = os.path.normpath(root / os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises for ~unknown
    inside = os.path.relpath(written, root)
    if inside != place.name and not inside.startswith("../") and runs_by_itself(inside):
        return inside
    above = ("/".join(place.parts[:end]) for end in range(len(place.parts))) if place.outside is None else ()
    real = str(place.path)
    for folder in dict.fromkeys((*above, "", *_USUAL)):
        for name in _links(root, folder):
            if runs_by_itself(name) and f"{real}/".startswith(f"{os.path.realpath(root / name)}/"):
                return name
    return ""


def _links(root: Path, folder: str) -> list[str]:
    try:
        with os.scandir(root / folder) as listing:
            return [f"{folder}/{each.name}".lstrip("/") for each in listing if each.is_symlink()]
    except OSError:
        return []
