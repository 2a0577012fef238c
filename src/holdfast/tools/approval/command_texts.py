"""The texts of a simple command that rules are compared with: its own, and of what it starts, as far as it is fixed.

A deny rule for `rm *` means `sudo rm x` and `sh -c 'rm x'` too. Pure.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from holdfast.tools.shell.command_line import SimpleCommand, Word
from holdfast.tools.shell.parse import parse_script

_NESTED = 3
_SAFE = re.compile(r"[\w@%+=:,./ -]*", re.ASCII)
"""A line that is the same when its words are quoted again."""

_STARTERS = frozenset(
    {
        *("env", "sudo", "doas", "nice", "nohup", "timeout", "time", "command", "builtin", "exec", "xargs", "stdbuf"),
        *("setsid", "ionice", "chronic", "unbuffer", "watch", "parallel", "npx", "bunx", "uvx", "runuser", "flock"),
        *("strace", "ltrace"),
    }
)
"""Programs that run the program named behind them."""

_SHELLS = frozenset(["sh", "bash", "dash", "zsh", "ksh", "ash"])
_MANY_WORDS = 128
_COMPARED = 16
"""Of a command with many words, a rule is compared with so many behind each place where a program may be named."""

_FINDS = frozenset(["-exec", "-execdir", "-ok", "-okdir"])


def written_texts(command: SimpleCommand) -> tuple[str, ...]:
    """Return the words of a command in one line: as written, and quoted again if they are fixed."""
    written = " ".join((*_assigned(command), *(word.raw for word in command.words)))
    if _SAFE.fullmatch(written) is not None or not all(word.fixed for word in command.words):
        return (written,)
    quoted = " ".join((*_assigned(command), shlex.join(word.text for word in command.words)))
    return tuple(dict.fromkeys((written, quoted)))


def all_texts(command: SimpleCommand, *, nested: int = _NESTED) -> Iterator[str]:
    """Yield every text by which a deny rule may mean a command, or what it starts."""
    yield from written_texts(command)
    few = len(command.words) <= _MANY_WORDS
    for at in _starts(command.words):
        words = command.words[at:] if few else command.words[at : at + _COMPARED]
        raw, text = ([word.raw for word in words], [word.text for word in words])
        for each in (raw, text) if raw != text else (text,):
            yield " ".join(each)
            yield " ".join((each[0].rpartition("/")[2], *each[1:]))
        if few:
            yield shlex.join(text)
        name = text[0].rpartition("/")[2]
        if nested and (inner := _script(name, words)):
            for inside in parse_script(inner).commands:
                yield from all_texts(inside, nested=nested - 1)


def _starts(words: tuple[Word, ...]) -> Iterator[int]:
    """Yield where a program may be named: at the beginning, and behind programs that start others."""
    if not words:
        return
    yield 0
    name = words[0].text.rpartition("/")[2]
    if name in _STARTERS:
        yield from range(1, len(words))
    elif name in ("find", "fd", "fdfind"):
        yield from (at + 1 for at, word in enumerate(words[:-1]) if word.text in _FINDS | {"-x", "-X"})


def _script(name: str, words: tuple[Word, ...]) -> str:
    """Return the script that a shell gets as a fixed argument, "" if there is none."""
    if name == "eval":
        return " ".join(word.text for word in words[1:]) if all(word.fixed for word in words) else ""
    if name not in _SHELLS:
        return ""
    for at, word in enumerate(words[1:-1], 1):
        if re.fullmatch(r"-[a-z]*c[a-z]*", word.text):
            return next((each.text for each in words[at + 1 :] if each.fixed and not each.text.startswith("-")), "")
    return ""


def _assigned(command: SimpleCommand) -> tuple[str, ...]:
    return tuple(f"{each.name}={each.value.raw}" for each in command.assignments)
