"""The instruction files of a workspace: the user's own, then one per folder from the repository's root down.

A link in a repository is followed only within it. Content that is left out is mentioned with its size.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from holdfast.errors import ToolFailed
from holdfast.system.git import repository
from holdfast.text import valid_unicode
from holdfast.tool_calls import FileSeen
from holdfast.tools.tool import Instruction
from holdfast.tools.truncation import beginning, escape_newlines
from holdfast.tools.workspace.file_kinds import SNIFF, binary
from holdfast.tools.workspace.file_snapshots import seen_in
from holdfast.tools.workspace.safe_paths import failing_at, opened, placed, resolve

NAMES = ("AGENTS.md", "CLAUDE.md")
"""The file names. In each folder the first that exists counts."""

ROOM = 32_000
"""Bytes shown of all of them together. The innermost folders come first."""


class _Found(msgspec.Struct, frozen=True):
    seen: FileSeen
    raw: bytes = b""
    why: str = ""  # why none of it is shown


def instructions(root: Path, own: Path) -> tuple[Instruction, ...]:
    """Return the instructions for the workspace `root` (resolved); `own` is the user's own file. Never raises.

    Without a repository, only the workspace's own folder counts.
    """
    top = repository(root) or root
    folders = [folder for folder in (root, *root.parents) if folder.is_relative_to(top)]  # innermost first
    found: dict[str, _Found] = {}
    for folder in folders:
        for path in (folder / name for name in NAMES):
            if os.path.lexists(path):
                one = _read(root, path, within=top)
                found.setdefault(one.seen.path, one)
                break
    if os.path.lexists(own):
        one = _read(root, own, within=None)
        found.setdefault(one.seen.path, one)
    room = ROOM
    shown: list[Instruction] = []
    for one in found.values():
        if one.why or one.raw.strip():
            instruction, used = _shown(one, room)
            shown.append(instruction)
            room -= used
    return tuple(reversed(shown))


def _read(root: Path, path: Path, *, within: Path | None) -> _Found:
    """Return the file at `path`, unread if a link leads out of the folder `within`."""
    name = placed(root, str(path)).name
    try:
        place = resolve(root, str(path))
        if within is not None and not place.path.is_relative_to(within):
            return _Found(FileSeen(path=name), why="it is a link out of the repository")
        with failing_at(place), opened(place) as file:
            kind = binary(os.pread(file.fileno(), SNIFF, 0))
            seen = seen_in(place, file)
            return _Found(seen, why=f"it is {kind}, not text") if kind else _Found(seen, file.read(ROOM + 1))
    except ToolFailed as failed:
        return _Found(FileSeen(path=name), why=str(failed))


def _shown(found: _Found, room: int) -> tuple[Instruction, int]:
    """Return as much of the file as fits into `room` bytes, and how many bytes that took."""
    name = escape_newlines(found.seen.path)
    if found.why:
        return Instruction(seen=found.seen, text=f"[Not shown: {found.why}.]"), 0
    text = beginning(found.raw[:room]).removeprefix("\ufeff")
    if len(found.raw) > room:
        text += (
            f"\n[Cut: the first {min(room, len(found.raw))} of {found.seen.size} bytes of {name!r} are shown here. "
            "Read the file for the rest.]"
        )
    return Instruction(seen=found.seen, text=valid_unicode(text).strip()), min(room, len(found.raw))
