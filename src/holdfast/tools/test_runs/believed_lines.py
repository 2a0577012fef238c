"""The closed grammar of a line whose exit code is that of its tests. Pure.

Only what stands in a list here or in `runners.json` is believed: a program may have options that run no test, and a
command before it may put another program in its place. Each function says in a few words what is not known, "" if
nothing is. An option of a list is a flag (`-q`), takes a value (`-k=`, with a pattern of it: `-n=[0-9]+`), or may have
one behind `=` alone (`--cov?`). Letters may stand together: `-xq`, `-n4`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from holdfast.tools.shell.command_line import Redirect, SimpleCommand, Word
from holdfast.tools.test_runs.runner_table import RunnerRow

ASSIGNS = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)

_HARMLESS = re.compile(
    "CI|NO_COLOR|FORCE_COLOR|CLICOLOR|TERM|COLUMNS|LANG|LC_ALL|TZ|NODE_ENV|RAILS_ENV|RACK_ENV|APP_ENV|MIX_ENV"
    "|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONHASHSEED|PYTHONUTF8|RUST_BACKTRACE|RUST_LOG|CARGO_TERM_COLOR"
    "|CGO_ENABLED|DJANGO_SETTINGS_MODULE|DEBUG|LOG_LEVEL"
)
"""Variables that choose no program, no option and no file of a runner."""

_SHELL_OWN = re.compile(
    r"\.|\[\[|\(\(|alias|bg|bind|break|builtin|caller|command|compgen|complete|compopt|continue|coproc|declare|dirs"
    "|disown|enable|eval|exec|exit|export|fc|fg|function|getopts|hash|help|history|jobs|kill|let|local|logout|mapfile"
    "|popd|printf|pushd|read|readarray|readonly|return|set|shift|shopt|source|suspend|time|times|trap|type|typeset"
    "|ulimit|umask|unalias|unset|wait"
)
"""Commands of bash itself, but for those that can change nothing: another program is another process."""

_NAME = re.compile(r"[A-Za-z0-9_:\[][\w.+\[-]*|(?:[\w.+-]+)?(?:/[\w.+-]+)+")
_BARE = re.compile(r"[A-Za-z0-9_][\w.+-]*|\./(?:gradlew|mvnw)")
_INSTALLED = re.compile(r"(?:\./)?(?:[\w-][\w.-]*/)*(?:\.?venv/bin|node_modules/\.bin|vendor/bin)/[\w-][\w.+-]*")


def unknown_before(command: SimpleCommand, hidden: str) -> str:
    """Return what a command beside a test run may do to it."""
    if hidden == "it runs in the background":
        return hidden
    unknown = unknown_redirect(command.redirects) or unknown_variable(command)
    if command.words:
        return unknown or _unknown_command(command.words[0], command.words[1:])
    return unknown or (f"`{command.raw[:40]}`" if command.assignments else "")


def _unknown_command(name: Word, rest: Sequence[Word]) -> str:
    if not name.fixed or not _NAME.fullmatch(name.text):
        return f"`{name.raw[:40]}`"
    changed = [found[1] for word in rest for found in [ASSIGNS.match(word.raw)] if found]
    if name.text in {"export", "declare", "readonly"} and "PATH" in changed:
        return "another PATH"
    if name.text == "set" and _keeps_running(rest):
        return ""
    unclear = _SHELL_OWN.fullmatch(name.text) or (name.text == "cd" and (len(rest) != 1 or rest[0].raw.startswith("-")))
    return f"`{name.text}`" if unclear else unknown_word(rest)


def unknown_variable(command: SimpleCommand) -> str:
    """Return a variable before a command that may change what it does."""
    return _unknown_variable({each.name: each.value for each in command.assignments})


def _unknown_variable(assigned: Mapping[str, Word]) -> str:
    for name, value in assigned.items():
        if not _HARMLESS.fullmatch(name) or not value.fixed:
            return f"another {name}"
    return ""


def unknown_assignment(word: str) -> str:
    """Return the same for a variable in a word, such as `A=b`."""
    name, _, value = word.partition("=")
    return _unknown_variable({name: Word(value, fixed=True, raw=value)})


def unknown_redirect(redirects: Sequence[Redirect]) -> str:
    """Return a redirection of which only the shell knows the file."""
    return unknown_word([each.target for each in redirects if each.target is not None])


def unknown_word(words: Sequence[Word]) -> str:
    """Return a word that is only known to the shell."""
    return next((f"`{word.raw[:40]}`, which only the shell knows" for word in words if not word.fixed), "")


def unknown_program(word: str, root: str) -> str:
    """Return a program that is neither found by `PATH` nor where a workspace keeps its programs."""
    inside = word.removeprefix(f"{root.rstrip('/')}/")
    return "" if _BARE.fullmatch(word) or _INSTALLED.fullmatch(inside) else f"`{word[:60]}`, another program"


def unknown_arguments(words: Sequence[str], row: RunnerRow, name: str) -> str:
    """Return a word behind the name of a runner that is not in its lists."""
    if row.needs and (not words or words[0] != row.needs):
        return f"{name} without {row.needs} in front"
    options = known_options(row.known)
    left = list(words)
    while left:
        if left[0] == "--" and row.known_behind:
            options = known_options(row.known_behind)
            left.pop(0)
        elif left[0].startswith(("-", "+", "@")):
            size = option_size(left, options)
            if not size:
                return f"option {left[0][:40]} of {name} is not known here"
            del left[:size]
        elif not re.fullmatch(row.operands, left[0]):
            return f"`{left[0][:40]}` of {name} is not known here"
        else:
            left.pop(0)
    return ""


def option_size(words: Sequence[str], known: Mapping[str, str]) -> int:
    """Return how many words the option in front has, 0 if it is not among the known ones."""
    word = words[0]
    name, equals, value = word.partition("=")
    kind = known.get(name)
    if kind is not None:
        if kind.startswith("="):
            return _with_value(kind, value if equals else "", words)
        return int(not equals or kind == "?")
    return _bundle_size(words, known) if re.match(r"-[^-]", word) else 0


def _bundle_size(words: Sequence[str], known: Mapping[str, str]) -> int:
    """Return the same for letters that stand together."""
    letters = words[0][1:]
    for at, letter in enumerate(letters):
        kind = known.get(f"-{letter}")
        if kind is None:
            return 0
        if kind.startswith("="):
            return _with_value(kind, letters[at + 1 :], words)
    return 1


def _with_value(kind: str, attached: str, words: Sequence[str]) -> int:
    value = attached or (words[1] if len(words) > 1 else "")
    good = bool(value) and not value.startswith("-") and re.fullmatch(kind[1:] or r"(?s:.*)", value)
    return (1 if attached else 2) if good else 0


@cache
def known_options(text: str) -> Mapping[str, str]:
    """Return the options of a list by their names: "" for a flag, "?" or "=" and a pattern for one with a value."""
    return dict(_pairs(text))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for each in text.split():
        found = re.fullmatch(r"([^=?]+)(\?|=.*|)", each)
        if found is not None:
            yield found[1], found[2]


def _keeps_running(words: Sequence[Word]) -> bool:
    """Return whether a `set` only makes the line stop at a failure, or shows what runs."""
    return all(word.fixed and re.fullmatch(r"[-+][euxv]*o?|pipefail|errexit|nounset", word.text) for word in words)
