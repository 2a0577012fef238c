"""Replaces one file: planned with hashes of the content before and after, and written atomically.

Only the planned change is made: a file that changed since the plan is left alone. A change is durable, with its
folder, before it is reported as done.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

import msgspec

from holdfast.errors import ToolFailed
from holdfast.system.safe_paths import (
    SafePath,
    as_tool_failure,
    locate,
    open_parent,
    open_regular,
    open_regular_in,
    resolve,
)
from holdfast.text import valid_unicode
from holdfast.tool_calls import FileChange, FileSeen
from holdfast.tools.tool import Plan, TellingFailure, ToolContext, ToolOutput, Workspace
from holdfast.tools.truncation import escape_newlines
from holdfast.tools.workspace.file_kinds import SNIFF
from holdfast.tools.workspace.file_links import other_name

LARGEST_FILE = 10_000_000
"""The largest file, in bytes, that is held in memory as text, compared and patched."""

LARGEST_EDITED_FILE = 64_000_000
"""The largest file, in bytes, that is edited: it is held in memory four times, as bytes and text, before and after."""

LARGEST_REPLACED = 100_000_000
"""The largest file, in bytes, that may be replaced. It is hashed in full, and again after a crash."""


_AROUND = 5
_PIECE = 1 << 16
_DIFF_LINES = 2000  # difflib's worst case is quadratic


class ExistingFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it is now: `digest` is the SHA-256 of all of it, `content` None if it is larger than was asked for."""

    digest: str
    size: int
    content: bytes | None


class FileDiff(msgspec.Struct, frozen=True, kw_only=True):
    """A unified diff and its counts. If the diff would be too large, `text` is a sentence instead."""

    text: str
    added: int
    removed: int


def refuse_private(place: SafePath, private: tuple[Path, ...]) -> None:
    """Raise `ToolFailed` if `place` is one of holdfast's own journals or settings.

    They may be in the workspace, where edits may run without approval: a model could end its own session or its limits.
    """
    if any(place.path.is_relative_to(folder) for folder in private):
        msg = f"File {place.name!r} belongs to holdfast itself and cannot be changed. Leave it alone."
        raise ToolFailed(msg)


def read_existing(place: SafePath, *, most: int = LARGEST_FILE) -> ExistingFile | None:
    """Return the file, with its content if that has at most so many bytes, or None if there is none.

    Raises `ToolFailed` if it cannot be replaced.
    """
    if place.outside is None and ".git" in (part.lower() for part in place.parts):
        # A hook or a config written there would run without approval.
        msg = f"File {place.name!r} is internal to git and cannot be changed. Use git with bash."
        raise ToolFailed(msg)
    with as_tool_failure(place):
        try:
            with open_regular(place) as file:
                status = os.fstat(file.fileno())
                if status.st_size > LARGEST_REPLACED:
                    msg = (
                        f"File {place.name!r} is too large: {status.st_size:,} bytes (at most "
                        f"{LARGEST_REPLACED:,}). Use bash to change it."
                    )
                    raise ToolFailed(msg)
                if not status.st_mode & 0o222:
                    msg = f"File {place.name!r} is read-only. Use bash to change its mode."
                    raise ToolFailed(msg)
                content = file.read(most + 1)
                if len(content) <= most:
                    return ExistingFile(digest=_sha256(content), size=len(content), content=content)
                file.seek(0)
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                return ExistingFile(digest=digest, size=status.st_size, content=None)
        except FileNotFoundError:
            return None


def replacement(
    place: SafePath, existing: ExistingFile | None, after: bytes, *, title: str, describe: Callable[[FileDiff], str]
) -> Plan:
    """Return the plan that makes `after` the file's content. `describe` makes the result text from the diff."""
    digest = _sha256(after)
    change = FileChange(path=place.name, before=None if existing is None else existing.digest, after=digest)
    shown = None if existing is None else existing.content
    diff = file_diff(place.name, b"" if existing is None else shown, after)

    async def run(context: ToolContext) -> ToolOutput:
        status = replace(place, change, after, call=context.call)
        seen = FileSeen(path=place.name, size=status.st_size, modified=status.st_mtime_ns, sha256=digest)
        return ToolOutput(text=describe(diff), snapshots=(seen,))

    return Plan(
        effect="write",
        title=title,
        detail=diff.text,
        outside=place.outside,
        changes=(change,),
        originals=() if shown is None or len(shown) > LARGEST_FILE else (shown,),
        run=run,
    )


