"""The private index begins as a copy of the user's: what it says of unchanged files need not be read again.

It says so of the content as git stores it, and of files that git was told not to look at. Where the user's git
converts files (line ends, filters, encodings), the file on the disk differs from that, and a restore would write what
git stores. So an entry is dropped, and its file is kept as it is, if the file has another size than its content, if an
attribute may convert it (git itself is asked which: attributes are in many places), or if it is marked as unchanged or
left out.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from holdfast.system.bounded_files import read_bounded
from holdfast.tools.workspace.git_repository import LARGEST_INDEX
from holdfast.undo.private_git import GitFailed, PrivateGit

_CONVERTING = ("filter", "working-tree-encoding")
"""The attributes by which git changes a content and may keep its size."""
_ENTRY = 62  # bytes of an entry with SHA-1, before its name
_NAME = 0xFFF
_EXTENDED = 0x4000
_ASSUMED = 0x8000
_LEFT_OUT = 0x6000  # not in the work tree, or only announced
_FOLDER = 0o040000
_AFTER_STATUS = 40


def copied_index(git: PrivateGit, git_folder: Path, top: Path, *, most: int) -> None:
    """Copy the index of a repository, as far as it can be believed. Raises `GitFailed` if it has too many files."""
    source = git_folder / "index"
    try:
        status = source.stat()
        data = read_bounded(source, LARGEST_INDEX)
    except FileNotFoundError:
        return  # nothing was ever added
    except (OSError, ValueError) as error:
        raise GitFailed("The index of the repository is too large, or cannot be read.") from error
    if data[:4] != b"DIRC" or len(data) < 12:  # noqa: PLR2004 - its header
        return
    version, files = struct.unpack(">II", data[4:12])
    if files > most:
        raise GitFailed(f"The repository has {files:,} files (at most {most:,}).")
    if any(git_folder.glob("sharedindex.*")):
        return
    target = git.folder / "index"
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))  # git compares the times of files with it
    try:
        if version not in (2, 3) or git.run("rev-parse", "--show-object-format").strip() != b"sha1":
            git.run("update-index", "--index-version", "2")
            data = read_bounded(target, LARGEST_INDEX)
        converted = None
        if git.run("rev-parse", "--show-object-format").strip() == b"sha1":
            converted = _not_believed(git, data, git_folder, top)
        if converted is None:
            target.unlink()
        elif converted:
            git.run(
                "update-index", "--force-remove", "-z", "--stdin", data=b"".join(each + b"\0" for each in converted)
            )
    except (GitFailed, OSError, ValueError, struct.error):
        with suppress(FileNotFoundError):  # git replaced it
            target.unlink()
        raise


def _not_believed(git: PrivateGit, index: bytes, git_folder: Path, top: Path) -> list[bytes] | None:
    """Return the paths of an index of which it may say too much; None if that is so of all."""
    entries = list(_entries(index))
    if any(each.is_folder for each in entries):
        return None
    ids = b"".join(each.name + b"\n" for each in entries)
    sizes = git.run("cat-file", "--batch-check=%(objectsize)", "--buffer", data=ids).split(b"\n")
    other = {each.path for each, size in zip(entries, sizes, strict=False) if size != b"%d" % each.size}
    marked = {each.path for each in entries if each.is_marked}
    names = b"".join(each.path + b"\0" for each in entries)
    words = ("-c", "core.fsmonitor=false", "check-attr", "-z", "--stdin", *_CONVERTING)
    try:
        found = git.run_of_user(git_folder, top, *words, data=names).split(b"\0")
    except GitFailed:
        return None  # its settings cannot be read
    converted = {path for path, value in zip(found[::3], found[2::3], strict=False) if value not in _NOT_SET}
    return sorted(other | marked | converted)


_NOT_SET = (b"unspecified", b"unset")


class _Entry(msgspec.Struct, frozen=True):
    """A file in an index: its size, the object id in hexadecimal, its path, and whether git shall not look at it."""

    size: int
    name: bytes
    path: bytes
    is_marked: bool
    is_folder: bool


def _entries(index: bytes) -> Iterator[_Entry]:
    """Yield each file in an index of version 2 or 3."""
    (many,) = struct.unpack(">I", index[8:12])
    at = 12
    for _ in range(many):
        (size,) = struct.unpack(">I", index[at + 36 : at + 40])
        name = index[at + _AFTER_STATUS : at + 60].hex().encode()
        (flags,) = struct.unpack(">H", index[at + 60 : at + 62])
        start, more = at + _ENTRY, 0
        if flags & _EXTENDED:
            (more,) = struct.unpack(">H", index[start : start + 2])
            start += 2
        end = index.index(b"\0", start)
        (mode,) = struct.unpack(">I", index[at + 24 : at + 28])
        is_marked = bool(flags & _ASSUMED or more & _LEFT_OUT)
        yield _Entry(size, name, index[start:end], is_marked, mode == _FOLDER)
        at += (end - at + 8) & ~7
