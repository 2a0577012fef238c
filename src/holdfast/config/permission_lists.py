"""Lists of rules in settings files: holdfast's own, and the `permissions` of Claude Code.

Of Claude Code's `settings.json` only `permissions.allow`, `.ask` and `.deny` are read; hooks, modes and further folders
are not. Its content is not trusted: a project's rules allow nothing until the user trusts exactly these bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from holdfast.config.project_config import read_settings_file
from holdfast.config.settings import PermissionLists
from holdfast.errors import ConfigInvalid
from holdfast.system.git import repository
from holdfast.tools.permission_rules.permission_rule import PermissionRule, RuleVerdict, permission_rule
from holdfast.typed_data import decode_json

_FOLDER = ".claude"
_FILES = ("settings.json", "settings.local.json")


class FoundRules(msgspec.Struct, frozen=True):
    """Rules as read, and a sentence for each that cannot be used."""

    rules: tuple[PermissionRule, ...] = ()
    faults: tuple[str, ...] = ()

    def __add__(self, other: FoundRules) -> FoundRules:
        """Return both together."""
        return FoundRules((*self.rules, *other.rules), (*self.faults, *other.faults))

    @property
    def unless_allowing(self) -> FoundRules:
        """Return them without those that allow something."""
        return FoundRules(tuple(rule for rule in self.rules if rule.verdict != "allow"), self.faults)


class ClaudeProject(msgspec.Struct, frozen=True):
    """The settings of Claude Code for the project at `root`: each file that exists, with its bytes."""

    root: Path
    files: tuple[tuple[Path, bytes], ...]

    @property
    def digest(self) -> str:
        """Return the SHA-256 of all their bytes."""
        sha256 = hashlib.sha256()
        for path, raw in self.files:
            sha256.update(f"{path.name} {len(raw)}\n".encode())
            sha256.update(raw)
        return sha256.hexdigest()

    @property
    def found(self) -> FoundRules:
        """Return the rules in them."""
        return _together(claude_rules(path, raw, base=self.root) for path, raw in self.files)


def found_rules(lists: PermissionLists, *, source: str, base: Path) -> FoundRules:
    """Return the rules of a settings file called `source`. `base` is the folder for paths that begin with a slash."""
    rules: list[PermissionRule] = []
    faults: list[str] = []
    each: tuple[tuple[RuleVerdict, tuple[str, ...]], ...]
    each = (("deny", lists.deny), ("ask", lists.ask), ("allow", lists.allow))
    for verdict, texts in each:
        for text in texts:
            try:
                rules.append(permission_rule(text, verdict, source=source, base=str(base)))
            except ConfigInvalid as error:
                faults.append(str(error))
    return FoundRules(tuple(rules), tuple(faults))


def claude_project(cwd: Path, home: Path | None) -> ClaudeProject | None:
    """Return the settings of Claude Code for the project that contains `cwd`, None if there are none.

    They are in the nearest folder from `cwd` up to the root of the repository. Those in `home` are the user's own and
    belong to no project. Raise `ConfigInvalid` if they cannot be read.
    """
    top = repository(cwd) or cwd
    for folder in (cwd, *cwd.parents):
        paths = [path for name in _FILES if (path := folder / _FOLDER / name).exists() and folder != home]
        if paths:
            return ClaudeProject(folder, tuple((path, read_settings_file(path, "Settings")) for path in paths))
        if folder == top:
            break
    return None


def user_claude_rules(home: Path | None) -> FoundRules:
    """Return the rules in the user's own settings of Claude Code."""
    path = home / _FOLDER / _FILES[0] if home is not None else None
    if path is None or not path.exists():
        return FoundRules()
    try:
        return claude_rules(path, read_settings_file(path, "Settings"), base=path.parent)
    except ConfigInvalid as error:
        return FoundRules(faults=(f"{error} Its rules are not used.",))


def claude_rules(path: Path, raw: bytes, *, base: Path) -> FoundRules:
    """Return the rules in one `settings.json` of Claude Code."""
    try:
        known = decode_json(raw, _Settings).permissions
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return FoundRules(
            faults=(f"Settings {str(path)!r} cannot be read: {error}. Fix that file. Its rules are not used.",)
        )
    lists = PermissionLists(allow=_texts(known.allow), ask=_texts(known.ask), deny=_texts(known.deny))
    return found_rules(lists, source=str(path), base=base)


class _Permissions(msgspec.Struct, frozen=True):
    """The part of `permissions` that holdfast reads."""

    allow: tuple[object, ...] = ()
    ask: tuple[object, ...] = ()
    deny: tuple[object, ...] = ()


class _Settings(msgspec.Struct, frozen=True):
    permissions: _Permissions = msgspec.field(default_factory=_Permissions)


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(value if isinstance(value, str) else msgspec.json.encode(value).decode() for value in values)


def _together(several: Iterable[FoundRules]) -> FoundRules:
    rules = FoundRules()
    for each in several:
        rules += each
    return rules
