"""Finds the messages that get new ids and nothing else, which are written without a row of parts.

A switch of provider can give every call another id: most of the work of a repair would be rows of such messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.history.edits import AddResult, Edit, QuoteArguments, SetId
from holdfast.history.shape import Message, Path


def messages_with_new_ids(messages: Sequence[Message], edits: Sequence[Edit]) -> Mapping[int, Mapping[Path, str]]:
    """Return new ids by message and path, of messages with no other change; none if a message may move."""
    ids: dict[int | str, dict[Path, str]] = {}
    others: set[int | str] = set()
    for edit in edits:
        match edit:
            case SetId():
                for path in edit.paths:
                    ids.setdefault(path[0], {})[path] = edit.new
            case AddResult():
                others |= {edit.call[0], edit.place.message}
            case QuoteArguments():
                others.add(edit.path[0])
            case _:
                return {}
    return {
        index: new
        for index, new in ids.items()
        if isinstance(index, int) and index not in others and _is_plain(messages[index])
    }


def _is_plain(message: Message) -> bool:
    """Return whether the message has only texts, calls and results without faults."""
    if message.flags - {"null-content"} or message.invalid_strings or message.unknown_fields or message.mistyped_fields:
        return False
    return all(not item.flags and item.kind in ("text", "call", "result") for item in message.items)
