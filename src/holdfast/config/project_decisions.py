"""The user's stored decisions about a project: calls that may run without asking, and trust in its config.

They are stored in the user's state folder, never in the project: a repository must not grant itself permissions. A file
that cannot be read allows nothing, and the user reads why.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from holdfast.errors import ConfigInvalid, StorageFailed
from holdfast.system.bounded_files import STATE_FILE, read_bounded
from holdfast.system.durable_files import make_folder, replace_file
from holdfast.tool_calls import Pattern
from holdfast.tools.permission_rules.rule_set import NO_RULES, RuleSet
from holdfast.typed_data import decode_json

APPROVALS = "approvals"
"""The name of the folder for all projects. It is next to the sessions folder."""


class _StoredDecisions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the file: the project's path, and the patterns allowed there."""

    project: str
    allowed: tuple[Pattern, ...] = ()
    judged: tuple[str, bool] | None = None
    """The hash of the project config that the user saw last, and whether the user trusts it."""


class Project:
    """The decisions for the project at `cwd`, stored in `folder`, which need not exist.

    `granted` are additional patterns from the project's own config, if trusted; `rules` are all rules that apply in it.
    `unread` says why the file could not be read ("" if it could): a damaged file does not prevent a session.
    """

    def __init__(
        self, folder: Path, cwd: Path, *, granted: tuple[Pattern, ...] = (), rules: RuleSet = NO_RULES
    ) -> None:
        self._project = str(cwd)
        self._path = folder / f"{hashlib.sha256(os.fsencode(self._project)).hexdigest()[:32]}.json"
        self.granted = granted
        self.rules = rules
        self.unread = ""
        try:
            self._patterns = self._read().allowed
        except ConfigInvalid as error:
            self._patterns = ()
            self.unread = f"{error} Until then it allows nothing."

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """Return all patterns that are allowed."""
        return (*self._patterns, *self.granted)

    @property
    def remembered(self) -> tuple[Pattern, ...]:
        """Return the patterns that the user allowed here and may remove."""
        return self._patterns

    def trusts(self, digest: str) -> bool | None:
        """Return whether the user trusts the project config with this hash, None if not decided yet."""
        judged = None if self.unread else self._read().judged
        return judged[1] if judged is not None and judged[0] == digest else None

    def set_trust(self, digest: str, *, trusted: bool) -> None:
        """Store whether the project config with this hash is trusted. Raise `StorageFailed` or `ConfigInvalid`."""
        self._write(msgspec.structs.replace(self._read(), judged=(digest, trusted)))

    def allow(self, pattern: Pattern) -> None:
        """Allow one more, durably. Raise `HoldfastError` if it cannot be stored: it is then allowed only in memory."""
        self._patterns = tuple(dict.fromkeys((*self._patterns, pattern)))
        self._store((*self._read().allowed, pattern))

    def forbid(self, pattern: Pattern) -> None:
        """Remove a pattern. Raise `HoldfastError` if that cannot be stored."""
        self._patterns = tuple(each for each in self._patterns if each != pattern)
        self._store(each for each in self._read().allowed if each != pattern)

    def _read(self) -> _StoredDecisions:
        try:
            decisions = decode_json(read_bounded(self._path, STATE_FILE), _StoredDecisions)
        except FileNotFoundError:
            return _StoredDecisions(self._project)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise ConfigInvalid(
                f"Decisions about {self._project!r} cannot be read from {str(self._path)!r}: {why}. "
                "Fix that file, or delete it to be asked again."
            ) from error
        return decisions if decisions.project == self._project else _StoredDecisions(self._project)

    def _store(self, patterns: Iterable[Pattern]) -> None:
        self._write(msgspec.structs.replace(self._read(), allowed=tuple(dict.fromkeys(patterns))))

    def _write(self, decisions: _StoredDecisions) -> None:
        try:
            make_folder(self._path.parent)
            replace_file(self._path, msgspec.json.format(msgspec.json.encode(decisions), indent=1))
        except OSError as error:
            raise StorageFailed(
                f"Decisions about {self._project!r} cannot be written to {str(self._path)!r}: {error.strerror}. "
                "They apply in this session only. Free some disk space."
            ) from error
