"""Finds the messages that get new ids and nothing else, which are written without a row of parts.

A switch of provider can give every call another id: most of the work of a repair would be rows of such messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import msgspec

from holdfast.history.edits import AddResult, Edit, QuoteArguments, SetId
from holdfast.history.shape import Kind, Message, MessageFlag, Path


class NewIds(NamedTuple):
    """New ids by the path of a call or result, and the indexes of the messages that get ids and no other change."""

    ids: Mapping[Path, str]
    messages: AbstractSet[int]


NO_NEW_IDS = NewIds({}, frozenset())


def find_new_ids(messages: Sequence[Message], edits: Sequence[Edit]) -> NewIds:
    """Return the new ids that the edits give; none if there are edits that may change any other message."""
    ids: dict[Path, str] = {}
    others: set[int | str] = set()
    for edit in edits:
        match edit:
            case SetId():
                for path in edit.paths:
                    ids[path] = edit.new
            case AddResult():
                others |= {edit.call[0], edit.place.message}
            case QuoteArguments():
                others.add(edit.path[0])
            case _:
                return NO_NEW_IDS
    changed = {path[0] for path in ids} - others
    return NewIds(ids, {index for index in changed if isinstance(index, int) and _is_plain(messages[index])})


def with_new_ids(message: Message, ids: Mapping[Path, str]) -> Message:
    """Return the projection of a message that got these ids and no other change."""
    items = [
        item if (new := ids.get(item.path)) is None else msgspec.structs.replace(item, id=new) for item in message.items
    ]
    return msgspec.structs.replace(message, items=tuple(items))


_HARMLESS: frozenset[MessageFlag] = frozenset({"null-content"})
_KINDS: frozenset[Kind] = frozenset({"text", "call", "result"})


def _is_plain(message: Message) -> bool:
    """Return whether the message has only texts, calls and results without faults."""
    if not message.flags <= _HARMLESS or message.invalid_strings or message.unknown_fields or message.mistyped_fields:
        return False
    for item in message.items:  # noqa: SIM110 - a generator takes twice as long
        if item.flags or item.kind not in _KINDS:
            return False
    return True
