"""The instructions for files that a call touched: those of folders below the workspace, and rules for paths.

They are not part of the prompt: it would grow with the repository. The model reads them with the result of the call
that first touches a file there, as an entry behind it, so that no request that was sent changes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from holdfast.system.git import repository
from holdfast.system.safe_paths import locate
from holdfast.tools.tool import Instruction
from holdfast.tools.workspace.instruction_files import RULES_FOLDER, FoundFile, folder_files, shown_files

MOST_NESTED_FOLDERS = 64
"""Folders that are looked into for one call."""


def nested_instructions(root: Path, names: Sequence[str]) -> tuple[Instruction, ...]:
    """Return the instructions for files (relative to `root`, or absolute) that a call touched. Never raises.

    Files outside the workspace have none.
    """
    paths = [place.path for place in (locate(root, name) for name in names) if place.outside is None]
    folders = {folder for path in paths for folder in path.parents if folder != root and folder.is_relative_to(root)}
    groups: list[list[FoundFile]] = []
    for folder in sorted(folders, key=lambda each: (-len(each.parts), each))[:MOST_NESTED_FOLDERS]:
        groups.append(folder_files(root, folder, within=root))
        groups.append(_rules_for(root, folder, paths, within=root))
    top = repository(root) or root
    above = (each for each in (root, *root.parents) if each.is_relative_to(top))
    groups += [_rules_for(root, folder, paths, within=top) for folder in above]
    return shown_files(groups)


def _rules_for(root: Path, folder: Path, paths: list[Path], *, within: Path) -> list[FoundFile]:
    if not paths or not os.path.isdir(folder / RULES_FOLDER):  # noqa: PTH112 - behind each call that touches a file
        return []
    from holdfast.tools.workspace.path_rules import rules_for

    return rules_for(root, folder, paths, within=within)
