"""What a person has decided for good about a project, kept in their own state folder: what may run, what is trusted.

Two rules. Never in the project's folder: a repository must not allow itself anything. A file that cannot be read allows
nothing, and says so.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
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
    judged: tuple[str, bool] | None = None
    """The hash of the project's config that a person was shown last, and whether they trust it."""


class Project:
    """What is allowed without asking in the project at `cwd`; kept in `folder`, which need not exist.

    `granted` is allowed beside that, by somebody else: the project's own config, where it is trusted. `unread` is what
    is wrong with the file, "" if nothing is: it keeps nobody from working.
    """

    def __init__(self, folder: Path, cwd: Path, *, granted: tuple[Pattern, ...] = ()) -> None:
        self._project = str(cwd)
        self._path = folder / f"{hashlib.sha256(os.fsencode(self._project)).hexdigest()[:32]}.json"
        self._granted = granted
        self.unread = ""
        try:
            self._patterns = self._read().allowed
        except ConfigInvalid as error:
            self._patterns = ()
            self.unread = f"{error} Until then it allows nothing."

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """Return what is allowed."""
        return (*self._patterns, *self._granted)

    @property
    def remembered(self) -> tuple[Pattern, ...]:
        """Return what of it the person has allowed here, and may forbid."""
        return self._patterns

    def trusts(self, digest: str) -> bool | None:
        """Return whether the project's config of that hash is trusted, None if nobody has said so or otherwise."""
        judged = None if self.unread else self._read().judged
        return judged[1] if judged is not None and judged[0] == digest else None

    def judge(self, digest: str, *, trusted: bool) -> None:
        """Remember whether the project's config of that hash is trusted; raises `StorageFailed`, or `ConfigInvalid`."""
        self._write(msgspec.structs.replace(self._read(), judged=(digest, trusted)))

    def allow(self, pattern: Pattern) -> None:
        """Allow one more, durably; raises `HoldfastError` if it could not be kept: then it counts here alone."""
        self._patterns = tuple(dict.fromkeys((*self._patterns, pattern)))
        self._keep((*self._read().allowed, pattern))

    def forbid(self, pattern: Pattern) -> None:
        """Ask again about what a pattern allowed; raises `HoldfastError` if that could not be kept."""
        self._patterns = tuple(each for each in self._patterns if each != pattern)
        self._keep(each for each in self._read().allowed if each != pattern)

    def _read(self) -> _Kept:
        try:
            kept = msgspec.json.decode(self._path.read_bytes(), type=_Kept)
        except FileNotFoundError:
            return _Kept(self._project)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ConfigInvalid(
                f"File {str(self._path)!r} cannot be read: {error}, what was decided about {self._project!r} was "
                "expected. Correct it, or delete it to be asked again."
            ) from error
        return kept if kept.project == self._project else _Kept(self._project)

    def _keep(self, patterns: Iterable[Pattern]) -> None:
        self._write(msgspec.structs.replace(self._read(), allowed=tuple(dict.fromkeys(patterns))))

    def _write(self, kept: _Kept) -> None:
        try:
            make_folder(self._path.parent)
            write_whole(self._path, msgspec.json.format(msgspec.json.encode(kept), indent=1))
        except OSError as error:
            raise StorageFailed(
                f"File {str(self._path)!r} cannot be written: {error.strerror}, a place for what was decided about "
                f"{self._project!r} was expected. What was decided counts in this session only; free some space."
            ) from error
