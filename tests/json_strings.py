"""Every string in JSON, wherever it is."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.history.formats.format import is_array, is_object


def strings_in(raw: object) -> Iterator[str]:
    """Yield each string in `raw`, in order; keys of objects do not count."""
    if isinstance(raw, str):
        yield raw
    elif is_object(raw) or is_array(raw):
        for value in raw.values() if is_object(raw) else raw:
            yield from strings_in(value)
