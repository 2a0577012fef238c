"""Choosing one of several, by arrows or by typing part of it: sessions, prompts, models, themes; and a page to read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.console import RenderableType
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from holdfast.text import literal


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing to choose: `value` is what choosing it gives, `title` what it is called, `detail` dim beside it."""

    value: str
    title: str
    detail: str = ""


class Picker(ModalScreen[str | None]):
    """A list that narrows while one types; gives the chosen value, None if nothing was."""

    CSS = """
    Picker { align: center middle; background: $background 60%; }
    Picker Vertical { width: 90%; max-width: 100; height: auto; max-height: 80%; padding: 1 2; background: $surface; }
    Picker #title { height: auto; text-style: bold; }
    Picker Input { border: none; height: 1; margin: 1 0; padding: 0; background: $surface; }
    Picker OptionList { height: auto; max-height: 20; border: none; padding: 0; background: $surface; }
    Picker #foot { height: auto; color: $foreground 60%; margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", "Leave", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("enter", "choose", show=False, priority=True),
        Binding("ctrl+x", "remove", show=False, priority=True),
    ]

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice],
        *,
        shown: Callable[[str], None] | None = None,
        remove: tuple[str, Callable[[str], bool]] | None = None,
    ) -> None:
        """Offer `choices`; `shown` hears what is highlighted, and Ctrl+X does what `remove` says, and returns if."""
        super().__init__()
        self._title = title
        self._choices = list(choices)
        self._remove = remove
        self._narrowed = ""
        also = f" · Ctrl+X {remove[0]}" if remove else ""
        self._foot = f"↑ ↓ choose · type to search · Enter takes it{also} · Esc leaves"
        self._shown = shown

    def compose(self) -> ComposeResult:
        """Yield title, search, list and foot."""
        with Vertical():
            yield Static(Text(self._title), id="title")
            yield Input(placeholder="search", id="search")
            yield OptionList(id="choices")
            yield Static(Text(self._foot), id="foot")

    def on_mount(self) -> None:
        """Show everything."""
        self._narrow("")
        self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what matches."""
        self._narrow(event.value)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Tell whoever wants to show what choosing would do."""
        if self._shown is not None and event.option_id is not None:
            self._shown(self._value(event.option_id))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Choose by mouse."""
        self.dismiss(self._value(event.option_id or "0"))

    def action_move(self, by: int) -> None:
        """Move the highlight."""
        choices = self.query_one(OptionList)
        if by < 0:
            choices.action_cursor_up()
        else:
            choices.action_cursor_down()

    def action_choose(self) -> None:
        """Choose what is highlighted, of what matches all that is written."""
        written = self.query_one(Input).value
        if written != self._narrowed:  # Enter right behind a letter comes before the news of the letter
            self._narrow(written)
        choices = self.query_one(OptionList)
        if choices.highlighted is not None:
            self.dismiss(self._value(choices.get_option_at_index(choices.highlighted).id or "0"))

    def action_remove(self) -> None:
        """Remove what is highlighted, if that may be done."""
        choices = self.query_one(OptionList)
        if self._remove is None or choices.highlighted is None:
            return
        number = int(choices.get_option_at_index(choices.highlighted).id or "0")
        if self._remove[1](self._choices[number].value):
            del self._choices[number]
            self._narrow(self.query_one(Input).value)

    def _value(self, option: str) -> str:
        return self._choices[int(option)].value

    def _narrow(self, search: str) -> None:
        self._narrowed = search
        words = search.casefold().split()
        choices = self.query_one(OptionList)
        choices.clear_options()
        for number, choice in enumerate(self._choices):
            if all(word in f"{choice.title} {choice.detail}".casefold() for word in words):
                prompt = Text(literal(choice.title), no_wrap=True, overflow="ellipsis")
                prompt.append(f"  {literal(choice.detail)}", "dim")
                choices.add_option(Option(prompt, id=str(number)))
        if choices.option_count:
            choices.highlighted = 0


class Page(ModalScreen[None]):
    """Something to read, over the transcript; any of the keys for leaving leaves."""

    CSS = """
    Page { align: center middle; background: $background 60%; }
    Page VerticalScroll { width: 90%; max-width: 100; height: auto; max-height: 85%; padding: 1 2; }
    Page VerticalScroll { background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,ctrl+c", "dismiss(None)", "Leave", show=False, priority=True),
    ]

    def __init__(self, text: RenderableType) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """Yield the text."""
        with VerticalScroll():
            yield Static(self._text)

    def on_click(self, event: events.Click) -> None:
        """Leave on a click beside it."""
        if event.widget is self:
            self.dismiss(None)
