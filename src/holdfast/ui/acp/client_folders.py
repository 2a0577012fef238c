"""The further folders that a client adds to a session.

The model may read there without asking. Anything else there needs approval, as outside of the session's folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from holdfast.errors import UsageError
from holdfast.ui.acp.protocol.json_rpc import INVALID_PARAMS, RpcError
from holdfast.ui.startup.client_folder import client_folder

MOST_FOLDERS = 100
"""Further folders of one session."""

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
