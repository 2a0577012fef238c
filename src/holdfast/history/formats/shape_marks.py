"""Marks in a shape what a message alone does not show: facts about the request or the provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from holdfast.history.field_tables import TYPES
from holdfast.history.field_types import FieldFault, Objects, faults, suspects
from holdfast.history.fields import Kinds, odd_fields
from holdfast.history.formats.field_removal import without_fields
from holdfast.history.shape import Flag, Item, Message, Odd, Path

_ANOTHER = "another"
"""The maker of what is signed, where it is not the one that is asked: which one does not matter."""

_REWRITTEN: frozenset[Flag] = frozenset({"spelling", "arguments-type"})
_READ = frozenset({"function", "custom", "arguments", "args"})
"""Where a call that is written again may say what it does."""


def with_odd(message: Message, odd: Sequence[Odd]) -> Message:
    """Return the message with its unknown fields marked, except in items that are rewritten or quoted whole."""
    if message.flags & {"malformed", "unknown-role"}:
        return message
    quoted = [item.path for item in message.items if _is_whole(item)]
    written = [item.path for item in message.items if item.flags & _REWRITTEN]
    told: list[Odd] = []
    for each in odd:
        if any(each.path[: len(path)] == path for path in quoted):
            continue
        if any(each.path[: len(path)] == path for path in written):
            said = tuple(name for name in each.said if name not in _READ)
            told += [Odd(each.path, (), said)] if said else []
        else:
            told.append(each)
    return msgspec.structs.replace(message, odd=tuple(told)) if told else message


def _is_whole(item: Item) -> bool:
    """Return whether all that the item holds is written again as text: of a result it is what the tool said."""
    return "other-wire" in item.flags or ("foreign" in item.flags and item.kind != "result")


def tells_fields(message: Message) -> bool:
    """Return whether the message has fields that go and say something, so that it gets a text."""
    return any(each.said for each in (*message.odd, *message.mistyped))


def marked(message: Message, *, foreign: bool, unkept: bool) -> Message:
    """Return the message with foreign signatures (`foreign`) and items not stored by the provider (`unkept`) marked."""
    items = [_marked(item, foreign=foreign, unkept=unkept) for item in message.items]
    if all(now is was for now, was in zip(items, message.items, strict=True)):
        return message
    return msgspec.structs.replace(message, items=tuple(items))


def _marked(item: Item, *, foreign: bool, unkept: bool) -> Item:
    if "signed" in item.flags:
        return msgspec.structs.replace(item, maker=_ANOTHER) if foreign else item
    thought = item.kind == "thinking" and {"own-id", "untold"} <= item.flags
    if unkept and (thought or "reference" in item.flags):
        return msgspec.structs.replace(item, flags=item.flags - {"reference"} | {"unkept"})
    return item


def typed_messages(
    form: str, messages: Sequence[object], begin: int, known: Kinds | None
) -> tuple[Sequence[object], Mapping[int, tuple[Sequence[FieldFault], object]]]:
    """Return the messages without the fields that are of a wrong type; by its place, what is wrong with which.

    A field that the provider does not know is a finding of that kind.
    """
    if (types := TYPES.get(form)) is None:
        return messages, {}
    looked = ((at, messages[at]) for at in suspects(messages, types))
    wrong = {at: (found, raw) for at, raw in looked if (found := _faults(raw, types, (begin + at,), known))}
    if not wrong:
        return messages, wrong
    kept = list(messages)
    for at, (found, _) in wrong.items():
        kept[at] = without_fields(kept[at], ((each.path[1:], (each.name,)) for each in found if each.name is not None))
    return kept, wrong


def _faults(raw: object, types: Objects, path: Path, known: Kinds | None) -> list[FieldFault]:
    odd = odd_fields(raw, known, path) if known is not None else ()
    unknown = {(each.path, name) for each in odd for name in (*each.names, *each.said)}
    return [each for each in faults(raw, types, path) if each not in unknown]
