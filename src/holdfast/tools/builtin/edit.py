"""The tool `edit`: replaces one exact piece of text, or explains why it cannot."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import partial
from itertools import islice

from holdfast.errors import ToolFailed
from holdfast.text import valid_unicode
from holdfast.tool_calls import Effect
from holdfast.tools.builtin.declarations import EDIT_SCHEMA, EditArguments
from holdfast.tools.schema import parse_arguments
from holdfast.tools.tool import Plan, Workspace
from holdfast.tools.workspace.atomic_write import (
    LARGEST_FILE,
    FileDiff,
    change_plan,
    read_existing,
    replacement,
)
from holdfast.tools.workspace.file_kinds import SNIFF
from holdfast.tools.workspace.safe_paths import SafePath, failing_at

_MATCHES_SHOWN = 20
_LINES_SHOWN = 12
_LINE_SHOWN = 200
_LINE_COMPARED = 120
_LINES_COMPARED = 2000  # difflib takes up to 100 microseconds for each


class EditTool:
    """Replaces an exact piece of text in a file, atomically. Line endings and a byte order mark are kept."""

    schema = EDIT_SCHEMA
    effect: Effect = "write"

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return the plan of an edit, with its diff; raises `ToolFailed` if `old` is missing or not unique."""
        wanted = parse_arguments(arguments, EditArguments, tool="edit")
        if not wanted.old:
            msg = "Argument 'old' is empty. Give the text to replace, or use write to create a file."
            raise ToolFailed(msg)
        if wanted.old == wanted.new:
            msg = "Arguments 'old' and 'new' are the same. Nothing was written."
            raise ToolFailed(msg)
        return change_plan(self._workspace, "edit", wanted.path, partial(_edited, wanted))


def _edited(wanted: EditArguments, place: SafePath, title: str) -> Plan:
    present = read_existing(place)
    if present is None:
        with failing_at(place):  # it lists the existing names
            raise FileNotFoundError
    if present.content is None:
        msg = f"File {place.name!r} is too large: more than {LARGEST_FILE} bytes. Use bash to change it."
        raise ToolFailed(msg)
    if b"\0" in present.content[:SNIFF]:
        msg = f"File {place.name!r} is binary, not text. Use bash to change it."
        raise ToolFailed(msg)
    # Bytes that are not UTF-8 pass through unchanged.
    text = present.content.decode("utf-8", "surrogateescape")
    old, new = _with_endings(text, valid_unicode(wanted.old), valid_unicode(wanted.new))
    if old == new:
        msg = f"File {place.name!r} has CRLF line endings, so 'old' and 'new' are the same. Nothing was written."
        raise ToolFailed(msg)
    found = text.count(old)
    if not found:
        raise ToolFailed(_absent(place.name, text, old))
    if not wanted.all and len(starts := _starts(text, old)) > 1:
        raise ToolFailed(_ambiguous(place.name, text, starts))

    first = text.count("\n", 0, text.index(old)) + 1

    def done(diff: FileDiff) -> str:
        times = f"1 replacement at line {first}" if found == 1 else f"{found} replacements, the first at line {first}"
        return f"Edited {place.name}: {times} (+{diff.added} -{diff.removed} lines)."

    after = text.replace(old, new).encode("utf-8", "surrogateescape")
    return replacement(place, present, after, title=title, done=done)


def _with_endings(text: str, old: str, new: str) -> tuple[str, str]:
    """Return `old` and `new` with the line endings of `text`, if that is needed for a match."""
    crlf = text.count("\r\n")
    if not crlf or (crlf < text.count("\n") and old in text):
        return old, new
    return _crlf(old), _crlf(new)


def _crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _starts(text: str, old: str) -> list[int]:
    """Return where `old` begins, including overlaps; at most one more than are shown."""
    starts: list[int] = []
    at = text.find(old)
    while at >= 0 and len(starts) <= _MATCHES_SHOWN:
        starts.append(at)
        at = text.find(old, at + 1)
    return starts


def _ambiguous(name: str, text: str, starts: list[int]) -> str:
    numbers = [str(text.count("\n", 0, at) + 1) for at in starts[:_MATCHES_SHOWN]]
    more = " and more" if len(starts) > _MATCHES_SHOWN else ""
    return (
        f"Text 'old' occurs more than once in {name!r}, at lines {', '.join(numbers)}{more} (expected once). "
        "Nothing was written. Add lines around it to make it unique, or set all to true."
    )


def _absent(name: str, text: str, old: str) -> str:
    """Return why `old` was not found, with the most similar lines of `text`."""
    said = f"Text 'old' does not occur in {name!r} exactly as given. Nothing was written."
    lines = text.split("\n")
    squeezed = [_squeezed(line) for line in lines]
    sought = [_squeezed(line) for line in old.strip().split("\n")]
    anchor = max(sought, key=len)
    if not anchor:
        return f"{said} It is only white space. Add the lines around it."
    whole = "\n".join(squeezed)
    at = whole.find("\n".join(sought))
    if at >= 0:
        first = whole.count("\n", 0, at)
        shown = _numbered(lines, range(first, first + len(sought)))
        return f"{said} These lines differ only in white space or line endings. Copy them exactly:\n{shown}"
    near = [anchor] if anchor in squeezed else difflib.get_close_matches(anchor, squeezed[:_LINES_COMPARED], n=3)
    if not near:
        return f"{said} No line is similar to {anchor[:_LINE_SHOWN]!r}. Read the file again."
    numbers = (i for i, line in enumerate(squeezed) if line in near)
    return f"{said} The most similar lines (read around them and try again):\n{_numbered(lines, numbers)}"


def _squeezed(line: str) -> str:
    """Return the line with white space runs as one space, limited to what is worth comparing."""
    return " ".join(line[:_LINE_COMPARED].split())


def _numbered(lines: list[str], numbers: Iterable[int]) -> str:
    shown = (f"{i + 1}\t{lines[i][:_LINE_SHOWN].rstrip()}" for i in islice(numbers, _LINES_SHOWN))
    return valid_unicode("\n".join(shown))
