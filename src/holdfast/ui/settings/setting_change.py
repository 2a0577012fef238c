"""Set or unset one setting in the user's config or the project's, checked by the parser that reads the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import msgspec

from holdfast.config.project_config import CONFIG_PATH, ProjectFile, project_file
from holdfast.config.settings import Config, ProjectConfig, read_config
from holdfast.config.settings_file import SettingsFile
from holdfast.config.toml_edit import KeyPath, key_text, with_setting, without_setting
from holdfast.errors import ConfigInvalid, UsageError
from holdfast.providers.registry import split
from holdfast.system.git import repository
from holdfast.system.user_directories import homes
from holdfast.ui.settings.setting_catalog import FileScope, form, parsed_value, scopes, setting_path
from holdfast.ui.startup.project_trust import TRUST_IT, project_decisions, trusted_project
from holdfast.ui.startup.run_options import check_config, providers_of
from holdfast.ui.startup.settings_sources import flat


class SettingChange(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to a setting: `now` is its value in the file at `path`, None if it was removed."""

    name: str
    path: Path
    now: object = None


class SettingChanges:
    """Changes settings for a run in `cwd`."""

    def __init__(self, environ: Mapping[str, str], cwd: Path) -> None:
        self._environ = environ
        self._cwd = cwd

    def path(self, scope: FileScope) -> Path:
        """Return the file of a scope. Raise `ConfigInvalid` if the project's cannot be read."""
        user_path = homes(self._environ).config
        if scope == "user":
            return user_path
        file = project_file(self._cwd, user_path)
        path = (repository(self._cwd) or self._cwd) / CONFIG_PATH if file is None else file.path
        if os.path.realpath(path) == os.path.realpath(user_path):
            raise UsageError(
                f"{str(path)!r} is your user config, so this folder has no project config. Set it for the user."
            )
        return path

    def set(self, name: str, text: str, scope: FileScope) -> SettingChange:
        """Set a setting to the value of `text`. If it raises `HoldfastError`, nothing is changed."""
        path = setting_path(name)
        value = parsed_value(path, text)
        self._check_scope(name, scope)
        if path[0] == "keys":
            _check_keys(path, value, read_config(self.path(scope)).keys)
        if path == ("model",) and isinstance(value, str):
            config = read_config(homes(self._environ).config)
            split(value, providers_of(config, self._environ))  # raises for an unknown provider
        try:
            self.write(lambda before: with_setting(before, path, value), scope)
        except ConfigInvalid as error:
            if not isinstance(error.__cause__, msgspec.ValidationError):
                raise
            reason = str(error.__cause__)
            if f"`$.{'.'.join(path)}" in reason or reason.endswith("`$[...]`"):
                reason = f"expected {form(path, ProjectConfig if scope == 'project' else Config).expected}"
            raise UsageError(f"Cannot set {key_text(path)} to {text!r}: {reason}. Nothing was changed.") from error
        return SettingChange(name=key_text(path), path=self.path(scope), now=value)

    def unset(self, name: str, scope: FileScope) -> SettingChange:
        """Remove a setting, so that its default applies. If it raises `HoldfastError`, nothing is changed."""
        path = setting_path(name)
        self._check_scope(name, scope)
        self.write(lambda before: without_setting(before, path), scope)
        return SettingChange(name=key_text(path), path=self.path(scope))

    def write(self, edit: Callable[[str], str], scope: FileScope) -> None:
        """Replace the text of a scope's file by the result of `edit`. If it raises, nothing is changed."""
        path = self.path(scope)
        if scope == "user":
            SettingsFile(path, Config).change(edit, check=lambda config: check_config(config, self._environ))
            return
        root = path.parent.parent
        decisions = project_decisions(self._environ, root)

        def trusted(raw: bytes | None) -> None:
            file = ProjectFile(root, raw or b"")
            if raw and file.config() != ProjectConfig() and not decisions.trusts(file.digest):
                raise UsageError(f"Project config {str(path)!r} is not trusted, so it was not changed. {TRUST_IT}")

        change = SettingsFile(path, ProjectConfig, shared=True).change(edit, before=trusted)
        decisions.set_trust(ProjectFile(root, change.after).digest, trusted=True)

    def overridden(self, name: str) -> str:
        """Return a sentence if the project's config wins over the user's for this setting, "" if not."""
        file = trusted_project(self._environ, self._cwd, ask=None, notify=lambda _: None)
        if file is None or flat(file.config()).get(name) is None:
            return ""
        return f" In this project, {str(file.path)!r} sets it."

    def _check_scope(self, name: str, scope: FileScope) -> None:
        if scope not in scopes(setting_path(name)):
            raise UsageError(f"A project's config cannot set {name}. Set it for the user.")


def _check_keys(path: KeyPath, value: object, configured: Mapping[str, str | tuple[str, ...]]) -> None:
    """Raise `UsageError` for an action or key that does not exist, or a key that another action needs."""
    from holdfast.ui.settings.key_map import key_map

    words = tuple(map(str, cast("list[object]", value))) if isinstance(value, list) else str(value)
    all_faults = key_map({**configured, path[-1]: words}).faults
    about_setting = [each for each in all_faults if f" {path[-1]}: " in each or repr(path[-1]) in each]
    if faults := [each for each in about_setting if "was the key of" not in each]:
        raise UsageError(f"{faults[0]} Nothing was changed. See /keys.")
