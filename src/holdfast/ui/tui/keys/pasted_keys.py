"""Recognizes a paste from a terminal that does not mark it: keys that arrive in one read, with an Enter among them.

A terminal with bracketed paste says where a paste begins and ends. A script, a slow connection or an old terminal does
not, and its line ends look like the Enter key. No user types so fast that a letter arrives in the same read as the
Enter before it. So an Enter that text follows in one read is a line end of a paste, and one that ends the read sends.

Example: `fix it⏎` of a script sends once. `alpha⏎beta⏎` sends one prompt of two lines. `x⏎⏎` sends once: no text
follows the first Enter, and the second finds an empty composer.

A long paste comes in several reads, as the terminal's buffer is small. An Enter that ends a long read may be in the
middle of one, so what follows at once belongs to it.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual import events
from textual.message import Message

LONG_READ = 1_024
"""Bytes of a read that no keyboard types, so that more of a paste may follow."""

MORE_WITHIN = 0.01
"""Seconds within which the next read of a paste arrives."""

LONGEST_PASTE = 1 << 20
"""Bytes of a paste that are put together; what follows is taken as keys."""

_LINE_END = "\n"
"""The character of an Enter that is a line end; that of the key itself is "\\r"."""

_BETWEEN = frozenset({"ctrl+j", "tab"})
"""The other keys that a pasted text may have between its letters."""


def is_pasted_enter(event: events.Key) -> bool:
    """Return whether this Enter is a line end of a paste."""
    return event.key == "enter" and event.character == _LINE_END


def mark_pasted_enters(read: Iterable[Message]) -> list[Message]:
    """Return the events of one read: each Enter that text follows is a line end, and CR LF is one Enter."""
    marked: list[Message] = []
    text_follows = False
    for event in reversed(list(read)):
        if not isinstance(event, events.Key):
            text_follows = False
            marked.append(event)
        elif event.key == "enter":
            if marked and isinstance(line_feed := marked[-1], events.Key) and line_feed.key == "ctrl+j":
                marked.pop()
            marked.append(events.Key("enter", _LINE_END) if text_follows else event)
        else:
            text_follows = event.is_printable or (text_follows and event.key in _BETWEEN)
            marked.append(event)
    return marked[::-1]
