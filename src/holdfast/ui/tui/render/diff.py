"""An edit as a diff: removed and added lines, with the changed words highlighted."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import msgspec
from rich.style import Style

from holdfast.ui.tui.render.lines import DrawnLine, StyledRun, clean, crop, fold_runs, make_line, pad
from holdfast.ui.tui.render.styles import Styles
from holdfast.ui.view.edit_changes import EditChange

_COMPARED = 400
"""Maximum lines per side to compare; above it, all old lines are removed and all new ones added."""

_AROUND = 2  # unchanged lines shown around changes
_ALIKE = 0.5  # minimum similarity of two lines for comparing words
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST = 400


class Change(msgspec.Struct, frozen=True):
    """A line of a diff: `sign` is `-`, `+`, ` `, or `…` for skipped lines; `words` are the changed ranges."""

    sign: str
    text: str
    number: int | None = None
    words: tuple[tuple[int, int], ...] = ()


@lru_cache(maxsize=128)
def changes(edit: EditChange) -> tuple[Change, ...]:
    """Return the lines of an edit, numbered if their position is known; for a whole new file, all are added."""
    new = _lines(edit.new)
    if edit.old is None:
        return tuple(Change("+", text, number) for number, text in enumerate(new, 1))
    old = _lines(edit.old)
    first = None if edit.everywhere else edit.line
    if max(len(old), len(new)) > _COMPARED:
        return (*_run("-", old, 0, first), *_run("+", new, 0, first))
    return tuple(_compared(old, new, first))


def draw_change(change: Change, look: Styles, width: int, *, digits: int, whole: bool) -> Iterator[DrawnLine]:
    """Yield the lines of a change, folded if `whole`, else cut to one, with the background up to `width`."""
    if change.sign == "…":
        yield make_line([("⋮", look.faint)])
        return
    base, word = {
        "+": (look.added, look.added_word),
        "-": (look.removed, look.removed_word),
    }.get(change.sign, (look.dim, look.dim))
    number = "" if not digits else f"{'' if change.number is None else change.number:>{digits}} "
    margin: list[StyledRun] = [(number, look.number)] if number else []
    margin.append((f"{change.sign} ", base))
    runs = _marked(change, base, word)
    room = width - sum(len(text) for text, _ in margin)
    if not whole:
        yield make_line(pad(crop(runs, room), room, base) if change.sign != " " else crop(runs, room), margin=margin)
        return
    rest: list[StyledRun] = [(" " * len(number), look.number), ("  ", base)]
    for folded in fold_runs(runs, width, first=margin, rest=rest, words=False):
        yield folded._replace(strip=folded.strip.extend_cell_length(width, base)) if change.sign != " " else folded


def _lines(text: str) -> list[str]:
    return [plain[:_LONGEST] for plain in clean(text).removesuffix("\n").split("\n")] if text else []


def _run(sign: str, texts: Sequence[str], at: int, first: int | None) -> Iterator[Change]:
    """Yield lines of one kind; `first` is the file's number of line `at`."""
    for number, text in enumerate(texts, at + (first or 0)):
        yield Change(sign, text, number if first is not None else None)


def _compared(old: Sequence[str], new: Sequence[str], first: int | None) -> Iterator[Change]:
    groups = list(difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_AROUND))
    for number, group in enumerate(groups):
        if number:
            yield Change("…", "")
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from _run(" ", new[j1:j2], j1, first)
                continue
            removed, added = _run("-", old[i1:i2], i1, first), _run("+", new[j1:j2], j1, first)
            yield from paired(removed, added) if tag == "replace" and i2 - i1 == j2 - j1 else (*removed, *added)


def paired(removed: Iterable[Change], added: Iterable[Change]) -> Iterator[Change]:
    """Yield replaced lines and their replacements, with the changed words."""
    pairs = [(old, new, _words(old.text, new.text)) for old, new in zip(removed, added, strict=True)]
    yield from (msgspec.structs.replace(old, words=words) for old, _, (words, _) in pairs)
    yield from (msgspec.structs.replace(new, words=words) for _, new, (_, words) in pairs)


def _words(before: str, after: str) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """Return the changed ranges of both lines; none if they have little in common."""
    a, b = _WORDS.findall(before), _WORDS.findall(after)
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return (), ()
    removed: list[tuple[int, int]] = []
    added: list[tuple[int, int]] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            removed.append((len("".join(a[:i1])), len("".join(a[:i2]))))
            added.append((len("".join(b[:j1])), len("".join(b[:j2]))))
    return tuple(removed), tuple(added)


def _marked(change: Change, base: Style, word: Style) -> list[StyledRun]:
    runs: list[StyledRun] = []
    at = 0
    for begin, end in change.words:
        runs += [(change.text[at:begin], base), (change.text[begin:end], word)]
        at = end
    return [*runs, (change.text[at:], base)]
