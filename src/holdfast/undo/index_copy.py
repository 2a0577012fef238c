"""The private index begins as a copy of the user's: what it says of unchanged files need not be read again.

It says so of the content as git stores it. Where the user's git converts files (line ends, filters), the file on the
disk differs from that, and a restore would write what git stores. So each entry whose file has another size than its
content is dropped: the file is then kept as it is. Filters of unknown programs may keep the size:
then nothing is copied.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from holdfast.system.bounded_files import read_bounded
from holdfast.tools.workspace.git_repository import LARGEST_INDEX
from holdfast.undo.private_git import GitFailed, PrivateGit

_LARGEST_ATTRIBUTES = 262_144
_FILTER = re.compile(rb"(?<![-!\w])filter=(?!lfs\b|git-crypt\b)")
_ENTRY = 62  # bytes of an entry with SHA-1, before its name
_NAME = 0xFFF
_EXTENDED = 0x4000
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
    if any(git_folder.glob("sharedindex.*")) or _has_unknown_filter(git_folder, top):
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
        converted = _converted(git, data) if git.run("rev-parse", "--show-object-format").strip() == b"sha1" else None
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


def _has_unknown_filter(git_folder: Path, top: Path) -> bool:
    at_home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - may be unknown
    for path in (top / ".gitattributes", git_folder / "info" / "attributes", Path(at_home, "git", "attributes")):
        try:
            if _FILTER.search(read_bounded(path, _LARGEST_ATTRIBUTES)):
                return True
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            return True
    return False


def _converted(git: PrivateGit, index: bytes) -> list[bytes]:
    """Return the paths of an index whose files have another size than their content in git."""
    entries = list(_entries(index))
    names = b"".join(name + b"\n" for _, name, _ in entries)
    sizes = git.run("cat-file", "--batch-check=%(objectsize)", "--buffer", data=names).split(b"\n")
    return [path for (size, _, path), found in zip(entries, sizes, strict=False) if found != b"%d" % size]


def _entries(index: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield size, object id in hexadecimal and path of each file in an index of version 2 or 3."""
    (many,) = struct.unpack(">I", index[8:12])
    at = 12
    for _ in range(many):
        (size,) = struct.unpack(">I", index[at + 36 : at + 40])
        name = index[at + _AFTER_STATUS : at + 60].hex().encode()
        (flags,) = struct.unpack(">H", index[at + 60 : at + 62])
        start = at + _ENTRY + (2 if flags & _EXTENDED else 0)
        end = index.index(b"\0", start)
        yield size, name, index[start:end]
        at += (end - at + 8) & ~7
