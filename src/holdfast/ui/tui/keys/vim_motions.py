"""vim's motions over a text, and its words. Pure."""

from __future__ import annotations

import msgspec

_FIND_LENGTH = 2


class Motion(msgspec.Struct, frozen=True):
    """Where a motion goes; an operator takes the character there too if `inclusive`, whole lines if `lines`."""

    to: int
    inclusive: bool = False
    lines: bool = False


def motion(  # noqa: PLR0911, PLR0913 - one case for each motion, and what each depends on
    name: str,
    count: int | None,
    text: str,
    cursor: int,
    *,
    found: str = "",
    operator: bool = False,
    may_stay: bool = False,
    column: int | None = None,
) -> Motion | None:
    """Return where the motion goes from `cursor`, None if there is no such motion, or nowhere to go.

    `found` is the last find, for `;` and `,`. `operator` is whether the motion follows an operator; with `may_stay`,
    `e` may stay on the end of a word, as in `cw`. `column` is the one that `j` and `k` keep, None for the cursor's.
    """
    times = count or 1
    start, end = line_ends(text, cursor)
    match name:
        case "h" | "left" | "backspace":
            return Motion(max(start, cursor - times)) if cursor > start else None
        case "l" | "right" | " ":
            last = end if operator else end - 1
            return Motion(min(last, cursor + times)) if cursor < last else None
        case "0" | "home":
            return Motion(start)
        case "^":
            return Motion(start + _blank(text[start:end]))
        case "$" | "end":
            return _line_end(times, text, cursor)
        case "j" | "down":
            return _vertical(times, text, cursor, column)
        case "k" | "up":
            return _vertical(-times, text, cursor, column)
        case "gg":
            return _to_line(count or 1, text)
        case "G":
            return _to_line(count or text.count("\n") + 1, text)
        case "w":
            return _words(times, text, cursor, operator=operator)
        case "b":
            return _back_words(times, text, cursor)
        case "e":
            return _word_ends(times, text, cursor, may_stay=may_stay, operator=operator)
        case ";" | ",":
            if not found:
                return None
            key = found[0] if name == ";" else found[0].swapcase()
            return _find(key, found[1:], times, text, cursor, again=True)
        case _:
            if len(name) == _FIND_LENGTH and name[0] in "fFtT":
                return _find(name[0], name[1], times, text, cursor)
            return None


def character_kind(character: str) -> int:
    """Return the kind of a character: blank, other, or of a word."""
    return 0 if character in " \t\n" else 2 if character.isalnum() or character == "_" else 1


def line_ends(text: str, at: int) -> tuple[int, int]:
    """Return where the line with `at` begins and ends."""
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end


def _blank(line: str) -> int:
    blank = len(line) - len(line.lstrip(" \t"))
    return min(blank, max(0, len(line) - 1))


def _line_end(times: int, text: str, cursor: int) -> Motion | None:
    start, end = line_ends(text, cursor)
    for _ in range(times - 1):
        if end >= len(text):
            return None
        start, end = line_ends(text, end + 1)
    return Motion(max(start, end - 1), inclusive=end > start)


def _vertical(by: int, text: str, cursor: int, column: int | None) -> Motion | None:
    lines = text.split("\n")
    row = text.count("\n", 0, cursor)
    column = cursor - line_ends(text, cursor)[0] if column is None else column
    to = max(0, min(row + by, len(lines) - 1))
    if to == row:
        return None
    at = sum(len(line) + 1 for line in lines[:to])
    return Motion(at + min(column, max(0, len(lines[to]) - 1)), lines=True)


def _to_line(number: int, text: str) -> Motion:
    lines = text.split("\n")
    row = min(number, len(lines)) - 1
    return Motion(sum(len(line) + 1 for line in lines[:row]) + _blank(lines[row]), lines=True)


def _words(times: int, text: str, cursor: int, *, operator: bool) -> Motion | None:
    at = cursor
    for number in range(times):
        if at >= len(text) - (not operator):
            return None if at == cursor else Motion(at)
        before = at
        at = _next_word(text, at)
        if operator and number == times - 1 and "\n" in text[before:at]:  # the last word of a line, not its end
            line_end = line_ends(text, before)[1]
            if before < line_end:
                return Motion(line_end)
    if at >= len(text) and not operator:
        return Motion(max(0, len(text) - (not text.endswith("\n"))))
    return Motion(at)


def _next_word(text: str, at: int) -> int:
    kind = character_kind(text[at])
    if kind:
        while at < len(text) and character_kind(text[at]) == kind:
            at += 1
    while at < len(text) and character_kind(text[at]) == 0:
        if text[at] == "\n" and text[at + 1 : at + 2] == "\n":  # an empty line is a word
            return at + 1
        at += 1
    return at


def _back_words(times: int, text: str, cursor: int) -> Motion | None:
    at = cursor
    for _ in range(times):
        if at == 0:
            return None if at == cursor else Motion(at)
        at -= 1
        while at > 0 and character_kind(text[at]) == 0 and not (text[at] == "\n" and text[at - 1] == "\n"):
            at -= 1
        if text[at] == "\n":
            continue
        kind = character_kind(text[at])
        while kind and at > 0 and character_kind(text[at - 1]) == kind:
            at -= 1
    return Motion(at)


def _word_ends(times: int, text: str, cursor: int, *, may_stay: bool, operator: bool) -> Motion | None:
    at = cursor
    for number in range(times):
        if not (may_stay and number == 0):
            if at >= len(text) - 1:
                return None if at == cursor and not (operator and text) else Motion(at, inclusive=True)
            at += 1
        while at < len(text) and character_kind(text[at]) == 0:
            at += 1
        if at >= len(text):
            return Motion(max(cursor, len(text) - 1), inclusive=True)
        kind = character_kind(text[at])
        while at + 1 < len(text) and character_kind(text[at + 1]) == kind:
            at += 1
    return Motion(at, inclusive=True)


def _find(key: str, character: str, times: int, text: str, cursor: int, *, again: bool = False) -> Motion | None:
    start, end = line_ends(text, cursor)
    forward = key in "ft"
    at = cursor
    if again and key in "tT" and times == 1:  # it is before the character already
        step = 1 if forward else -1
        if text[at + step : at + step + 1] == character and start <= at + step < end:
            at += step
    for _ in range(times):
        at = text.find(character, at + 1, end) if forward else text.rfind(character, start, at)
        if at < 0:
            return None
    if key == "t":
        at -= 1
    elif key == "T":
        at += 1
    return Motion(at, inclusive=forward)


def word_object(name: str, text: str, cursor: int) -> tuple[int, int]:
    """Return the word under the cursor: `iw`, or `aw` with the space after it, else before it, but no indent."""
    start, end = line_ends(text, cursor)
    if start == end:
        return cursor, cursor
    begin, stop = _run(text, cursor, start, end)
    if name == "iw":
        return begin, stop
    if text[cursor] in " \t":
        return begin, _run(text, stop, start, end)[1] if stop < end else stop
    after = _run(text, stop, start, end)[1] if stop < end and text[stop] in " \t" else stop
    before = begin - (len(text[start:begin]) - len(text[start:begin].rstrip(" \t")))
    return (before if after == stop and before > start else begin), after


def _run(text: str, at: int, start: int, end: int) -> tuple[int, int]:
    """Return the characters of one kind around `at`, within a line."""
    kind = character_kind(text[at])
    begin = stop = at
    while begin > start and character_kind(text[begin - 1]) == kind:
        begin -= 1
    while stop < end and character_kind(text[stop]) == kind:
        stop += 1
    return begin, stop
