"""Says whether the shell's own words only read: conditions, calculations, `printf`, `read`, `set`. Pure.

bash takes some texts for calculations, in which `a[$(rm x)]` runs `rm x`, even when the text comes out of a variable:
after `-eq` in `[[`, in `((`, and as a variable's name after `-v`. So there only plain numbers and names are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from holdfast.tools.shell.command_line import Word

_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_ANY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBERS = re.compile(r"[0-9 \t+*/%<>=!&|^~?:,()-]*")
_COMPARES = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_UNARY = re.compile(r"-[abcdefghknprsuwxzGLNOSt]")
_BINARY = frozenset({"=", "==", "!=", "<", ">", "-nt", "-ot", "-ef"}) | _COMPARES


def _calculation_more(words: tuple[Word, ...]) -> str:
    plain = all(word.fixed and _NUMBERS.fullmatch(word.text) for word in words)
    return "" if plain else "a calculation runs what a variable's value may contain"


def _double_more(words: tuple[Word, ...]) -> str:
    for at, word in enumerate(words):
        if word.text in {"-v", "-R"} and not (at + 1 < len(words) and _is_name(words[at + 1])):
            return "a condition runs what a variable's value may contain"
        if word.text in _COMPARES:
            sides = (words[at - 1] if at else word, words[at + 1] if at + 1 < len(words) else word)
            if not all(side.fixed and re.fullmatch(r"-?[0-9]+", side.text) for side in sides):
                return "a condition calculates with a variable, and runs what its value may contain"
    return ""


def _test_more(words: tuple[Word, ...]) -> str:
    if words and words[-1].raw == "]":
        words = words[:-1]
    if words and words[0].text == "!":
        words = words[1:]
    if any(word.text.startswith(("-v", "-R")) for word in words):
        return "" if len(words) == 2 and _is_name(words[1]) else "a condition may run a variable's name"  # noqa: PLR2004 - the operator and its word
    if all(word.fixed for word in words):
        return ""
    single = all(word.fixed or word.single or word.pattern for word in words)
    match words:
        case (_,) if single:
            return ""
        case (operator, _) if single and operator.fixed and _UNARY.fullmatch(operator.text):
            return ""
        case (_, operator, _) if single and operator.fixed and operator.text in _BINARY:
            return "" if not any(word.pattern for word in words) else "how many words a condition has is not known"
        case _:
            return "a condition of which the operators are not known may run a variable's name"


def _is_name(word: Word) -> bool:
    return word.fixed and _ANY_NAME.fullmatch(word.text) is not None


_COUNTS = re.compile(r"%[-+ #0'*.0-9hlLqjzt]*n")


def _printf_more(words: tuple[Word, ...]) -> str:
    if words and words[0].fixed and words[0].text == "--":
        words = words[1:]
    elif words and (words[0].prefix.startswith("-") or (not words[0].fixed and not words[0].prefix)):
        return "`printf -v` sets a variable, whose name may run commands"
    if len(words) > 1 and (not words[0].fixed or _COUNTS.search(words[0].text)):
        return "`printf %n` sets the variable that it is given"
    return "" if len(words) != 1 or words[0].single else "`printf %n` may set a variable"


def _read_more(words: tuple[Word, ...]) -> str:
    plain = all(word.fixed and (word.text in {"-r", "-s", "-ra", "-a"} or _NAME.fullmatch(word.text)) for word in words)
    return "" if plain else "`read` sets variables that are not known to be harmless"


def _set_more(words: tuple[Word, ...]) -> str:
    known = re.compile(r"[-+][eux]+|[-+][eux]*o|pipefail|errexit|nounset")
    plain = all(word.fixed and known.fullmatch(word.text) for word in words)
    return "" if plain and words else "`set` changes the shell in ways that are not known"


def _cd_more(words: tuple[Word, ...]) -> str:
    plain = [word for word in words if word.text not in {"-L", "--"}]
    if len(plain) > 1 or any(not word.fixed or (word.text[:1] == "-" and word.text != "-") for word in plain):
        return "into which folder it changes is not known"
    return ""


def _unset_more(words: tuple[Word, ...]) -> str:
    plain = all(word.fixed and _NAME.fullmatch(word.text) for word in words)
    return "" if plain else "it changes variables that programs may obey"


SHELL_WORDS: dict[str, Callable[[tuple[Word, ...]], str]] = {
    "((": _calculation_more,
    "[[": _double_more,
    "[": _test_more,
    "test": _test_more,
    "printf": _printf_more,
    "read": _read_more,
    "set": _set_more,
    "cd": _cd_more,
    "pushd": _cd_more,
    "popd": _cd_more,
    "local": _unset_more,
    "unset": _unset_more,
}
"""The commands of the shell itself, each with a function that returns why it does more than reading."""
