"""Reads the front matter of a Markdown file: the fields between two lines `---` at its beginning, and what follows.

It is the part of YAML that people write there, read strictly: scalars, quoted texts, blocks after `|` and `>`, lists,
and maps of one level. Nothing is ever built from a tag, an anchor or an alias: they are text. What is nested deeper, as
in the hooks of other programs, is kept as its text, unread.

One thing is read that YAML refuses: a plain scalar may have a colon, as in `description: Use when: …`. It is the
commonest mistake in the files that people share, and has one meaning (decision 0117).

Laws (`tests/tools/workspace/test_front_matter_laws.py`): any text gives fields and a body, or one fault that names its
line; it gives what YAML gives, where YAML reads it too.
"""

from __future__ import annotations

import re
import sys

import msgspec

from holdfast.text import valid_unicode

LONGEST_FRONT_MATTER = 32_768
"""Characters of the front matter of a file."""

FieldValue = str | tuple[str, ...] | dict[str, str]
"""A value: a text, a list of texts, or a map of texts."""

_FIELD = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)")
_QUOTED_KEY = re.compile(r"""(?:"([^"\\]*)"|'([^']*)')[ \t]*:(?:[ \t]+(.*)|[ \t]*)""")
_BLOCK = re.compile(r"([|>])([+-]?)([1-9]?)([+-]?)[ \t]*(?:#.*)?")
_FENCE = "---"
_ENDS = ("---", "...")
_ESCAPES = {
    "n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "\\": "\\", "/": "/", " ": " ", "e": "\x1b", "a": "\a",
    "b": "\b", "f": "\f", "v": "\v", "_": "\xa0", "N": "\x85",
}  # fmt: skip
_CODES = {"x": 2, "u": 4, "U": 8}


class FrontMatterFault(ValueError):
    """The front matter of a file cannot be read; the text says where and why."""


class FrontMatter(msgspec.Struct, frozen=True):
    """The `fields` of a file's front matter, by name, and its `body`: what follows."""

    fields: dict[str, FieldValue]
    body: str

    def text(self, name: str) -> str:
        """Return a field as one line of text, "" if it is missing; raises `FrontMatterFault` for a list or a map."""
        value = self.fields.get(name, "")
        if not isinstance(value, str):
            raise FrontMatterFault(f"field {name!r} is no text")
        return " ".join(value.split())

    def flag(self, name: str, *, default: bool) -> bool:
        """Return a field that is true or false; raises `FrontMatterFault` for anything else."""
        value = self.text(name).lower()
        if value in ("", "null", "~"):
            return default
        if value not in (*_TRUE, *_FALSE):
            raise FrontMatterFault(f"field {name!r} is {value[:40]!r} (expected true or false)")
        return value in _TRUE

    def words(self, name: str) -> tuple[str, ...]:
        """Return a field as a list: of its items, or of a text's words, parted by blanks or commas outside brackets."""
        value = self.fields.get(name, ())
        if isinstance(value, dict):
            raise FrontMatterFault(f"field {name!r} is a map (expected a list)")
        return tuple(split_words(value)) if isinstance(value, str) else tuple(filter(None, map(str.strip, value)))


_TRUE = ("true", "yes", "on")
_FALSE = ("false", "no", "off")


def split_words(text: str) -> list[str]:
    """Return the words of a text, parted by blanks and commas that stand in no brackets."""
    words: list[str] = []
    depth, word = 0, ""
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}" and depth > 0)
        if depth == 0 and (sign == "," or sign.isspace()):
            words.append(word)
            word = ""
        else:
            word += sign
    return [each for each in (*words, word) if each]


