"""The folders that a client names: that of a session, and further ones, which it adds.

The model may read in further ones without asking. Anything else there needs approval.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from holdfast.errors import UsageError
from holdfast.ui.json_rpc.messages import INVALID_PARAMS, RpcError

MOST_FOLDERS = 100
"""Further folders of one session."""

LONGEST_PATH = 4096
"""Bytes of a path, as the kernel takes them."""

_GLOB = frozenset("*?[]{}()!\\\n")
"""Characters that a rule would not read as part of a path."""


def further_folders(paths: Sequence[str]) -> tuple[Path, ...]:
    """Return the further folders of a session. Raise `RpcError` for one that cannot be used."""
    if len(paths) > MOST_FOLDERS:
        raise RpcError(INVALID_PARAMS, f"There are {len(paths)} further folders (at most {MOST_FOLDERS}). Send fewer.")
    found: list[Path] = []
    for each in paths:
        try:
            resolved = client_folder(each)
        except UsageError as error:
            raise RpcError(INVALID_PARAMS, str(error)) from error
        if _GLOB & set(str(resolved)):
            raise RpcError(INVALID_PARAMS, f"Folder {each!r} cannot be used: its path has pattern characters.")
        found.append(resolved)
    return tuple(dict.fromkeys(found))


def reading_rules(folders: Sequence[Path]) -> list[str]:
    """Return the rules that allow reading in these folders."""
    return [f"Read(/{each}/**)" for each in folders]


def folder_instructions(folders: Sequence[Path]) -> str:
    """Return the sentence for the model of a new session about its further folders, "" if there are none."""
    if not folders:
        return ""
    return "Further folders of the workspace, which you may read: " + ", ".join(map(str, folders)) + "."


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
