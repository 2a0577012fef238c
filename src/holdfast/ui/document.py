"""A conversation in a file: read strictly, its damage told with line and column, its format told from what it holds."""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from holdfast.errors import DamageError, UsageError
from holdfast.history.document import messages_in, read
from holdfast.history.formats import FORMATS, find_format
from holdfast.history.formats.format import Format, as_array, as_object, is_object
from holdfast.history.profiles import PAIRS
from holdfast.history.shape import Path as Place
from holdfast.history.shape import position
from holdfast.ui.lookalikes import lookalike

# What only requests of these formats have beside their messages, of the keys that their messages do not tell apart.
_OF: Mapping[str, tuple[str, ...]] = {
    "system": ("anthropic",),
    "stop_sequences": ("anthropic",),
    "max_completion_tokens": ("openai-chat",),
    "response_format": ("openai-chat",),
    "stream_options": ("openai-chat",),
    "instructions": ("openai-responses",),
    "max_output_tokens": ("openai-responses",),
}
_NO_MESSAGE = frozenset({"unknown-role", "malformed"})
_UNUSUAL = frozenset({"foreign", "misplaced", "other-wire"})


class Damage(msgspec.Struct, frozen=True):
    """A key that stands twice in one object."""

    position: str
    line: int
    column: int
    sentence: str

    @property
    def at(self) -> str:
        """Return where it is in the text."""
        return f"line {self.line}, column {self.column}"


class Document(msgspec.Struct, frozen=True):
    """The file that was read: its text, if that was to be kept, the document in it, and what it is."""

    name: str
    text: str
    document: object
    damage: tuple[Damage, ...]
    format: str
    profile: str
    also: tuple[str, ...] = ()  # formats that it fits as well
    marked: bool = False  # with a byte order mark

    @property
    def data(self) -> bytes:
        """Return the bytes that were read: what is kept is the text alone, for both are a document of 200 MB twice."""
        return self.text.encode("utf-8-sig" if self.marked else "utf-8")


def open_document(file: str, form: str | None, *, profile: str | None, keep: bool = True) -> Document:
    """Return the conversation in `file`, - for standard input; raises `HoldfastError` if there is none.

    Without `form`, the format is told from the document; without `profile`, it is the format's own provider. The text
    is kept if it is to be written again: `keep`.
    """
    text, marked = _text(file)
    found = read(text)
    told = _named(found.document, form) if form else _told(found.document, profile)
    known = find_format(told[0])
    damage: list[Damage] = []
    if found.damage:
        places = _repeats(text)
        for each in found.damage:
            if each.path in places:
                line, column = places[each.path]
                damage.append(Damage(position(each.path), line, column, each.sentence))
    name = "standard input" if file == "-" else file
    return Document(
        name,
        text if keep else "",
        found.document,
        tuple(damage),
        known.name,
        profile or known.profile,
        told[1:],
        marked,
    )


def _text(file: str) -> tuple[str, bool]:
    """Return the text of the file, and whether a byte order mark stands before it."""
    data = _bytes(file)
    return _decoded(data), data.startswith(codecs.BOM_UTF8)


def tools_in(file: str, form: str) -> frozenset[str]:
    """Return the names of the tools in `file`: a list of names, or of tools as a request of the format has them."""
    listed = read(_decoded(_bytes(file))).document
    if is_object(listed):
        listed = listed.get("tools")
    names = frozenset(name for name in as_array(listed) if isinstance(name, str))
    names |= find_format(form).declared({"tools": listed}).tools or frozenset()
    if not names and listed != []:
        raise UsageError(
            f"File {file!r} declares no tools, a list of names or of tools in JSON was expected. Name one that does."
        )
    return names


def _bytes(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UsageError(
            f"File {file!r} cannot be read: {error.strerror}, a conversation in JSON was expected. Check its name."
        ) from error


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].rpartition(b"\n")
        line, column = data.count(b"\n", 0, error.start) + 1, len(before[2].decode("utf-8", "replace")) + 1
        raise DamageError(
            f"The document is not UTF-8 at line {line}, column {column} (byte {data[error.start]:#04x}), a conversation"
            " in JSON was expected. Mend the text there, or convert the file to UTF-8."
        ) from error


