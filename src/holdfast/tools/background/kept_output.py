"""Keeps the complete outputs of commands in the session's folder, for the tool `read`.

An output file has two names (hard links). The command writes it under the name by which recovery finds it; the second
name remains when the first is deleted. So nothing is copied, and nothing is written into the project. The files live as
long as the session; of those that no command writes any more, the newest are kept.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from holdfast.tools.process.end_record import open_regular_file

NEWEST = 20
"""How many finished outputs a session keeps; each has at most 3 MB."""


def output_file(outputs: Path, call: str) -> Path:
    """Return the path of the complete output of a call."""
    return outputs / f"{call}.txt"


def keep_output(spool: Path, file: Path) -> bool:
    """Keep the output in `spool` as `file`, and delete the oldest ones. Return whether it is there. Never raises.

    While the command runs on, the file grows with its output; where the file system has no hard links it does not.
    """
    try:
        with open_regular_file(spool):  # a command can write to this folder: no link, no pipe
            pass
        file.parent.mkdir(mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.link(spool, file, follow_symlinks=False)
    except OSError:
        try:
            _copy(spool, file)
        except OSError:
            return False
    _remove_oldest(file.parent)
    return True


def is_output_file(outputs: Path, path: Path) -> bool:
    """Return whether a resolved path is directly in the folder of kept outputs."""
    return path.parent == outputs and path.suffix == ".txt"


def _copy(spool: Path, file: Path) -> None:
    file.unlink(missing_ok=True)
    target = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(target, "wb") as copy, open_regular_file(spool) as stored:  # noqa: PTH123 - a descriptor
        shutil.copyfileobj(stored, copy)


def _remove_oldest(outputs: Path) -> None:
    with contextlib.suppress(OSError):
        # A file that a command still writes has two names.
        over = [entry for entry in os.scandir(outputs) if entry.stat(follow_symlinks=False).st_nlink == 1]
        over.sort(key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns, reverse=True)
        for entry in over[NEWEST:]:
            Path(entry).unlink()
