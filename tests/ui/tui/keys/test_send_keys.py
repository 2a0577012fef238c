"""The keys that send: what is typed before them is sent, wherever the focus goes behind them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual import events
from textual.app import App, ComposeResult

from holdfast.ui.tui.widgets.completion import Completions
from holdfast.ui.tui.widgets.composer import Composer


class Prompt(App[None]):
    """A prompt, and the texts of its messages."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def compose(self) -> ComposeResult:
        completions = Completions(Path.cwd(), added=tuple)
        yield completions
        yield Composer(completions)

    def on_composer_sent(self, sent: Composer.Sent) -> None:
        self.messages.append(sent.text)

    def on_composer_entered(self) -> None:
        self.messages.append("entered")


@pytest.mark.parametrize("key", ["enter", "ctrl+s", "alt+s"])
def test_a_prompt_is_sent_though_the_window_loses_the_focus_at_once(key: str) -> None:
    """Keys and the loss arrive in one piece over a slow connection."""

    async def typed() -> list[str]:
        app = Prompt()
        async with app.run_test() as pilot:
            composer = app.query_one(Composer)
            composer.send_by((key,), key)
            composer.focus()
            await pilot.pause()
            for name in ("h", "i"):
                app.post_message(events.Key(name, name))
            app.post_message(events.Key(key, "s" if key == "alt+s" else None))
            app.post_message(events.AppBlur())
            await pilot.pause()
            return app.messages

    assert asyncio.run(typed()) == ["hi", "entered"]
