"""Where paths lead as the kernel finds them, links before `..`; each folder's links are followed once for a line.

`os.path.realpath` would do for one path. A line of 16 KiB names thousands, most of them in the same few folders, and
looking at every folder above each of them again took longer than all else.
"""

from __future__ import annotations

import os

_MOST_LINKS = 64
_MOST_PARTS = 32
"""Of deeper folders nothing is kept: it would be a text for each."""

_NO_NAMES = frozenset({"", ".", ".."})


class LinksFollowed:
    """Remembers where folders lead, for the judging of one line."""

    __slots__ = ("_folders", "_missing")

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}
        self._missing: set[str] = set()

    def real(self, path: str) -> str:
        """Return where an absolute path leads, as `real_path` does."""
        folder, _, name = path.rpartition("/")
        if not folder or name in _NO_NAMES:
            return real_path(path)
        found = self._folders.get(folder) or self._folder(folder)
        if found == "/proc" or found.startswith("/proc/"):
            return real_path(path)
        here = f"{found.rstrip('/')}/{name}"
        return here if found in self._missing else self._below(here)

    def _folder(self, folder: str) -> str:
        """Return where a folder leads, from the nearest one above it that is known already."""
        above, names = folder, list[str]()
        while above and above not in self._folders and len(names) <= _MOST_PARTS:
            above, _, name = above.rpartition("/")
            names.append(name)
        if not folder.startswith("/") or len(names) > _MOST_PARTS or not _NO_NAMES.isdisjoint(names):
            return real_path(folder)
        found = self._folders[above] if above else "/"
        for name in reversed(names):
            if found == "/proc" or found.startswith("/proc/"):
                return real_path(folder)
            above = f"{above}/{name}"
            here = f"{found.rstrip('/')}/{name}"
            if found in self._missing:
                self._missing.add(here)
                found = here
            else:
                found = self._below(here)
            self._folders[above] = found
        return found

    def _below(self, here: str) -> str:
        """Return where a path leads whose folder is real: only the last name may be a link."""
        try:
            os.readlink(here)  # noqa: PTH115 - a Path would drop `.` and slashes
        except (FileNotFoundError, NotADirectoryError):
            self._missing.add(here)  # then nothing lies below it either
        except (OSError, ValueError):
            return here
        else:
            return real_path(here, is_name_alone=True)
        return here


def real_path(path: str, *, is_name_alone: bool = False) -> str:
    """Return where a path leads; behind `/proc` it leads elsewhere for every process, so there it is left as it is."""
    waiting = path.split("/")[::-1]
    found, followed = "", 0
    if is_name_alone and path != "/proc":
        found, _, name = path.rpartition("/")
        waiting = [name]
    while waiting:
        part = waiting.pop()
        if part in ("", "."):
            continue
        if part == "..":
            found = found.rpartition("/")[0]
            continue
        here = f"{found}/{part}"
        if here == "/proc":
            return "/".join((here, *reversed(waiting))).rstrip("/")
        try:
            to = os.readlink(here)  # noqa: PTH115 - as above
        except (OSError, ValueError):
            found = here
            continue
        followed += 1
        if followed > _MOST_LINKS:
            return here  # the kernel finds nothing there
        found = "" if to.startswith("/") else found
        waiting += to.split("/")[::-1]
    return found or "/"
