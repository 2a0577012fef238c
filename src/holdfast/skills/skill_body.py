"""Reads the body of a skill or a command when it is used, and writes what the model reads of a skill."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from holdfast.errors import ToolFailed
from holdfast.skills.skill_files import SKILL_FILE, SkillFile, project_place, why_unfit
from holdfast.system.safe_paths import as_tool_failure, open_regular
from holdfast.text import valid_unicode
from holdfast.tool_calls import FileSeen
from holdfast.tools.truncation import beginning, escape_newlines
from holdfast.tools.workspace.file_kinds import SNIFF, binary_kind
from holdfast.tools.workspace.file_snapshots import take_snapshot
from holdfast.tools.workspace.front_matter import read_front_matter

LONGEST_SKILL_BODY = 64_000
"""Bytes of a skill or a command that are read when it is used."""
MOST_SKILL_RESOURCES = 50
"""Files of a skill that are named."""
_MOST_LOOKED_AT = 500
_DEEPEST = 3


class ReadBody(msgspec.Struct, frozen=True):
    """The body of a file as it is now, the file's state, and `source`: all that was read of it."""

    body: str
    snapshot: FileSeen
    source: str


def read_body(root: Path, file: SkillFile) -> ReadBody:
    """Return what a skill or command says now; raises `ToolFailed` if it cannot be read any more."""
    if why := why_unfit(file.path, file.kind):
        raise ToolFailed(f"File {str(file.path)!r} cannot be used: {why}. Nothing of it was used.")
    place = project_place(file.path, root, file.within)
    with as_tool_failure(place), open_regular(place) as opened:
        kind = binary_kind(os.pread(opened.fileno(), SNIFF, 0))
        if kind:
            raise ToolFailed(f"File {place.name!r} is {kind}, not text. Nothing of it was used.")
        snapshot = take_snapshot(place, opened)
        data = opened.read(LONGEST_SKILL_BODY + 1)
    source = valid_unicode(beginning(data[:LONGEST_SKILL_BODY]))
    try:
        body = read_front_matter(source).body.strip()
    except ValueError as error:
        raise ToolFailed(f"File {place.name!r} cannot be used: {error}. Fix its front matter.") from error
    if len(data) > LONGEST_SKILL_BODY:
        body += f"\n[Cut: the first {LONGEST_SKILL_BODY} bytes of {place.name!r} are shown. Read it for the rest.]"
    return ReadBody(body, snapshot, source)


def skill_content(file: SkillFile, text: str) -> str:
    """Return what the model reads of a skill whose body says `text`: with its folder, and the names of its files."""
    lines = [f'<skill_content name="{file.name}">', text, "", f"Skill directory: {escape_newlines(str(file.folder))}"]
    names, more = resources(file.folder)
    if names:
        listed = ", ".join(map(escape_newlines, names)) + (" and more" if more else "")
        lines.append(f"Files in it, to read when they are needed: {listed}")
    return "\n".join((*lines, "</skill_content>"))


def resources(folder: Path) -> tuple[tuple[str, ...], bool]:
    """Return the names of the files of a skill, relative to its folder, and whether there are more."""
    names: list[str] = []
    looked_at = 0
    waiting = [(folder, 0)]
    for place, depth in waiting:  # grows
        try:
            entries = sorted(os.scandir(place), key=lambda entry: entry.name)
        except OSError:  # the model sees that when it looks for them
            continue
        for entry in entries:
            looked_at += 1
            if len(names) == MOST_SKILL_RESOURCES or looked_at > _MOST_LOOKED_AT:
                return tuple(names), True
            name = os.path.relpath(entry.path, folder)
            if valid_unicode(name) != name or entry.name.startswith(".") or entry.name == "node_modules":
                continue
            if entry.is_dir(follow_symlinks=False):
                if depth < _DEEPEST:
                    waiting.append((Path(entry.path), depth + 1))
            elif entry.is_file(follow_symlinks=False) and name != SKILL_FILE:
                names.append(name)
    return tuple(names), False
