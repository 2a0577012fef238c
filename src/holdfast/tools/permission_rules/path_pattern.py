"""Paths in rules: patterns of `.gitignore`, from one of four folders.

`//etc/**` begins at the root of the file system, `~/notes/**` in the user's home, `/src/**` in the folder of the
settings, and `src/**`, `./src/**` or `*.env` in the folder of the session. As in `.gitignore`, a pattern without a
slash matches in any folder below, and one that matches a folder matches all that is in it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING

from holdfast.system.file_names import folded_path

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


def path_fault(specifier: str) -> str:
    """Return what is wrong with a path of a rule, "" if nothing is."""
    if specifier.startswith("!"):
        return "a path with '!' is not supported; write another rule"
    if ".." in specifier.split("/"):
        return "its path has '..'; write '//' and the whole path"
    if not _spec(_anchored(specifier, root="/", home="/", base="/")[1]).patterns:
        return "its path is no pattern of .gitignore, such as 'src/**'"
    return ""


def path_matches(specifier: str, path: str, *, root: str, home: str, base: str, folds: bool = False) -> bool:
    """Return whether a rule's path matches the absolute `path`.

    `root` is the folder of the session, `home` the user's, `base` that of the settings; all are absolute. With `folds`,
    names are compared without case.
    """
    folder, pattern = _place(specifier, root, home, base, folds)
    path = normpath(folded_path(path) if folds else path)
    if path != folder and not path.startswith(f"{folder.rstrip('/')}/"):
        return False
    below = path[len(folder.rstrip("/")) + 1 :] or "."
    if pattern.endswith("**") and _spec(pattern).match_file("x" if below == "." else f"{below}/x"):
        return True  # a rule about everything in a folder is also about the folder
    return below != "." and _spec(pattern).match_file(below)


@lru_cache(maxsize=512)
def _place(specifier: str, root: str, home: str, base: str, folds: bool) -> tuple[str, str]:  # noqa: FBT001 - a key
    """Return the folder from which a path counts, as its text begins, and the pattern below it."""
    folder, pattern = _anchored(specifier, root=root, home=home, base=base)
    folder = str(PurePosixPath(folder))
    return (folded_path(folder), folded_path(pattern)) if folds else (folder, pattern)


def _anchored(specifier: str, *, root: str, home: str, base: str) -> tuple[str, str]:
    """Return the folder from which a path counts, and the pattern below it."""
    if specifier.startswith("//"):
        return "/", f"/{specifier.lstrip('/')}"
    if specifier == "~" or specifier.startswith("~/"):
        return normpath(home), f"/{specifier[2:] or '**'}"
    if specifier.startswith("/"):
        return normpath(base), specifier
    if specifier.startswith("./"):
        return normpath(root), f"/{specifier[2:] or '**'}"
    return normpath(root), "**" if specifier == "." else specifier


@lru_cache(maxsize=512)
def _spec(pattern: str) -> GitIgnoreSpec:
    from holdfast.system.gitignore import gitignore

    return gitignore(f"\\{pattern}" if pattern.startswith("#") else pattern)
