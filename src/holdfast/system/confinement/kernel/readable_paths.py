"""Which paths Landlock grants for reading, when some of what lies below them is hidden.

Landlock's rules only add: what a folder is granted, everything below it is granted. So a folder that holds a secret is
not granted; each of its other entries is, and so on down to the secret. `RuleLimit` bounds that.

Example: with `.env` hidden in `/ws`, the grants are `/ws/a.txt`, `/ws/src`, … and the names in `/ws`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from holdfast.system.confinement.description import Mask, is_below

MOST_RULES = 2_000
"""Each costs the kernel a look-up and holdfast an open file; 2,500 of them took 21 ms."""


class ReadGrants(NamedTuple):
    """Paths that are readable with all below them, and folders of which only the names are."""

    subtrees: tuple[str, ...]
    names: tuple[str, ...]


class RuleLimit(Exception):
    """A secret lies beside so many files that a command cannot be confined to the others."""

    def __init__(self, folder: str, count: int) -> None:
        super().__init__(
            f"The command cannot be confined: hiding the secrets in {folder!r} takes more than {count} rules, one for "
            "each of its other files. Move the secret to another folder, or install bubblewrap."
        )
        self.folder = folder


def read_grants(
    folders: Iterable[str], masks: Iterable[Mask], entries: Callable[[str], Iterable[str]], *, most: int = MOST_RULES
) -> ReadGrants:
    """Return what to grant so that all in `folders` is readable but the masked; raises `RuleLimit` if it is too much.

    `entries` returns the names in a folder without its links. The names in a folder that holds a masked folder are not
    readable: the grant for them would reach the names in the masked folder too.
    """
    hidden = tuple(masks)
    subtrees: list[str] = []
    names: list[str] = []
    waiting = list(dict.fromkeys(folders))
    while waiting:
        path = waiting.pop()
        inside = [mask for mask in hidden if is_below(mask.path, path)]
        if any(mask.path == path for mask in inside):
            continue
        if not inside:
            subtrees.append(path)
        else:
            if not any(mask.is_folder for mask in inside):
                names.append(path)
            waiting += [f"{path.rstrip('/')}/{name}" for name in entries(path)]
        if len(subtrees) + len(names) + len(waiting) > most:
            raise RuleLimit(path, most)
    return ReadGrants(tuple(sorted(set(subtrees))), tuple(sorted(set(names))))
