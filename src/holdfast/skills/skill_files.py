"""Finds the skills and custom commands of a workspace and its user, and says which one wins.

How it works. The folders come in the order of whose files win: the project's, the nearest first, then the user's. Each
is walked breadth first within bounds of depth and number, and only the beginning of a file is read: its front matter. A
name that an earlier file has is shadowed, and a skill wins over a command. What cannot be used is a finding with its
reason, never an exception: a broken file that was brought along must not end a session.

Links stay inside: one that leads out of the folder it was found from is not followed, whatever it is called. What it
leads to must be called like what it stands for, and hold no secrets: the beginning of these files is sent unasked, and
a repository may come with links to the files of keys that the user made in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec

from holdfast.system.bounded_files import open_unblocked, read_beginning
from holdfast.system.safe_paths import SafePath, locate, open_parent
from holdfast.system.secret_files import holds_secrets
from holdfast.system.user_directories import BroughtFolder, brought_folders
from holdfast.text import valid_unicode
from holdfast.tools.workspace.front_matter import FrontMatter, FrontMatterFault, read_front_matter

SKILL_FILE = "SKILL.md"
MOST_SKILL_FOLDERS = 2_000
"""Folders that are looked into, all together."""
DEEPEST = 6
"""Folders below the one that holds skills, or commands."""
MOST_FOLDER_NAMES = 5_000
"""Names in one folder that are looked at."""
MOST_SKILL_FILES = 1_000
"""Skills and commands that are read to be listed, faulty ones too."""
BEGINNING = 65_536
"""Bytes read of a file to list it."""
LONGEST_SKILL_DESCRIPTION = 1_536
"""Characters of a description, together with when to use the skill."""
LONGEST_SKILL_NAME = 64

_NAME = re.compile(r"[A-Za-z0-9][\w.:-]*")
_STANDARD_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NOT_WALKED = frozenset({".git", "node_modules"})

BroughtKind = Literal["skill", "command"]


_KINDS: tuple[tuple[Literal["skills", "commands"], BroughtKind], ...] = (
    ("skills", "skill"),
    ("commands", "command"),
)


class SkillFile(msgspec.Struct, frozen=True, kw_only=True):
    """A skill or a custom command: what its front matter says, and where it is.

    `path` has no links. `within` is the top folder of the project it belongs to, None if it is the user's own. `hint`
    says what it takes, `names` name its arguments. With `for_model` the model may use it, with `for_user` the user.
    `allowed` are the rules that it would allow; `warnings` say what is odd.
    """

    kind: BroughtKind
    name: str
    path: Path
    within: Path | None
    description: str
    hint: str = ""
    names: tuple[str, ...] = ()
    for_model: bool = True
    for_user: bool = True
    allowed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Return the folder that the file is in."""
        return self.path.parent


class Skipped(msgspec.Struct, frozen=True):
    """A file or folder that is not in use, and why."""

    path: Path
    why: str


class SkillListing(msgspec.Struct, frozen=True):
    """What there is: the files by name, those that another of their name `shadowed`, and those that were `skipped`."""

    by_name: dict[str, SkillFile]
    shadowed: tuple[tuple[SkillFile, SkillFile], ...] = ()
    skipped: tuple[Skipped, ...] = ()

    def skills(self) -> list[SkillFile]:
        """Return the skills that the model may use, by name."""
        found = (each for each in self.by_name.values() if each.kind == "skill" and each.for_model)
        return sorted(found, key=lambda each: each.name)


