r"""Translates an expression to one that grep and ripgrep read alike, and that matches at least the same lines.

Other programs read other dialects, know other letters, and see bytes where `regex` sees characters. So they are never
asked which lines match, only which files may have one: the lines are always found by `regex`. A translation may match
too much, never too little. What has no place in the table below (looking around, references back, other flags) is not
translated at all.

How it works. An expression is read as atoms (a character, a set, `.`), repeats, groups and branches. Each atom is
tried, by `regex` itself, with every ASCII character; what it matches becomes a set of bytes. A character that is not
ASCII is one or more bytes above, whichever; so is a byte that is not valid UTF-8. A sign without a width is left out
where the dialects differ about it.

Example: `def \w+\(` becomes `def ([0-9A-Z_a-z]|[^\x01-\x7f]+)+\(`, with the very bytes in the second set.

Laws (`tests/tools/builtin/test_byte_pattern_laws.py`): grep and ripgrep find each line that `regex` finds.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

LONGEST_TRANSLATED = 1_000
"""Characters of a pattern; a longer one is searched for by holdfast itself."""
_MOST_REPEATS = 20  # a larger count becomes "as many or more": the other programs unfold it

_ANY = ".+"
"""Any character: one byte or more."""
_HIGH = "[^\x01-\x7f]+"
_BYTE_ORDER_MARK = "(\ufeff)?"
_SPECIAL = frozenset("\\^$.|?*+()[{")
_TOKEN = re.compile(
    r"(?P<group>\((?:\?(?:P?<[A-Za-z_]\w*>|:|>))?(?!\?))"
    r"|(?P<end>\))"
    r"|(?P<branch>\|)"
    r"|(?P<repeat>[*+?]|\{\d+\}|\{\d*,\d*\})(?P<kind>[+?]?)"
    r"|(?P<set>\[\^?(?:\\[dDwWsStnrfv\\\]\[^.$*+?(){}|/\"'-]|[^\]\[\\&~|-]|-(?!-))+\])"
    r"|(?P<edge>\\b|\^|\$|\\[AzZB])"
    r"|(?P<escape>\\(?:[dDwWsStrfv]|[^\w\s]|p\{\w+\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}))"
    r"|(?P<any>\.)"
    r"|(?P<literal>[^\\^$.|?*+()\[\]{}\n\r\0\ufffd])",
    re.DOTALL,
)
_FLAG = "(?i)"


def byte_pattern(pattern: str, *, ignore_case: bool) -> str | None:
    """Return an expression for grep -E in the locale C that finds each line that `pattern` matches.

    None if there is no such expression in the table. `pattern` must be valid.
    """
    if pattern.startswith(_FLAG):
        pattern, ignore_case = pattern.removeprefix(_FLAG), True
    if len(pattern) > LONGEST_TRANSLATED:
        return None
    found = _tokens(pattern)
    if found is None:
        return None
    return _translated(found, ignore_case=ignore_case)


def is_quick(pattern: str) -> bool:
    """Return whether a valid `pattern` takes at most the square of a line's length.

    It repeats one atom at most, and no group; and only branches of the whole are tried one after the other.
    """
    found = _tokens(pattern) if len(pattern) <= LONGEST_TRANSLATED else None
    if found is None:
        return False
    kinds = ["repeat" if token["repeat"] is not None else token.lastgroup for token in found]
    if kinds.count("repeat") > 1 or ("group" in kinds and "branch" in kinds):
        return False
    return ("end", "repeat") not in pairwise(kinds)


def for_ripgrep(translated: str) -> str:
    """Return a translated expression as ripgrep wants it: bytes above ASCII by their numbers."""
    bytewise = "".join(
        sign if sign.isascii() else "".join(f"\\x{byte:02x}" for byte in sign.encode()) for sign in translated
    )
    return f"(?-u){bytewise}"


def _tokens(pattern: str) -> list[re.Match[str]] | None:
    at, found = 0, list[re.Match[str]]()
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            return None
        found.append(token)
        at = token.end()
    return found


def _translated(tokens: list[re.Match[str]], *, ignore_case: bool) -> str | None:
    """Return the tokens in the other dialect; None if a repeat has nothing that could be repeated in it."""
    pieces: list[str] = []
    begins = [0]  # where the last element of each open group begins
    can_repeat = False
    for place, token in enumerate(tokens):
        follows = tokens[place + 1] if place + 1 < len(tokens) else None
        match token.lastgroup:
            case "group":
                begins.append(len(pieces))
                pieces.append("(")
                can_repeat = False
            case "end":
                if len(begins) == 1 or pieces[-1] in ("(", "|"):
                    return None
                pieces.append(")")
                element = begins.pop()
                pieces[element:] = ["".join(pieces[element:])]
                can_repeat = True
            case "branch":
                if not pieces or pieces[-1] in ("(", "|"):
                    return None
                pieces.append("|")
                can_repeat = False
            case "repeat" | "kind":
                if not can_repeat:
                    return None
                pieces[-1] = _repeated(pieces[-1], _repeat(token["repeat"]))
                can_repeat = False
            case "edge":
                if follows is not None and follows["repeat"] is not None:
                    return None
                edge = _edge(token[0], is_first=place == 0, is_last=follows is None)
                if token[0] == "\\b" and _is_at_ascii_word(tokens, place, ignore_case=ignore_case):
                    edge = token[0]
                if edge:
                    pieces.append(edge)
                can_repeat = False
            case _:
                pieces.append(_atom(token, ignore_case=ignore_case))
                can_repeat = True
    if len(begins) > 1 or not pieces or pieces[-1] == "|":
        return None
    return "".join(pieces)


def _edge(sign: str, *, is_first: bool, is_last: bool) -> str:
    """Return a sign without a width, "" where it would say something else.

    holdfast leaves out a byte order mark and the CR of a line's end, the others do not.
    """
    if sign == "^" and is_first:
        return f"^{_BYTE_ORDER_MARK}"
    return "\r?$" if sign == "$" and is_last else ""


def _is_at_ascii_word(tokens: list[re.Match[str]], place: int, *, ignore_case: bool) -> bool:
    """Return whether an edge of a word has a letter, digit or `_` of ASCII beside it, whatever matches.

    Then it is one of bytes too: what is no part of a word in Unicode is none in ASCII.
    """

    def is_word(token: re.Match[str]) -> bool:
        text = token["literal"] or ""
        is_ascii = text.isascii() and (text.isalnum() or text == "_")
        return is_ascii and not (ignore_case and text.lower() in _FOLDED_BEYOND)

    if place and is_word(tokens[place - 1]):
        return True
    after = tokens[place + 1 : place + 3]
    return bool(after) and is_word(after[0]) and (len(after) == 1 or after[1]["repeat"] is None)


def _repeated(piece: str, repeat: str) -> str:
    if piece == _ANY:
        return f".{repeat}" if repeat in ("*", "+") else f"({piece}){repeat}"
    return f"{piece}{repeat}" if len(piece) == 1 and piece.isascii() else f"({piece}){repeat}"


def _repeat(text: str) -> str:
    if text in ("*", "+", "?"):
        return text
    least, comma, most = text[1:-1].partition(",")
    low = int(least or 0)
    high = low if not comma else int(most) if most else None
    if low > _MOST_REPEATS or high is None or high > _MOST_REPEATS:
        return f"{{{min(low, _MOST_REPEATS)},}}"
    return f"{{{low},{high}}}"


def _atom(token: re.Match[str], *, ignore_case: bool) -> str:
    """Return an atom as bytes."""
    text = token[0]
    if token["any"] is not None:
        return _ANY
    if token["literal"] is not None and not ignore_case:
        return text
    if token["literal"] is not None and not text.isalpha() and text.isascii():
        return text
    import regex

    compiled: regex.Pattern[str] = regex.compile(text, regex.IGNORECASE if ignore_case else 0)
    codes = [code for code in range(1, 128) if code != ord("\n") and compiled.fullmatch(chr(code))]
    if token["literal"] is not None and text.lower() not in _FOLDED_BEYOND and text.isascii():
        return _byte_set(codes)
    if token["escape"] is not None and len(codes) == 1 and not text[1].isalnum():
        return f"\\{text[1]}" if text[1] in _SPECIAL else text[1]
    return f"({_byte_set(codes)}|{_HIGH})" if codes else _HIGH


_FOLDED_BEYOND = frozenset("iks")
"""ASCII letters that are another letter than ASCII in the other case: dotted I, the sign for Kelvin, the long s."""


def _byte_set(codes: list[int]) -> str:
    """Return a set of ASCII characters as a bracket that grep and ripgrep read alike."""
    if len(codes) == 1:
        return f"\\{chr(codes[0])}" if chr(codes[0]) in _SPECIAL else chr(codes[0])
    special = [code for code in codes if chr(code) in "]^-[\\&~|"]
    usual = [code for code in codes if code not in special]
    branches = [f"\\{chr(code)}" if chr(code) in _SPECIAL else chr(code) for code in special]
    if usual:
        branches.insert(0, f"[{''.join(_ranges(usual))}]")
    return branches[0] if len(branches) == 1 else f"({'|'.join(branches)})"


def _ranges(codes: list[int]) -> list[str]:
    found: list[list[int]] = []
    for code in codes:
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return [chr(low) if low == high else f"{chr(low)}-{chr(high)}" for low, high in found]
