"""Laws of keys that arrive together, as a slow connection brings them: they do what they do one after another."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from holdfast.ui.tui.keys.key_order import LineInput
from holdfast.ui.tui.widgets.completion import Completions
from holdfast.ui.tui.widgets.composer import Composer
from laws import law

LETTERS = st.sampled_from(["a", "b", "space", "é"])
EDITING = st.sampled_from(
    ["backspace", "delete", "left", "right", "home", "ctrl+u", "ctrl+w", "ctrl+k", "ctrl+left", "shift+left"]
)
IN_LINES = st.sampled_from(["ctrl+j", "up", "down"])


class Lines(App[None]):
    """A prompt and a line."""

    def compose(self) -> ComposeResult:
        completions = Completions(Path.cwd(), added=tuple)
        yield completions
        yield Composer(completions)
        yield LineInput(id="line", select_on_focus=False)


async def pressed(pilot: Pilot[None], keys: list[str], *, together: bool) -> None:
    for name in keys:
        pilot.app.post_message(events.Key(name, {"space": " "}.get(name, name if len(name) == 1 else None)))
        if not together:
            await pilot.pause()
    await pilot.pause()


async def contents_after(keys: list[str], kind: type[LineInput | Composer]) -> list[object]:
    """Return the text and its cursor after the keys at once, and one after another."""
    app, found = Lines(), list[object]()
    async with app.run_test() as pilot:
        widget = app.query_one(kind)
        widget.focus()
        for together in (True, False):
            if isinstance(widget, Composer):
                widget.load_text("")
            else:
                widget.value = ""
            await pilot.pause()
            await pressed(pilot, keys, together=together)
            found.append((widget.text if isinstance(widget, Composer) else widget.value, widget.selection))
    return found


@law(shared_by=8)
@given(st.lists(LETTERS | EDITING, min_size=2, max_size=6))
def test_a_line_takes_keys_in_order(keys: list[str]) -> None:
    together, one_by_one = asyncio.run(contents_after(keys, LineInput))
    assert together == one_by_one


@law(shared_by=8)
@given(st.lists(LETTERS | EDITING | IN_LINES, min_size=2, max_size=6))
def test_the_prompt_takes_keys_in_order(keys: list[str]) -> None:
    together, one_by_one = asyncio.run(contents_after(keys, Composer))
    assert together == one_by_one
