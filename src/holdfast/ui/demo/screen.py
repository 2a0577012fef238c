"""How the demo looks: headings, what the agents say and do, lists of messages, and claims, in 80 columns or a few more.

Colour only on a terminal, and not if NO_COLOR says so.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from textwrap import fill
from typing import Literal, TextIO

from holdfast.calls import Outcome
from holdfast.session.conversation import Conversation
from holdfast.text import printable
from holdfast.ui.account import MARKS
from holdfast.ui.demo.listing import OPEN, rows

Colour = Literal["plain", "bold", "dim", "green", "red", "yellow", "cyan"]

_CODES: dict[Colour, str] = {"bold": "1", "dim": "2", "green": "32", "red": "31", "yellow": "33", "cyan": "36"}
_OF_OUTCOME: dict[Outcome, Colour] = {
    "ok": "green",
    "failed": "red",
    "denied": "red",
    "not_started": "yellow",
    "interrupted": "yellow",
}
_NARROWEST, _WIDEST = 40, 100
_INDENT = "  "


class Screen:
    """A stream of text for a person, wrapped and perhaps coloured."""

    def __init__(self, out: TextIO, environ: Mapping[str, str]) -> None:
        self._out = out
        self._coloured = out.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
        self._width = min(max(shutil.get_terminal_size().columns - 1, _NARROWEST), _WIDEST)
        self._word = ""  # streamed, and not known to be whole
        self._column = 0

    def say(self, text: str = "", colour: Colour = "plain", *, indent: str = "") -> None:
        """Print a paragraph."""
        self.end_stream()
        self._line(fill(printable(text), self._width, initial_indent=indent, subsequent_indent=indent), colour)

    def heading(self, text: str, look: str = "") -> None:
        """Begin a step, with what to look at in it."""
        self.say()
        self.say(text, "bold")
        if look:
            self.say(look, "dim", indent=_INDENT)

    def command(self, line: str) -> None:
        """Print a command as a person would type it, on one line however long, to be copied."""
        self.end_stream()
        self._line(f"{_INDENT}$ {printable(line)}", "cyan")

    def stream(self, text: str) -> None:
        """Print text as it comes, a word at a time."""
        *words, self._word = (self._word + printable(text)).replace("\n", " ").split(" ")
        for word in words:
            self._put(word)

    def end_stream(self) -> None:
        """End the line of streamed text, if one was begun."""
        self._put(self._word)
        self._word = ""
        if self._column:
            self._line("")
            self._column = 0

    def call(self, outcome: Outcome | None, line: str, last: str = "") -> None:
        """Print a call that ended, or that still runs if `outcome` is None, with the last line it printed."""
        self.end_stream()
        mark, colour = ("…", "plain") if outcome is None else (MARKS[outcome], _OF_OUTCOME[outcome])
        word = "" if outcome in (None, "ok") else outcome.replace("_", " ")
        said = " · ".join(part for part in (line, word, last) if part)
        self._line(f"{_INDENT}{self._painted(mark, colour)} {_clip(said, self._width - len(_INDENT) - 2)}")

    def messages(self, conversation: Conversation, *, since: int = 0) -> None:
        """Print the message list from index `since` on, a line for each part."""
        self.end_stream()
        shown = -1
        for row in rows(conversation):
            if row.place >= since:
                message = "" if row.place == shown else f"{row.place:>3} {row.role}"
                shown = row.place
                head = f"{_INDENT}{message:<13} {row.part:<7} {row.call:<9}  "
                said = _clip(row.said, self._width - len(head))
                colour: Colour = "yellow" if row.part == OPEN or row.said[:1] in "◐○" else "plain"
                self._line(self._painted(head, "dim") + self._painted(said, colour))

    def check(self, said: str, *, passed: bool) -> None:
        """Print a claim and whether it holds."""
        mark, colour = ("✓", "green") if passed else ("✗ WRONG:", "red")
        text = fill(printable(said), self._width, initial_indent=f"{_INDENT}{mark} ", subsequent_indent=_INDENT * 2)
        self._line(text.replace(mark, self._painted(mark, colour), 1))

    def _put(self, word: str) -> None:
        if not word:
            return
        if self._column and self._column + 1 + len(word) > self._width:
            self._line("")
            self._column = 0
        lead = " " if self._column else _INDENT
        self._write(lead + word)
        self._column += len(lead) + len(word)

    def _line(self, text: str, colour: Colour = "plain") -> None:
        self._write(self._painted(text, colour) + "\n")

    def _write(self, text: str) -> None:
        encoding = self._out.encoding or "utf-8"  # where there is no Unicode: question marks, not a traceback
        self._out.write(text.encode(encoding, "replace").decode(encoding))
        self._out.flush()

    def _painted(self, text: str, colour: Colour) -> str:
        code = _CODES.get(colour)
        return f"\x1b[{code}m{text}\x1b[0m" if self._coloured and code and text else text


def _clip(text: str, width: int) -> str:
    line = " ".join(printable(text).split())
    return line if len(line) <= width else line[: width - 1] + "…"
