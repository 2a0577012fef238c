"""The instruction files of a workspace: the user's, then one per folder from the repository's root down.

A link in a repository is followed only within it, and only to a file that is written for readers: these files are sent
with the first prompt, unasked, and a repository may come with a link to a file of keys that the user made. Content that
is left out is mentioned with its size.
"""

from __future__ import annotations

import os
from pathlib import Path

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

NAMES = ("AGENTS.md", "CLAUDE.md")
"""The file names. In each folder the first that exists counts."""

LINKED_NAMES = frozenset({".cursorrules", ".windsurfrules", ".clinerules", ".roorules", ".rules", ".goosehints"})
LINKED_ENDINGS = (".md", ".mdc", ".markdown", ".txt", ".rst", ".adoc")
"""What a link may lead to: instructions of other agents, by their whole name, and texts."""

ROOM = 32_000
"""Bytes shown of all of them together. The innermost folders come first."""


class _Found(msgspec.Struct, frozen=True):
    snapshot: FileSeen
    raw: bytes = b""
    why: str = ""  # why none of it is shown


def instructions(root: Path, user_file: Path) -> tuple[Instruction, ...]:
    """Return the instructions for the workspace `root` (resolved); `user_file` is the user's file. Never raises.

    Without a repository, only the workspace's own folder counts.
    """
    top = repository(root) or root
    folders = [folder for folder in (root, *root.parents) if folder.is_relative_to(top)]  # innermost first
    found: dict[str, _Found] = {}
    for folder in folders:
        for path in (folder / name for name in NAMES):
            if os.path.lexists(path):
                file = _read(root, path, within=top)
                found.setdefault(file.snapshot.path, file)
                break
    if os.path.lexists(user_file):
        file = _read(root, user_file, within=None)
        found.setdefault(file.snapshot.path, file)
    room = ROOM
    shown: list[Instruction] = []
    for file in found.values():
        if file.why or file.raw.strip():
            instruction, used = _shown(file, room)
            shown.append(instruction)
            room -= used
    return tuple(reversed(shown))


def _read(root: Path, path: Path, *, within: Path | None) -> _Found:
    """Return the file at `path`, unread if a link leads out of the folder `within`."""
    name = locate(root, str(path)).name
    try:
        place = resolve(root, str(path))
        if within is not None and not place.path.is_relative_to(within):
            return _Found(FileSeen(path=name), why="it is a link out of the repository")
        if within is not None and place.path != path and not _is_for_readers(place.path):
            return _Found(FileSeen(path=name), why="it is a link to a file that is no text for readers")
        with as_tool_failure(place), open_regular(place) as file:
            kind = binary_kind(os.pread(file.fileno(), SNIFF, 0))
            snapshot = take_snapshot(place, file)
            return _Found(snapshot, why=f"it is {kind}, not text") if kind else _Found(snapshot, file.read(ROOM + 1))
    except ToolFailed as failed:
        return _Found(FileSeen(path=name), why=str(failed))


def _is_for_readers(path: Path) -> bool:
    """Return whether a link in a repository may lead to the file (resolved): by its name, and not to a secret."""
    from holdfast.system.secret_files import holds_secrets

    name = path.name.lower()
    return (name in LINKED_NAMES or name.endswith(LINKED_ENDINGS)) and not holds_secrets(str(path))


def _shown(found: _Found, room: int) -> tuple[Instruction, int]:
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
