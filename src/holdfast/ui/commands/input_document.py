"""A conversation file: read strictly, and its format detected from the content."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

import msgspec

from holdfast.errors import UsageError
from holdfast.history.document import Damage, messages_in, read_document
from holdfast.history.foreign import refuse_lookalike
from holdfast.history.formats import find_format
from holdfast.history.formats.detection import detected_formats, no_conversation, unusual_content
from holdfast.history.formats.format import as_array, is_object
from holdfast.system.bounded_files import read_beginning

LARGEST_DOCUMENT = 200_000_000
"""Bytes of a document."""


class Document(msgspec.Struct, frozen=True):
    """A parsed file: its bytes (b"" if not kept), the document in it, and its format and profile."""

    name: str
    data: bytes
    document: object
    damage: tuple[Damage, ...]
    format: str
    profile: str
    also: tuple[str, ...] = ()  # other formats that fit too


def open_document(file: str, form: str | None, *, profile: str | None, keep: bool = True) -> Document:
    """Return the conversation in `file` (- for standard input). Raise `HoldfastError` if there is none.

    Without `form`, the format is detected; without `profile`, the profile of the format's own provider is used. `keep`
    keeps the bytes, for writing the document again.
    """
    data = _bytes(file) if keep else b""
    found = read_document(data if keep else _bytes(file))
    formats = _required_format(found.document, form) if form else detected_formats(found.document, profile)
    known = find_format(formats[0])
    return Document(
        "standard input" if file == "-" else file,
        data,
        found.document,
        found.damage,
        known.name,
        profile or known.profile,
        formats[1:],
    )


def tools_in(file: str, form: str) -> frozenset[str]:
    """Return the names of the tools in `file`: a list of names, or of tools as in a request of the format."""
    listed = read_document(_bytes(file)).document
    if is_object(listed):
        listed = listed.get("tools")
    names = frozenset(name for name in as_array(listed) if isinstance(name, str))
    names |= find_format(form).request_facts({"tools": listed}).tools or frozenset()
    if not names and listed != []:
        raise UsageError(f"No tools in {file!r} (expected a JSON list of names or of tools). Pass another file.")
    return names


def _bytes(file: str) -> bytes:
    """Return the content. A pipe that the user names is read to its end."""
    try:
        with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as document:
            content = read_beginning(document, LARGEST_DOCUMENT + 1)
    except OSError as error:
        raise UsageError(f"Cannot read {file!r}: {error.strerror}. Check its name.") from error
    if len(content) > LARGEST_DOCUMENT:
        raise UsageError(f"{file!r} is larger than {LARGEST_DOCUMENT:,} bytes. Pass a shorter part of it.")
    return content


def _required_format(document: object, form: str) -> tuple[str, ...]:
    """Return `form`. Raise if the document looks like an unsupported format, or if no message fits `form`."""
    refuse_lookalike(document, marked=True)
    known = find_format(form)
    messages, _ = messages_in(document, known)
    if messages and unusual_content(known, messages) is None:
        raise no_conversation([form], "Choose its format with --format.")
    return (form,)
