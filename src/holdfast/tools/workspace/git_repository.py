"""Reads, without git, what in a repository makes git start programs.

How it works. git looks for its repository in the folder and in each one above: `.git`, or the folder itself, if it
looks like a repository without a working tree. It passes over folders that only look like one. So everything on the way
up is read until something is surely a repository: one too many makes a command ask, one too few lets it run a program.
The repositories of submodules are read too, because git's `status` and `diff` go into them.

Of each are read the settings (`git_settings.py` finds those that name programs), whether there is a hook that git runs
while it reads (`post-index-change`, when it refreshes its cache of the files' times), and where it leads: `.git` may be
a link or name another folder, `commondir` and `alternates` name further ones, and every file in it may be a link. Only
a linked working tree and a submodule may have their repository elsewhere: it points back to them, which no file that
came with the folder can make it do.

Example: an unpacked archive has `lib/HEAD`, `lib/objects`, `lib/refs` and `lib/config`. There `git log` is a command in
the repository `lib`, whatever `.git` stands above it.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from holdfast.system.bounded_files import read_bounded

LARGEST_GIT_CONFIG = 262_144
LARGEST_INDEX = 67_108_864
MOST_MODULES = 200
MOST_GIT_NAMES = 20_000
"""The most names in a repository that are looked at for links; git packs its objects long before."""
_MOST_ALTERNATES = 16

_HEAD = re.compile(rb"ref: refs/.+|[0-9a-f]{40}|[0-9a-f]{64}", re.DOTALL)
_WORK_TREE = re.compile(r"^[ \t]*worktree = ([^\s\"\\#;]+)$", re.MULTILINE)
MODULE = b"\x00\x00\xe0\x00"
"""The mode of a submodule in the index."""
_NAME_AFTER = (38, 40, 50, 52)  # bytes from there to its name: with short and long hashes, with and without more flags


class StartsPrograms(msgspec.Struct, frozen=True):
    """The settings of the repositories that git may read in a folder, and the hook that it would run, "" if none.

    Settings that cannot be read, or whose place is unknown, are "?", which is no setting. `leads` are the places
    outside of these repositories, links followed, where they make git read.
    """

    settings: str = ""
    hook: str = ""
    leads: tuple[str, ...] = ()


class _Repository(msgspec.Struct, frozen=True):
    """A repository: its folder, the one with its settings, and the folder that it belongs to, None if not known."""

    git_folder: Path
    common: Path
    place: Path | None


def read_repositories(folder: str) -> StartsPrograms:
    """Return what the repositories that git may read in `folder` (absolute) start, and where they lead."""
    try:
        found = tuple(dict.fromkeys(_repositories(Path(folder))))
        commons = tuple(dict.fromkeys(each.common for each in found))
        texts = [_settings(each) for each in commons]
        hook = next((name for each in commons if (name := _hook(each))), "")
        return StartsPrograms("\n".join(texts), hook, tuple(dict.fromkeys(_leads(found))))
    except (OSError, UnicodeDecodeError, ValueError):
        return StartsPrograms("?")


def _repositories(folder: Path) -> Iterator[_Repository]:
    """Yield every repository that git may read."""
    for place in (folder, *folder.parents):
        named, sure = place / ".git", False
        if os.path.lexists(named):
            git_folder, common = _resolve_git_folder(named, place)
            yield _Repository(git_folder, common, place)
            yield from _modules(git_folder, common, place)
            sure = _is_surely_repository(git_folder, common)
        elif all(os.path.lexists(place / each) for each in ("HEAD", "objects", "refs")):
            common = _common(place)
            yield _Repository(place, common, place)
            yield from _modules(place, common, place)
            sure = _is_surely_repository(place, common)
        if sure:
            return


def _resolve_git_folder(git: Path, place: Path) -> tuple[Path, Path]:
    """Return the repository's folder, and the one with its settings: they differ in a linked working tree."""
    if git.is_dir():
        return git, _common(git)
    named = _bytes(git, LARGEST_GIT_CONFIG).decode().strip()
    if not named.startswith("gitdir:"):
        raise ValueError(named)
    git_folder = place / named.removeprefix("gitdir:").strip()
    return git_folder, _common(git_folder)


def _common(git_folder: Path) -> Path:
    """Return the folder with the settings: git obeys the file `commondir` in any repository."""
    common = git_folder / "commondir"
    if not common.exists():
        return git_folder
    return git_folder / _bytes(common, LARGEST_GIT_CONFIG).decode().strip()


def _is_surely_repository(git_folder: Path, common: Path) -> bool:
    """Return whether git would take this for a repository, and look no further."""
    head = git_folder / "HEAD"
    if head.is_symlink() or not head.is_file() or not (common / "objects").is_dir() or not (common / "refs").is_dir():
        return False
    return _HEAD.fullmatch(_bytes(head, LARGEST_GIT_CONFIG).strip()) is not None


