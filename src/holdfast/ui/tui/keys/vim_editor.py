"""vim's keys for the prompt: a state machine from keys to texts. Pure.

How it works. The editor has a mode and the keys of an incomplete command. `press` takes a key with the text and the
cursor, and returns both as they are afterwards. In insert mode it takes only Esc: the composer itself writes. A change
is one step of `u`; so is everything from `i` to Esc.

Why not a vim in a pseudo-terminal? The prompt has completions, marks for pastes, and its own keys.

Laws (`tests/ui/tui/keys/test_vim_laws.py`): after motions, a command and `p`, text and cursor are those of vim itself;
after any keys the cursor is in the text; `u`, often enough, gives the first text back.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from holdfast.ui.tui.keys.vim_motions import line_ends, motion, word_object
from holdfast.ui.tui.keys.vim_visual import Register, Selected, moved_selection, put_over

VimMode = Literal["insert", "normal", "visual", "visual line"]

_OPERATORS = frozenset("dcy")
_FINDS = frozenset("fFtT")
_VERTICAL = frozenset({"j", "k", "down", "up"})
_ALIASES = {"x": "dl", "X": "dh", "D": "d$", "C": "c$", "s": "cl", "S": "cc", "Y": "yy"}
"""Commands that are an operator with a motion."""

_MOST = 100_000
"""The largest count."""


class Edited(msgspec.Struct, frozen=True, kw_only=True):
    """A text with its cursor, counted in characters, the mode, and the selection of a visual mode."""

    text: str
    cursor: int
    mode: VimMode
    selected: Selected | None = None


class _Step(msgspec.Struct, frozen=True):
    text: str
    cursor: int


class VimEditor:
    """The mode, the register, the command being typed, and the changes that `u` undoes."""

    def __init__(self) -> None:
        self.mode: VimMode = "insert"
        self._pending = ""
        self._register = Register("", lines=False)
        self._find = ""
        """The last `f` or `t` with its character, for `;` and `,`."""
        self._column: int | None = None  # the one that `j` and `k` keep
        self._selected: Selected | None = None  # in visual mode
        self._selected_text = ""  # the text of the selection
        self._redo_steps: list[_Step] = []
        self._undo_steps: list[_Step] = []
        self._before: _Step | None = None  # the text before insert mode

    @property
    def pending(self) -> str:
        """Return the keys of an incomplete command, for the status line."""
        return self._pending

    def reset(self) -> None:
        """Begin a new prompt, in insert mode, without anything to undo."""
        self.mode, self._pending, self._before, self._column, self._selected = "insert", "", None, None, None
        self._undo_steps.clear()
        self._redo_steps.clear()

    def escape(self, text: str, cursor: int) -> Edited | None:
        """Return what Esc does, None in normal mode without an incomplete command: then it is not for the editor."""
        if self._selected is not None:
            self._pending = ""
            return self._normal(text, cursor)
        if self.mode == "normal":
            begun, self._pending = self._pending, ""
            return Edited(text=text, cursor=cursor, mode="normal") if begun else None
        self.mode = "normal"
        if self._before is not None and self._before.text != text:
            self._add_step(self._before)
        self._before = None
        return self._normal(text, cursor - 1 if cursor and text[cursor - 1] != "\n" else cursor)

    def press(self, key: str, text: str, cursor: int) -> Edited:
        """Return what a key does in normal mode, or in a visual one: there `cursor` is the end that moves."""
        if self._selected is not None and (self._selected_text, self._selected.cursor) != (text, cursor):
            self._normal(text, cursor)  # changed by other means: nothing is selected any more
        if self._before is None and self.mode == "insert":
            self._before = _Step(text, cursor)
        self._pending += key
        selected = self._selected
        done = (
            self._command(self._pending, text, cursor)
            if selected is None
            else self._visual(self._pending, selected, text)
        )
        if done is not None:
            self._pending = ""
            return done
        return Edited(text=text, cursor=cursor, mode=self.mode, selected=selected)

    # --- commands ---------------------------------------------------------------------------------------------------

    def _command(self, typed: str, text: str, cursor: int) -> Edited | None:
        """Return what the command does, None if it is incomplete."""
        count, rest = _counted(typed)
        if not rest:
            return None
        if rest[0] in _ALIASES and len(rest) == 1:
            rest = _ALIASES[rest[0]]
        if rest[0] in _OPERATORS:
            self._column = None
            return self._operate(rest[0], rest[1:], count, text, cursor)
        if rest[0] == "r":
            return None if len(rest) == 1 else self._replace(rest[1], count or 1, text, cursor)
        simple = self._simple(rest, count, text, cursor)
        if simple is not None:
            self._column = None
            return simple
        if rest == "g" or (rest[0] in _FINDS and len(rest) == 1):
            return None
        moved = motion(rest, count, text, cursor, found=self._last_find(rest), column=self._column)
        if rest not in _VERTICAL:
            self._column = _MOST if rest in ("$", "end") else None
        elif self._column is None:
            self._column = cursor - line_ends(text, cursor)[0]
        return self._normal(text, cursor if moved is None else moved.to)

    def _visual(  # noqa: PLR0911 - one case for each command
        self, typed: str, selected: Selected, text: str
    ) -> Edited | None:
        """Return what the command does with the selection, None if it is incomplete."""
        count, rest = _counted(typed)
        if not rest or rest in ("g", "i", "a") or (rest[0] in _FINDS and len(rest) == 1):
            return None
        begin, end = selected.span(text)
        match rest:
            case "v" | "V" if selected.lines == (rest == "V"):
                return self._normal(text, selected.cursor)
            case "v" | "V":
                return self._select(msgspec.structs.replace(selected, lines=rest == "V"), text)
            case "o":
                return self._select(
                    msgspec.structs.replace(selected, anchor=selected.cursor, cursor=selected.anchor, column=None), text
                )
            case "d" | "x" | "y" | "c" | "s":
                operator = {"x": "d", "s": "c"}.get(rest, rest)
                if selected.lines:
                    at = begin if operator == "y" and selected.anchor <= selected.cursor else selected.cursor
                    return self._lines_between(operator, begin, end, text, at)
                return self._apply_to_range(operator, begin, end, text, begin)
            case "p" | "P":
                self._add_step(_Step(text, selected.cursor))
                put = put_over(selected, self._register, count or 1, text)
                if rest == "p":
                    self._register = Register(text[begin:end], lines=selected.lines)
                return self._normal(*put)
            case "iw" | "aw":
                first, last = word_object(rest, text, selected.cursor)
                if first < last and selected.anchor == selected.cursor:
                    selected = msgspec.structs.replace(selected, anchor=first, cursor=last - 1, lines=False)
                return self._select(selected, text)
            case _:
                return self._select(moved_selection(selected, rest, count, text, self._last_find(rest)), text)

    def _last_find(self, rest: str) -> str:
        if rest[0] in _FINDS:
            self._find = rest
        return self._find

    def _simple(  # noqa: PLR0911 - one case for each command
        self, key: str, count: int | None, text: str, cursor: int
    ) -> Edited | None:
        """Return what a command of one key does, None if it is another."""
        times = count or 1
        start, end = line_ends(text, cursor)
        match key:
            case "i":
                return self._insert(text, cursor)
            case "a":
                return self._insert(text, min(cursor + 1, end))
            case "I":
                return self._insert(text, start + _indent(text[start:end]))
            case "A":
                return self._insert(text, end)
            case "o":
                return self._insert(f"{text[:end]}\n{text[end:]}", end + 1, before=_Step(text, cursor))
            case "O":
                return self._insert(f"{text[:start]}\n{text[start:]}", start, before=_Step(text, cursor))
            case "p" | "P":
                return self._put(times, text, cursor, after=key == "p")
            case "u":
                return self._step_back(self._undo_steps, self._redo_steps, times, text, cursor)
            case "\x12":
                return self._step_back(self._redo_steps, self._undo_steps, times, text, cursor)
            case "v" | "V":
                return self._select(Selected(anchor=cursor, cursor=cursor, lines=key == "V"), text)
            case "J":
                return self._join(max(2, times), text, cursor)
            case "~":
                return self._swap_case(times, text, cursor)
            case _:
                return None

    def _operate(  # noqa: PLR0911 - one for each kind of motion
        self, operator: str, rest: str, count: int | None, text: str, cursor: int
    ) -> Edited | None:
        inner, name = _counted(rest)
        if not name:
            return None
        times = None if count is None and inner is None else min(_MOST, (count or 1) * (inner or 1))
        if name == operator:
            return self._operate_on_lines(operator, cursor, times or 1, text)
        if name in ("g", "i", "a") or (name in _FINDS and len(name) == 1):
            return None
        if len(name) == 2 and name[0] in "ia":  # noqa: PLR2004 - a key and its object
            return self._object(operator, name, text, cursor)
        if operator == "c" and name == "w" and text[cursor : cursor + 1].strip():
            moved = motion("e", times, text, cursor, found=self._find, may_stay=True, operator=True)
        else:
            moved = motion(name, times, text, cursor, found=self._last_find(name), operator=True)
        if moved is None:
            return self._normal(text, cursor)
        if moved.lines:
            first, last = sorted((cursor, moved.to))
            return self._lines_between(operator, first, last, text, first if operator == "y" else cursor)
        begin, end = sorted((cursor, moved.to))
        end += moved.inclusive
        if name == "b" and begin < end and text[end - 1] == "\n":  # it ends before a line: end it on the line above
            end -= 1
            if not text[line_ends(text, begin)[0] : begin].strip(" \t"):
                return self._lines_between(operator, begin, end, text, begin)
        if operator == "d" and _are_lines(text, begin, end):
            last = moved.to if name in ("$", "end") or moved.inclusive else end - 1
            return self._lines_between(operator, begin, last, text, cursor)
        return self._apply_to_range(operator, begin, end, text, cursor)

    def _object(self, operator: str, name: str, text: str, cursor: int) -> Edited:
        """Apply an operator to the word under the cursor."""
        begin, end = word_object(name, text, cursor) if name[1] == "w" else (cursor, cursor)
        return self._normal(text, cursor) if begin == end else self._apply_to_range(operator, begin, end, text, cursor)

    def _operate_on_lines(self, operator: str, cursor: int, times: int, text: str) -> Edited:
        start, end = line_ends(text, cursor)
        if times > 1 and end >= len(text):
            return self._normal(text, cursor)
        for _ in range(times - 1):
            if end >= len(text):
                break
            end = line_ends(text, end + 1)[1]
        return self._lines_between(operator, start, end, text, cursor)

    def _lines_between(self, operator: str, first: int, last: int, text: str, cursor: int) -> Edited:
        begin, end = line_ends(text, first)[0], line_ends(text, last)[1]
        self._register = Register(text[begin:end], lines=True)
        if operator == "y":
            return self._normal(text, cursor)
        if operator == "c":
            return self._insert(text[:begin] + text[end:], begin, before=_Step(text, cursor))
        self._add_step(_Step(text, cursor))
        if end < len(text):
            new, at = text[:begin] + text[end + 1 :], begin
        else:
            new = text[: max(0, begin - 1)]
            at = line_ends(new, len(new))[0]
        return self._normal(new, at + _indent(new[at : line_ends(new, at)[1]]))

    def _apply_to_range(self, operator: str, begin: int, end: int, text: str, cursor: int) -> Edited:
        """Apply an operator to the characters from `begin` to `end`."""
        if begin >= end and operator != "c":
            return self._normal(text, cursor)
        if begin < end:
            self._register = Register(text[begin:end], lines=False)
        if operator == "y":
            return self._normal(text, begin)
        if operator == "c":
            return self._insert(text[:begin] + text[end:], begin, before=_Step(text, cursor))
        self._add_step(_Step(text, cursor))
        return self._normal(text[:begin] + text[end:], begin)

    def _put(self, times: int, text: str, cursor: int, *, after: bool) -> Edited:
        if not self._register.text and not self._register.lines:
            return self._normal(text, cursor)
        self._add_step(_Step(text, cursor))
        start, end = line_ends(text, cursor)
        put = self._register.times(times)
        if self._register.lines:
            at = end + 1 if after else start
            new = f"{text[:end]}\n{put}{text[end:]}" if after else f"{text[:start]}{put}\n{text[start:]}"
            return self._normal(new, at + _indent(new[at : line_ends(new, at)[1]]))
        at = min(cursor + 1, end) if after else cursor
        where = at if "\n" in put else at + len(put) - 1
        return self._normal(text[:at] + put + text[at:], where)

    def _replace(self, key: str, times: int, text: str, cursor: int) -> Edited:
        if len(key) != 1 or cursor + times > line_ends(text, cursor)[1]:
            return self._normal(text, cursor)
        self._add_step(_Step(text, cursor))
        return self._normal(text[:cursor] + key * times + text[cursor + times :], cursor + times - 1)

    def _join(self, lines: int, text: str, cursor: int) -> Edited:
        if line_ends(text, cursor)[1] >= len(text):
            return self._normal(text, cursor)
        self._add_step(_Step(text, cursor))
        at = cursor
        for _ in range(lines - 1):
            end = line_ends(text, cursor)[1]
            if end >= len(text):
                break
            at = end
            rest = text[end + 1 :].lstrip(" \t")
            joined = not rest or rest[0] in "\n)" or text[:end][-1:] in (" ", "\t") or end == line_ends(text, end)[0]
            text = f"{text[:end]}{'' if joined else ' '}{rest}"
        return self._normal(text, at)

    def _swap_case(self, times: int, text: str, cursor: int) -> Edited:
        end = min(cursor + times, line_ends(text, cursor)[1])
        if end == cursor:
            return self._normal(text, cursor)
        self._add_step(_Step(text, cursor))
        return self._normal(text[:cursor] + text[cursor:end].swapcase() + text[end:], end)

    # --- modes and undo ----------------------------------------------------------------------------------------------

    def _insert(self, text: str, cursor: int, *, before: _Step | None = None) -> Edited:
        self.mode, self._selected = "insert", None
        self._before = before or _Step(text, cursor)
        return Edited(text=text, cursor=cursor, mode="insert")

    def _select(self, selected: Selected, text: str) -> Edited:
        self.mode = "visual line" if selected.lines else "visual"
        self._selected, self._selected_text = selected, text
        return Edited(text=text, cursor=selected.cursor, mode=self.mode, selected=selected)

    def _normal(self, text: str, cursor: int) -> Edited:
        """Return the text in normal mode, with the cursor on a character, or on an empty line."""
        self.mode, self._selected = "normal", None
        cursor = max(0, min(cursor, len(text)))
        start, end = line_ends(text, cursor)
        return Edited(text=text, cursor=max(start, min(cursor, end - 1)), mode="normal")

    def _add_step(self, before: _Step) -> None:
        self._undo_steps.append(before)
        self._redo_steps.clear()

    def _step_back(self, source: list[_Step], target: list[_Step], times: int, text: str, cursor: int) -> Edited:
        for _ in range(min(times, len(source))):
            step = source.pop()
            target.append(_Step(text, cursor))
            text, cursor = step.text, same_at_start(text, step.text)
        return self._normal(text, cursor)


def same_at_start(before: str, after: str) -> int:
    """Return how many characters two texts have in common at their start."""
    same = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        same += 1
    return min(same, len(after))


def _counted(typed: str) -> tuple[int | None, str]:
    """Return the count at the beginning of a command, None if there is none, and the rest."""
    digits = 0
    while digits < len(typed) and typed[digits].isdecimal() and typed[digits].isascii() and (digits or typed[0] != "0"):
        digits += 1
    return (min(_MOST, int(typed[:digits][:9])) if digits else None), typed[digits:]


def _are_lines(text: str, begin: int, end: int) -> bool:
    """Return whether only blanks surround this range of several lines: vim then deletes the full lines."""
    first, last = line_ends(text, begin), line_ends(text, end)
    return "\n" in text[begin:end] and not text[first[0] : begin].strip(" \t") and not text[end : last[1]].strip(" \t")


def _indent(line: str) -> int:
    """Return the column of the first nonblank character, of the last one if all are blank."""
    blank = len(line) - len(line.lstrip(" \t"))
    return min(blank, max(0, len(line) - 1)) if line else 0
