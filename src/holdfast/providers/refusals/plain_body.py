"""A body with status 200 that was to be a stream of events and has none: an error, a web page, or a whole answer.

Gateways answer so when the server behind them fails, whatever the content type says. What came is read as what it is:
an error by its own code, a page by its title, and the document of an answer as if the request had not asked for a
stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from holdfast.errors import ProviderFailed
from holdfast.history.formats.format import is_object
from holdfast.providers.error_mapping import as_sentence, find_row, row_fault, stream_failure, unnamed
from holdfast.providers.protocols.protocol import Delta, ResponseReader
from holdfast.providers.refusals.web_pages import is_web_page, page_title

_FIELDS = (b"data", b"event", b"id", b"retry", b"")
"""The fields of a stream of events; a line without a name is a comment."""

_MARK = b"\xef\xbb\xbf"  # of the byte order, before a document

LONGEST_BODY_TEXT = 64 * 1024
"""Bytes of a text that is no document to look at."""


def expect_json(model: str, body: bytes) -> None:
    """Raise `ProviderFailed` if a body is a page or a text, where the request of `model` asked for a document."""
    begun = body[:LONGEST_BODY_TEXT].strip()
    if begun and not begun.startswith((b"{", b"[", _MARK)):
        raise text_failure(model, begun)


def events_of_plain(model: str, body: bytes, reader: ResponseReader) -> Iterable[Delta]:
    """Return the events of a whole answer, none if nothing came. Raise `ProviderFailed` for anything else."""
    body = body.strip()
    if not any(line.partition(b":")[0] not in _FIELDS for line in body.splitlines() if line.strip()):
        return ()
    if _is_answer(body):
        return reader.document(body)
    raise text_failure(model, body[:LONGEST_BODY_TEXT])


def _is_answer(body: bytes) -> bool:
    """Return whether the body is an object that is not only an error."""
    try:
        value: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return is_object(value) and bool(value.keys() & {"choices", "content", "output", "candidates"})


def page_failure(name: str, text: str) -> ProviderFailed:
    """Return the failure for a web page with status 200; the title may say that a server behind it is busy."""
    title = page_title(text)
    row = find_row((), title, None)
    busy = re.search(r"\b50[0234]\b", title) is not None or (row is not None and row.recovery == "wait")
    message = f"Model {name!r} gave no answer: {title}."
    return ProviderFailed(message, fault="overloaded" if busy else "web_page")


def text_failure(name: str, body: bytes) -> ProviderFailed:
    """Return the failure for a body with status 200 that is not of the protocol: an error as JSON, a page or a text."""
    text = body.decode("utf-8", "replace").strip()
    if is_web_page(text):
        return page_failure(name, text)
    try:
        payload: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        payload = None
    if isinstance(payload, dict | list) and payload:
        return stream_failure(name, payload)  # pyright: ignore[reportUnknownArgumentType] - JSON from outside
    row = find_row((), unnamed(text, name), None)
    fault = None if row is None else row_fault(row)
    return ProviderFailed(
        f"Model {name!r} sent a text in place of an answer: {as_sentence(text)}",
        fault=fault or "malformed",
        refusal="" if row is None or fault is None else row.id,
    )
