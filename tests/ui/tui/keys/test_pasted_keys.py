"""Keys of one read: which Enter sends, and which is a line end of a paste."""

from __future__ import annotations

import pytest
from textual import events
from textual._xterm_parser import XTermParser

from holdfast.ui.tui.keys.pasted_keys import is_pasted_enter, mark_pasted_enters

SENT, LINE = "<send>", "<line>"


def read(typed: str) -> str:
    """Return the text of the keys, with a mark for each Enter and the name of each other key."""
    shown: list[str] = []
    for event in mark_pasted_enters(XTermParser(debug=False).feed(typed)):
        if isinstance(event, events.Paste):
            shown.append(f"<paste {event.text!r}>")
        elif isinstance(event, events.Key) and event.key == "enter":
            shown.append(LINE if is_pasted_enter(event) else SENT)
        elif isinstance(event, events.Key):
            shown.append(event.character if event.is_printable and event.character else f"<{event.key}>")
    return "".join(shown)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("hello\r", f"hello{SENT}"),
        ("\r", SENT),
        ("alpha\rbeta\r", f"alpha{LINE}beta{SENT}"),
        ("alpha\rbeta", f"alpha{LINE}beta"),
        ("x\r\r", f"x{SENT}{SENT}"),
        ("a\r\rb\r\r", f"a{LINE}{LINE}b{SENT}{SENT}"),
        ("a\r\nb\r\n", f"a{LINE}b{SENT}"),
        ("a\r\n\r\nb\r\n", f"a{LINE}{LINE}b{SENT}"),
        ("a\nb\r", f"a<ctrl+j>b{SENT}"),
        ("a\r\tb\r", f"a{LINE}<tab>b{SENT}"),
        ("h\u00f6re\r\u4e16\u754c\r", f"h\u00f6re{LINE}\u4e16\u754c{SENT}"),
        ("go\r\x7fmore\r", f"go{SENT}<backspace>more{SENT}"),
        ("go\r\x1b[Amore", f"go{SENT}<up>more"),
        ("go\r\x03", f"go{SENT}<ctrl+c>"),
        ("go\r\x1b[200~a\rb\x1b[201~", f"go{SENT}<paste 'a\\rb'>"),
        ("\x1b[200~a\rb\x1b[201~\r", f"<paste 'a\\rb'>{SENT}"),
        ("one\r\rtwo\x7f\r", f"one{LINE}{LINE}two<backspace>{SENT}"),
    ],
)
def test_an_enter_that_text_follows_is_a_line_end(typed: str, meant: str) -> None:
    assert read(typed) == meant
