"""The git folders that a workspace needs, and what in them git obeys.

A linked worktree keeps its repository elsewhere, and a file in the workspace says where. That file comes with the
workspace, so its word is worth nothing: `gitdir: ~/.ssh` would open anything. Git's own rule is used: the repository
must point back, by `worktrees/NAME/gitdir`. A submodule's folder and `objects/info/alternates` point nowhere back and
are left out; git then says that it finds no repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from holdfast.system.bounded_files import STATE_FILE, read_bounded
from holdfast.system.confinement.description import GitFolders, LevelUnavailable

_MOST = 4096
_MOST_MODULES = 200

_OBEYED = ("config", "config.worktree", "hooks", "info/attributes", "commondir", "gitdir")
"""What git runs, or finds its settings by. Of these, those that exist stay read-only."""


def git_folders(root: str) -> GitFolders:
    """Return the git folders of the workspace root, none if it is no repository or its word does not hold."""
    path = Path(root, ".git")
    if path.is_symlink():
        return GitFolders()
    alone = (str(path),) if path.is_file() else ()  # whatever it names, another text would make git obey another folder
    try:
        if path.is_dir():
            return GitFolders(pinned=(str(path),), protected=tuple(_obeyed(path)), absent=tuple(_absent(path)))
        if path.is_file():
            return _linked(root, path) or GitFolders(pinned=alone, protected=alone)
    except (OSError, ValueError):  # unreadable, or no text: not a repository for git either
        return GitFolders(pinned=alone, protected=alone)
    return GitFolders()


def _linked(root: str, path: Path) -> GitFolders | None:
    """Return the folders of a linked worktree, None if the repository that it names does not point back to it."""
    named = _beginning(path)
    if not named.startswith("gitdir:"):
        return None
    worktree = Path(os.path.realpath(Path(root, named.removeprefix("gitdir:").strip())))
    common = worktree.parent.parent
    points_back = os.path.realpath(worktree / _beginning(worktree / "gitdir").strip()) == os.path.realpath(path)
    names_common = os.path.realpath(worktree / _beginning(worktree / "commondir").strip()) == str(common)
    is_repository = all((common / name).exists() for name in ("HEAD", "objects", "refs"))
    if worktree.parent.name != "worktrees" or not (points_back and names_common and is_repository):
        return None
    hooks = common / "hooks"
    return GitFolders(
        pinned=(str(path), str(common)),
        protected=(str(path), *_obeyed(common), *_obeyed(worktree)),
        common=str(common),
        absent=tuple(_absent(common)),
        hooks=(str(hooks),) if hooks.is_dir() and not hooks.is_symlink() else (),
    )


def _obeyed(folder: Path) -> Iterator[str]:
    """Yield what git obeys in a repository's folder, in those of its submodules too."""
    for each in (folder, *_modules(folder / "modules")):
        for name in _OBEYED:
            path = each / name
            if path.exists() and not path.is_symlink():
                yield str(path)


def _links(found: GitFolders) -> Iterator[Path]:
    folders = [Path(path) for path in found.pinned if Path(path).is_dir()]
    for each in (each for top in folders for each in (top, *_modules(top / "modules"))):
        yield from (path for name in _OBEYED if (path := each / name).is_symlink())


def _absent(folder: Path) -> Iterator[str]:
    """Yield the files that would make git take its settings from elsewhere."""
    for each in (folder, *_modules(folder / "modules")):
        path = each / "commondir"
        if not path.exists():
            yield str(path)


LINK_REMEDY = "Put the folder itself there (for hooks, git's setting core.hooksPath names another)."


def unkept_link(root: str) -> str:
    """Return which link in the place of something git obeys no wall can keep, "" if there is none."""
    links = (path for path in (Path(root, ".git"), *_links(git_folders(root))) if path.is_symlink())
    link = next(links, None)
    return "" if link is None else f"{str(link)!r} is a link, which no sandbox can keep"


def settle_git_folders(root: str) -> None:
    """Make what git obeys and what can be kept only if it exists: the folder of hooks, and a file of settings.

    Both are empty, which changes nothing for git. Raises `OSError`, and `LevelUnavailable` if one of them is a link: a
    command could put a folder in its place.
    """
    if why := unkept_link(root):
        raise LevelUnavailable(f"The command cannot be confined where it may write: {why}. {LINK_REMEDY}")
    found = git_folders(root)
    folders = [Path(path) for path in found.pinned if Path(path).is_dir()]
    for folder in (each for top in folders for each in (top, *_modules(top / "modules"))):
        (folder / "hooks").mkdir(exist_ok=True)
        config = folder / "config"
        if config.is_file() and b"worktreeconfig" in read_bounded(config, STATE_FILE).lower():
            (folder / "config.worktree").touch()


def _modules(folder: Path) -> Iterator[Path]:
    """Yield the folders of submodules, also of those with a slash in their names."""
    waiting, seen = [folder], 0
    while waiting and seen < _MOST_MODULES:
        path = waiting.pop()
        seen += 1
        if (path / "HEAD").exists():
            yield path
            waiting.append(path / "modules")
        elif path.is_dir() and not path.is_symlink():
            waiting += sorted(path.iterdir())


def _beginning(path: Path) -> str:
    if not path.is_file():  # opening a pipe would block
        return ""
    with path.open(encoding="utf-8") as file:
        return file.read(_MOST)
