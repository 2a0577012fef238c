"""A conversation file: read strictly, and its format detected from the content."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

import msgspec

from holdfast.errors import DamageError, UsageError
from holdfast.history.document import Damage, messages_in, read_document
from holdfast.history.foreign import refuse_lookalike
from holdfast.history.formats import find_format, format_names
from holdfast.history.formats.format import Format, as_array, as_object, is_object
from holdfast.history.profiles import profiles_of
from holdfast.system.bounded_files import read_beginning

LARGEST_DOCUMENT = 200_000_000
"""Bytes of a document."""

# Top-level keys that only requests of these formats have, for messages whose keys fit several formats.
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
    formats = _required_format(found.document, form) if form else _detected_formats(found.document, profile)
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
    if messages and _unusual(known, messages) is None:
        raise _no_conversation([form], "Choose its format with --format.")
    return (form,)


def _detected_formats(document: object, profile: str | None) -> tuple[str, ...]:
    """Return the formats that fit the document best, in the order of `format_names`. Raise if none fits.

    A conversation of plain text fits several; the report says which was chosen and which others fit too.
    """
    unusual: dict[str, int] = {}
    for name in format_names():
        form = find_format(name)
        try:
            messages, _ = messages_in(document, form)
        except DamageError:
            continue  # not this format
        count = _unusual(form, messages)
        if count is not None:
            unusual[name] = count + _unusual_fields(form, as_object(document))
    least = min(unusual.values(), default=0)
    refuse_lookalike(document, marked=False)
    if not unusual:
        raise _no_conversation(
            list(format_names()), "Extract the list of messages, or choose the format with --format."
        )
    best = [name for name, count in unusual.items() if count == least]
    legal = [name for name in best if profile is None or profile in _profiles(name)]
    if not legal:
        takes = [name for name in format_names() if profile in _profiles(name)]
        raise UsageError(
            f"Profile {profile!r} does not accept documents in the format {best[0]}. Choose one of"
            f" {', '.join(_profiles(best[0]))}, or pass --format if the document is {' or '.join(takes)}."
        )
    return tuple(legal)


def _profiles(name: str) -> tuple[str, ...]:
    return profiles_of(name, find_format(name).profile)


def _no_conversation(forms: Sequence[str], to_do: str) -> DamageError:
    return DamageError(
        f"The document is not a conversation: it has no message in the format {' or '.join(forms)} (expected a list of"
        f" messages or a request body). {to_do}"
    )


def _unusual(form: Format, messages: Sequence[object]) -> int | None:
    """Return the number of unknown fields in the messages, None if no message fits the format."""
    unknown = unusual = 0
    for index, raw in enumerate(messages):  # one at a time: together they need half the document's memory
        message = form.message(index, raw)
        unknown += bool(message.flags & _NO_MESSAGE)
        unusual += not message.items
        unusual += sum(1 for item in message.items if item.flags & _UNUSUAL)
    return None if messages and unknown == len(messages) else unknown + unusual


def _unusual_fields(form: Format, body: Mapping[str, object]) -> int:
    """Return the number of unknown fields next to the messages."""
    foreign = sum(1 for key in body if key in _OF and form.name not in _OF[key])
    return foreign + (as_array(body.get("tools")) != () and not form.request_facts(body).tools)
