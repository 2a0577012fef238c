"""The prompt editor: several lines, a history, and marks for long pastes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Selection

from holdfast.ui.tui.keys.key_order import run_own_binding
from holdfast.ui.tui.keys.pasted_keys import is_pasted_enter
from holdfast.ui.tui.prompt.dropped_paths import is_disk_file, text_for_drop
from holdfast.ui.tui.prompt.pastes import Pastes
from holdfast.ui.tui.prompt.prompt_history import PromptHistory
from holdfast.ui.tui.widgets.completion import Completions, Suggestion

if TYPE_CHECKING:
    from holdfast.ui.tui.keys.vim_editor import Edited, VimEditor

PLACEHOLDER_IDLE = "Ask holdfast to do something · / commands · @ files"
BUSY = "{send} to steer · Tab to queue"
ASKING = "Tab to return to the question"
ASIDE = "Tab to write a message"
"""Placeholder texts of an empty composer."""

HIGHEST = 12
"""Maximum lines of the composer; beyond that it scrolls."""


_VIM_NAMES = {"left": "h", "right": "l", "home": "0", "end": "$", "backspace": "h", "delete": "x", "enter": "j"}
"""The vim commands of named keys, in normal mode."""

_VISUAL_NAMES = {**_VIM_NAMES, "up": "k", "down": "j"}


def _location(text: str, index: int) -> tuple[int, int]:
    """Return the row and the column of a character."""
    before = text[:index]
    return before.count("\n"), len(before) - before.rfind("\n") - 1


class Composer(TextArea):
    """The prompt editor. Enter sends, Ctrl+J or Shift+Enter adds a line, ↑ and ↓ at its edges recall prompts.

    With another key for `send`, Enter adds a line. It accepts a completion in any case.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "Send", show=False, id="send"),
        Binding("ctrl+j,shift+enter", "new_line", "New line", show=False, id="new-line"),
        Binding("alt+enter", "send_later", "Queue for later", show=False, id="queue"),
        Binding("ctrl+v", "app.attach", "Attach the clipboard's image", show=False, id="attach"),
    ]

    class Sent(Message):
        """The user sent `text`, which the composer no longer holds; `later` if it is for the next turn."""

        def __init__(self, text: str, *, later: bool) -> None:
            self.text = text
            self.later = later
            super().__init__()

    class Entered(Message):
        """The key that sends was handled; a `Sent` from it, if any, was posted before this."""

    class FocusLeft(Message):
        """The user moves the focus to the approval prompt."""

    class Recalled(Message):
        """The user pressed ↑ on an empty prompt."""

    def __init__(self, completions: Completions) -> None:
        super().__init__(
            soft_wrap=True,
            tab_behavior="focus",
            show_line_numbers=False,
            highlight_cursor_line=False,
            compact=True,
            placeholder=PLACEHOLDER_IDLE,
            id="composer",
        )
        self.past_prompts = PromptHistory()
        """The prompts that ↑ recalls."""
        self.pastes = Pastes()
        """The long pastes of this run."""
        self.send_keys = ("enter",)
        """The keys that send."""
        self._send_name = "Enter"
        self.vim: VimEditor | None = None
        """vim's keys, None for the usual ones."""
        self.show_editing: Callable[[str], None] = lambda _: None
        """Called with vim's mode to show, "" for the usual keys."""
        self._selected: tuple[Selection, int] | None = None  # the selection by vim's keys, and its moving end
        self._completions = completions
        self._queueing = False
        self._question_open = False
        self._queued = False

    @property
    def prompt(self) -> str:
        """Return the text to send: all marks replaced by their pastes."""
        return self.pastes.expand(self.text)

    def set_state(self, *, queueing: bool, question_open: bool, queued: bool) -> None:
        """Set the mode: a turn runs that text can be queued for, an approval prompt is open, messages are queued."""
        self._queueing, self._question_open, self._queued = queueing, question_open, queued
        self._hint(here=self.has_focus)

    def _hint(self, *, here: bool) -> None:
        """Show the hint of an empty composer; at a question, it says where Tab leads, which depends on the focus."""
        question_hint = ASKING if here else ASIDE
        busy = BUSY.format(send=self._send_name)
        self.placeholder = question_hint if self._question_open else busy if self._queueing else PLACEHOLDER_IDLE

    def on_focus(self) -> None:
        """Show that Tab leads to the question."""
        self._hint(here=True)

    def on_blur(self) -> None:
        """Show that Tab leads to the composer."""
        self._hint(here=False)

    def give_back(self, text: str) -> None:
        """Insert `text` before the current text, with the cursor after it."""
        text, rest = self.pastes.collapse(text), self.text
        self.load_text(f"{text}\n\n{rest}" if rest.strip() else text)
        self.move_cursor(self.document.end)

    def replace_with(self, text: str) -> None:
        """Replace the current text."""
        self.load_text(self.pastes.collapse(text))

    def take_over(self, text: str = "") -> None:
        """Take the focus at once, so that later keys come here too, and insert `text`."""
        self.screen.set_focus(self)
        if text:
            self.insert(text)

    def send_by(self, keys: tuple[str, ...], name: str) -> None:
        """Send by these keys; `name` is the first, as it is printed on a keyboard."""
        self.send_keys, self._send_name = keys, name

    def use_vim(self, *, on: bool) -> None:
        """Edit with vim's keys, or as usual."""
        from holdfast.ui.tui.keys.vim_editor import VimEditor

        self.vim = VimEditor() if on else None
        self._show_editing()

    def take_escape(self) -> bool:
        """Return whether Esc was for vim's keys: it ends insert mode, or a command that was begun."""
        edited = self.vim.escape(self.text, self._index) if self.vim is not None and self.has_focus else None
        if edited is not None:
            self._apply(edited)
        return edited is not None

    def take_redo(self) -> bool:
        """Return whether Ctrl+R was for vim's keys, in normal mode."""
        return self.vim is not None and self.has_focus and self.vim.mode != "insert" and self._take_vim("\x12")

    @property
    def _index(self) -> int:
        if self._selected is not None and self._selected[0] == self.selection:
            return self._selected[1]
        return len(self.before)

    def _take_vim(self, key: str) -> bool:
        if self.vim is not None:
            self._apply(self.vim.press(key, self.text, self._index))
        return self.vim is not None

    def _apply(self, edited: Edited) -> None:
        """Show the text and the cursor; only the difference is edited, so that marks of pastes are removed as one."""
        from holdfast.ui.tui.keys.vim_editor import same_at_start

        before, after = self.text, edited.text
        if before != after:
            first = same_at_start(before, after)
            last = same_at_start(before[first:][::-1], after[first:][::-1])
            start, end = _location(before, first), _location(before, len(before) - last)
            self.replace(after[first : len(after) - last], start, end)
        self._selected = None
        if edited.selected is None:
            self.move_cursor(_location(self.text, edited.cursor))
        else:
            begin, end = (_location(self.text, at) for at in edited.selected.span(self.text))
            back = edited.selected.cursor < edited.selected.anchor
            self.selection = Selection(end, begin) if back else Selection(begin, end)
            self._selected = self.selection, edited.cursor
        self._show_editing()

    def _show_editing(self) -> None:
        self.show_editing("" if self.vim is None else f"{self.vim.mode.upper()} {self.vim.pending}".strip())

    def clear_into_history(self) -> None:
        """Empty the composer; its text can be recalled from the history."""
        if self.text.strip():
            self.past_prompts.add(self.prompt)
        self._clear()

    def action_send(self) -> None:
        """Send, or steer while a turn runs."""
        self._send(later=False)

    def action_new_line(self) -> None:
        """Insert a line break."""
        self.insert("\n")

    def action_send_later(self) -> None:
        """Queue for the next turn."""
        self._send(later=True)

    def edit(self, edit: Edit) -> EditResult:
        """Apply the edit; a mark acts as one character: it is removed completely, never edited inside."""
        first, last = sorted((edit.from_location, edit.to_location))
        for row in {first[0], min(last[0], self.document.line_count - 1)}:  # Ctrl+K at the end names the row after it
            line = self.document.get_line(row)
            for mark in self.pastes.marks:
                begin = line.find(mark)
                start, end = (row, begin), (row, begin + len(mark))
                if begin < 0 or not (start < last and first < end):
                    continue
                if first == last:
                    first = last = end
                else:
                    first, last = min(first, start), max(last, end)
        if (first, last) != (edit.top, edit.bottom):
            edit = Edit(edit.text, first, last, edit.maintain_selection_offset)
        return super().edit(edit)

    async def _on_key(self, event: events.Key) -> None:
        mode = "insert" if self.vim is None else self.vim.mode
        names = _VIM_NAMES if mode == "normal" else _VISUAL_NAMES
        key = event.character if event.is_printable else names.get(event.key)
        if mode != "insert" and key and event.key not in self.send_keys and self._take_vim(key):
            event.stop()
            event.prevent_default()
        else:
            await self._edit_key(event)

    async def _edit_key(self, event: events.Key) -> None:
        if is_pasted_enter(event):
            self.insert("\n")
            event.stop()
            event.prevent_default()
            return
        sends = event.key in self.send_keys
        enters = sends or event.key == "enter"
        if enters or event.key == "tab":
            await self._completions.catch_up(self.before)
        chosen = self._completions.chosen
        match event.key:
            case "tab" if chosen is not None:
                self._complete(chosen)
            case _ if enters and chosen is not None and self._completes(chosen):
                self._complete(chosen)
            case "up" | "down" if chosen is not None:
                self._completions.move(-1 if event.key == "up" else 1)
            case "enter" if self._continues_line():
                self.action_delete_left()
                self.action_new_line()
            case _ if sends:
                self.action_send()
            case "end" if self.cursor_at_end_of_line:
                await self.run_action("app.to_end")
            case "up" if not self.text and self._queued:
                self.post_message(self.Recalled())
            case "tab" if self._question_open:
                self.post_message(self.FocusLeft())
            case "tab" if self._queueing:
                self._send(later=True)
            case "up" if self.cursor_at_first_line and self._recall(-1):
                pass
            case "down" if self.cursor_at_last_line and self._recall(1):
                pass
            case _:
                if not await run_own_binding(self, event):
                    await super()._on_key(event)
                return
        if sends:
            self.post_message(self.Entered())
        event.stop()
        event.prevent_default()

    def _continues_line(self) -> bool:
        """Return whether a backslash precedes the cursor, as in a shell."""
        row, column = self.cursor_location
        return self.document.get_line(row)[:column].endswith("\\")

    @property
    def before(self) -> str:
        """Return the text before the cursor."""
        return self.get_text_range((0, 0), self.cursor_location)

    def _completes(self, chosen: Suggestion) -> bool:
        """Return whether accepting the completion would change the text; a complete command is sent instead."""
        return not self.before.endswith(chosen.text.rstrip())

    def _complete(self, chosen: Suggestion) -> None:
        row, column = self.cursor_location
        self.replace(chosen.text, (row, column - chosen.length), (row, column))
        self._completions.offer(())

    async def _on_paste(self, event: events.Paste) -> None:
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        event.stop()
        event.prevent_default()
        if not self.text.startswith(("!", "/")):  # a command gets the path as it is
            text = text_for_drop(text, is_file=is_disk_file) or text
        self.insert(self.pastes.mark(text))
        self.focus()

    def _send(self, *, later: bool) -> None:
        """Send what stands here, and empty the composer at once: a second Enter must not send it again."""
        prompt = self.prompt
        if prompt.strip():
            self._clear()
            self.post_message(self.Sent(prompt, later=later))

    def accept(self, prompt: str) -> None:
        """Add a sent `prompt` to the history."""
        self.past_prompts.add(prompt)

    def _clear(self) -> None:
        self.load_text("")
        if self.vim is not None:
            self.vim.reset()
            self._show_editing()
        self.past_prompts.leave()

    def _recall(self, by: int) -> bool:
        """Show another prompt of the history. Return whether there is one."""
        found = self.past_prompts.step(by, current=self.prompt)
        if found is not None:
            self.replace_with(found)
            self.move_cursor(self.document.end if by < 0 else (0, 0))
        return found is not None
