"""The options that a program may have and still only read: a closed list, and how its words are divided. Pure.

Why a closed list? A list of the options that do more is never finished: the next release adds one, another system's
program of the same name has others (`base64 -o`), and a long option may be cut short (`--reg` for `--regexp`, which
makes a file of the word that looked like a pattern). So an option counts only by its whole name, and one that is not in
the list asks.
"""

from __future__ import annotations

import re

import msgspec

from holdfast.tools.shell.command_line import Word


class ClosedOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of one program: letters without (`flags`) and with a value (`values`), long names likewise.

    A long name without a value may still have one behind `=`. With `numbers`, `-20` is an option. With
    `separate_values`, a value is always the next word, and more letters may stand behind the one that takes it
    (`tree -Lo 1 out`).
    """

    flags: str = ""
    values: str = ""
    long: frozenset[str] = frozenset()
    long_values: frozenset[str] = frozenset()
    numbers: bool = False
    separate_values: bool = False


class OptionRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of a table: `ClosedOptions` whose long names are texts of words."""

    flags: str = ""
    values: str = ""
    long: str = ""
    long_values: str = ""
    numbers: bool = False
    separate_values: bool = False

    def options(self) -> ClosedOptions:
        """Return the options of the row."""
        return closed_options(
            self.flags,
            self.values,
            self.long,
            self.long_values,
            numbers=self.numbers,
            separate_values=self.separate_values,
        )


class Option(msgspec.Struct, frozen=True):
    """An option: its name without dashes, the word it stands in, its value if that is the next word, None if not."""

    name: str
    word: Word
    value: Word | None = None
    known: bool = True


class ParsedOptions(msgspec.Struct, frozen=True):
    """The words of a program: its options, and the others."""

    options: tuple[Option, ...]
    operands: tuple[Word, ...]

    def unknown(self) -> Word | None:
        """Return the first word with an option that is not in the list, None if all are."""
        return next((option.word for option in self.options if not option.known), None)


def closed_options(
    flags: str = "",
    values: str = "",
    long: str = "",
    long_values: str = "",
    *,
    numbers: bool = False,
    separate_values: bool = False,
) -> ClosedOptions:
    """Return the list; `long` and `long_values` are names with blanks between them."""
    return ClosedOptions(
        flags=flags,
        values=values,
        long=frozenset(long.split()),
        long_values=frozenset(long_values.split()),
        numbers=numbers,
        separate_values=separate_values,
    )


def options_of(words: tuple[Word, ...], of: ClosedOptions) -> ParsedOptions:
    """Return the options and operands among the words after a program's name."""
    options: list[Option] = []
    operands: list[Word] = []
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        text = word.text if word.fixed else word.prefix
        if text == "--" and word.fixed:
            operands += reversed(waiting)
            # If an option took the `--` for its value, what follows it are options still.
            later = (options_of((each,), of) for each in operands if _looks_like_option(each))
            options += [option for each in later for option in each.options if not option.known]
            break
        if text.startswith("--"):
            name, equals, _ = text[2:].partition("=")
            valued = name in of.long_values
            value = waiting.pop() if valued and not equals and waiting else None
            known = (name in of.long or valued) and (word.fixed or bool(equals)) and not _hides_option(name, value)
            options.append(Option(name, word, value, known))
        elif text.startswith("-") and text != "-":
            options += _letters(text[1:], word, waiting, of)
        else:
            operands.append(word)
    return ParsedOptions(tuple(options), tuple(operands))


def _letters(letters: str, word: Word, waiting: list[Word], of: ClosedOptions) -> list[Option]:
    """Return the one-letter options of a word; the last one may take the next word as its value."""
    found: list[Option] = []
    for place, letter in enumerate(letters, 1):
        if letter in of.values:
            takes_next = (place == len(letters) or of.separate_values) and word.fixed
            value = waiting.pop() if takes_next and waiting else None
            found.append(Option(letter, word, value, not _hides_option(letter, value)))
            if not of.separate_values:
                return found
            continue
        known = letter in of.flags or (of.numbers and letters.isdecimal())
        found.append(Option(letter, word, None, known and word.fixed))
    return found


def _looks_like_option(word: Word) -> bool:
    return word.prefix.startswith("-") and word.text != "-"


def _hides_option(name: str, value: Word | None) -> bool:
    """Return whether a value is one that some releases take for an option; a pattern and a number never are."""
    return (
        value is not None and _looks_like_option(value) and name not in _PATTERNS and not _NUMBER.fullmatch(value.text)
    )


_PATTERNS = frozenset({"e", "regexp"})
_NUMBER = re.compile(r"-[0-9]+[a-zA-Z]?|-[0-9]+,?|-%.*")


def may_be_option(word: Word) -> bool:
    """Return whether an argument made from a word that is not fixed may begin with a dash."""
    return not word.fixed and (not word.prefix or word.prefix.startswith("-"))
