"""Removes fields from the objects of a document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, cast

from holdfast.history.shape import Path


def without_fields(raw: object, fields: Iterable[tuple[Path, Iterable[str]]]) -> object:
    """Return `raw` without the named fields of the objects at these paths, in one pass."""
    tree = _Dropped({}, set())
    for path, names in fields:
        node = tree
        for key in path:
            node = node.inside.setdefault(key, _Dropped({}, set()))
        node.names.update(names)
    return _without(raw, tree)


class _Dropped(NamedTuple):
    """The names of the fields that an object loses, and by key those that the objects in it lose."""

    inside: dict[str | int, _Dropped]
    names: set[str]


def _without(raw: object, dropped: _Dropped) -> object:
    inside = dropped.inside
    if isinstance(raw, dict):
        result = {key: value for key, value in cast("Mapping[str, object]", raw).items() if key not in dropped.names}
        return result | {key: _without(result[key], inside[key]) for key in result.keys() & inside.keys()}
    if isinstance(raw, list | tuple):
        every = enumerate(cast("Sequence[object]", raw))
        return [_without(each, inside[at]) if at in inside else each for at, each in every]
    return raw
