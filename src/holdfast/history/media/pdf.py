"""Inspects a PDF by its uncompressed parts: is it one, is it encrypted, how many pages does it have.

Compressed objects are not read, and unknown facts are not guessed. However large the file is, only a few kilobytes are
decoded, at the positions given by its own tables.
"""

from __future__ import annotations

import base64
import binascii
import re

from holdfast.history.shape import Media

TYPE = "application/pdf"
PAPER = "PDF"
"""The declared type of a document that should be a PDF, unlike an image wrongly declared as one."""

NO_PDF = "no PDF"
ENCRYPTED = "an encrypted PDF"

_SOME = 4_096  # bytes of an object that are read: a trailer or a catalog has some hundred
_MANY = 65_536  # bytes of the list of pages, which may name every page
_END = 2_048
_HEADER = 1_024  # bytes in which a reader looks for the header
_SECTIONS = 32
_ENTRY = 20
_TOKEN = re.compile(
    rb"\s*+(?:%[^\r\n]*+\s*+)*+(<<|>>|\[|\]|/[^\s<>\[\]()/%{}]*+|\((?:[^()\\]|\\.|\((?:[^()\\]|\\.)*+\))*+\)"
    rb"|<[0-9A-Fa-f\s]*+>|[^\s<>\[\]()/%{}]++)",
    re.DOTALL,
)
_OBJECT = re.compile(rb"\s*(\d+)\s+\d+\s+obj\b")
_REFERENCE = re.compile(rb"(\d+) \d+ R")
_SUBSECTION = re.compile(rb"\s*(\d+)\s+(\d+)[ \t]*\r?\n?")
_PLACE = re.compile(rb"(\d{10}) \d{5} n")

Dictionary = dict[bytes, bytes]


def inspect_pdf(data: str, *, name: str = "") -> Media:
    """Return what is known about base64 `data` declared as a PDF; nothing if it is split into lines."""
    if not data:
        return Media(PAPER, "empty", name=name)
    file = _File(data)
    head = file.at(0, _HEADER)
    if head is None:
        return Media(PAPER, name=name) if len(data.split(maxsplit=1)) > 1 else Media(PAPER, "broken", name=name)
    start = head.find(b"%PDF-")
    if start < 0:
        return Media(PAPER, NO_PDF, file.size, name=name)
    trailer = _Trailer(file, start)
    found = ENCRYPTED if trailer.encrypted else TYPE
    return Media(PAPER, found, file.size, name=name, pages=_linearized(file, start) or trailer.pages())


