"""The tools `read` and `write`, and the check of what an interrupted change left behind."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from functools import partial
from io import BufferedReader
from pathlib import Path

from holdfast.errors import ToolFailed
from holdfast.system.safe_paths import SafePath, as_tool_failure, locate, open_regular, resolve
from holdfast.system.threads import in_thread
from holdfast.text import valid_unicode
from holdfast.tool_calls import Effect, FileChange, FileCheck
from holdfast.tools.background.kept_output import is_output_file
from holdfast.tools.builtin.declarations import READ_SCHEMA, WRITE_SCHEMA, ReadArguments, WriteArguments
from holdfast.tools.schema import parse_arguments
from holdfast.tools.tool import Plan, ToolContext, ToolOutput, Workspace
from holdfast.tools.truncation import beginning, escape_newlines
from holdfast.tools.workspace.atomic_write import (
    LARGEST_REPLACED,
    FileDiff,
    change_plan,
    read_existing,
    replacement,
)
from holdfast.tools.workspace.file_kinds import SNIFF, UTF_16, binary_kind
from holdfast.tools.workspace.file_snapshots import take_snapshot
from holdfast.tools.workspace.images import LARGEST_IMAGE_FILE, image, image_too_large, is_image
from holdfast.tools.workspace.line_ends import with_line_ends

_TEXT_MOST = 64_000
_LINE_MOST = 2000
_BOM = b"\xef\xbb\xbf"


class ReadTool:
    """Reads a range of lines of a text file, without holding more than that in memory."""

    schema = READ_SCHEMA
    effect: Effect = "read"

    def __init__(self, workspace: Workspace) -> None:
        self._root = workspace.root
        self._outputs = workspace.outputs
        self._readable = workspace.readable

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return the plan of a read. Whether the file exists is checked when it runs.

        A kept output of this session counts as inside the workspace: the model has seen parts of it. So do the files
        of skills, but no secrets among them.
        """
        args = parse_arguments(arguments, ReadArguments, tool="read")
        place = resolve(self._root, args.path)
        is_output = self._outputs is not None and is_output_file(self._outputs, place.path)
        is_free = is_output or any(place.path.is_relative_to(each) for each in self._readable)

        async def run(context: ToolContext) -> ToolOutput:
            return await in_thread(partial(_window, place, args.offset, args.limit), context.stop)

        return Plan(
            effect="read",
            title=escape_newlines(f"read {place.name}"),
            outside=None if is_free else place.outside,
            reads=(str(place.path),),
            run=run,
        )


