"""One file replaced whole: planned with the hashes of before and after, and done atomically.

Two rules. What was planned is what is done: a file that changed meanwhile is left alone. A change is on the disk, the
file and its folder, before it is said to be done.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from holdfast.calls import FileChange, FileSeen
from holdfast.errors import ToolFailed
from holdfast.text import valid_unicode
from holdfast.tools.output import cap
from holdfast.tools.paths import Place, opened, opened_in, parent, placed, told
from holdfast.tools.tool import Context, Output, Plan

LARGEST = 10_000_000
"""The size in bytes up to which a file's content is held in memory, compared and edited."""

LARGEST_REPLACED = 100_000_000
"""The size in bytes of a file that may be replaced: it is hashed whole, before and, after a crash, again."""

SNIFF = 8192
"""How much of a file's beginning says whether it is text."""

_DETAIL = 32_000
_DIFF_LINES = 2000  # difflib is quadratic at worst


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """A file as it is now: `digest` is the SHA-256 hex of the whole, `content` None if it is larger than LARGEST."""

    digest: str
    content: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """A unified diff and its counts; `text` is a sentence instead if the diff would be too large to make."""

    text: str
    added: int
    removed: int


def refuse_own(place: Place, private: tuple[Path, ...]) -> None:
    """Return if `place` is not holdfast's own; raises `ToolFailed` for its journals and settings.

    They may lie in the workspace, where edits may be allowed unasked: a model could end its own session, or its limits.
    """
    if any(place.path.is_relative_to(folder) for folder in private):
        msg = f"File {place.name!r} belongs to holdfast itself, files of the project were expected. Leave it alone."
        raise ToolFailed(msg)


def look(place: Place) -> Present | None:
    """Return the file as it is, or None if there is none; raises `ToolFailed` if it is no file one may replace."""
    if place.outside is None and ".git" in (part.lower() for part in place.parts):
        # A hook or a config written there would run without ever being asked about.
        msg = f"File {place.name!r} is git's own, files of the project were expected. Use git with bash."
        raise ToolFailed(msg)
    with told(place):
        try:
            with opened(place) as file:
                status = os.fstat(file.fileno())
                if status.st_size > LARGEST_REPLACED:
                    msg = (
                        f"File {place.name!r} has {status.st_size:,} bytes, at most {LARGEST_REPLACED:,} were "
                        "expected. Use bash to change it."
                    )
                    raise ToolFailed(msg)
                if not status.st_mode & 0o222:
                    msg = f"File {place.name!r} is read-only, a writable one was expected. Use bash to change its mode."
                    raise ToolFailed(msg)
                content = file.read(LARGEST + 1)
                if len(content) <= LARGEST:
                    return Present(digest=_sha256(content), content=content)
                file.seek(0)
                return Present(digest=hashlib.file_digest(file, "sha256").hexdigest(), content=None)
        except FileNotFoundError:
            return None


def replacement(
    place: Place, present: Present | None, after: bytes, *, title: str, done: Callable[[Diff], str]
) -> Plan:
    """Return the plan that makes `after` the content of the file; its result text is what `done` says of the diff."""
    change = FileChange(
        path=place.name,
        before=None if present is None else present.digest,
        after=_sha256(after),
    )
    diff = _diff(place.name, b"" if present is None else present.content, after)

    async def run(context: Context) -> Output:
        status = replace(place, change, after, call=context.call)
        seen = FileSeen(path=place.name, size=status.st_size, modified=status.st_mtime_ns, sha256=change.after)
        return Output(text=done(diff), seen=seen)

    return Plan(
        effect="write",
        title=title,
        detail=cap(diff.text, _DETAIL),
        outside=place.outside,
        change=change,
        run=run,
    )


def guarded(place: Place, title: str, make: Callable[[], Plan], *, known_as: str) -> Plan:
    """Return `make()`; outside the workspace its failure becomes a plan that fails with the same words once approved.

    Why a file outside cannot be changed tells what is in it, and nobody has allowed that yet.
    """
    try:
        return dataclasses.replace(make(), known_as=known_as)
    except ToolFailed as error:
        if place.outside is None:
            raise
        failure = error

    async def run(_: Context) -> Output:
        raise failure

    return Plan(effect="write", title=title, outside=place.outside, run=run)


def unfinished(call: str) -> str:
    """Return the name of the new file, beside the old one, that a call writes until it takes its place."""
    return f".holdfast-{call}"


