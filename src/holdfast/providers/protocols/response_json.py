"""Reads the JSON of responses, so that a value of a wrong type never gets into a part."""

from __future__ import annotations

import json

import msgspec

from holdfast.errors import ProviderFailed
from holdfast.history.formats.format import Json, is_array, is_object

MOST_TOKENS = 2**53
"""No real token count is as large."""

_MOST_VALUES = 200_000
"""Values, commas and colons of one event."""


class ResponseJson:
    """Reads the JSON of one response of `model`. Every method raises `ProviderFailed` for an invalid response."""

    def __init__(self, model: str) -> None:
        self._model = model

    def decode_object(self, data: bytes) -> Json:
        """Return the JSON object that the bytes encode."""
        return self._expect_object(self.value(data), "the response")

    def value(self, data: bytes) -> object:
        """Return the JSON value, decoded by the standard library if msgspec refuses it.

        So half a surrogate pair, NaN and numbers beyond a double's range (then infinite) are accepted, since servers
        send them. If a key occurs twice, the last value counts. Whole numbers are exact. Control characters in strings,
        bytes that are not UTF-8, a byte order mark, and whole numbers of more than 4,300 digits are refused.
        """
        if len(data) > _MOST_VALUES:  # decoded, a value takes many times its bytes
            from holdfast.tools.message_frame import is_too_complex

            if is_too_complex(data):
                raise self.invalid_response(f"more than {_MOST_VALUES:,} values in one event")
        try:
            return msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
        try:
            return json.loads(data.decode())
        except (ValueError, RecursionError) as error:
            raise self.invalid_response(f"{type(error).__name__}: {error}") from error

    def object_in(self, holder: Json, field: str) -> Json | None:
        """Return an object field, None if it is missing or null."""
        value = holder.get(field)
        return None if value is None else self._expect_object(value, field)

    def objects_in(self, holder: Json, field: str) -> list[Json]:
        """Return a field that is a list of objects, empty if it is missing or null."""
        value = holder.get(field)
        if value is None:
            return []
        if not is_array(value):
            raise self._wrong_type(field)
        return [self._expect_object(each, field) for each in value]

    def text_in(self, holder: Json, field: str) -> str | None:
        """Return a text field, None if it is missing or null."""
        value = holder.get(field)
        if value is None or isinstance(value, str):
            return value
        raise self._wrong_type(field)

    def number_in(self, holder: Json, field: str) -> int | None:
        """Return a field that is a whole number, None if it is missing or null."""
        value = holder.get(field)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        raise self._wrong_type(field)

    def flag_in(self, holder: Json, field: str) -> bool:
        """Return a field that is true or false, false if it is missing or null."""
        value = holder.get(field)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self._wrong_type(field)

    def invalid_response(self, why: str) -> ProviderFailed:
        """Return the failure for a response that breaks the protocol."""
        return ProviderFailed(f"Model {self._model!r} sent an invalid response: {why}.", fault="malformed")

    def _expect_object(self, value: object, field: str) -> Json:
        if is_object(value):
            return value
        raise self._wrong_type(field)

    def _wrong_type(self, field: str) -> ProviderFailed:
        return self.invalid_response(f"{field} has the wrong type")


def token_count(count: object) -> int:
    """Return the provider's token count, or 0 if it is not a sensible number."""
    if isinstance(count, bool) or not isinstance(count, int):
        return 0
    return count if 0 <= count < MOST_TOKENS else 0
