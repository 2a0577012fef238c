"""Tells a program's options from its other words, as the usual readers of options do. Pure."""

from __future__ import annotations

import msgspec

from holdfast.tools.shell.command_line import Word
from holdfast.tools.shell.read_only_programs import Reader


class ParsedOptions(msgspec.Struct, frozen=True):
    """The words of a program: its options with their names (without dashes), and the others."""

    options: tuple[tuple[str, Word], ...]
    operands: tuple[Word, ...]


def options_of(words: tuple[Word, ...], reader: Reader) -> ParsedOptions:
    """Return the options and operands among the words after a program's name."""
    options: list[tuple[str, Word]] = []
    operands: list[Word] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        text = word.text if word.fixed else word.prefix
        if text == "--" and word.fixed:
            operands += waiting
            break
        if text.startswith("--"):
            name, equals, _ = text[2:].partition("=")
            options.append((name, word))
            if name in reader.long_values and not equals and waiting:
                options.append((name, waiting.pop(0)))
        elif text.startswith("-") and text != "-":
            for place, letter in enumerate(text[1:], 1):
                options.append((letter, word))
                if letter in reader.values:
                    if place == len(text) - 1 and word.fixed and waiting:
                        options.append((letter, waiting.pop(0)))
                    break
        else:
            operands.append(word)
    return ParsedOptions(tuple(options), tuple(operands))


def may_be_option(word: Word) -> bool:
    """Return whether an argument made from a word that is not fixed may begin with a dash."""
    return not word.fixed and (not word.prefix or word.prefix.startswith("-"))
