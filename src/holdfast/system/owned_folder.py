"""A folder whose contents holdfast made: names in it are single, and nothing outside it is ever removed.

A removal opens the folder first and then works below that descriptor, one name at a time, without following a symbolic
link. So neither a name like `../x`, nor an absolute path, nor a link that someone put in the way leads out of it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from holdfast.errors import StateError
from holdfast.system.deletion import delete_tree

_LONGEST_NAME = 255


class OwnedFolder:
    """The folder `root`, which need not exist yet."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, name: str) -> Path:
        """Return the path of `name` in this folder; raises `StateError` unless it is one plain name."""
        if not name or name in {".", ".."} or len(os.fsencode(name)) > _LONGEST_NAME or {"/", "\0"} & set(name):
            raise StateError(
                f"{name[:_LONGEST_NAME]!r} is not the name of a folder in {str(self.root)!r} (expected one plain "
                "name). Nothing was changed."
            )
        return self.root / name

    def remove(self, name: str) -> None:
        """Remove `name` and everything below it, if it exists; raises `StateError`. A link is removed, not followed."""
        path = self.path(name)
        try:
            folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StateError(
                f"{str(path)!r} cannot be removed: {error.strerror}. Look at {str(self.root)!r}."
            ) from error
        try:
            if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                delete_tree(name, dir_fd=folder)
            else:
                os.unlink(name, dir_fd=folder)
        except FileNotFoundError:  # nothing is there, or another process was faster
            return
        except OSError as error:
            raise StateError(f"{str(path)!r} cannot be removed: {error.strerror}. Remove it by hand.") from error
        finally:
            os.close(folder)
