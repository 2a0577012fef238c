"""The tool `edit`: replaces pieces of text in one file, all or none of them, or explains why it cannot."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice

import msgspec

from holdfast.errors import ToolFailed
from holdfast.system.safe_paths import SafePath, as_tool_failure
from holdfast.text import valid_unicode
from holdfast.tool_calls import Effect
from holdfast.tools.builtin.declarations import EDIT_SCHEMA, EditArguments, Replacement
from holdfast.tools.builtin.read_write import write_plan
from holdfast.tools.patches.loose_match import find_loosely
from holdfast.tools.schema import parse_arguments
from holdfast.tools.tool import Plan, Workspace
from holdfast.tools.workspace.atomic_write import (
    LARGEST_EDITED_FILE,
    LARGEST_FILE,
    FileDiff,
    change_plan,
    read_existing,
    replacement,
)
from holdfast.tools.workspace.file_kinds import SNIFF

_MATCHES_SHOWN = 20
_LINES_SHOWN = 12
_LINE_SHOWN = 200
_LINE_COMPARED = 120
_LINES_COMPARED = 2000  # difflib takes up to 100 microseconds for each


class EditTool:
    """Replaces pieces of text in a file, atomically. Line endings and a byte order mark are kept."""

    schema = EDIT_SCHEMA
    effect: Effect = "write"

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return the plan of an edit, with its diff; raises `ToolFailed` if one `old` is missing or not unique."""
        args = parse_arguments(arguments, EditArguments, tool="edit")
        parts = [Replacement(old=args.old, new=args.new, all=args.all)] if args.old or not args.edits else []
        parts += args.edits
        if len(parts) == 1 and not parts[0].old and parts[0].new:
            return change_plan(self._workspace, "edit", args.path, partial(_creation_plan, parts[0].new))
        for number, part in enumerate(parts, 1):
            where = _numbered_part(number, len(parts))
            if not part.old:
                raise ToolFailed(f"{where}Argument 'old' is empty. {_NO_OLD} Nothing was written.")
            if part.old == part.new:
                msg = f"{where}Arguments 'old' and 'new' are the same. Nothing was written."
                raise ToolFailed(msg)
        return change_plan(self._workspace, "edit", args.path, partial(_edit_plan, parts))


_NO_OLD = "Give the text to replace, and 'new'; to create a file, or to replace all of it, use write."


def _creation_plan(new: str, place: SafePath, title: str) -> Plan:
    """Return the plan to create a file, which models mean by an empty `old`; raises `ToolFailed` if it exists."""
    existing = read_existing(place)
    if existing is not None and existing.content != b"":
        msg = f"Argument 'old' is empty, and file {place.name!r} exists. {_NO_OLD} Nothing was written."
        raise ToolFailed(msg)
    return write_plan(new, place, title)


def _numbered_part(number: int, of: int) -> str:
    return f"Replacement {number} of {of}: " if of > 1 else ""


def _edit_plan(parts: Sequence[Replacement], place: SafePath, title: str) -> Plan:
    existing = read_existing(place, most=LARGEST_EDITED_FILE)
    if existing is None:
        with as_tool_failure(place):  # it lists the existing names
            raise FileNotFoundError
    if existing.content is None:
        msg = (
            f"File {place.name!r} is too large: {existing.size:,} bytes (at most {LARGEST_EDITED_FILE:,}, because an "
            "edit holds it in memory several times). Use bash to change it."
        )
        raise ToolFailed(msg)
    if b"\0" in existing.content[:SNIFF]:
        msg = f"File {place.name!r} is binary, not text. Use bash to change it."
        raise ToolFailed(msg)
    # Bytes that are not UTF-8 pass through unchanged. A letter of a large file must not take four bytes: each of its
    # bytes is a letter, and what is sought in it likewise. UTF-8 finds the same places.
    is_large = existing.size > LARGEST_FILE
    encoding, invalid = ("latin-1", "strict") if is_large else ("utf-8", "surrogateescape")
    text = existing.content.decode(encoding, invalid)
    if is_large:
        parts = [_as_bytes(part) for part in parts]
    times, lines, notes = 0, list[int](), dict[str, None]()
    for number, part in enumerate(parts, 1):
        where = _numbered_part(number, len(parts))
        try:
            done = _replace(text, part, place.name, exactly=is_large)
        except ToolFailed as failed:
            raise ToolFailed(*(f"{where}{reason}" for reason in failed.args)) from failed
        text = done.text
        times += done.times
        lines.append(done.line)
        if done.how:
            notes[f" {where}Argument 'old' was found loosely: {done.how}."] = None

    def report(diff: FileDiff) -> str:
        first = min(lines)
        many = f"1 replacement at line {first}" if times == 1 else f"{times} replacements, the first at line {first}"
        return f"Edited {place.name}: {many} (+{diff.added} -{diff.removed} lines).{''.join(notes)}"

    after = text.encode(encoding, invalid)
    if after == existing.content:
        msg = f"File {place.name!r} would stay as it is: the replacements undo each other. Nothing was written."
        raise ToolFailed(msg)
    return replacement(place, existing, after, title=title, describe=report)


