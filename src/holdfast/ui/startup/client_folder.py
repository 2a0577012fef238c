"""A folder that another program names: an editor, or an agent that hands over work."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import UsageError

LONGEST_PATH = 4096
"""Bytes of a path, as the kernel takes them."""


def client_folder(path: str) -> Path:
    """Return the real path of an existing folder. Raise `UsageError` for anything else."""
    shown = repr(path if len(path) <= 200 else f"{path[:200]}…")  # noqa: PLR2004 - enough to find it
    if why := _fault(path):
        raise UsageError(f"Folder {shown} cannot be used: {why}. Pass the absolute path of an existing folder.")
    try:
        resolved = Path(path).resolve(strict=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead to each other
        why = error.strerror if isinstance(error, OSError) else "its links lead to each other"
        raise UsageError(f"Folder {shown} cannot be used: {why}. Pass an existing one.") from error
    if not resolved.is_dir():
        raise UsageError(f"{shown} is not a folder. Pass an existing one.")
    return resolved


def _fault(path: str) -> str:
    if "\0" in path:
        return "it has a NUL"
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    if size > LONGEST_PATH:
        return f"it has more than {LONGEST_PATH} bytes"
    return "" if Path(path).is_absolute() else "it is not absolute"
