"""Runs git on a private repository of the session: its own index and objects, and nothing of the user's is written.

The user's objects are only read (`alternates`), so that a content that is committed is not stored again. No hook,
filter or setting of the user counts, and no conversion: a file is kept byte for byte.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.system.confinement.command_environment import neutral_git_environment
from holdfast.system.durable_files import make_folder, replace_file
from holdfast.system.trusted_programs import trusted_program, trusted_search_path

SNAPSHOT_SECONDS = 5.0
"""Seconds for one snapshot; then it is given up."""

_ATTRIBUTES = b"* -text -eol -ident -filter -working-tree-encoding -diff -merge\n"
_CONFIG = """\
[core]
\trepositoryformatversion = {version}
\tbare = false
\tfilemode = true
\tsymlinks = true
\tautocrlf = false
\tuntrackedCache = false
\tpreloadIndex = false
\tlooseCompression = 1
\tfsync = loose-object,index
\tfsyncMethod = batch
[gc]
\tauto = 0
[index]
\tversion = 2
"""


_USERS = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")


class GitFailed(Exception):
    """Git is missing, failed, or took too long; the text is a sentence for the user."""


class PrivateGit:
    """Git with the files below `top`, and a repository in `folder`, for one task that has a time limit."""

    def __init__(self, folder: Path, top: Path, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.folder = folder
        self._top = top
        self._monotonic = monotonic
        self._until = monotonic() + SNAPSHOT_SECONDS
        self._program = trusted_program("git", top)
        if not self._program:
            raise GitFailed("Git is not installed.")

    def make(self, *, alternates: Path | None, exclude: bytes, sha256: bool) -> None:
        """Make the repository, unless it is there; raises `OSError`."""
        for each in (self.folder / "objects" / "info", self.folder / "refs", self.folder / "info"):
            make_folder(each)
        config = _CONFIG.format(version=1 if sha256 else 0)
        if sha256:
            config += "[extensions]\n\tobjectFormat = sha256\n"
        files = {"HEAD": b"ref: refs/heads/none\n", "config": config.encode(), "info/attributes": _ATTRIBUTES}
        files["info/exclude"] = exclude
        if alternates is not None:
            files["objects/info/alternates"] = os.fsencode(alternates) + b"\n"
        for name, content in files.items():
            replace_file(self.folder / name, content, durable=False)

    def begin(self) -> None:
        """Give the commands that follow their time."""
        self._until = self._monotonic() + SNAPSHOT_SECONDS

    def check_time(self) -> float:
        """Return the seconds that are left; raises `GitFailed` if none are."""
        left = self._until - self._monotonic()
        if left <= 0:
            raise GitFailed(f"It took more than {SNAPSHOT_SECONDS:g} s.")
        return left

    def run(self, *words: str, data: bytes = b"", codes: tuple[int, ...] = (0,)) -> bytes:
        """Return what git wrote, given `data`; raises `GitFailed`."""
        environ = {
            "PATH": trusted_search_path(self._top),
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder),
            "LC_ALL": "C",
            **neutral_git_environment(),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_DIR": str(self.folder),
            "GIT_WORK_TREE": str(self._top),
            "GIT_INDEX_FILE": str(self.folder / "index"),
        }
        return self._run(words, environ, data, codes)

    def run_of_user(self, git_folder: Path, top: Path, *words: str, data: bytes) -> bytes:
        """Return what git says of the user's repository with the user's settings; it must only read."""
        environ = {
            "PATH": trusted_search_path(self._top),
            **{name: os.environ[name] for name in _USERS if name in os.environ},
            "LC_ALL": "C",
            **neutral_git_environment(),
            "GIT_DIR": str(git_folder),
            "GIT_WORK_TREE": str(top),
        }
        return self._run(words, environ, data, (0,))

    def _run(self, words: tuple[str, ...], environ: dict[str, str], data: bytes, codes: tuple[int, ...]) -> bytes:
        left = self.check_time()
        try:
            done = subprocess.run(  # noqa: S603 - no shell; git, with fixed words
                [self._program, *words],
                cwd=self._top,
                env=environ,
                input=data,
                capture_output=True,
                check=False,
                timeout=left,
                umask=0o077,
                start_new_session=True,
            )
        except OSError as error:
            raise GitFailed(f"Git could not be run: {error.strerror}.") from error
        except subprocess.TimeoutExpired as error:
            raise GitFailed(f"It took more than {SNAPSHOT_SECONDS:g} s.") from error
        if done.returncode not in codes:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise GitFailed(f"Git failed: {lines[-1] if lines else done.returncode}.")
        return done.stdout