class _ReplaceResult(msgspec.Struct, frozen=True):
    """A text after a replacement: how many `times`, the first at `line`; `how` it was found if not exactly."""

    text: str
    times: int
    line: int
    how: str = ""


def _as_bytes(part: Replacement) -> Replacement:
    """Return a replacement in a text of which each letter is a byte."""
    old, new = (valid_unicode(text).encode().decode("latin-1") for text in (part.old, part.new))
    return msgspec.structs.replace(part, old=old, new=new)


def _replace(text: str, part: Replacement, name: str, *, exactly: bool) -> _ReplaceResult:
    """Return the text after one replacement; raises `ToolFailed` if `old` is missing, ambiguous or changes nothing."""
    old, new = _with_endings(text, valid_unicode(part.old), valid_unicode(part.new))
    if old == new:
        msg = f"File {name!r} has CRLF line endings, so 'old' and 'new' are the same. Nothing was written."
        raise ToolFailed(msg)
    found = text.count(old)
    if not found and exactly:
        msg = (
            f"Argument 'old' does not occur in {name!r} exactly as given. Nothing was written. In a file of more than "
            f"{LARGEST_FILE:,} bytes only exact text is found. Read its lines again and copy them."
        )
        raise ToolFailed(msg)
    if not found:
        loose = find_loosely(text, old, new)
        if loose is None:
            raise ToolFailed(_absent(name, text, old))
        line = text.count("\n", 0, loose.start) + 1
        return _ReplaceResult(text[: loose.start] + loose.new + text[loose.end :], 1, line, loose.how)
    if not part.all and len(starts := _starts(text, old)) > 1:
        raise ToolFailed(_ambiguous(name, text, starts))
    return _ReplaceResult(text.replace(old, new), found, text.count("\n", 0, text.index(old)) + 1)


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
        f"Argument 'old' occurs more than once in {name!r}, at lines {', '.join(numbers)}{more} (expected once). "
        "Nothing was written. Add lines around it to make it unique, or set all to true."
    )


def _absent(name: str, text: str, old: str) -> str:
    """Return why `old` was not found, with the most similar lines of `text`."""
    message = f"Argument 'old' does not occur in {name!r} exactly as given. Nothing was written."
    lines = text.split("\n")
    squeezed = [_squeezed(line) for line in lines]
    sought = [_squeezed(line) for line in old.strip().split("\n")]
    anchor = max(sought, key=len)
    if not anchor:
        return f"{message} It is only white space. Add the lines around it."
    squeezed_text = "\n".join(squeezed)
    at = squeezed_text.find("\n".join(sought))
    if at >= 0:
        first = squeezed_text.count("\n", 0, at)
        shown = _numbered(lines, range(first, first + len(sought)))
        return f"{message} These lines differ only in white space or line endings. Copy them exactly:\n{shown}"
    near = [anchor] if anchor in squeezed else difflib.get_close_matches(anchor, squeezed[:_LINES_COMPARED], n=3)
    if not near:
        return f"{message} No line is similar to {anchor[:_LINE_SHOWN]!r}. Read the file again."
    numbers = (i for i, line in enumerate(squeezed) if line in near)
    return f"{message} The most similar lines (read around them and try again):\n{_numbered(lines, numbers)}"


def _squeezed(line: str) -> str:
    """Return the line with white space runs as one space, limited to what is worth comparing."""
    return " ".join(line[:_LINE_COMPARED].split())


def _numbered(lines: list[str], numbers: Iterable[int]) -> str:
    shown = (f"{i + 1}\t{lines[i][:_LINE_SHOWN].rstrip()}" for i in islice(numbers, _LINES_SHOWN))
    return valid_unicode("\n".join(shown))
