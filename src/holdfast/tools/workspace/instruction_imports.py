"""The files that instruction files import: `@docs/style.md` in their text, outside code.

For the model and for the journal an import is a file like any other: it is shown behind the one that names it, and its
changes are noticed. The bounds hold for what a repository brings, which is sent unasked: only files of the
repository, only those that are written for readers, no secrets, no devices or pipes, at most four files deep.

A word that names no file is a word, such as a user name behind an `@`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from holdfast.system.safe_paths import locate
from holdfast.system.secret_files import holds_secrets
from holdfast.tool_calls import FileSeen
from holdfast.tools.truncation import beginning
from holdfast.tools.workspace.instruction_files import LINKED_ENDINGS, FoundFile, is_for_readers, read_instruction

DEEPEST_IMPORT = 4
"""Files that may stand between a file and what it imports, and that one."""
MOST_IMPORTS = 50
"""Files that one instruction file imports, all together."""

PROJECT_FILES = frozenset({
    "readme", "contributing", "makefile", "justfile", "package.json", "pyproject.toml", "cargo.toml", "go.mod",
    "tsconfig.json", "composer.json", "gemfile", "cmakelists.txt", "dockerfile",
})  # fmt: skip
"""Names of files without an ending for readers that a project's instructions may import."""

_IMPORT = re.compile(r"(?:^|(?<=[\s(]))@([A-Za-z0-9_.~/][^\s`'\"<>|,;:()]*)", re.MULTILINE)
_CODE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|`{1,2}[^`\n]*`{1,2}", re.MULTILINE | re.DOTALL)


def imported_files(root: Path, file: FoundFile, *, within: Path | None) -> list[FoundFile]:
    """Return what a file imports, and what that imports, each once. `within` is the repository, None for the user's."""
    found: list[FoundFile] = []
    start = locate(root, file.snapshot.path).path
    _follow(root, file, start, within=within, seen={str(start)}, found=found, depth=1)
    return found


def _follow(  # noqa: PLR0913 - what a chain of imports carries
    root: Path,
    file: FoundFile,
    path: Path,
    *,
    within: Path | None,
    seen: set[str],
    found: list[FoundFile],
    depth: int,
) -> None:
    for name in import_names(beginning(file.raw)):
        target = Path(os.path.normpath(path.parent / os.path.expanduser(name)))  # noqa: PTH111 - raises for ~unknown
        if str(target) in seen or not (os.path.lexists(target) or name.lower().endswith(".md")):
            continue
        seen.add(str(target))
        if len(found) >= MOST_IMPORTS:
            why = f"more than {MOST_IMPORTS} files are imported. Read it when you need it"
            found.append(FoundFile(FileSeen(path=locate(root, str(target)).name), why=why))
            return
        imported = _read(root, target, within=within, depth=depth)
        found.append(imported)
        if imported.raw:
            _follow(root, imported, target, within=within, seen=seen, found=found, depth=depth + 1)


def import_names(text: str) -> list[str]:
    """Return the names that a text imports outside code, in their order."""
    return [name.rstrip(".!?") for name in _IMPORT.findall(_CODE.sub(" ", text)) if name.strip("./~")]


def _read(root: Path, target: Path, *, within: Path | None, depth: int) -> FoundFile:
    """Return an imported file, or why it is not shown."""
    seen = FileSeen(path=locate(root, str(target)).name)
    if depth > DEEPEST_IMPORT:
        return FoundFile(seen, why=f"it is imported over more than {DEEPEST_IMPORT} files. Read it when you need it")
    if within is not None and not target.is_relative_to(within):
        return FoundFile(seen, why="it is imported from outside the repository")
    if holds_secrets(str(target)):
        return FoundFile(seen, why="it is imported, and may hold secrets")
    if within is not None and not (_is_of_a_project(target) or is_for_readers(target)):
        return FoundFile(seen, why="it is imported, and is no text for readers. Read it when you need it")
    return read_instruction(root, target, within=within)


def _is_of_a_project(path: Path) -> bool:
    return path.name.lower() in PROJECT_FILES and not path.name.lower().endswith(LINKED_ENDINGS)
