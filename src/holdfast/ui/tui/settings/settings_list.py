"""`/config`: every setting with its value and source, to search and to change.

How it works. The list begins with the settings that users change, then come the internals. For mode, model, effort and
theme, it shows the values of the session. Enter edits a setting: in a list if its values are few, else in a line. Then
the user chooses where it is stored, and the list is shown again, with a report.
"""

from __future__ import annotations

from pathlib import Path

from holdfast.config.project_config import CONFIG_PATH
from holdfast.config.toml_edit import key_text
from holdfast.errors import HoldfastError
from holdfast.ui.commands.config import resolved_settings
from holdfast.ui.settings.setting_catalog import COMMON, SettingForm, form, plain, setting_path
from holdfast.ui.startup.settings_sources import Value, display_value
from holdfast.ui.tui.choices import CommandTarget
from holdfast.ui.tui.settings.live_settings import LIVE, pick_scope
from holdfast.ui.tui.settings.setting_input import SettingInput
from holdfast.ui.tui.themes import theme_names
from holdfast.ui.tui.widgets.pickers import Choice
from holdfast.ui.view.columns import home

SESSION = "this session"
"""The source of a value of the session."""

_NAMES = 28
_WIDEST = 26
"""Cells of a name and of a value in the list; after a longer name, the value moves to the right."""

_INTERNALS = ""
"""The value of the line above the internals."""

_DEFAULT = "(default)"


class SettingsList:
    """The list, and the editing of one setting."""

    def __init__(self, target: CommandTarget) -> None:
        self._target = target

    def open(self, note: str = "", at: str = "") -> None:
        """Show the list, with the setting `at` highlighted and a note below. Raise `ConfigInvalid`."""
        values = self._values()
        choices = [self._choice(values[name], at) for name in COMMON if name in values]
        choices.append(Choice(_INTERNALS, "internals", "seldom changed"))
        choices += [self._choice(value, at) for name, value in values.items() if name not in COMMON]
        title = "Settings (holdfast config has them all, with keys and rules)"
        picker = self._target.dialogs.pick(title, choices, self._chosen)
        if note:
            self._target.app.call_after_refresh(lambda: picker.offer(choices, note))

    def edit(self, name: str) -> None:
        """Let the user change one setting. Raise `UsageError` if there is none of this name."""
        path = setting_path(name)
        name = key_text(path)
        now = self._values().get(name)
        value = None if now is None else now.value
        found = form(path)
        choices = theme_names(self._target.app.available_themes) if name == "theme" else found.choices
        title = f"{name}: {COMMON[name]}" if name in COMMON else name
        if choices:
            self._pick(name, title, choices, plain(value))
        else:
            self._ask(name, title, found, plain(value))

    def keep(self, name: str, text: str) -> None:
        """Let the user choose where a setting is stored; `text` is "" to remove it."""
        name = key_text(setting_path(name))
        pick_scope(
            self._target, name, text, then=lambda done: self.open(done, name), on_cancel=lambda: self.open("", name)
        )

    def _pick(self, name: str, title: str, choices: tuple[str, ...], now: str) -> None:
        offered = [Choice(each, each, "in use" if each == now else "", now=each == now) for each in choices]
        offered.append(Choice(_DEFAULT, _DEFAULT, "removes it from the config"))

        def preview(chosen: str) -> None:
            if chosen != _DEFAULT:
                self._target.app.theme = chosen

        self._target.dialogs.pick(
            title,
            offered,
            lambda chosen: self.keep(name, "" if chosen == _DEFAULT else chosen),
            on_cancel=lambda: self.open("", name),
            on_highlight=preview if name == "theme" else None,
        )

    def _ask(self, name: str, title: str, found: SettingForm, now: str) -> None:
        def submitted(text: str | None) -> None:
            if text is None:
                self.open("", name)
            else:
                self._target.dialogs.attempt(lambda: self.keep(name, text))

        self._target.app.push_screen(SettingInput(name, title, found, now), submitted)

    def _chosen(self, name: str) -> None:
        if name == _INTERNALS:
            self.open()
        else:
            self.edit(name)

    def _values(self) -> dict[str, Value]:
        """Return every setting by name, with the values of the session."""
        controller = self._target.controller
        settled = resolved_settings(controller.arguments, controller.environ, controller.cwd)
        found: dict[str, Value] = {}
        for value in settled.values:
            try:
                name = key_text(setting_path(value.name))
            except HoldfastError:  # an empty table, or a setting of the command line only
                continue
            live = LIVE.get(name)
            now = value.value if live is None else live.now(self._target)
            source = value.source if name == "theme" and value.value is None else SESSION  # else by the background
            found[name] = value if now == value.value else Value(name=name, value=now, source=source)
        return found

    def _choice(self, value: Value, at: str) -> Choice:
        path = Path(value.source)
        name = path.name if path.parent.name != CONFIG_PATH.parent.name else str(CONFIG_PATH)
        source = f"{name}:{value.line}" if value.line else home(value.source)
        text = display_value(value.value)
        text = text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
        return Choice(value.name, f"{value.name:<{_NAMES}}", f"{text:<{_WIDEST}}  {source}", now=value.name == at)
