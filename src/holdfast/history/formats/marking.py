"""What is marked in a shape that a message alone does not show: it is known of the request, or of the provider."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.history.shape import Flag, Item, Message, Odd

ANOTHER = "another"
"""The maker of what is signed, where it is not the one that is asked: which one does not matter."""

_REWRITTEN: frozenset[Flag] = frozenset({"foreign", "other-wire", "spelling", "arguments-type"})


def with_odd(message: Message, odd: Sequence[Odd]) -> Message:
    """Return the message with the fields that are not known, but for what is written anew or quoted whole."""
    if message.flags & {"malformed", "unknown-role"}:
        return message
    whole = [item.path for item in message.items if item.flags & _REWRITTEN]
    told = tuple(each for each in odd if not any(each.path[: len(path)] == path for path in whole))
    return msgspec.structs.replace(message, odd=told) if told else message


def marked(message: Message, *, foreign: bool, unkept: bool) -> Message:
    """Return the message with what another signed (`foreign`) and what the provider did not keep (`unkept`) marked."""
    items = [_marked(item, foreign=foreign, unkept=unkept) for item in message.items]
    if all(now is was for now, was in zip(items, message.items, strict=True)):
        return message
    return msgspec.structs.replace(message, items=tuple(items))


def _marked(item: Item, *, foreign: bool, unkept: bool) -> Item:
    if "signed" in item.flags:
        return msgspec.structs.replace(item, maker=ANOTHER) if foreign else item
    thought = item.kind == "thinking" and {"own-id", "untold"} <= item.flags
    if unkept and (thought or "reference" in item.flags):
        return msgspec.structs.replace(item, flags=item.flags - {"reference"} | {"unkept"})
    return item