def remove_unfinished(root: Path, call: str, change: FileChange) -> None:
    """Remove the new file of a call that no longer runs, if it never took its place; never raises."""
    with contextlib.suppress(OSError, ToolFailed, ValueError):  # none is there, or where it is nothing can be removed
        place = placed(root, change.path)
        with parent(place) as fd:
            os.unlink(unfinished(call), dir_fd=fd)


def replace(place: Place, change: FileChange, content: bytes, *, call: str) -> os.stat_result:
    """Make `content` what the file at `place` holds, atomically and durably, keeping its mode and owner.

    Returns the new file's status. Raises `ToolFailed`, the file untouched, if it is not as `change.before` says.
    """
    name = place.parts[-1]
    temporary = unfinished(call)
    with told(place), parent(place, create=change.before is None) as fd:
        old = _stat_in(fd, name)
        try:
            new = _store(fd, temporary, content, like=old, shown=place.name)
            # As late as can be: between here and the rename nothing waits for the disk.
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


def _store(fd: int, name: str, content: bytes, *, like: os.stat_result | None, shown: str) -> os.stat_result:
    """Write a new file in the open folder `fd`, synced, with the owner and mode of `like` if given."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(os.open(name, flags, 0o666, dir_fd=fd), "wb") as file:  # noqa: PTH123 - by dir_fd
        file.write(content)
        file.flush()
        if like is not None:
            own = os.fstat(file.fileno())
            if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
                _give(file.fileno(), like, shown=shown)
            os.fchmod(file.fileno(), stat.S_IMODE(like.st_mode))
        os.fsync(file.fileno())
        return os.fstat(file.fileno())


def _verify(fd: int, name: str, shown: str, *, before: str | None) -> None:
    if _digest_in(fd, name, shown=shown) != before:
        msg = (
            f"File {shown!r} changed since this call was planned, what it held then was expected. Nothing was written; "
            "read it again."
        )
        raise ToolFailed(msg)


def _give(file: int, like: os.stat_result, *, shown: str) -> None:
    try:
        os.fchown(file, like.st_uid, like.st_gid)
    except PermissionError as error:
        msg = (
            f"File {shown!r} belongs to user {like.st_uid} and group {like.st_gid}, which replacing it would change; a "
            "file of the user's own was expected. Nothing was written; use bash if it must be changed."
        )
        raise ToolFailed(msg) from error


def _stat_in(fd: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _digest_in(fd: int, name: str, *, shown: str) -> str | None:
    try:
        with opened_in(fd, name, shown=shown) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _diff(name: str, before: bytes | None, after: bytes) -> Diff:
    if before is None or len(after) > LARGEST:
        return Diff(text=f"{name} is too large to show what changes.", added=0, removed=0)
    if b"\0" in before[:SNIFF]:
        return Diff(text=f"{name} is a binary file of {len(before)} bytes; all of it is replaced.", added=0, removed=0)
    old, new = _lines(before), _lines(after)
    start = _alike(old, new)
    end = _alike(old[start:][::-1], new[start:][::-1])
    first = max(0, start - 3)
    a, b = old[first : len(old) - max(0, end - 3)], new[first : len(new) - max(0, end - 3)]
    if a and b and max(len(a), len(b)) > _DIFF_LINES:
        removed, added = len(old) - start - end, len(new) - start - end
        text = f"{name}: {removed} lines from line {start + 1} on become {added} lines; too many to show."
        return Diff(text=text, added=added, removed=removed)
    shown = [f"--- {name}\n", f"+++ {name}\n"]
    added = removed = 0
    for group in difflib.SequenceMatcher(None, a, b).get_grouped_opcodes(3):
        i, j = group[0][1], group[0][3]
        shown.append(f"@@ -{first + i + 1},{group[-1][2] - i} +{first + j + 1},{group[-1][4] - j} @@\n")
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                shown += [f" {line}" for line in a[i1:i2]]
                continue
            shown += [f"-{line}" for line in a[i1:i2]] + [f"+{line}" for line in b[j1:j2]]
            removed += i2 - i1
            added += j2 - j1
    return Diff(text=valid_unicode("".join(shown)), added=added, removed=removed)


def _lines(content: bytes) -> list[str]:
    """Return the lines, each with its newline; an unfinished last one is marked as `diff` marks it."""
    *lines, last = content.decode("utf-8", "replace").split("\n")
    ended = [line + "\n" for line in lines]
    return [*ended, f"{last}\n\\ No newline at end of file\n"] if last else ended


def _alike(a: list[str], b: list[str]) -> int:
    """Return how many items the two begin with in common."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
