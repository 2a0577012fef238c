"""What a person has allowed for good in a project, kept in their own state folder.

Two rules. Never in the project's folder: a repository must not allow itself anything. A file that cannot be read allows
nothing, and says so.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from holdfast.calls import Pattern
from holdfast.errors import ConfigInvalid, StorageFailed
from holdfast.session.disk import make_folder, write_whole

APPROVALS = "approvals"
"""The name of the folder of all projects, beside that of the sessions."""


class _Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the file holds: whose it is, and what is allowed there."""

    project: str
    allowed: tuple[Pattern, ...] = ()


class Project:
    """What is allowed without asking in the project at `cwd`; kept in `folder`, which need not exist."""

    def __init__(self, folder: Path, cwd: Path) -> None:
        self._project = str(cwd)
        self._path = folder / f"{hashlib.sha256(self._project.encode()).hexdigest()[:32]}.json"
        self._patterns = self._read()

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """Return what is allowed."""
        return self._patterns

    def allow(self, pattern: Pattern) -> None:
        """Allow one more, durably; raises `StorageFailed` if it could not be kept: then it counts here alone."""
        self._patterns = tuple(dict.fromkeys((*self._patterns, pattern)))
        self._keep(dict.fromkeys((*self._read(), pattern)))

    def forbid(self, pattern: Pattern) -> None:
        """Ask again about what a pattern allowed; raises `StorageFailed` if that could not be kept."""
        self._patterns = tuple(each for each in self._patterns if each != pattern)
        self._keep({each: None for each in self._read() if each != pattern})

    def _read(self) -> tuple[Pattern, ...]:
        try:
            kept = msgspec.json.decode(self._path.read_bytes(), type=_Kept)
        except FileNotFoundError:
            return ()
        except (OSError, msgspec.DecodeError) as error:
            raise ConfigInvalid(
                f"File {str(self._path)!r} cannot be read: {error}, what is allowed in {self._project!r} was expected. "
                "Correct it, or delete it to be asked again."
            ) from error
        return kept.allowed if kept.project == self._project else ()

    def _keep(self, patterns: dict[Pattern, None]) -> None:
        kept = _Kept(project=self._project, allowed=tuple(patterns))
        try:
            make_folder(self._path.parent)
            write_whole(self._path, msgspec.json.format(msgspec.json.encode(kept), indent=1))
        except OSError as error:
            raise StorageFailed(
                f"File {str(self._path)!r} cannot be written: {error.strerror}, a place for what is allowed in "
                f"{self._project!r} was expected. It is allowed in this session only; free some space."
            ) from error
