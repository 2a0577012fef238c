"""Choose one of several items, by arrow keys or by typing part of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, TypeVar

import msgspec
from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from holdfast.system.threads import in_daemon
from holdfast.text import literal
from holdfast.ui.tui.keys.key_order import LineInput

T = TypeVar("T")


class Choice(msgspec.Struct, frozen=True):
    """One item: `value` is the result of choosing it, `title` its name, `detail` is shown dimmed next to it.

    `now` marks the current value, where the highlight starts.
    """

    value: str
    title: str
    detail: str = ""
    now: bool = False


_WIDEST = 100
"""Maximum cells of a list or page, for readable lines."""

_MOST_ROWS = 20
_ABOVE = 5
"""Lines of a picker other than its rows and texts: the padding and the search."""

_SMALL = 20
"""Lines of a screen below which a picker may have all of it; above, four fifths."""

_GAP = 2

_TYPED_OPTION = "written"
"""The id of the option for the typed text; the ids of the others are their indexes."""

ContentSearch = Callable[[str, Callable[[], bool]], Mapping[str, str]]
"""Returns the values whose content has the words, with excerpts; may stop once its second argument returns false."""

_PAUSE = 0.15
"""Seconds after a key before a preview or a search starts."""

_LEAST_SEARCHED = 3
"""Minimum letters for a search in the content of the items."""

_ROOM_FOR_PREVIEW = 22
"""Lines of a screen that has room for a preview."""

MARGINS = 4
"""Cells of a list outside its rows."""


def picker_rows(choices: Sequence[Choice], width: int) -> tuple[Text, ...]:
    """Return a line for each item, none wider than `width`: details in a column if possible, titles are cut first.

    The title has at least half of the line.
    """
    titles = max((cell_len(literal(each.title)) for each in choices), default=0)
    details = max((cell_len(literal(each.detail)) for each in choices), default=0)
    column = titles if titles + _GAP + details <= width else 0
    return tuple(_row(each, column, width) for each in choices)


def _row(choice: Choice, column: int, width: int) -> Text:
    row, detail = Text(literal(choice.title)), literal(choice.detail)
    if detail:
        row.truncate(column or max(width - cell_len(detail) - _GAP, width // 2), overflow="ellipsis", pad=bool(column))
        row.append(" " * _GAP).append(detail, "dim")
    row.truncate(width, overflow="ellipsis")
    return row


class OverlayScreen(ModalScreen[T]):
    """A dialog over the screen, redrawn whenever the screen beneath changes. It closes once."""

    AUTO_FOCUS = "*"  # the app's is the composer, which is not on this screen

    _dismissed = False

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Close it with the first result: an Esc may follow an Enter."""
        if self._dismissed:
            return AwaitComplete.nothing()
        self._dismissed = True
        return super().dismiss(result)

    def on_mount(self) -> None:
        """Watch the screen beneath."""

        def moved(_: object) -> None:
            self.refresh()

        stack = self.app.screen_stack  # pyright: ignore[reportUnknownMemberType] - an app of any result
        beneath = stack[-2].screen_layout_refresh_signal  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - likewise
        beneath.subscribe(self, moved)  # pyright: ignore[reportUnknownMemberType] - likewise

    def on_unmount(self) -> None:
        """Move the terminal's own cursor back to where the keys go."""
        focused = self.app.focused  # pyright: ignore[reportUnknownMemberType] - an app of any result
        if isinstance(focused, TextArea | Input):
            self.app.cursor_position = focused.cursor_screen_offset  # pyright: ignore[reportUnknownMemberType] - likewise


