"""An edit as a diff: what goes and what comes, line by line, the words that differ in stronger colours."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from rich.style import Style

from holdfast.ui.blocks import Edit
from holdfast.ui.tui.lines import Line, Run, clean, crop, fold, line, pad
from holdfast.ui.tui.look import Look

_COMPARED = 400
"""Lines on each side up to which they are compared; of more, all go and all come."""

_AROUND = 2  # lines that stay, shown around those that change
_ALIKE = 0.5  # how much of two lines must be the same for their words to be compared
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Change:
    """A line of a diff: `sign` is `-`, `+`, ` ` or `…` for lines passed over; `words` are the places that differ."""

    sign: str
    text: str
    number: int | None = None
    words: tuple[tuple[int, int], ...] = ()


@lru_cache(maxsize=128)
def changes(edit: Edit) -> tuple[Change, ...]:
    """Return the lines of an edit, numbered if it is known where they are; of a file written whole all are new."""
    new = _lines(edit.new)
    if edit.old is None:
        return tuple(Change("+", text, number) for number, text in enumerate(new, 1))
    old = _lines(edit.old)
    first = None if edit.everywhere else edit.line
    if max(len(old), len(new)) > _COMPARED:
        return (*_run("-", old, 0, first), *_run("+", new, 0, first))
    return tuple(_compared(old, new, first))


def draw_change(change: Change, look: Look, width: int, *, digits: int, whole: bool) -> Iterator[Line]:
    """Yield the lines of a change, `whole` or cut to one, on the colour of its sign up to `width`."""
    if change.sign == "…":
        yield line([("⋮", look.faint)])
        return
    base, word = {
        "+": (look.added, look.added_word),
        "-": (look.removed, look.removed_word),
    }.get(change.sign, (look.dim, look.dim))
    number = "" if not digits else f"{'' if change.number is None else change.number:>{digits}} "
    margin: list[Run] = [(number, look.number)] if number else []
    margin.append((f"{change.sign} ", base))
    runs = _marked(change, base, word)
    room = width - sum(len(text) for text, _ in margin)
    if not whole:
        yield line(pad(crop(runs, room), room, base) if change.sign != " " else crop(runs, room), margin=margin)
        return
    rest: list[Run] = [(" " * len(number), look.number), ("  ", base)]
    for folded in fold(runs, width, first=margin, rest=rest, words=False):
        yield folded._replace(strip=folded.strip.extend_cell_length(width, base)) if change.sign != " " else folded


def _lines(text: str) -> list[str]:
    return [plain[:_LONGEST] for plain in clean(text).removesuffix("\n").split("\n")] if text else []


def _run(sign: str, texts: Sequence[str], at: int, first: int | None) -> Iterator[Change]:
    """Yield lines of one kind; the file's line `first` is the one `at` lines above them."""
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
            gone, come = _run("-", old[i1:i2], i1, first), _run("+", new[j1:j2], j1, first)
            yield from _paired(gone, come) if tag == "replace" and i2 - i1 == j2 - j1 else (*gone, *come)


def _paired(gone: Iterable[Change], come: Iterable[Change]) -> Iterator[Change]:
    """Yield lines that others take the place of, with the words that differ."""
    pairs = [(old, new, _words(old.text, new.text)) for old, new in zip(gone, come, strict=True)]
    yield from (replace(old, words=words) for old, _, (words, _) in pairs)
    yield from (replace(new, words=words) for _, new, (_, words) in pairs)


def _words(before: str, after: str) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """Return the places in each line that the other does not have; none if they have little in common."""
    a, b = _WORDS.findall(before), _WORDS.findall(after)
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return (), ()
    gone: list[tuple[int, int]] = []
    come: list[tuple[int, int]] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            gone.append((len("".join(a[:i1])), len("".join(a[:i2]))))
            come.append((len("".join(b[:j1])), len("".join(b[:j2]))))
    return tuple(gone), tuple(come)


def _marked(change: Change, base: Style, word: Style) -> list[Run]:
    runs: list[Run] = []
    at = 0
    for begin, end in change.words:
        runs += [(change.text[at:begin], base), (change.text[begin:end], word)]
        at = end
    return [*runs, (change.text[at:], base)]
