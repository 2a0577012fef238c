"""The instructions that hold in a workspace: the person's own, then those of each folder from the repository's root on.

Two rules. A link in a repository is followed within it only. What is not shown is said in a sentence, with its size.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from holdfast.calls import FileSeen
from holdfast.errors import ToolFailed
from holdfast.text import valid_unicode
from holdfast.tools.change import SNIFF
from holdfast.tools.files import binary
from holdfast.tools.output import beginning, one_line
from holdfast.tools.paths import opened, placed, resolve, told
from holdfast.tools.repository import repository
from holdfast.tools.seen import seen_in
from holdfast.tools.tool import Instruction

NAMES = ("AGENTS.md", "CLAUDE.md")
"""The names of such a file; in a folder the first that is there counts."""

ROOM = 32_000
"""How many bytes of all of them are shown; the innermost folder's have room first."""


@dataclass(frozen=True, slots=True)
class _Found:
    seen: FileSeen
    raw: bytes = b""
    why: str = ""  # why nothing of it is shown


def instructions(root: Path, own: Path) -> tuple[Instruction, ...]:
    """Return what holds in the workspace `root` (resolved), `own` being the person's own file; never raises.

    Without a repository only the workspace's own folder counts.
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
    """Return the file at `path`; one that lies outside of the folder `within` by a link is not read."""
    name = placed(root, str(path)).name
    try:
        place = resolve(root, str(path))
        if within is not None and not place.path.is_relative_to(within):
            return _Found(FileSeen(path=name), why="it is a link that leads out of the repository")
        with told(place), opened(place) as file:
            kind = binary(os.pread(file.fileno(), SNIFF, 0))
            seen = seen_in(place, file)
            return _Found(seen, why=f"it is {kind}, text was expected") if kind else _Found(seen, file.read(ROOM + 1))
    except ToolFailed as failed:
        return _Found(FileSeen(path=name), why=str(failed))


def _shown(found: _Found, room: int) -> tuple[Instruction, int]:
    """Return the file as it is shown in `room` bytes, and how many of them it took."""
    name = one_line(found.seen.path)
    if found.why:
        return Instruction(seen=found.seen, text=f"[Not shown: {found.why}.]"), 0
    text = beginning(found.raw[:room]).removeprefix("\ufeff")
    if len(found.raw) > room:
        text += (
            f"\n[Cut: the first {min(room, len(found.raw))} of {found.seen.size} bytes of {name!r} are shown here. "
            "Read the file for the rest.]"
        )
    return Instruction(seen=found.seen, text=valid_unicode(text).strip()), min(room, len(found.raw))
