"""The files that a custom command names (`@src/app.py`): their text stands below the command's own.

A file of the workspace only, that is text and holds no secrets. All else stays a word, which the model may read about
or not: a command of a repository must not send what the user never opened.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from holdfast.errors import ToolFailed
from holdfast.system.safe_paths import as_tool_failure, open_regular, resolve
from holdfast.system.secret_files import holds_secrets
from holdfast.text import valid_unicode
from holdfast.tools.truncation import beginning, escape_newlines
from holdfast.tools.workspace.file_kinds import SNIFF, binary_kind

NAMED_FILES_ROOM = 60_000
"""Bytes of all files that a command names."""
MOST_NAMED_FILES = 20

_NAMED = re.compile(r"(?:^|(?<=[\s(]))@([A-Za-z0-9_./~+-][^\s`'\"<>|,;:)]*)", re.MULTILINE)
_CODE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|`{1,2}[^`\n]*`{1,2}", re.MULTILINE | re.DOTALL)


def with_named_files(root: Path, text: str, *, written: str) -> str:
    """Return the text of a command, followed by the files that it names outside code. Never raises.

    Only names in `written` count, what the file says and the user typed: not those in the output of a command.
    """
    names = list(dict.fromkeys(name.rstrip(".!?") for name in _NAMED.findall(_CODE.sub(" ", written))))
    room, blocks = NAMED_FILES_ROOM, list[str]()
    for name in names:
        if len(blocks) == MOST_NAMED_FILES or room <= 0:
            break
        block = _block(root, name, room)
        room -= len(block.encode())
        blocks += [block] if block else []
    return "\n\n".join((text, *blocks))


def _block(root: Path, name: str, room: int) -> str:
    try:
        place = resolve(root, name)
        if place.outside is not None or holds_secrets(str(place.path)) or not place.path.is_file():
            return ""
        with as_tool_failure(place), open_regular(place) as file:
            if binary_kind(os.pread(file.fileno(), SNIFF, 0)):
                return ""
            data = file.read(room + 1)
    except (ToolFailed, OSError):  # a word that names no file that can be read
        return ""
    cut = f"\n[Cut: the first {room} bytes are shown.]" if len(data) > room else ""
    return (
        f'<file path="{escape_newlines(place.name)}">\n{valid_unicode(beginning(data[:room])).rstrip()}{cut}\n</file>'
    )
