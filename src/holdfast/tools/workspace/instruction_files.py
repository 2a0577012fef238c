"""The instruction files of a workspace: the user's, then those of each folder from the repository's root down.

A folder has one of `NAMES`, `CLAUDE.local.md` for one person, and the rules of Claude Code that are for every path
(`path_rules.py`). A file may import others (`instruction_imports.py`), which stand behind it. Files below the workspace
are read when a call touches something there (`nested_instructions.py`).

A link in a repository is followed only within it, and only to a file that is written for readers: these files are sent
with the first prompt, unasked, and a repository may come with a link to a file of keys that the user made. Content that
is left out is mentioned with its size.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from pkgutil import resolve_name
from typing import Protocol, cast

import msgspec

from holdfast.errors import ToolFailed
from holdfast.system.git import repository
from holdfast.system.safe_paths import as_tool_failure, locate, open_regular, resolve
from holdfast.text import valid_unicode
from holdfast.tool_calls import FileSeen
from holdfast.tools.tool import Instruction
from holdfast.tools.truncation import beginning, escape_newlines
from holdfast.tools.workspace.file_kinds import SNIFF, binary_kind
from holdfast.tools.workspace.file_snapshots import take_snapshot

NAMES = ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md")
"""The file names. In each folder the first that exists counts."""
LOCAL_NAME = "CLAUDE.local.md"
"""The file of one person in a project, which counts beside the other."""
RULES_FOLDER = ".claude/rules"
"""The folder with the rules of Claude Code."""

LINKED_NAMES = frozenset({".cursorrules", ".windsurfrules", ".clinerules", ".roorules", ".rules", ".goosehints"})
LINKED_ENDINGS = (".md", ".mdc", ".markdown", ".txt", ".rst", ".adoc")
"""What a link may lead to: instructions of other agents, by their whole name, and texts."""

ROOM = 32_000
"""Bytes shown of all of them together. The innermost folders come first."""


_IMPORTS = "holdfast.tools.workspace.instruction_imports:imported_files"
_RULES = "holdfast.tools.workspace.path_rules:rules_for_every_path"


class FoundFile(msgspec.Struct, frozen=True):
    """An instruction file as it was read: its state and its beginning, or `why` none of it is shown."""

    snapshot: FileSeen
    raw: bytes = b""
    why: str = ""

    @property
    def says_something(self) -> bool:
        """Return whether there is anything to show of it."""
        return bool(self.why or self.raw.strip())


class _OfFolder(Protocol):
    def __call__(self, root: Path, folder: Path, *, within: Path) -> list[FoundFile]: ...


class _OfFile(Protocol):
    def __call__(self, root: Path, file: FoundFile, *, within: Path | None) -> list[FoundFile]: ...


def instructions(root: Path, user_file: Path) -> tuple[Instruction, ...]:
    """Return the instructions for the workspace `root` (resolved); `user_file` is the user's file. Never raises.

    Without a repository, only the workspace's own folder counts.
    """
    top = repository(root) or root
    folders = [folder for folder in (root, *root.parents) if folder.is_relative_to(top)]  # innermost first
    groups = [folder_files(root, folder, within=top) for folder in folders]
    if os.path.lexists(user_file):
        groups.append(with_imports(root, user_file, within=None))
    return shown_files(groups)


def folder_files(root: Path, folder: Path, *, within: Path) -> list[FoundFile]:
    """Return the instruction files of one folder, each followed by what it imports."""
    first = next((path for path in (folder / name for name in NAMES) if os.path.lexists(path)), None)
    local = folder / LOCAL_NAME
    paths = [path for path in (first, local if os.path.lexists(local) else None) if path is not None]
    found = [file for path in paths for file in with_imports(root, path, within=within)]
    if os.path.isdir(folder / RULES_FOLDER):  # noqa: PTH112 - the start pays for it
        found += cast("_OfFolder", resolve_name(_RULES))(root, folder, within=within)
    return found


def with_imports(root: Path, path: Path, *, within: Path | None) -> list[FoundFile]:
    """Return the file at `path`, then the files that it imports."""
    file = read_instruction(root, path, within=within)
    if b"@" not in file.raw:
        return [file]
    return [file, *cast("_OfFile", resolve_name(_IMPORTS))(root, file, within=within)]


def shown_files(groups: Iterable[list[FoundFile]], *, most: int = ROOM) -> tuple[Instruction, ...]:
    """Return the files of all groups as they are shown, each once; the room goes to the first groups first.

    The last group comes first, and in it the first file.
    """
    known: set[str] = set()
    shown: list[list[Instruction]] = []
    for group in groups:
        shown.append([])
        for file in group:
            if file.says_something and file.snapshot.path not in known:
                instruction, used = _shown(file, most)
                shown[-1].append(instruction)
                most -= used
            known.add(file.snapshot.path)
    return tuple(each for group in reversed(shown) for each in group)


def read_instruction(root: Path, path: Path, *, within: Path | None) -> FoundFile:
    """Return the file at `path`, unread if a link leads out of the folder `within`."""
    name = locate(root, str(path)).name
    try:
        place = resolve(root, str(path))
        if within is not None and not place.path.is_relative_to(within):
            return FoundFile(FileSeen(path=name), why="it is a link out of the repository")
        if within is not None and place.path != path and not is_for_readers(place.path):
            return FoundFile(FileSeen(path=name), why="it is a link to a file that is no text for readers")
        with as_tool_failure(place), open_regular(place) as file:
            kind = binary_kind(os.pread(file.fileno(), SNIFF, 0))
            snapshot = take_snapshot(place, file)
            raw = b"" if kind else file.read(ROOM + 1)
            return FoundFile(snapshot, why=f"it is {kind}, not text") if kind else FoundFile(snapshot, raw)
    except ToolFailed as failed:
        return FoundFile(FileSeen(path=name), why=str(failed))


def is_for_readers(path: Path) -> bool:
    """Return whether a link in a repository may lead to the file (resolved): by its name, and not to a secret."""
    from holdfast.system.secret_files import holds_secrets

    name = path.name.lower()
    return (name in LINKED_NAMES or name.endswith(LINKED_ENDINGS)) and not holds_secrets(str(path))


def _shown(found: FoundFile, room: int) -> tuple[Instruction, int]:
    """Return as much of the file as fits into `room` bytes, and how many bytes that took."""
    name = escape_newlines(found.snapshot.path)
    if found.why:
        return Instruction(snapshot=found.snapshot, text=f"[Not shown: {found.why}.]"), 0
    text = beginning(found.raw[:room]).removeprefix("\ufeff")
    if len(found.raw) > room:
        text += (
            f"\n[Cut: the first {min(room, len(found.raw))} of {found.snapshot.size} bytes of {name!r} are shown here. "
            "Read the file for the rest.]"
        )
    return Instruction(snapshot=found.snapshot, text=valid_unicode(text).strip()), min(room, len(found.raw))