def read_front_matter(text: str) -> FrontMatter:
    """Return the fields and the body of a file's text. Without a front matter all of it is body.

    Raises `FrontMatterFault` for one that has no end or cannot be read.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    first, newline, rest = text.partition("\n")
    if first.rstrip() != _FENCE or not newline:
        return FrontMatter({}, text)
    lines: list[str] = []
    size = 0
    body = rest
    while body:
        line, _, body = body.partition("\n")
        if line.rstrip() in _ENDS:
            return FrontMatter(_fields(lines), body)
        lines.append(line)
        size += len(line) + 1
        if size > LONGEST_FRONT_MATTER:
            break
    raise FrontMatterFault(f"the front matter has no end (expected a line {_FENCE!r})")


def _fields(lines: list[str]) -> dict[str, FieldValue]:
    fields: dict[str, FieldValue] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        if _is_empty(line):
            at += 1
            continue
        found = None if line[0] in " \t" else _FIELD.fullmatch(line) or _QUOTED_KEY.fullmatch(line)
        if found is None:
            raise _fault(at, f"it is no field: {line.strip()[:60]!r} (expected `name: value`)")
        name = next((each for each in found.groups()[:-1] if each is not None), "")
        if name in fields:
            raise _fault(at, f"field {name!r} stands there twice")
        end = at + 1
        while end < len(lines) and (_is_empty(lines[end]) or lines[end][0] in " \t" or _is_item(lines[end])):
            end += 1
        fields[name] = _value((found.groups()[-1] or "").strip(), lines[at + 1 : end], at)
        at = end
    return fields


def _is_empty(line: str) -> bool:
    return not line.strip() or line.startswith("#")


def _is_item(line: str) -> bool:
    return line.startswith("- ") or line.rstrip() == "-"


def _value(first: str, more: list[str], at: int) -> FieldValue:
    """Return the value of a field that begins with `first`, in line `at`, and goes on in `more`."""
    if block := _BLOCK.fullmatch(first):
        return _block(block, more)
    if first.startswith(('"', "'")):
        value, rest = _quoted(_joined(first, more), at)
        if rest and not rest.startswith("#"):
            raise _fault(at, f"{rest[:40]!r} follows the end of a quoted text")
        return value
    if first.startswith(("[", "{")):
        return _flow(" ".join((first, *(each.strip() for each in more))), at)
    first = _without_comment(first)
    following = [each for each in more if not _is_comment(each)]
    if first:
        if any(_is_item(each) for each in following):
            raise _fault(at, "a list follows a text")
        return _joined(first, [_without_comment(each.strip()) for each in following])
    return _nested(following, at)


def _joined(first: str, more: list[str]) -> str:
    """Return lines as one: a line end is a blank, and an empty line a line end."""
    text, breaks = first, 0
    for line in map(str.strip, more):
        if line:
            text = text.rstrip() + ("\n" * breaks or " ") + line
        breaks = 0 if line else breaks + 1
    return text


def _nested(more: list[str], at: int) -> FieldValue:
    """Return the list, the map or the text in the lines below a field."""
    lines = [each for each in more if each.strip()]
    if not lines:
        return ""
    indent = min(len(each) - len(each.lstrip()) for each in lines)
    lines = [each[indent:].rstrip() for each in lines]
    if _is_item(lines[0]):
        if all(_is_item(each) for each in lines) and not any(_holds_more(each[1:].strip()) for each in lines):
            return tuple(_scalar(each[1:].strip(), at) for each in lines)
        return "\n".join(lines)
    pairs = [_FIELD.fullmatch(each) or _QUOTED_KEY.fullmatch(each) for each in lines]
    if pairs[0] is None:
        return " ".join(_without_comment(each.strip()) for each in lines)
    if all(pairs) and not any(pair is not None and _holds_more(pair.groups()[-1] or "") for pair in pairs):
        found = [pair.groups() for pair in pairs if pair is not None]
        return {
            next(key for key in each[:-1] if key is not None): _scalar((each[-1] or "").strip(), at) for each in found
        }
    return "\n".join(lines)


def _holds_more(value: str) -> bool:
    """Return whether a value of a list or a map is none itself: it is nested deeper."""
    return value.startswith(("[", "{", "|", ">", "- ")) or _is_pair(value)


def _is_pair(value: str) -> bool:
    return not value.startswith(('"', "'")) and _FIELD.fullmatch(value) is not None


def _scalar(value: str, at: int) -> str:
    if value.startswith(('"', "'")):
        text, rest = _quoted(value, at)
        if rest and not rest.startswith("#"):
            raise _fault(at, f"{rest[:40]!r} follows the end of a quoted text")
        return text
    return _without_comment(value)


def _is_comment(line: str) -> bool:
    return line.strip().startswith("#")


def _without_comment(text: str) -> str:
    if text.startswith("#"):
        return ""
    return re.split(r"[ \t]#", text, maxsplit=1)[0].rstrip()


def _block(block: re.Match[str], more: list[str]) -> str:
    """Return the text of a block: with `|` its lines, with `>` its lines joined; `-` drops the last line end."""
    lines = [each.rstrip() if not each.strip() else each for each in more]
    full = [each for each in lines if each]
    indent = int(block[3]) if block[3] else (len(full[0]) - len(full[0].lstrip(" ")) if full else 0)
    lines = [each[indent:] for each in lines]
    while lines and not lines[-1]:
        lines.pop()
    text = "\n".join(lines) if block[1] == "|" else _folded(lines)
    return text if "-" in (block[2], block[4]) or not text else f"{text}\n"


def _folded(lines: list[str]) -> str:
    """Return lines joined by blanks; an empty line ends a line, and lines that are indented more stay as they are."""
    text = ""
    breaks = 0
    before = ""
    for at, line in enumerate(lines):
        if not line:
            breaks += 1
            continue
        if at == 0 or not text:
            text += "\n" * breaks + line
        elif line[0] in " \t" or before[:1] in (" ", "\t"):
            text += "\n" * (breaks + 1) + line
        else:
            text += ("\n" * breaks if breaks else " ") + line
        breaks, before = 0, line
    return text


def _quoted(text: str, at: int) -> tuple[str, str]:
    """Return a quoted text, and what follows it."""
    mark, value, place = text[0], "", 1
    while place < len(text):
        sign = text[place]
        if mark == "'" and text.startswith("''", place):
            value, place = value + "'", place + 2
        elif sign == mark:
            return value, text[place + 1 :].strip()
        elif mark == '"' and sign == "\\":
            found, place = _escaped(text, place + 1, at)
            value += found
        else:
            value, place = value + sign, place + 1
    raise _fault(at, f"a quoted text has no end (expected {mark})")


def _escaped(text: str, place: int, at: int) -> tuple[str, int]:
    """Return the character behind a backslash, and the place behind it."""
    sign = text[place : place + 1]
    if sign in _ESCAPES:
        return _ESCAPES[sign], place + 1
    digits = text[place + 1 : place + 1 + _CODES.get(sign, 0)]
    if digits and len(digits) == _CODES[sign] and re.fullmatch(r"[0-9a-fA-F]+", digits):
        code = int(digits, 16)
        if code <= sys.maxunicode and valid_unicode(chr(code)) == chr(code):
            return chr(code), place + 1 + len(digits)
    raise _fault(at, f"\\{sign} in a quoted text means nothing")


def _flow(text: str, at: int) -> FieldValue:
    """Return the list or the map in brackets."""
    opening, closing = text[0], {"[": "]", "{": "}"}[text[0]]
    items: list[str] = []
    rest = text[1:].strip()
    while not rest.startswith(closing):
        if not rest:
            raise _fault(at, f"{opening!r} has no end (expected {closing!r})")
        item, rest = _flow_item(rest, closing, at)
        items.append(item)
    after = rest[1:].strip()
    if after and not after.startswith("#"):
        raise _fault(at, f"{after[:40]!r} follows the end of a list")
    if opening == "[":
        return tuple(_scalar(each, at) for each in items if each)
    pairs = [_FIELD.fullmatch(each) or _QUOTED_KEY.fullmatch(each) for each in items if each]
    if not all(pairs):
        raise _fault(at, "a map in braces has something that is no `name: value`")
    found = [pair.groups() for pair in pairs if pair is not None]
    return {next(key for key in each[:-1] if key is not None): _scalar((each[-1] or "").strip(), at) for each in found}


def _flow_item(rest: str, closing: str, at: int) -> tuple[str, str]:
    """Return the next item in brackets as it is written, and what follows its comma."""
    depth = 0
    place = 0
    while place < len(rest):
        sign = rest[place]
        if sign in "\"'" and place == 0:
            _, after = _quoted(rest[place:], at)
            place = len(rest) - len(after)
            continue
        if depth == 0 and sign == ",":
            return rest[:place].strip(), rest[place + 1 :].strip()
        if depth == 0 and sign == closing:
            return rest[:place].strip(), rest[place:]
        depth += (sign in "([{") - (sign in ")]}")
        place += 1
    return rest.strip(), ""


def _fault(at: int, why: str) -> FrontMatterFault:
    return FrontMatterFault(f"line {at + 2}: {why}")
