"""The line in which a setting is edited; an error is shown below it, and the line stays open."""

from __future__ import annotations

from typing import ClassVar

import msgspec
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from holdfast.config.settings import Config, decoded
from holdfast.config.toml_edit import key_path, with_setting
from holdfast.errors import ConfigInvalid
from holdfast.text import literal
from holdfast.ui.settings.setting_catalog import SettingForm, parsed_value
from holdfast.ui.tui.keys.key_order import LineInput
from holdfast.ui.tui.widgets.pickers import OverlayScreen


class SettingInput(OverlayScreen[str | None]):
    """Returns the text that the user typed, "" for the default, None on cancel."""

    CSS = """
    SettingInput { align: center middle; background: $background 60%; }
    SettingInput Vertical { width: 100%; max-width: 100; height: auto; padding: 1 2; background: $surface; }
    SettingInput #title { height: auto; text-style: bold; }
    SettingInput Input { border: none; height: 1; margin: 1 0; padding: 0; background: $surface; }
    SettingInput #fault { height: auto; color: $error; display: none; margin-bottom: 1; }
    SettingInput #foot { height: auto; color: $foreground 60%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", "Leave", show=False, priority=True),
    ]

    def __init__(self, name: str, title: str, form: SettingForm, now: str) -> None:
        super().__init__()
        self._path = key_path(name)
        self._title = title
        self._form = form
        self._now = now

    def compose(self) -> ComposeResult:
        """Yield title, line, fault and foot."""
        with Vertical():
            yield Static(Text(literal(self._title)), id="title")
            yield LineInput(value=self._now, placeholder="default", id="value")
            yield Static(id="fault", markup=False)
            yield Static(
                Text(f"Expected: {self._form.expected} · empty: the default · Enter to save · Esc to cancel"),
                id="foot",
            )

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the text if it is a valid value."""
        event.stop()
        text = event.value.strip()
        if text and (why := self._fault(text)):
            fault = self.query_one("#fault", Static)
            fault.update(Text(literal(why)))
            fault.display = True
            return
        self.dismiss(text)

    def _fault(self, text: str) -> str:
        """Return why the value is invalid, "" if it is valid; conflicts with other settings show when stored."""
        value = parsed_value(self._path, text)
        try:
            decoded(with_setting("", self._path, value).encode(), Config, name="config.toml")
        except ConfigInvalid as error:
            if isinstance(error.__cause__, msgspec.ValidationError) and "missing required" in str(error.__cause__):
                return ""
            return f"{text} is not possible: expected {self._form.expected}."
        return ""