class _Walk:
    """One look at all folders: what it found, and the bounds that are left."""

    def __init__(self) -> None:
        self.folders = 0
        self.seen: set[Path] = set()
        self.skipped: list[Skipped] = []

    def files(self, base: BroughtFolder, kind: BroughtKind) -> Iterator[Path]:
        """Yield the files of this kind below a folder, without links, each once."""
        top = Path(os.path.realpath(base.path))
        if base.within is not None and not top.is_relative_to(os.path.realpath(base.within)):
            self.skipped.append(Skipped(base.path, f"it is a link out of {str(base.within)!r}"))
            return
        if _is_above(top, base):
            self.skipped.append(Skipped(base.path, "it is a link to a folder that it is in itself"))
            return
        waiting = [(top, 0)]
        for folder, depth in waiting:  # grows
            if folder in self.seen:
                continue
            self.seen.add(folder)
            self.folders += 1
            if self.folders > MOST_SKILL_FOLDERS:
                self.skipped.append(
                    Skipped(base.path, f"more than {MOST_SKILL_FOLDERS:,} folders: the rest is not read")
                )
                return
            names = self._names(folder)
            if kind == "skill" and depth and (found := self._skill(folder, names, top)) is not None:
                yield from found
                continue
            for name in names:
                path = self._inside(folder / name, top)
                if path is None or name in _NOT_WALKED:
                    continue
                if path.is_dir():
                    if depth < DEEPEST:
                        waiting.append((path, depth + 1))
                    else:
                        self.skipped.append(Skipped(path, f"it is more than {DEEPEST} folders deep"))
                elif kind == "command" and name.endswith(".md") and path not in self.seen:
                    self.seen.add(path)
                    yield from self._fit(folder / name, path, kind)

    def _names(self, folder: Path) -> list[str]:
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in islice(entries, MOST_FOLDER_NAMES + 1))
        except OSError as error:
            self.skipped.append(Skipped(folder, f"it cannot be read: {error.strerror}"))
            return []
        if len(names) > MOST_FOLDER_NAMES:
            self.skipped.append(
                Skipped(folder, f"it has more than {MOST_FOLDER_NAMES:,} files: some are not looked at")
            )
        if any(valid_unicode(name) != name for name in names):
            self.skipped.append(Skipped(folder, "it has names that are not valid UTF-8: they are left out"))
        return [name for name in names if valid_unicode(name) == name]

    def _skill(self, folder: Path, names: list[str], top: Path) -> list[Path] | None:
        """Return the skill of a folder, None if it is none: then its folders are looked into."""
        if SKILL_FILE not in names:
            if wrong := next((name for name in names if name.lower() == SKILL_FILE.lower()), ""):
                self.skipped.append(Skipped(folder / wrong, f"its name is wrong (expected {SKILL_FILE!r})"))
            return None
        path = self._inside(folder / SKILL_FILE, top)
        if path is None or path in self.seen:
            return []
        self.seen.add(path)
        return self._fit(folder / SKILL_FILE, path, "skill")

    def _fit(self, found: Path, path: Path, kind: BroughtKind) -> list[Path]:
        """Return where a file that was found leads, if it may be read as one of its kind."""
        if why := why_unfit(path, kind):
            self.skipped.append(Skipped(found, why))
            return []
        return [path]

    def _inside(self, path: Path, top: Path) -> Path | None:
        """Return where a path leads, None if a link leads out of `top`."""
        if not path.is_symlink():
            return path
        real = Path(os.path.realpath(path))
        if real.is_relative_to(top):
            return real
        self.skipped.append(Skipped(path, f"it is a link out of {str(top)!r}"))
        return None


def _is_above(top: Path, base: BroughtFolder) -> bool:
    """Return whether a folder leads to one that has it in it, or the whole project: all files would be of its kind."""
    unlinked = Path(os.path.realpath(base.path.parent), base.path.name)
    below = (base.path, unlinked) if unlinked != top else ()
    project = () if base.within is None else (Path(os.path.realpath(base.within)),)
    return any(each.is_relative_to(top) for each in (*below, *project))


def why_unfit(path: Path, kind: BroughtKind) -> str:
    """Return why a file (resolved) may not be read as a skill or a command, "" if it may: by its name alone."""
    if path.name != SKILL_FILE if kind == "skill" else not path.name.endswith(".md"):
        expected = f"{SKILL_FILE!r}" if kind == "skill" else "a name that ends in '.md'"
        return f"it is a link to {path.name!r} (expected {expected})"
    return "it holds secrets, by its name" if holds_secrets(str(path)) else ""


