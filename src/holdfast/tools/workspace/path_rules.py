"""The rules of Claude Code: Markdown files below `.claude/rules`, for every path or for those that `paths` names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path, PurePath

import msgspec

from holdfast.errors import ToolFailed
from holdfast.tools.truncation import beginning
from holdfast.tools.workspace.front_matter import FrontMatterFault, read_front_matter
from holdfast.tools.workspace.globs import Glob, alternatives, globs
from holdfast.tools.workspace.instruction_files import RULES_FOLDER, FoundFile, read_instruction

MOST_PATH_RULES = 200
"""Rules of one folder."""
DEEPEST_RULE = 6
MOST_RULE_PATTERNS = 1_000
"""Alternatives of the patterns of one folder's rules, all together: each is compiled."""
LONGEST_RULE_PATTERNS = 32_000
"""Characters of them all."""
_MOST_LOOKED_AT = 5_000


class _Rule(msgspec.Struct, frozen=True):
    """A rule, without its front matter, and the alternatives of the paths that it is for: none for every path."""

    file: FoundFile
    patterns: tuple[str, ...] = ()


def rules_for_every_path(root: Path, folder: Path, *, within: Path) -> list[FoundFile]:
    """Return the rules of a folder that name no paths, and those that cannot be read, with the reason."""
    return [each.file for each in _rules(root, folder, within) if not each.patterns]


def rules_for(root: Path, folder: Path, paths: list[Path], *, within: Path) -> list[FoundFile]:
    """Return the rules of a folder for these paths (absolute) that are not for every path."""
    inside = [PurePath(path).relative_to(folder).parts for path in paths if path.is_relative_to(folder)]
    return [
        each.file
        for each in _rules(root, folder, within)
        if any(_compiled(text).matches(parts) for text in each.patterns for parts in inside)
    ]


@lru_cache(maxsize=2 * MOST_RULE_PATTERNS)  # asked for after each call
def _compiled(alternative: str) -> Glob:
    (glob,) = globs(alternative, anywhere=True)
    return glob


def _rules(root: Path, folder: Path, within: Path) -> Iterator[_Rule]:
    room, signs = MOST_RULE_PATTERNS, LONGEST_RULE_PATTERNS
    for path in _rule_files(folder / RULES_FOLDER):
        file = read_instruction(root, path, within=within)
        if file.why:
            yield _Rule(file)
            continue
        try:
            front = read_front_matter(beginning(file.raw))
            names = front.words("paths") or front.words("globs")
            patterns = _alternatives(names, room, signs)
        except (ValueError, ToolFailed) as error:
            yield _Rule(msgspec.structs.replace(file, raw=b"", why=f"its front matter cannot be read: {error}"))
            continue
        room, signs = room - len(patterns), signs - sum(map(len, patterns))
        is_cut = len(file.raw) < (file.snapshot.size or 0)
        body = front.body.strip().encode()
        yield _Rule(msgspec.structs.replace(file, raw=file.raw if is_cut and not front.fields else body), patterns)


def _alternatives(names: tuple[str, ...], room: int, signs: int) -> tuple[str, ...]:
    """Return the alternatives of patterns, uncompiled; raises `ValueError` or `ToolFailed` if they are too many."""
    found: list[str] = []
    for name in names:
        for each in alternatives(name.removeprefix("./")):
            room, signs = room - 1, signs - len(each)
            if room < 0 or signs < 0:
                raise FrontMatterFault(
                    f"with it, the rules of this folder have more than {MOST_RULE_PATTERNS:,} patterns, or more than "
                    f"{LONGEST_RULE_PATTERNS:,} characters of them"
                )
            found.append(each)
    return tuple(found)


def _rule_files(folder: Path) -> list[Path]:
    """Return the Markdown files below a folder, without links to folders."""
    found: list[Path] = []
    waiting = [(folder, 0)]
    looked_at = 0
    for place, depth in waiting:  # grows
        try:
            with os.scandir(place) as entries:
                names = sorted(islice(entries, _MOST_LOOKED_AT), key=lambda entry: entry.name)
        except OSError:  # it was there a moment ago
            continue
        for entry in names:
            looked_at += 1
            if len(found) == MOST_PATH_RULES or looked_at > _MOST_LOOKED_AT:
                return found
            if entry.is_dir(follow_symlinks=False):
                if depth < DEEPEST_RULE:
                    waiting.append((Path(entry.path), depth + 1))
            elif entry.name.endswith(".md"):
                found.append(Path(entry.path))
    return found
