"""Files that other programs run, or take programs from, without the user starting them: a table and its lookup.

The table, `autorun_files.json`, contains what runs when a folder is entered, opened, committed in, pushed or logged in
to, and what tells a user's program which other programs to run. It does not contain the project's source, which runs
when the user runs the project: `Makefile`, `package.json`, `conftest.py`, `setup.py`, `Dockerfile`, linter and test
configs.

Laws (`tests/tools/workspace/test_autorun_laws.py`): each row is found in any folder, in every spelling that a disk may
treat as the same name.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import cache
from itertools import pairwise
from pathlib import Path
from unicodedata import category, normalize

import msgspec

from holdfast.typed_data import decode_json


class Autorun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one program runs or obeys, as `source` documents; names in lower case, `*` for any characters.

    `folders` with all their content, `files` in any folder, `below` the end of a path, `FOLDER/NAME`.
    """

    program: str
    source: str
    folders: str = ""
    files: str = ""
    below: str = ""


class AutorunGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rows about one subject."""

    subject: str
    rows: tuple[Autorun, ...]


_FILE = Path(__file__).with_name("autorun_files.json")

AUTORUN_FILES = tuple(row for group in decode_json(_FILE.read_bytes(), tuple[AutorunGroup, ...]) for row in group.rows)


def _expression(names: str) -> re.Pattern[str]:
    return re.compile("|".join(translate(name) for name in names.split()))


@cache
def _names() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what folders and what files are called; compiled when a path is first looked up, as it takes 10 ms."""
    folders = _expression(" ".join(each.folders for each in AUTORUN_FILES))
    return folders, _expression(" ".join(each.files for each in AUTORUN_FILES))


_BELOW = frozenset(tuple(path.split("/")) for each in AUTORUN_FILES for path in each.below.split())


def runs_by_itself(path: str) -> bool:
    """Return whether another program would run the file, or take programs from it, by itself."""
    parts = [_file_system_form(part) for part in path.split("/")]
    folders, files = _names()
    if files.match(parts[-1]) or any(folders.match(part) for part in parts):
        return True
    return any((above, below) in _BELOW for above, below in pairwise(parts))


def _file_system_form(name: str) -> str:
    """Return a name in the form in which the most tolerant file systems compare it: case, trailing dots, streams.

    Some treat `.GIT`, `.git.`, `.git::$INDEX_ALLOCATION`, `GIT~1` and a `.git` with invisible characters alike.
    """
    visible = "".join(each for each in normalize("NFC", name.casefold()) if category(each) != "Cf")
    plain = visible.partition(":")[0].rstrip(". ") or visible
    return ".git" if re.fullmatch(r"git~\d", plain) else plain