def find_files(root: Path, environ: Mapping[str, str]) -> SkillListing:
    """Return the skills and commands for a workspace (resolved). Never raises."""
    walk = _Walk()
    by_name: dict[str, SkillFile] = {}
    shadowed: list[tuple[SkillFile, SkillFile]] = []
    looked_at = 0
    kinds: tuple[tuple[Literal["skills", "commands"], BroughtKind], ...] = (
        ("skills", "skill"),
        ("commands", "command"),
    )
    for folders, kind in kinds:
        for base in brought_folders(folders, root, environ):
            for path in walk.files(base, kind):
                if looked_at == MOST_SKILL_FILES:
                    walk.skipped.append(Skipped(path, f"there are {MOST_SKILL_FILES:,} already"))
                    return SkillListing(by_name, tuple(shadowed), tuple(walk.skipped))
                looked_at += 1
                try:
                    file = read_file(path, kind, base.within)
                except (OSError, ValueError) as error:
                    walk.skipped.append(Skipped(path, _reason(error)))
                    continue
                if (winner := by_name.get(file.name)) is not None:
                    shadowed.append((file, winner))
                else:
                    by_name[file.name] = file
    return SkillListing(by_name, tuple(shadowed), tuple(walk.skipped))


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def project_place(path: Path, root: Path, within: Path | None) -> SafePath:
    """Return the place of a file (resolved): below the top of its project no folder may have become a link."""
    place = locate(root, str(path))
    if within is None or not path.is_relative_to(within):
        return place
    return msgspec.structs.replace(place, anchor=within, parts=path.relative_to(within).parts)


def read_file(path: Path, kind: BroughtKind, within: Path | None) -> SkillFile:
    """Return the skill or command in a file; raises `OSError` or `ValueError` with the reason if it is none."""
    if why := why_unfit(path, kind):
        raise FrontMatterFault(why)
    with (
        open_parent(project_place(path, path.parent, within)) as above,
        open_unblocked(Path(path.name), os.O_NOFOLLOW, folder=above) as file,
    ):
        data = read_beginning(file, BEGINNING)
    if len(data) == BEGINNING:
        data = data[: data.rfind(b"\n") + 1] or data
    front = read_front_matter(data.decode())
    folder = path.parent.name if kind == "skill" else path.stem
    name = (front.text("name") if kind == "skill" else "") or folder
    if not _NAME.fullmatch(name) or len(name) > LONGEST_SKILL_NAME or name.startswith("mcp__"):
        raise FrontMatterFault(
            f"its name {name[:LONGEST_SKILL_NAME]!r} cannot be typed as a command (expected letters, digits and '-', "
            f"at most {LONGEST_SKILL_NAME})"
        )
    description = " ".join(filter(None, (front.text("description"), front.text("when_to_use"))))
    description = description or _first_paragraph(front)
    if not description and kind == "skill":
        raise FrontMatterFault("it has no description (expected a field `description` in its front matter)")
    return SkillFile(
        kind=kind,
        name=name,
        path=path,
        within=within,
        description=description[:LONGEST_SKILL_DESCRIPTION],
        hint=front.text("argument-hint") if isinstance(front.fields.get("argument-hint", ""), str) else "",
        names=front.words("arguments"),
        for_model=not front.flag("disable-model-invocation", default=False),
        for_user=front.flag("user-invocable", default=True),
        allowed=front.words("allowed-tools"),
        warnings=_warnings(name, folder, kind),
    )


def _warnings(name: str, folder: str, kind: BroughtKind) -> tuple[str, ...]:
    if kind == "command":
        return ()
    signs = () if _STANDARD_NAME.fullmatch(name) else ("its name has other signs than a-z, 0-9 and single '-'",)
    return signs if name == folder else (*signs, f"its name {name!r} is not that of its folder {folder!r}")


def _first_paragraph(front: FrontMatter) -> str:
    paragraphs = (each.strip() for each in front.body.split("\n\n"))
    return " ".join(next((each.lstrip("# ") for each in paragraphs if each), "").split())