def change_plan(workspace: Workspace, verb: str, path: str, make: Callable[[SafePath, str], Plan]) -> Plan:
    """Return the plan that `make` returns for the file at `path`; raises `ToolFailed` if it is impossible.

    The reason of a failure reveals what the file contains, and so may a change that succeeds: of a file that exists,
    the plan `reads` it. Outside the workspace, the plan fails with the same text once approved; inside it, where the
    model may not know what the file contains (`TellingFailure`).
    """
    place = resolve(workspace.root, path)
    refuse_private(place, workspace.private)
    title = escape_newlines(f"{verb} {place.name}")
    known_as = other_name(workspace.root, path, place)
    reads = existing_files(place)
    try:
        return msgspec.structs.replace(make(place, title), known_as=known_as, reads=reads)
    except ToolFailed as error:
        failure = TellingFailure(str(error), title=title, reads=reads, outside=place.outside)
        if place.outside is not None:
            return failure.plan
        raise failure from error


def existing_files(*places: SafePath) -> tuple[str, ...]:
    """Return the paths of those that exist: a change of them may tell what they contain."""
    return tuple(str(place.path) for place in places if os.path.lexists(place.path))


def temporary_name(call: str) -> str:
    """Return the name of the temporary file, next to the target, that a call writes."""
    return f".holdfast-{call}"


def remove_unfinished(root: Path, call: str, change: FileChange) -> None:
    """Delete the temporary file of a call that no longer runs. Never raises."""
    with contextlib.suppress(OSError, ToolFailed, ValueError):  # there is none, or it cannot be deleted
        place = locate(root, change.path)
        with open_parent(place) as fd:
            os.unlink(temporary_name(call), dir_fd=fd)


def replace(place: SafePath, change: FileChange, content: bytes, *, call: str) -> os.stat_result:
    """Replace the content of the file at `place` atomically and durably, keeping its mode and owner.

    Returns the new file's status. Raises `ToolFailed`, with the file untouched, if it does not match `change.before`.
    """
    name = place.parts[-1]
    temporary = temporary_name(call)
    with as_tool_failure(place), open_parent(place, create=change.before is None) as fd:
        old = _stat_in(fd, name)
        try:
            new = _store(fd, temporary, content, like=old, shown=place.name)
            # As late as possible: between here and the rename nothing waits for the disk.
            _verify(fd, name, place.name, before=change.before)
            os.rename(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)
        except BaseException:
            if _stat_in(fd, temporary) is not None:
                os.unlink(temporary, dir_fd=fd)
            raise
        try:
            os.fsync(fd)
        except OSError as error:
            msg = (
                f"File {place.name!r} was replaced, but its folder cannot be synced: {error.strerror}. "
                "The new content is there now and may be lost if the machine stops."
            )
            raise ToolFailed(msg) from error
    return new


def delete_file(place: SafePath, change: FileChange) -> None:
    """Delete the file at `place`, durably. Raises `ToolFailed`, with the file untouched, if it is not as planned."""
    name = place.parts[-1]
    with as_tool_failure(place), open_parent(place) as fd:
        _verify(fd, name, place.name, before=change.before)
        os.unlink(name, dir_fd=fd)
        try:
            os.fsync(fd)
        except OSError as error:
            msg = (
                f"File {place.name!r} was deleted, but its folder cannot be synced: {error.strerror}. "
                "It is gone now and may be back if the machine stops."
            )
            raise ToolFailed(msg) from error