def _modules(git_folder: Path, common: Path, place: Path) -> Iterator[_Repository]:
    """Yield the repositories of the submodules; raises `ValueError` if they cannot be determined."""
    configs = (
        tuple(islice((common / "modules").rglob("config"), MOST_MODULES + 1)) if (common / "modules").is_dir() else ()
    )
    if len(configs) > MOST_MODULES:
        raise ValueError(MOST_MODULES)
    yield from (_Repository(each.parent, each.parent, None) for each in configs)
    index = git_folder / "index"
    if not index.is_file():
        return
    listed = _bytes(index, LARGEST_INDEX)
    if MODULE not in listed:
        return
    if listed[4:8] not in {b"\0\0\0\2", b"\0\0\0\3"}:  # later ones shorten the names
        raise ValueError(listed[4:8])
    for found in re.finditer(re.escape(MODULE), listed):
        for after in _NAME_AFTER:
            start = found.start() + after
            name = listed[start : max(start, listed.find(b"\0", start))]
            git = place / os.fsdecode(name) / ".git"
            if name and os.path.lexists(git):
                yield _Repository(*_resolve_git_folder(git, git.parent), git.parent)


def _leads(repositories: tuple[_Repository, ...]) -> Iterator[str]:
    """Yield where repositories make git read, apart from where they lie themselves; raises `ValueError` if too much."""
    name_count = [0]
    folders: dict[str, None] = {}
    for each in repositories:
        for folder in dict.fromkeys((each.git_folder, each.common)):
            real = os.path.realpath(folder)
            folders[real] = None
            is_here = each.place is None or Path(real).is_relative_to(os.path.realpath(each.place))
            if not is_here and not _points_back(each):
                yield real
    for folder in folders:
        yield from (lead for lead in _links(folder, name_count) if not Path(lead).is_relative_to(folder))
        yield from _alternates(f"{folder}/objects")


def _points_back(repository: _Repository) -> bool:
    """Return whether a repository elsewhere says that this folder is its working tree: git wrote that there, not it."""
    git_folder, place = repository.git_folder, os.path.realpath(repository.place or "/")
    if git_folder != repository.common:
        worktree = Path(os.path.realpath(git_folder))
        back = worktree / "gitdir"
        named = worktree / _bytes(back, LARGEST_GIT_CONFIG).decode().strip() if back.is_file() else worktree
        is_ours = os.path.realpath(named) == f"{place}/.git" and worktree.parent.name == "worktrees"
        return is_ours and os.path.realpath(repository.common) == str(worktree.parent.parent)
    config = git_folder / "config"
    found = _WORK_TREE.search(_bytes(config, LARGEST_GIT_CONFIG).decode()) if config.is_file() else None
    return found is not None and os.path.realpath(git_folder.resolve() / found[1]) == place


def _links(folder: str, name_count: list[int]) -> Iterator[str]:
    """Yield where the links below a folder lead; `name_count` counts the names of all folders."""
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listing:
                for entry in listing:
                    name_count[0] += 1
                    if name_count[0] > MOST_GIT_NAMES:
                        raise ValueError(MOST_GIT_NAMES)
                    if entry.is_symlink():
                        yield os.path.realpath(entry.path)
                    elif entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue  # git finds nothing there either


def _alternates(objects: str) -> Iterator[str]:
    """Yield the other folders of objects that a repository names, and those that these name."""
    waiting, seen = [objects], 0
    while waiting:
        here = waiting.pop()
        listed = Path(here, "info/alternates")
        seen += 1
        if seen > _MOST_ALTERNATES:
            raise ValueError(_MOST_ALTERNATES)
        if listed.is_file():
            named = _bytes(listed, LARGEST_GIT_CONFIG).decode().split("\n")
            found = [os.path.realpath(Path(here, each)) for each in named if each and not each.startswith("#")]
            yield from found
            waiting += found


def _settings(folder: Path) -> str:
    """Return the text of a repository's settings, without a `worktree` that is a submodule's normal place."""
    path = folder / "config"
    text = _bytes(path, LARGEST_GIT_CONFIG).decode() if path.exists() else ""
    above = next((each for each in folder.parents if each.name == ".git"), None)
    if above is None:
        return text

    def without_own_tree(line: re.Match[str]) -> str:
        return "" if (folder / line[1]).resolve().is_relative_to(above.parent.resolve()) else line[0]

    return _WORK_TREE.sub(without_own_tree, text)


def _hook(folder: Path) -> str:
    hook = folder / "hooks" / "post-index-change"
    return hook.name if hook.is_file() and os.access(hook, os.X_OK) else ""


def _bytes(path: Path, most: int) -> bytes:
    try:
        return read_bounded(path, most)
    except OSError as error:
        if error.errno in (errno.EFBIG, errno.EINVAL):  # what git itself would read otherwise: it is not understood
            raise ValueError(path) from error
        raise