class _File:
    """Bytes encoded as base64, any part of which can be read separately."""

    def __init__(self, data: str) -> None:
        self._data = data
        self.size = len(data) * 3 // 4 - data[-2:].count("=")

    def at(self, begin: int, many: int) -> bytes | None:
        """Return `many` bytes from `begin`, fewer at the end; None if they are not base64."""
        first = begin // 3
        try:
            part = base64.b64decode(self._data[first * 4 : -(-(begin + many) // 3) * 4], validate=True)
        except (binascii.Error, ValueError):
            return None
        return part[begin - first * 3 :][:many]


class _Trailer:
    """The end of a PDF: its trailer, and the positions of its objects."""

    def __init__(self, file: _File, start: int) -> None:
        self._file = file
        self._start = start
        self._tables: list[tuple[int, int, int]] = []  # first object, number of objects, position
        self._fields: Dictionary = {}
        self._complete = False  # the position of every object is known
        self._read()

    @property
    def encrypted(self) -> bool:
        """Return whether it is known to be encrypted."""
        return self._fields.get(b"/Encrypt", b"null") != b"null"

    def pages(self) -> int:
        """Return the number of pages, 0 if it is not certain."""
        root = self._object(self._fields.get(b"/Root", b"")) if self._complete else {}
        pages = self._object(root.get(b"/Pages", b""))
        count = pages.get(b"/Count", b"")
        return int(count) if pages.get(b"/Type") == b"/Pages" and count.isdigit() and len(count) < _ENTRY else 0

    def _read(self) -> None:
        end = self._file.at(max(0, self._file.size - _END), _END) or b""
        places = re.findall(rb"startxref\s+(\d{1,12})\s", end)
        following = int(places[-1]) if places else None
        for _ in range(_SECTIONS):
            if following is None:
                return
            fields = self._section(following)
            if fields is None:
                return
            self._fields = self._fields or fields
            earlier = fields.get(b"/Prev", b"")
            if not self._tables or b"/XRefStm" in fields:
                return
            if not earlier:
                self._complete = True
                return
            following = int(earlier) if earlier.isdigit() and len(earlier) < _ENTRY else None

    def _section(self, place: int) -> Dictionary | None:
        """Return the trailer of a section, None if it is not a section; its table is kept if readable."""
        at = place + self._start
        head = self._file.at(at, _SOME) or b""
        if _OBJECT.match(head):
            fields = _dictionary(head, _OBJECT)
            self._tables.clear()  # its places are compressed
            return fields if fields and fields.get(b"/Type") == b"/XRef" else None
        if not head.startswith(b"xref"):
            return None
        at += len(b"xref")
        for _ in range(_SECTIONS * 8):
            head = self._file.at(at, _SOME) or b""
            if (found := _SUBSECTION.match(head)) is None:
                break
            first, many = int(found[1]), int(found[2])
            self._tables.append((first, many, at + found.end()))
            at += found.end() + many * _ENTRY
        return _dictionary(head, re.compile(rb"\s*trailer\b"))

    def _object(self, reference: bytes) -> Dictionary:
        """Return the dictionary that the reference points to, an empty one if it is unreadable."""
        found = _REFERENCE.fullmatch(reference)
        number = int(found[1]) if found and len(found[1]) < _ENTRY else -1
        for first, many, at in self._tables:  # the newest first
            if first <= number < first + many:
                place = _PLACE.match(self._file.at(at + (number - first) * _ENTRY, _ENTRY) or b"")
                raw = (self._file.at(int(place[1]) + self._start, _MANY) or b"") if place else b""
                there = _OBJECT.match(raw)
                return (_dictionary(raw, _OBJECT) or {}) if there and int(there[1]) == number else {}
        return {}


def _linearized(file: _File, start: int) -> int:
    """Return the number of pages of a linearized, unchanged file, else 0."""
    head = file.at(start, _HEADER) or b""
    found = re.search(rb"[\r\n]\d+\s+\d+\s+obj\b", head)
    fields = _dictionary(head[found.start() :], _OBJECT) if found else None
    if not fields or b"/Linearized" not in fields or fields.get(b"/L") != str(file.size - start).encode():
        return 0
    count = fields.get(b"/N", b"")
    return int(count) if count.isdigit() and len(count) < _ENTRY else 0


def _dictionary(raw: bytes, prefix: re.Pattern[bytes]) -> Dictionary | None:
    """Return the dictionary after an offset, each value as written; None if it is incomplete."""
    begun = prefix.match(raw)
    tokens = _tokens(raw, begun.end()) if begun else []
    if not tokens or tokens[0] != b"<<":
        return None
    fields: Dictionary = {}
    key, depth = b"", 0
    for token in tokens:
        if token in (b"<<", b"["):
            depth += 1
        elif token in (b">>", b"]"):
            depth -= 1
            if depth == 0:
                return fields
        elif depth == 1 and token.startswith(b"/") and (not key or fields[key]):
            key = token
            fields[key] = b""
            continue
        if depth == 1 and key:
            fields[key] = (fields[key] + b" " + token).strip()
        elif key and depth > 1:
            fields[key] = fields[key] or token
    return None


def _tokens(raw: bytes, at: int) -> list[bytes]:
    """Return the tokens there, up to the end of the first dictionary or the first invalid token."""
    tokens: list[bytes] = []
    depth = 0
    while found := _TOKEN.match(raw, at):
        tokens.append(found[1])
        at = found.end()
        depth += (found[1] == b"<<") - (found[1] == b">>")
        if depth == 0:
            break
    return tokens
