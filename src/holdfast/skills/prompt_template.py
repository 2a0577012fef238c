"""Makes the text of a skill or a command of its body: its arguments filled in, its commands named. Pure.

How it works. The body is cut into texts and commands first (`` !`date` ``, or a block after ```` ```! ````), and the
arguments are filled in afterwards. So what the user typed can never become a command; inside a command each word of it
is quoted for the shell, and refused where no quoting is certain (`command_places.py`).

`$ARGUMENTS` is all of it and `$ARGUMENTS[N]` a word, from 0. `$N` counts from 0 in a body that has `$0`, otherwise `$1`
is the first: both are in use, and no body means the second of its arguments without the first.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from holdfast.skills.command_places import Filling, fill_command

MOST_BODY_COMMANDS = 20
"""Commands of one body."""

_OPENING = re.compile(r"^```![ \t]*\n|(?:(?<=\s)|^)!`(?P<inline>[^`\n]+)`", re.MULTILINE)
_CLOSING = re.compile(r"^```[ \t]*$", re.MULTILINE)
_PLACE = re.compile(
    r"(?P<literal>\\)?\$(?:ARGUMENTS\[(?P<index>\d{1,3})\]|(?P<all>ARGUMENTS)(?!\w)|(?P<number>\d{1,2})(?!\w)"
    r"|\{(?P<braced>[A-Z_]{1,40})\}|(?P<name>[A-Za-z_]\w{0,63}))"
)


class CommandPiece(msgspec.Struct, frozen=True):
    """A shell command of a body: its output stands in its place."""

    command: str


class Template(msgspec.Struct, frozen=True):
    """A body with its arguments filled in: texts and commands. `unused` are arguments that it has no place for."""

    pieces: tuple[str | CommandPiece, ...]
    unused: str = ""

    @property
    def commands(self) -> tuple[str, ...]:
        """Return its commands."""
        return tuple(each.command for each in self.pieces if isinstance(each, CommandPiece))

    def text(self, outputs: Sequence[str]) -> str:
        """Return the text with the outputs of the commands in their places."""
        waiting = iter(outputs)
        text = "".join(next(waiting) if isinstance(each, CommandPiece) else each for each in self.pieces).strip()
        return f"{text}\n\nARGUMENTS: {self.unused}" if self.unused else text

    def unrun(self) -> str:
        """Return the text for a reader who runs the commands themselves: they stand there as they are written."""
        return self.text([f"!`{each}`" for each in self.commands])


def body_commands(body: str) -> tuple[str, ...]:
    """Return the commands of a body, as they are written."""
    return tuple(each.text for each in _written(body))


class _Written(msgspec.Struct, frozen=True):
    """A command of a body as it is written, and where it stands."""

    start: int
    end: int
    text: str


def _written(body: str) -> Iterator[_Written]:
    """Yield the commands of a body. A block without an end is none, and the body is read once."""
    closings = _CLOSING.finditer(body)
    closing = next(closings, None)
    at = 0
    while (found := _OPENING.search(body, at)) is not None:
        at = found.end()
        if found["inline"] is not None:
            yield _Written(found.start(), at, found["inline"].strip())
            continue
        while closing is not None and closing.start() <= found.end():
            closing = next(closings, None)
        if closing is not None:
            at = closing.end()
            yield _Written(found.start(), at, body[found.end() : closing.start()].strip())


def filled(body: str, arguments: str, *, names: Sequence[str], variables: Mapping[str, str]) -> Template:
    """Return a body with its arguments filled in; `names` name them in order, `variables` are for `${NAME}`.

    Raises `PlaceRefused` if a value could become a part of a command.
    """
    words = argument_words(arguments)
    first = 0 if re.search(r"(?<!\\)\$0(?!\d)", body) else 1
    used = False

    def value(found: re.Match[str]) -> Filling | str:
        nonlocal used
        if found["literal"]:
            return found[0][1:]
        if found["braced"] is not None:
            known = variables.get(found["braced"])
            return found[0] if known is None else Filling(known)
        if found["name"] is not None and found["name"] not in names:
            return found[0]
        used = True
        if found["all"]:
            return Filling(arguments, tuple(words))
        if found["name"] is not None:
            at = names.index(found["name"])
        else:
            at = int(found["index"]) if found["index"] is not None else int(found["number"]) - first
        return Filling(words[at] if 0 <= at < len(words) else "")

    def text(found: re.Match[str]) -> str:
        filling = value(found)
        return filling.value if isinstance(filling, Filling) else filling

    pieces: list[str | CommandPiece] = []
    end = 0
    for command in _written(body):
        pieces.append(_PLACE.sub(text, body[end : command.start]))
        pieces.append(CommandPiece(fill_command(command.text, _PLACE, value)))
        end = command.end
    pieces.append(_PLACE.sub(text, body[end:]))
    return Template(tuple(pieces), "" if used else arguments.strip())


def argument_words(arguments: str) -> list[str]:
    """Return the words of what was typed, as a shell parts them; by blanks if a quote has no end."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()
