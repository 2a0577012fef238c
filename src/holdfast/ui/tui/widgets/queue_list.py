"""The messages that wait to be sent, above the composer."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.widgets import Static

from holdfast.text import literal

QUEUE_ROWS = 4
"""Messages that are shown; of more, their number."""


def queue_text(messages: Sequence[str]) -> Text:
    """Return one line for each message, in the order in which they will be sent."""
    shown = messages if len(messages) <= QUEUE_ROWS else messages[: QUEUE_ROWS - 1]
    lines = [f"↳ {literal(' '.join(message.split()))}" for message in shown]
    if len(shown) < len(messages):
        lines.append(f"  … {len(messages) - len(shown)} more")
    return Text("\n".join(lines), "dim", no_wrap=True, overflow="ellipsis")


class QueueList(Static):
    """The list; it takes no room while nothing waits."""

    def __init__(self) -> None:
        super().__init__(id="queue", markup=False)

    def show(self, messages: Sequence[str]) -> None:
        """Show these messages."""
        self.update(queue_text(messages))
        self.display = bool(messages)