class WriteTool:
    """Writes a whole file, atomically."""

    schema = WRITE_SCHEMA
    effect: Effect = "write"

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return the plan of a write, with its diff against the present file."""
        args = parse_arguments(arguments, WriteArguments, tool="write")
        return change_plan(self._workspace, "write", args.path, partial(write_plan, args.content))


def write_plan(content: str, place: SafePath, title: str) -> Plan:
    """Return the plan to replace all of a file by `content`; raises `ToolFailed` if nothing would change."""
    existing = read_existing(place)
    text = valid_unicode(content)
    if existing is None:
        after, ends = with_line_ends(place.anchor, place.path, text.encode())
        form_note = f" Line ends: {ends}." if ends else ""
    else:
        after, form_note = _in_the_form_of(existing.content or b"", text.encode())
    if existing is not None and existing.content == after:
        msg = f"File {place.name!r} already has exactly this content. Nothing was written."
        raise ToolFailed(msg)

    def describe(diff: FileDiff) -> str:
        action = f"Created {place.name}" if existing is None else f"Replaced {place.name}"
        replaced = "" if text == content else " Invalid characters were written as U+FFFD."
        return f"{action}: {len(after)} bytes (+{diff.added} -{diff.removed} lines).{form_note}{replaced}"

    return replacement(place, existing, after, title=title, describe=describe)


def _in_the_form_of(before: bytes, after: bytes) -> tuple[bytes, str]:
    """Return the new content with the line ends and the byte order mark of the old one, and a sentence about them.

    A model writes lines that end in a newline, whatever it read. If every line of the old content ends in CRLF and none
    of the new one does, it means the same line ends: else the change of one line would be a change of the whole file.
    """
    same: list[str] = []
    ends = before.count(b"\r\n")
    if ends and ends == before.count(b"\n") and b"\n" in after and b"\r\n" not in after:
        after = after.replace(b"\n", b"\r\n")
        same.append("line ends (CRLF)")
    if before.startswith(_BOM) and not after.startswith(_BOM):
        after = _BOM + after
        same.append("byte order mark")
    return after, f" Kept: {' and '.join(same)}." if same else ""


def check_change(root: Path, change: FileChange) -> FileCheck:
    """Return which content the file of `change` has now. Never raises."""
    try:
        place = locate(root, change.path)
        if not place.anchor.is_dir():
            return "unreadable"
        with open_regular(place) as file:
            if os.fstat(file.fileno()).st_size > LARGEST_REPLACED:
                return "other"  # neither content was this large, and hashing it would delay recovery
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        digest = None
    except (ToolFailed, IsADirectoryError):
        return "other"
    except (OSError, ValueError):
        return "unreadable"
    if digest == change.after:
        return "after"
    return "before" if digest == change.before else "other"


def read_lines(file: BufferedReader, keep: int, stop: threading.Event) -> Iterator[tuple[bytes, int]]:
    """Yield the first `keep` bytes (with newline, if included) and the size of each line.

    Stops once `stop` is set. Never holds more than `keep` bytes, however long a line is.
    """
    while not stop.is_set() and (line := file.readline(keep)):
        size, piece = len(line), line
        while not piece.endswith(b"\n") and not stop.is_set() and (piece := file.readline(SNIFF)):
            size += len(piece)
        yield line, size


def line_text(raw: bytes, number: int) -> str:
    """Return line `number` without its ending; line 1 also without a byte order mark."""
    return beginning(raw.removeprefix(_BOM) if number == 1 else raw).removesuffix("\n").removesuffix("\r")


def shown_line(raw: bytes, size: int, number: int, *, most: int) -> str:
    """Return at most `most` characters of the line, with its size in bytes if it is longer."""
    text = line_text(raw, number)
    if size == len(raw) and len(text) <= most:
        return text
    return f"{text[:most]} [... line cut, {size} bytes in total]"


def _picture(place: SafePath, file: BufferedReader, size: int) -> ToolOutput:
    if size > LARGEST_IMAGE_FILE:
        raise ToolFailed(image_too_large(place.name, size))
    snapshot = take_snapshot(place, file)
    shown = image(file.read(LARGEST_IMAGE_FILE + 1), place.name)
    return ToolOutput(text=f"Image {shown.described}.", snapshots=(snapshot,), images=(shown,))


def _window(place: SafePath, offset: int, limit: int, stop: threading.Event) -> ToolOutput:
    with as_tool_failure(place), open_regular(place) as file:
        size = os.fstat(file.fileno()).st_size
        kind = binary_kind(os.pread(file.fileno(), SNIFF, 0))
        if kind is not None and is_image(os.pread(file.fileno(), SNIFF, 0)):
            return _picture(place, file, size)
        if kind is not None:
            convert = "only UTF-8 can be read, so convert it (iconv -f UTF-16 -t UTF-8)"
            how = convert if kind == UTF_16 else "look at it with bash"
            raise ToolFailed(f"File {place.name!r} is {kind} of {size} bytes, not text: {how}.")
        snapshot = take_snapshot(place, file)  # before reading, so that a later change is detected
        shown: list[str] = []
        number, room, more = 0, _TEXT_MOST, False
        for number, (raw, length) in enumerate(read_lines(file, 4 * _LINE_MOST, stop), 1):
            if number < offset:
                continue
            line = f"{number}\t{shown_line(raw, length, number, most=_LINE_MOST)}"
            room -= len(line.encode()) + 1
            if room < 0 or len(shown) == limit:
                more = True
                break
            shown.append(line)
    text = valid_unicode("\n".join(shown))
    if stop.is_set():
        return ToolOutput(text=f"{text}\n[Stopped before the end of the window.]", interrupted=True)
    if not shown:
        content = f"has {number} line{'s' * (number > 1)}" if number else "is empty"
        return ToolOutput(
            text=f"File {place.name!r} {content}, so there is nothing from line {offset} on.",
            ok=not number,
            snapshots=(snapshot,),
        )
    if "\ufffd" in text:
        text += "\n[Bytes that are not valid UTF-8 are shown as U+FFFD.]"
    if more:
        last = offset + len(shown) - 1
        text += f"\n[Lines {offset} to {last} are shown; the file continues. Read on with offset={last + 1}.]"
    return ToolOutput(text=text, snapshots=(snapshot,))