class Picker(OverlayScreen[str | None]):
    """A list that narrows as the user types; returns the chosen value, None on cancel."""

    CSS = """
    Picker { align: center middle; background: $background 60%; }
    Picker Vertical { width: 100%; max-width: 100; height: auto; max-height: 100%; padding: 1 2; background: $surface; }
    Picker #title { height: auto; text-style: bold; }
    Picker Input { border: none; height: 1; margin: 1 0; padding: 0; background: $surface; }
    Picker OptionList { height: auto; max-height: 20; border: none; padding: 0; background: $surface; }
    Picker OptionList { text-wrap: nowrap; text-overflow: ellipsis; }
    Picker #note { height: auto; color: $foreground 60%; margin-top: 1; display: none; }
    Picker #foot { height: auto; color: $foreground 60%; margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", "Leave", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("ctrl+x", "remove", show=False, priority=True),
        Binding("ctrl+f", "mark", show=False, priority=True),
        # Without priority: like Enter, it must come after the letters typed before it.
        Binding("ctrl+s", "keep", show=False),
    ]

    def __init__(  # noqa: PLR0913 - what the keys of a list do
        self,
        title: str,
        choices: Sequence[Choice],
        *,
        on_highlight: Callable[[str], None] | None = None,
        remove: tuple[str, Callable[[str], bool]] | None = None,
        toggle: tuple[str, Callable[[str], None]] | None = None,
        keep: str = "",
        preview: Callable[[str], str] | None = None,
        search: ContentSearch | None = None,
        choice_for: Callable[[str], Choice | None] = lambda _: None,
    ) -> None:
        """Show `choices`; `on_highlight` is called with the highlighted value.

        If nothing matches the typed text, the list shows the choice that `choice_for` returns for it, or says so.

        `preview` returns the text below the list for a value, `search` the values whose content matches; both are
        called on another thread. Ctrl+X removes a choice if `remove` is set. Ctrl+F calls the function of `toggle`,
        which may `offer` other choices. If `keep` describes it, Ctrl+S chooses as Enter does, and sets
        `keep_requested`.
        """
        super().__init__()
        self._title = title
        self._choices = list(choices)
        self._remove = remove
        self._toggle = toggle
        self._keep = keep
        self.keep_requested = False
        """Whether the choice was made with Ctrl+S."""
        self._preview = preview
        self._search = search
        self._choice_for = choice_for
        self._typed_choice: Choice | None = None  # the choice for the typed text
        self._found: Mapping[str, str] = {}  # the excerpts of the values that the search found
        self._narrowed = ""
        self._noted = ""
        also = f" · Ctrl+X {remove[0]}" if remove else ""
        also += f" · Ctrl+F {toggle[0]}" if toggle else ""
        also += f" · Ctrl+S {keep}" if keep else ""
        self._foot = f"↑ ↓ choose · type to search · Enter to select{also} · Esc to cancel"
        self._on_highlight = on_highlight

    def compose(self) -> ComposeResult:
        """Yield title, search, list, note and foot."""
        with Vertical():
            yield Static(Text(self._title), id="title")
            yield LineInput(placeholder="search", id="search")
            yield OptionList(id="choices")
            yield Static(id="note", markup=False)
            yield Static(Text(self._foot), id="foot")

    def on_mount(self) -> None:
        """Show everything."""
        super().on_mount()
        self._narrow("", next((number for number, each in enumerate(self._choices) if each.now), 0))
        self.query_one(Input).focus()

    def on_resize(self) -> None:
        """Fit the rows to the size, which may leave no room for a preview."""
        if self.app.size.height < _ROOM_FOR_PREVIEW:  # pyright: ignore[reportUnknownMemberType] - an app of any result
            self._noted = ""
            self.query_one("#note").display = False
        self._fit()
        self._narrow(self._narrowed, self.query_one(OptionList).highlighted or 0)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the matching items."""
        if event.value != self._narrowed:  # else it is already shown
            self._found = {}
            self._narrow(event.value)
            self._search_items(event.value)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Call `shown` with the highlighted item, for a preview."""
        if event.option_id is None:
            return
        value = self._value(event.option_id)
        if self._on_highlight is not None:
            self._on_highlight(value)
        if self._preview is not None and self.app.size.height >= _ROOM_FOR_PREVIEW:  # pyright: ignore[reportUnknownMemberType] - an app of any result
            self.run_worker(self._show_preview(value, self._preview), group="preview", exclusive=True)

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

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Choose by Enter, which the search line handles in the order of the keys."""
        event.stop()
        self._choose()

    def _choose(self) -> None:
        """Choose the highlighted item among those that match the whole text."""
        written = self.query_one(Input).value
        if written != self._narrowed:  # Enter right after a letter arrives before its change event
            self._narrow(written)
        if (value := self._highlighted) is not None:
            self.dismiss(value)

    def action_keep(self) -> None:
        """Choose the highlighted item, and set `keep_requested`."""
        if self._keep:
            self.keep_requested = True
            self._choose()

    def action_remove(self) -> None:
        """Remove the highlighted item, if allowed."""
        choices = self.query_one(OptionList)
        if self._remove is None or choices.highlighted is None:
            return
        if (option := choices.get_option_at_index(choices.highlighted).id) == _TYPED_OPTION:
            return
        number = int(option or "0")
        if self._remove[1](self._choices[number].value):
            del self._choices[number]
            self._narrow(self.query_one(Input).value, choices.highlighted)
            if self._highlighted is None:
                self._note("")  # it was the preview of the last one

    def action_mark(self) -> None:
        """Call the function of Ctrl+F with the highlighted value."""
        if self._toggle is not None and (value := self._highlighted) is not None:
            self._toggle[1](value)

    def offer(self, choices: Sequence[Choice], note: str) -> None:
        """Show other choices, with the same search and the same value highlighted, and a note below them."""
        shown = self.query_one(OptionList)
        at, place = self._highlighted, shown.highlighted or 0
        self._choices = list(choices)
        self._narrow(self.query_one(Input).value, place, value=at)
        self._note(note)

    async def _show_preview(self, value: str, preview: Callable[[str], str]) -> None:
        """Show the preview of a value, unless another is highlighted soon."""
        await asyncio.sleep(_PAUSE)
        text = await in_daemon(lambda: preview(value))
        if not self._dismissed and self.is_attached and self._highlighted == value:  # else the highlight has moved on
            lines = [Text(literal(line)) for line in text.split("\n")]
            for line in lines:
                line.truncate(self._room, overflow="ellipsis")
            self._note("\n".join(line.plain for line in lines) if text else "")

    def _search_items(self, words: str) -> None:
        """Search the content of the items for words, unless more is typed soon."""
        search = self._search
        if search is None or len(words.strip()) < _LEAST_SEARCHED:
            return

        async def run() -> None:
            await asyncio.sleep(_PAUSE)
            found = await in_daemon(lambda: search(words, lambda: self._narrowed == words))
            if not self._dismissed and self.is_attached and self._narrowed == words:
                self._found = found
                self._narrow(words, self.query_one(OptionList).highlighted or 0, value=self._highlighted)

        self.run_worker(run(), group="search", exclusive=True)

    def _note(self, note: str) -> None:
        """Show lines below the list, "" for none."""
        line = self.query_one("#note", Static)
        line.update(Text(literal(note)))
        line.display = bool(note)
        self._noted = note
        self._fit()

    def _fit(self) -> None:
        """Leave the list as many rows as fit, so that the note and the foot are never cut off."""
        texts = [self._title, self._foot, *filter(None, [self._noted])]
        lines = [-(-cell_len(line) // self._room) or 1 for text in texts for line in text.split("\n")]
        height = self.app.size.height  # pyright: ignore[reportUnknownMemberType] - an app of any result
        most = height if height < _SMALL else height * 80 // 100
        rows = most - _ABOVE - sum(lines) - (len(texts) - 1)  # a blank line above each text but the title
        self.query_one(OptionList).styles.max_height = max(1, min(_MOST_ROWS, rows))

    @property
    def _room(self) -> int:
        """Return the cells of a row, according to the style sheet."""
        width = self.app.size.width  # pyright: ignore[reportUnknownMemberType] - an app of any result
        return min(_WIDEST, width) - MARGINS

    @property
    def _highlighted(self) -> str | None:
        """Return the highlighted value, None if nothing matches."""
        choices = self.query_one(OptionList)
        at = choices.highlighted
        return None if at is None else self._value(choices.get_option_at_index(at).id or "0")

    def _value(self, option: str) -> str:
        if option == _TYPED_OPTION and self._typed_choice is not None:
            return self._typed_choice.value
        return self._choices[int(option)].value

    def _place_cursor(self) -> None:
        """Move the terminal's own cursor to the search, which moves with the height of the list."""
        if self.is_attached and self.is_current:
            self.app.cursor_position = self.query_one(Input).cursor_screen_offset  # pyright: ignore[reportUnknownMemberType] - an app of any result

    def _narrow(self, search: str, at: int = 0, *, value: str | None = None) -> None:
        """Show the matching items, with item number `at` highlighted, or that of the `value` if it is shown."""
        self._narrowed = search
        words = search.casefold().split()
        choices = self.query_one(OptionList)
        choices.clear_options()
        shown = picker_rows(self._choices, self._room)
        for number, (choice, row) in enumerate(zip(self._choices, shown, strict=True)):
            named = all(word in f"{choice.title} {choice.detail}".casefold() for word in words)
            if named or choice.value in self._found:
                if not named:
                    excerpt = msgspec.structs.replace(choice, detail=self._found[choice.value] or choice.detail)
                    row = _row(excerpt, 0, self._room)  # noqa: PLW2901 - the same line with an excerpt
                at = choices.option_count if choice.value == value else at
                choices.add_option(Option(row, id=str(number)))
        self._typed_choice = self._choice_for(search.strip()) if words and not choices.option_count else None
        if self._typed_choice is not None:
            choices.add_option(Option(_row(self._typed_choice, 0, self._room), id=_TYPED_OPTION))
        self.call_after_refresh(self._place_cursor)
        if choices.option_count:
            choices.highlighted = min(at, choices.option_count - 1)
        elif words:
            choices.add_option(Option(Text("Nothing matches.", "dim"), disabled=True))
