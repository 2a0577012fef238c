"""What a planned call will do, as fragments: a command as code, a change as a diff with line numbers, a plan as text.

One rule: nothing is left out or hidden, because the user approves what is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.text import literal
from holdfast.tools.tool import Plan
from holdfast.ui.tui.render.call_renderer import Diff
from holdfast.ui.tui.render.diff import Change, paired
from holdfast.ui.tui.render.lines import Fragment, clean
from holdfast.ui.tui.render.markdown import Code, Markdown
from holdfast.ui.tui.render.plain_text import PIECE, Text

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def plan_fragments(plan: Plan) -> list[Fragment]:
    """Return the fragments of what a call will do, none if the question says it all."""
    if not plan.detail.strip():
        return []
    if plan.is_for_the_user:
        return Markdown().pieces(literal(plan.detail))
    lines = tuple(clean(literal(plan.detail)).rstrip("\n").split("\n"))
    if plan.change is not None and lines[0].startswith("---"):
        return _diff(lines[2:])
    if plan.effect == "execute":
        return [Code(lines[at : at + PIECE], "bash", above=False) for at in range(0, len(lines), PIECE)]
    return [Text(lines[at : at + PIECE], "text") for at in range(0, len(lines), PIECE)]


def _diff(lines: tuple[str, ...]) -> list[Fragment]:
    shown = tuple(changes_of(lines))
    digits = max((len(str(change.number)) for change in shown if change.number is not None), default=0)
    return [Diff(shown[at : at + PIECE], whole=True, digits=digits) for at in range(0, len(shown), PIECE)]


def changes_of(lines: tuple[str, ...]) -> Iterator[Change]:
    """Yield the lines of a unified diff, without its file names; removed lines have their old number."""
    old = new = 0  # 0: unknown, because lines were left out
    removed: list[Change] = []
    added: list[Change] = []

    def block() -> Iterator[Change]:
        yield from paired(removed, added) if len(removed) == len(added) else (*removed, *added)
        removed.clear()
        added.clear()

    for at, line in enumerate(lines):
        sign, text = line[:1], line[1:]
        if sign == "-":
            if added:
                yield from block()
            removed.append(Change("-", text, old or None))
            old += bool(old)
            continue
        if sign == "+":
            added.append(Change("+", text, new or None))
            new += bool(new)
            continue
        yield from block()
        if found := _HUNK.match(line):
            old, new = int(found[1]), int(found[2])
            if at:
                yield Change("…", "")
        elif sign in (" ", ""):
            yield Change(" ", text, new or None)
            old += bool(old)
            new += bool(new)
        else:
            if sign != "\\":
                old = new = 0
            yield Change(" ", line)
    yield from block()