def _store(fd: int, name: str, content: bytes, *, like: os.stat_result | None, shown: str) -> os.stat_result:
    """Write a new, synced file in the open folder `fd`, with the owner and mode of `like` if given."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(os.open(name, flags, 0o666, dir_fd=fd), "wb") as file:  # noqa: PTH123 - by dir_fd
        file.write(content)
        file.flush()
        if like is not None:
            status = os.fstat(file.fileno())
            if (status.st_uid, status.st_gid) != (like.st_uid, like.st_gid):
                _give(file.fileno(), like, shown=shown)
            os.fchmod(file.fileno(), stat.S_IMODE(like.st_mode))
        os.fsync(file.fileno())
        return os.fstat(file.fileno())


def _verify(fd: int, name: str, shown: str, *, before: str | None) -> None:
    if _digest_in(fd, name, shown=shown) != before:
        msg = f"File {shown!r} changed since this call was planned. Nothing was written. Read it again."
        raise ToolFailed(msg)


def _give(file: int, like: os.stat_result, *, shown: str) -> None:
    try:
        os.fchown(file, like.st_uid, like.st_gid)
    except PermissionError as error:
        msg = (
            f"File {shown!r} belongs to user {like.st_uid} and group {like.st_gid}, and "
            "replacing it would change that. Nothing was written. Use bash if it must be changed."
        )
        raise ToolFailed(msg) from error


def _stat_in(fd: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _digest_in(fd: int, name: str, *, shown: str) -> str | None:
    try:
        with open_regular_in(fd, name, shown=shown) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def file_diff(name: str, before: bytes | None, after: bytes) -> FileDiff:
    """Return the diff of a file; `before` is None if it is too large to show.

    Of a large file only the part that changes is taken apart into lines.
    """
    skipped = 0
    if before is not None and max(len(before), len(after)) > LARGEST_FILE:
        before, after, skipped = _changed_part(before, after)
    if before is None or max(len(before), len(after)) > LARGEST_FILE:
        return FileDiff(text=f"{name} is too large to show the changes.", added=0, removed=0)
    if b"\0" in before[:SNIFF]:
        return FileDiff(
            text=f"{name} is a binary file of {len(before)} bytes; all of it is replaced.", added=0, removed=0
        )
    old, new = _lines(before), _lines(after)
    start = _alike(old, new)
    end = _alike(old[start:][::-1], new[start:][::-1])
    first = max(0, start - 3)
    a, b = old[first : len(old) - max(0, end - 3)], new[first : len(new) - max(0, end - 3)]
    shown = [f"--- {escape_newlines(name)}\n", f"+++ {escape_newlines(name)}\n"]
    if a and b and max(len(a), len(b)) > _DIFF_LINES:  # not compared, but shown: the user approves all of it
        shown += _replace_hunk(old[start : len(old) - end], new[start : len(new) - end], skipped + start + 1)
        removed, added = len(old) - start - end, len(new) - start - end
        return FileDiff(text=valid_unicode("".join(shown)), added=added, removed=removed)
    added = removed = 0
    for group in difflib.SequenceMatcher(None, a, b).get_grouped_opcodes(3):
        i, j = group[0][1], group[0][3]
        at = skipped + first + 1
        shown.append(f"@@ -{at + i},{group[-1][2] - i} +{at + j},{group[-1][4] - j} @@\n")
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                shown += [f" {line}" for line in a[i1:i2]]
                continue
            shown += [f"-{line}" for line in a[i1:i2]] + [f"+{line}" for line in b[j1:j2]]
            removed += i2 - i1
            added += j2 - j1
    return FileDiff(text=valid_unicode("".join(shown)), added=added, removed=removed)


def _changed_part(before: bytes, after: bytes) -> tuple[bytes, bytes, int]:
    """Return what differs, as whole lines with those around it, and how many lines of both are before that."""
    same = _same_bytes(before, after, from_end=False)
    start = same
    for _ in range(_AROUND):
        start = before.rfind(b"\n", 0, max(0, start - 1)) + 1
    rest = memoryview(before)[same:], memoryview(after)[same:]
    end = len(before) - _same_bytes(*rest, from_end=True)
    moved = len(after) - len(before)
    for _ in range(_AROUND):
        end = before.find(b"\n", end) + 1 or len(before)
    return before[start:end], after[start : end + moved], before.count(b"\n", 0, start)


def _same_bytes(a: bytes | memoryview, b: bytes | memoryview, *, from_end: bool) -> int:
    """Return how many bytes at the beginning, or at the end, are the same."""
    least, same, piece = min(len(a), len(b)), 0, _PIECE
    while piece:
        while same + piece <= least:
            one, two = (len(a) - same - piece, len(b) - same - piece) if from_end else (same, same)
            if a[one : one + piece] != b[two : two + piece]:
                break
            same += piece
        piece //= 2
    return same


def _replace_hunk(old: list[str], new: list[str], first: int) -> list[str]:
    """Return a hunk in which all lines from the file's line `first` on are replaced."""
    hunk = f"@@ -{first},{len(old)} +{first},{len(new)} @@\n"
    return [hunk, *(f"-{line}" for line in old), *(f"+{line}" for line in new)]


def _lines(content: bytes) -> list[str]:
    """Return the lines with their newlines; an unfinished last line is marked as in `diff`."""
    *lines, last = content.decode("utf-8", "replace").split("\n")
    ended = [line + "\n" for line in lines]
    return [*ended, f"{last}\n\\ No newline at end of file\n"] if last else ended


def _alike(a: list[str], b: list[str]) -> int:
    """Return the length of the common prefix."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
