"""A body with status 200 that was to be a stream of events and has none: an error, a web page, or a whole answer.

Gateways answer so when the server behind them fails, whatever the content type says. What came is read as what it is:
an error by its own code, a page by its title, and the document of an answer as if the request had not asked for a
stream.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from holdfast.history.formats.format import is_object
from holdfast.providers.error_mapping import is_web_page, page_failure, text_failure
from holdfast.providers.protocols.protocol import Delta, ResponseReader
from holdfast.providers.sse import LONGEST_EVENT

_FIELDS = (b"data", b"event", b"id", b"retry", b"")
"""The fields of a stream of events; a line without a name is a comment."""

_MARK = b"\xef\xbb\xbf"  # of the byte order, before a document

_LONGEST_TEXT = 64 * 1024
"""Bytes of a text that is no document to look at."""


class PlainBody:
    """The body so far, as long as no event has come. `model` is named in failures."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._body: bytearray | None = bytearray()

    def add(self, chunk: bytes) -> None:
        """Keep more of the body. Raise `ProviderFailed` at the beginning of a web page."""
        if self._body is None:
            return
        is_first = not self._body
        self._body += chunk[: LONGEST_EVENT - len(self._body)]
        if is_first and is_web_page(text := chunk[:_LONGEST_TEXT].decode("utf-8", "replace")):
            raise page_failure(self._model, text)

    def end(self) -> None:
        """Forget the body: an event has come, so it is a stream."""
        self._body = None

    def expect_json(self) -> None:
        """Raise `ProviderFailed` if the body is a text, where the request asked for a document."""
        body = bytes((self._body or b"")[:_LONGEST_TEXT]).strip()
        if body and not body.startswith((b"{", b"[", _MARK)):
            raise text_failure(self._model, body)

    def events(self, reader: ResponseReader) -> Iterable[Delta]:
        """Return the events of a whole answer, none if nothing came. Raise `ProviderFailed` for anything else."""
        body = b"" if self._body is None else bytes(self._body).strip()
        if not any(line.partition(b":")[0] not in _FIELDS for line in body.splitlines() if line.strip()):
            return ()
        if _is_answer(body):
            return reader.document(body)
        raise text_failure(self._model, body[:_LONGEST_TEXT])


def _is_answer(body: bytes) -> bool:
    """Return whether the body is an object that is not only an error."""
    try:
        value: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return is_object(value) and bool(value.keys() & {"choices", "content", "output", "candidates"})
