"""The list of files that `grep`, `glob` and `@` share: from git in a repository, else from a walk.

How it works. git knows its files from its index, and finds the others faster than a walk in Python that reads each
`.gitignore` itself. What it says is only names, and a repository may come from anyone: a name is taken only if it lies
below the folder, and a file only if it is a regular one now, in folders that are no links. A repository within the
repository (a submodule, a clone) is a folder to git, and is walked. Where git is missing, refuses or knows nothing of
the folder, everything is walked.

git is the absolute program found outside of the workspace. It runs in the environment in which it starts no program.

Example: a link `docs` to `/etc` in the place of a folder that the index has files of: none of them is listed.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
import subprocess
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, cast

import msgspec

from holdfast.errors import ToolFailed
from holdfast.system.bounded_files import open_unblocked, read_beginning, read_bounded
from holdfast.system.confinement.command_environment import neutral_git_environment
from holdfast.system.git import git_folder, repository
from holdfast.system.safe_paths import SafePath
from holdfast.system.threads import in_daemon
from holdfast.system.trusted_programs import trusted_program
from holdfast.system.user_directories import holds_keys
from holdfast.tools.workspace.file_walk import WalkedFile, walk
from holdfast.tools.workspace.git_repository import LARGEST_INDEX, MODULE

LIST_MOST = 67_108_864
"""Bytes of names that are taken from git: about a million files. Of a larger repository, only these are listed."""

_NESTED = ":(glob)**/"
"""Matches every folder that git does not go into because it is another repository."""
_PATHSPECS_MOST = 60_000  # characters of patterns that git is given
_BLOCK = 512  # of `ulimit -f`
_LS_FILES = ("ls-files", "--cached", "--others", "--exclude-standard", "-z")
_SCRIPT = """\
ulimit -f "$1" || exit 1
test "$3" = yes || ! "$4" check-ignore -q . || exit 3
list=$2; git=$4; shift 4
exec "$git" "$@" >"$list"
"""

Groups = Mapping[str, Sequence[str]]
"""Names of files by their folder, relative to the start and without a slash at its end."""


class RunProgram(Protocol):
    """Runs a program for a call. Its output file `spool` is left behind only if it is killed."""

    def __call__(self, argv: Sequence[str], /, *, call: str, cwd: Path, spool: Path) -> Awaitable[tuple[int, bytes]]:
        """Return its exit code and stdout. Cancelling ends it."""
        ...


class GitNames(msgspec.Struct, frozen=True):
    """What git lists below a folder. `complete` is whether that is all.

    `nested` are folders of other repositories; with `has_modules`, some names may be folders too.
    """

    groups: Groups
    nested: tuple[str, ...] = ()
    complete: bool = True
    has_modules: bool = False


class _Git(msgspec.Struct, frozen=True):
    program: str
    is_top: bool
    has_modules: bool


def _git_of(root: Path, start: SafePath, environ: Mapping[str, str] | None = None) -> _Git | None:
    """Return the git to ask, None if there is none or the folder is in no repository."""
    top = repository(start.path)
    if top is None or not (program := trusted_program("git", root, environ=environ)):
        return None
    return _Git(program, top == start.path, _has_modules(top))


def _has_modules(top: Path) -> bool:
    """Return whether the index of a repository may have an entry that is another repository."""
    try:
        index = git_folder(top) / "index"
        status = index.stat()
        return _index_has_modules(index, (status.st_ino, status.st_size, status.st_mtime_ns))
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True  # too large to look at, or nothing that holdfast knows


@lru_cache(maxsize=8)
def _index_has_modules(index: Path, _version: tuple[int, int, int]) -> bool:
    return MODULE in read_bounded(index, LARGEST_INDEX)


async def output_until(stop: asyncio.Event, running: Awaitable[tuple[int, bytes]]) -> tuple[int, bytes] | None:
    """Return what a run program returns, None on a stop, which ends it."""
    working = asyncio.ensure_future(running)
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        working.cancel()
        await asyncio.wait({working}, timeout=1)
        return None
    finally:
        working.cancel()
        stopping.cancel()


async def git_names(  # noqa: PLR0913 - what a run is made of
    run: RunProgram,
    root: Path,
    start: SafePath,
    *,
    call: str,
    spool: Path,
    stop: asyncio.Event,
    globs: Sequence[str] = (),
) -> GitNames | None:
    """Return what git lists below a folder, None if it does not or on a stop, which ends git.

    With `globs` it may leave out what none of them matches, and `spool` is a folder for its output.
    """
    git, env = _git_of(root, start), trusted_program("env", root)
    if git is None or not env:
        return None
    file = spool / f"{call}.files"
    neutral = (f"{name}={value}" for name, value in neutral_git_environment().items())
    patterns = () if git.has_modules else _pathspecs(globs)
    numbers = (str(LIST_MOST // _BLOCK), str(file), "yes" if git.is_top else "no")
    argv = [env, *neutral, "/bin/sh", "-c", _SCRIPT, "sh", *numbers, git.program, *_LS_FILES, "--", *patterns]
    try:
        done = await output_until(stop, run(argv, call=call, cwd=start.path, spool=spool / f"{call}.out"))
        return (
            None if done is None else await in_daemon(lambda: _read_names(file, done[0], has_modules=git.has_modules))
        )
    except (ToolFailed, OSError):
        return None
    finally:
        file.unlink(missing_ok=True)


def git_names_within(seconds: float, root: Path, environ: Mapping[str, str]) -> GitNames | None:
    """Return what git lists below `root` within so many seconds, None if it does not.

    It blocks. `environ` is what a command gets. git ends in time, also if this process is killed.
    """
    git = _git_of(root, SafePath(anchor=root, parts=(), name=".", outside=None), environ)
    guard = trusted_program("timeout", root, environ=environ)
    if git is None or not guard:
        return None

    def started(*words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - git, with fixed words
            [guard, "--signal=KILL", f"{seconds:g}", git.program, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=root,
            env={**environ, **neutral_git_environment()},
            start_new_session=True,
        )

    try:
        if not git.is_top:
            with started("check-ignore", "-q", ".") as process:
                pass
            if process.returncode == 0:
                return None
        with started(*_LS_FILES) as process:
            assert process.stdout is not None
            listed = read_beginning(cast("BinaryIO", process.stdout), LIST_MOST + 1)
            process.stdout.close()  # what more it has to say ends it
    except OSError:
        return None
    is_complete = process.returncode == 0
    if not is_complete and len(listed) <= LIST_MOST:
        return None
    return _grouped(listed, complete=is_complete, has_modules=git.has_modules)


def _pathspecs(globs: Sequence[str]) -> tuple[str, ...]:
    """Return patterns for git that match at least what `globs` match, none if they are too long."""
    if not globs:
        return ()
    found = (*(f":(glob){'/'.join(map(_loose, each.split('/')))}" for each in globs), _NESTED)
    return found if sum(map(len, found)) < _PATHSPECS_MOST else ()


def _loose(name: str) -> str:
    """Return a name of a pattern for git, which reads bytes, and `[` and backslashes in another way."""
    if name == "**":
        return name
    return "*" if set(name) & set("[]\\") or not name.isprintable() else re.sub(r"[*?]+", "*", name)


def _read_names(file: Path, code: int, *, has_modules: bool) -> GitNames | None:
    with open_unblocked(file, os.O_NOFOLLOW) as names:
        listed = read_beginning(names, LIST_MOST + 1)
    if code == 0:
        return _grouped(listed, complete=True, has_modules=has_modules)
    return (
        _grouped(listed, complete=False, has_modules=has_modules)
        if len(listed) >= LIST_MOST // _BLOCK * _BLOCK
        else None
    )


def _grouped(listed: bytes, *, complete: bool, has_modules: bool) -> GitNames:
    """Return names by their folder. One that leads out of the folder, or into `.git`, is left out: git wrote none."""
    text = os.fsdecode(listed[: listed.rfind(b"\0") + 1])
    groups: dict[str, list[str]] = {}
    nested: list[str] = []
    has_keys = "holdfast" in text.lower() or not text.isascii()
    for name in text.split("\0")[:-1]:
        folder, _, last = name.rpartition("/")
        if not last:
            nested.append(folder)
        elif not has_keys or not holds_keys(last):
            names = groups.get(folder)
            if names is None:
                groups[folder] = [last]
            else:
                names.append(last)
    allowed = {folder: names for folder, names in groups.items() if _is_inside(folder)}
    for names in allowed.values():
        if not _BAD_NAMES.isdisjoint(names):
            names[:] = [name for name in names if name not in _BAD_NAMES]
    return GitNames(allowed, tuple(folder for folder in nested if _is_inside(folder)), complete, has_modules)


_BAD_NAMES = frozenset({"", ".", "..", ".git"})


def _is_inside(folder: str) -> bool:
    return not folder or _BAD_NAMES.isdisjoint(folder.split("/"))


def folders_of(found: GitNames) -> list[str]:
    """Return every folder that has a file in it, at any depth, in the order of a walk."""
    every: set[str] = set()
    for folder in (*found.groups, *found.nested):
        above = folder
        while above and above not in every:
            every.add(above)
            above = above.rpartition("/")[0]
    return sorted(every, key=lambda folder: folder.split("/"))


def listed_entries(
    root: Path,
    start: SafePath,
    found: GitNames,
    choose: Callable[[str, Sequence[str]], Sequence[str]],
    *,
    stop: threading.Event,
    unread: list[str],
) -> Iterator[WalkedFile]:
    """Yield the files and links that git lists and that exist, in nested repositories too.

    `choose` returns the names to take of those in a folder.
    """
    nested = [*found.nested]
    folder_is_real: dict[str, bool] = {"": True}
    for folder, names in found.groups.items():
        if stop.is_set():
            return
        chosen_names = choose(folder, names)
        if not (chosen_names or found.has_modules) or not _is_real(start, folder, folder_is_real):
            continue
        lead = f"{folder}/" if folder else ""
        above = f"{start.path}/{lead}"
        other_names = set(names).difference(chosen_names) if found.has_modules else frozenset[str]()
        for name in dict.fromkeys((*chosen_names, *other_names)):  # of a conflict, a name comes up to three times
            try:
                status = os.lstat(above + name)
            except OSError:
                continue  # deleted, and git still has it
            kind = _KINDS.get(stat.S_IFMT(status.st_mode))
            if kind == "folder":
                nested.append(lead + name)
            elif kind is not None and name not in other_names:
                yield WalkedFile(name=lead + name, kind=kind, modified=status.st_mtime_ns)
    for folder in dict.fromkeys(nested):
        if _is_real(start, folder, folder_is_real):
            for entry in _walk_nested(root, start, folder, stop=stop, unread=unread):
                inner, _, name = entry.name.rpartition("/")
                if choose(inner, [name]):
                    yield entry


_KINDS: Mapping[int, Literal["file", "folder", "link"]] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
}


def _walk_nested(
    root: Path, start: SafePath, folder: str, *, stop: threading.Event, unread: list[str]
) -> Iterator[WalkedFile]:
    below: list[str] = []
    try:
        for entry in walk(root, start.below(folder), stop=stop, unread=below):
            if entry.kind != "folder":
                yield msgspec.structs.replace(entry, name=f"{folder}/{entry.name}")
    except OSError:
        below.append("")
    unread += (f"{folder}/{name}" for name in below)


def _is_real(start: SafePath, folder: str, known: dict[str, bool]) -> bool:
    """Return whether a folder and all above it, up to the start, are folders and no links."""
    found = known.get(folder)
    if found is None:
        above = folder.rpartition("/")[0]
        try:
            found = _is_real(start, above, known) and stat.S_ISDIR(os.lstat(f"{start.path}/{folder}").st_mode)
        except OSError:
            found = False
        known[folder] = found
    return found


def regular_files(
    root: Path, start: SafePath, found: GitNames, *, stop: threading.Event, unread: list[str]
) -> dict[str, list[str]]:
    """Return the regular files that git lists and that exist, by folder, in the order of a walk."""
    groups: dict[str, list[str]] = {}
    nested = [*found.nested]
    real: dict[str, bool] = {"": True}
    for folder in ("", *folders_of(found)):
        names = found.groups.get(folder)
        if names is None or stop.is_set() or not _is_real(start, folder, real):
            continue
        try:
            with os.scandir(f"{start.path}/{folder}") as listing:
                kinds = {entry.name: entry for entry in listing}
        except OSError:
            if not folder:
                raise
            unread.append(f"{folder}/")
            continue
        regular: list[str] = []
        for name in sorted(set(names)):
            entry = kinds.get(name)
            if entry is None:
                continue
            if entry.is_file(follow_symlinks=False):
                regular.append(name)
            elif entry.is_dir(follow_symlinks=False):
                nested.append(f"{folder}/{name}" if folder else name)
        if regular:
            groups[folder] = regular
    for folder in dict.fromkeys(nested):
        if _is_real(start, folder, real):
            for entry in _walk_nested(root, start, folder, stop=stop, unread=unread):
                _add(groups, entry)
    return groups


def walked_files(root: Path, start: SafePath, *, stop: threading.Event, unread: list[str]) -> dict[str, list[str]]:
    """Return the regular files that a walk finds, by folder, in its order."""
    groups: dict[str, list[str]] = {}
    for entry in walk(root, start, stop=stop, unread=unread):
        _add(groups, entry)
    return groups


def _add(groups: dict[str, list[str]], entry: WalkedFile) -> None:
    if entry.kind == "file":
        folder, _, name = entry.name.rpartition("/")
        groups.setdefault(folder, []).append(name)