def _named(document: object, form: str) -> tuple[str, ...]:
    """Return the format that was named; raises if the document looks like another's, or no message of it is one."""
    _refuse_lookalike(document, marked=True)
    known = find_format(form)
    messages, _ = messages_in(document, known)
    if messages and _unusual(known, messages) is None:
        raise _no_conversation([form], "Name the format that it is of with --format.")
    return (form,)


def _told(document: object, profile: str | None) -> tuple[str, ...]:
    """Return the formats that fit the document best, in the order of FORMATS; raises if there is none.

    A conversation of plain text alone fits several. The report says which was taken, and which it could be as well.
    """
    unusual: dict[str, int] = {}
    for name in FORMATS:
        form = find_format(name)
        try:
            messages, _ = messages_in(document, form)
        except DamageError:
            continue  # not this one; if it is none of them, that is said below
        count = _unusual(form, messages)
        if count is not None:
            unusual[name] = count + _unusual_beside(form, as_object(document))
    least = min(unusual.values(), default=0)
    _refuse_lookalike(document, marked=False)
    if not unusual:
        raise _no_conversation(list(FORMATS), "Take the list out of it, or name its format with --format.")
    best = [name for name, count in unusual.items() if count == least]
    legal = [name for name in best if profile is None or profile in PAIRS[name]]
    if not legal:
        takes = [name for name in FORMATS if profile in PAIRS[name]]
        raise UsageError(
            f"Profile {profile!r} takes no documents of the format {best[0]}, which this one is. Choose one of"
            f" {', '.join(PAIRS[best[0]])}, or name the format with --format if it is {' or '.join(takes)}."
        )
    return tuple(legal)


def _refuse_lookalike(document: object, *, marked: bool) -> None:
    """Raise `DamageError` if the document is a conversation of a format that is not read."""
    if (found := lookalike(document, marked=marked)) is not None:
        raise DamageError(
            f"The document is not a conversation of a format that is read: it looks like one of {found.name}."
            f" {found.to_do}"
        )


def _no_conversation(forms: Sequence[str], to_do: str) -> DamageError:
    return DamageError(
        f"The document is not a conversation: no message of {' or '.join(forms)} was found, a list of messages or a"
        f" request body was expected. {to_do}"
    )


def _unusual(form: Format, messages: Sequence[object]) -> int | None:
    """Return how much of the messages the format does not know, None if it is all of them."""
    projected = [form.message(index, raw) for index, raw in enumerate(messages)]
    unknown = sum(1 for message in projected if message.flags & _NO_MESSAGE)
    if projected and unknown == len(projected):
        return None
    empty = sum(1 for message in projected if not message.items)
    items = [item for message in projected for item in message.items]
    return unknown + empty + sum(1 for item in items if item.flags & _UNUSUAL)


def _unusual_beside(form: Format, body: Mapping[str, object]) -> int:
    """Return how much of what stands beside the messages the format does not know."""
    foreign = sum(1 for key in body if key in _OF and form.name not in _OF[key])
    return foreign + (as_array(body.get("tools")) != () and not form.declared(body).tools)


def _repeats(text: str) -> Mapping[Place, tuple[int, int]]:
    """Return line and column of each key that stands in its object for another time, by its path."""
    found: dict[Place, tuple[int, int]] = {}
    line, counted = 1, 0
    path: list[str | int] = []
    keys: list[set[str]] = []
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"(?P<key>\s*:)?|[\[\]{},]', text):
        match token[0]:
            case "{" | "[":
                keys.append(set())
                path.append(0 if token[0] == "[" else "")
            case "}" | "]":
                keys.pop()
                path.pop()
            case "," if isinstance(index := path[-1], int):
                path[-1] = index + 1
            case string if token["key"]:
                path[-1] = key = json.loads(string.removesuffix(token["key"]))
                if key in keys[-1]:
                    start = token.start()
                    line, counted = line + text.count("\n", counted, start), start
                    found[tuple(path)] = line, start - text.rfind("\n", 0, start)
                keys[-1].add(key)
            case _:
                pass
    return found
