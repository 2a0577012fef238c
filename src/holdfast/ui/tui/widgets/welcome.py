"""The text on an empty screen: version, folder and model, the last session here, and three hints that fit."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
from rich.text import Text
from textual.widgets import Static

from holdfast import __version__
from holdfast.session.catalog import Catalog, SessionSummary
from holdfast.system.git import repository
from holdfast.text import literal
from holdfast.ui.view.columns import age, home, single_line

SHOWN_HINTS = 3

INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md")
"""Files with the instructions of a project."""

_TITLE = 60

_AROUND = 6
"""Rows of the screen outside the welcome text: its margin, the composer with its margins, and the status line."""


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """What the welcome text depends on; until it `is_complete`, only `cwd` and `model` are known."""

    cwd: str
    model: str
    is_complete: bool = False
    last: SessionSummary | None = None
    """The last session in `cwd`."""
    has_instructions: bool = True
    repository: bool = True


def situation_of(cwd: Path, model: str, catalog: Catalog) -> Situation:
    """Return the situation of the folder. Raise `UsageError` if the folder of all sessions cannot be read."""
    root = repository(cwd)
    folders = [cwd, *cwd.parents]
    within = folders[: folders.index(root) + 1] if root is not None else [cwd]
    last = catalog.latest(cwd)
    return Situation(
        cwd=str(cwd),
        model=model,
        is_complete=True,
        last=last,
        has_instructions=any(os.path.lexists(folder / name) for folder in within for name in INSTRUCTIONS),
        repository=root is not None,
    )


def hints(situation: Situation) -> tuple[str, ...]:
    """Return the hints that fit best, at most `SHOWN_HINTS`."""
    found: list[str] = []
    if not situation.model:
        found.append("No model yet: /setup sets one up, /model demo needs no key")
    if situation.is_complete and not situation.has_instructions:
        found.append("Tip: ask for an AGENTS.md; every session here will read it")
    if situation.is_complete and not situation.repository:
        found.append("Not a git repository: !git init lets /diff show what a session changed")
    found.append("/help for keys and commands · @ to mention a file")
    found.append("Esc interrupts · Esc Esc rewinds · your work is always saved: holdfast -c resumes")
    found.append("Shift+Tab changes what may run without asking")
    return tuple(found[:SHOWN_HINTS])


def welcome_text(situation: Situation, *, now: float) -> Text:
    """Return the text."""
    text = Text("holdfast", "bold").append(f" {__version__}\n", "not bold dim")
    text.append(literal(home(situation.cwd)), "not bold dim")
    text.append(f" · {literal(situation.model)}" if situation.model else "", "not bold dim")
    if situation.last is not None:
        title = single_line(situation.last.title)[:_TITLE] or "(no prompt yet)"
        text.append(f"\n\nLast here, {age(now - situation.last.modified)}: ", "not bold dim")
        text.append(title, "not bold").append(f"  /resume {situation.last.id}", "not bold dim")
    return text.append("\n\n" + "\n".join(hints(situation)), "not bold dim")


class Welcome(Static):
    """The widget."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id, markup=False)
        self._situation: Situation | None = None

    def fit(self, rows: int) -> None:
        """Leave room for the prompt on a screen of `rows` rows: on a small one, the text is cut."""
        self.styles.max_height = max(1, rows - _AROUND)

    def greet(self, *, cwd: str, model: str) -> None:
        """Show folder and model; everything known about the same folder stays."""
        known = self._situation
        if known is None or known.cwd != cwd:
            known = Situation(cwd=cwd, model=model)
        self.learn(msgspec.structs.replace(known, model=model))

    def learn_last(self, last: SessionSummary | None) -> None:
        """Show another last session, None if there is none."""
        if self._situation is not None:
            self.learn(msgspec.structs.replace(self._situation, last=last))

    def learn(self, situation: Situation) -> None:
        """Show this situation."""
        if situation != self._situation:
            self._situation = situation
            self.update(welcome_text(situation, now=time.time()))
