"""An edit as a diff: removed and added lines, in the colours of their language, with the changed words highlighted.

Long texts are not compared line by line or word by word; a line that is too long has one colour.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import msgspec
from rich.cells import cell_len
from rich.style import Style

from holdfast.ui.tui.render.code import coloured_lines
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
    """A line of a diff: `sign` is `-`, `+`, ` `, or `…` for skipped lines; `words` are the changed ranges.

    The text of skipped lines is their number, "" if unknown; `hidden` are the lines, if known.
    """

    sign: str
    text: str
    number: int | None = None
    words: tuple[tuple[int, int], ...] = ()
    hidden: tuple[Change, ...] = ()


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
    return fold_unchanged(tuple(_compared(old, new, first)), _AROUND)


def folded_lines(count: int, hidden: tuple[Change, ...] = ()) -> Change:
    """Return the line that replaces `count` unchanged ones; `hidden` are these."""
    return Change("…", f"{count:,} unchanged line{'s' * (count != 1)}" if count > 0 else "", hidden=hidden)


def fold_unchanged(lines: Sequence[Change], around: int) -> tuple[Change, ...]:
    """Return the lines with unchanged runs folded, except `around` lines next to a change; a single line stays."""
    found: list[Change] = []
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and lines[end].sign == " ":
            end += 1
        first = min(end, at + around) if at and lines[at - 1].sign in "-+" else at
        last = max(first, end - around) if end < len(lines) and lines[end].sign in "-+" else end
        if last - first > 1:
            found += (*lines[at:first], folded_lines(last - first, tuple(lines[first:last])), *lines[last:end])
        else:
            found += lines[at:end]
        found += lines[end : end + 1]
        at = end + 1
    return tuple(found)


def with_hidden(lines: Iterable[Change]) -> tuple[Change, ...]:
    """Return the lines with folded ones expanded, if they are known."""
    return tuple(each for line in lines for each in (line.hidden or (line,)))


def language_of(path: str) -> str:
    """Return the extension of a file's name, or the name itself, as the name of a language."""
    name = path.rpartition("/")[2].lower()
    return name.rpartition(".")[2]


def draw_changes(
    changes: Sequence[Change], styles: Styles, width: int, *, digits: int, wrap: bool, language: str = ""
) -> Iterator[DrawnLine]:
    """Yield the lines of the changes, folded if `wrap`, else cut to one line each; the background fills `width`."""
    colours = _colours(changes, language, styles) if language else [()] * len(changes)
    for change, runs in zip(changes, colours, strict=True):
        yield from _draw(change, runs, styles, width, digits=digits, wrap=wrap)


def _colours(changes: Sequence[Change], language: str, styles: Styles) -> list[Sequence[StyledRun]]:
    """Return the coloured text of each line: new and unchanged lines form one text, removed ones another."""
    found: list[Sequence[StyledRun]] = [()] * len(changes)
    for signs in (" +", "-"):
        places = [at for at, change in enumerate(changes) if change.sign in signs]
        text = "\n".join(changes[at].text for at in places)
        for at, runs in zip(places, coloured_lines(text, language, styles), strict=False):
            line = changes[at].text
            divided = sum(cell_len(value) for value, _ in runs) == cell_len(line)  # not within an emoji
            if divided and "".join(value for value, _ in runs) == line:
                found[at] = runs
    return found


def _draw(
    change: Change, coloured: Sequence[StyledRun], styles: Styles, width: int, *, digits: int, wrap: bool
) -> Iterator[DrawnLine]:
    if change.sign == "…":
        key = " · ctrl+o" if change.hidden else ""
        yield make_line(crop([(f"⋮ {change.text}{key}" if change.text else "⋮", styles.faint)], width))
        return
    base, word = {
        "+": (styles.added, styles.added_word),
        "-": (styles.removed, styles.removed_word),
    }.get(change.sign, (styles.dim, styles.dim))
    number = "" if not digits else f"{'' if change.number is None else change.number:>{digits}} "
    margin: list[StyledRun] = [(number, styles.number)] if number else []
    margin.append((f"{change.sign} ", base))
    plain = styles.text if change.sign == " " and coloured else base
    runs = _highlight_words(
        change, _on_background(coloured, plain, styles) if coloured else [(change.text, base)], word
    )
    room = width - sum(len(text) for text, _ in margin)
    if not wrap:
        yield make_line(pad(crop(runs, room), room, base) if change.sign != " " else crop(runs, room), margin=margin)
        return
    rest: list[StyledRun] = [(" " * len(number), styles.number), ("  ", base)]
    for folded in fold_runs(runs, width, first=margin, rest=rest, words=False):
        yield folded._replace(strip=folded.strip.extend_cell_length(width, base)) if change.sign != " " else folded


def _lines(text: str) -> list[str]:
    return [plain[:_LONGEST] for plain in clean(text).removesuffix("\n").split("\n")] if text else []


def _run(sign: str, texts: Sequence[str], at: int, first: int | None) -> Iterator[Change]:
    """Yield lines of one kind; `first` is the file's number of line `at`."""
    for number, text in enumerate(texts, at + (first or 0)):
        yield Change(sign, text, number if first is not None else None)


def _compared(old: Sequence[str], new: Sequence[str], first: int | None) -> Iterator[Change]:
    if old == new:
        return
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from _run(" ", new[j1:j2], j1, first)
            continue
        removed, added = _run("-", old[i1:i2], i1, first), _run("+", new[j1:j2], j1, first)
        yield from mark_changed_words(removed, added) if tag == "replace" and i2 - i1 == j2 - j1 else (*removed, *added)


def mark_changed_words(removed: Iterable[Change], added: Iterable[Change]) -> Iterator[Change]:
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


def _on_background(runs: Sequence[StyledRun], base: Style, styles: Styles) -> list[StyledRun]:
    """Return coloured text on the background of `base`; plain text has that of `base`."""
    return [
        (text, base if style == styles.block else Style(color=style.color, bgcolor=base.bgcolor, italic=style.italic))
        for text, style in runs
    ]


def _highlight_words(change: Change, runs: Sequence[StyledRun], word: Style) -> list[StyledRun]:
    """Return the text with the changed ranges on the background of `word`."""
    if not change.words:
        return list(runs)
    marked: list[StyledRun] = []
    at = 0
    for text, style in runs:
        cuts = {0, len(text)}
        cuts |= {each - at for words in change.words for each in words if at < each < at + len(text)}
        for begin, end in pairwise(sorted(cuts)):
            changed = any(first <= at + begin < last for first, last in change.words)
            marked.append((text[begin:end], _highlighted(style, word) if changed else style))
        at += len(text)
    return marked


def _highlighted(style: Style, word: Style) -> Style:
    return Style(color=style.color, bgcolor=word.bgcolor, italic=style.italic) if style.color else word
