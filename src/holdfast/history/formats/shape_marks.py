"""Marks messages of a shape with facts about the request or the provider, which a message does not show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import msgspec

from holdfast.history.field_tables import TYPES
from holdfast.history.field_types import FieldFault, Objects, faults, suspects
from holdfast.history.fields import Kinds, unknown_fields
from holdfast.history.shape import BadFields, Flag, Item, Message, Path


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


# --- shape marks ---

_ANOTHER = "another"
"""The maker of signed content from any other provider than the request's."""

_REWRITTEN: frozenset[Flag] = frozenset({"spelling", "arguments-type"})
_READ = frozenset({"function", "custom", "arguments", "args"})
"""The fields of a rewritten call that keep its content."""


def with_unknown_fields(message: Message, unknown: Sequence[BadFields]) -> Message:
    """Return the message with its unknown fields marked, except in items that are rewritten or quoted whole."""
    if message.flags & {"malformed", "unknown-role"}:
        return message
    quoted = [path for item in message.items for path in _rewritten_whole(item)]
    written = [item.path for item in message.items if item.flags & _REWRITTEN]
    found: list[BadFields] = []
    for each in unknown:
        if any(each.path[: len(path)] == path for path in quoted):
            continue
        if any(each.path[: len(path)] == path for path in written):
            with_text = tuple(name for name in each.with_text if name not in _READ)
            found += [BadFields(each.path, (), with_text)] if with_text else []
        else:
            found.append(each)
    return msgspec.structs.replace(message, unknown_fields=tuple(found)) if found else message


def _rewritten_whole(item: Item) -> Iterator[Path]:
    """Yield the places of what is rewritten: as text, or as an image in the form of this format."""
    if "other-wire" in item.flags or ("foreign" in item.flags and item.kind != "result"):
        yield item.path
    elif "other-picture" in item.flags:
        yield from item.media_at or (item.path,)


def has_fields_to_quote(message: Message) -> bool:
    """Return whether the message loses fields with content, which are quoted as text."""
    return any(each.with_text for each in (*message.unknown_fields, *message.mistyped_fields))


def marked(message: Message, *, foreign: bool, unkept: bool) -> Message:
    """Return the message with foreign signatures (`foreign`) and items not stored by the provider (`unkept`) marked."""
    items = [_marked(item, foreign=foreign, unkept=unkept) for item in message.items]
    if all(now is was for now, was in zip(items, message.items, strict=True)):
        return message
    return msgspec.structs.replace(message, items=tuple(items))


def _marked(item: Item, *, foreign: bool, unkept: bool) -> Item:
    if "signed" in item.flags:
        return msgspec.structs.replace(item, maker=_ANOTHER) if foreign else item
    thought = item.kind == "thinking" and {"own-id", "no-text"} <= item.flags
    if unkept and (thought or "reference" in item.flags):
        return msgspec.structs.replace(item, flags=item.flags - {"reference"} | {"not-stored"})
    return item


def typed_messages(
    form: str, messages: Sequence[object], begin: int, known: Kinds | None
) -> tuple[Sequence[object], Mapping[int, tuple[Sequence[FieldFault], object]]]:
    """Return the messages without mistyped fields, and by index each faulty message with its faults.

    Unknown fields are no faults here; they are reported as unknown.
    """
    if (types := TYPES.get(form)) is None:
        return messages, {}
    suspected = ((at, messages[at]) for at in suspects(messages, types))
    wrong = {at: (found, raw) for at, raw in suspected if (found := _faults(raw, types, (begin + at,), known))}
    if not wrong:
        return messages, wrong
    typed = list(messages)
    for at, (found, _) in wrong.items():
        typed[at] = without_fields(
            typed[at], ((each.path[1:], (each.name,)) for each in found if each.name is not None)
        )
    return typed, wrong


def _faults(raw: object, types: Objects, path: Path, known: Kinds | None) -> list[FieldFault]:
    objects = unknown_fields(raw, known, path) if known is not None else ()
    unknown = {(each.path, name) for each in objects for name in (*each.names, *each.with_text)}
    return [each for each in faults(raw, types, path) if each not in unknown]
