"""Finds the messages that get new ids and nothing else, which are written without a row of pieces.

A switch of provider can give every call another id: most of the work of a repair would be rows of such messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.history.edits import AddResult, Edit, QuoteArguments, SetId
from holdfast.history.shape import Message, Path


def messages_with_new_ids(messages: Sequence[Message], edits: Sequence[Edit]) -> Mapping[int, Mapping[Path, str]]:
    """Return the new ids, by message and place, where nothing else of the message changes; none if one may move."""
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
    """Return whether the message holds texts, calls and results without faults, so that each is written as it was."""
    if message.flags - {"null-content"} or message.unclean or message.odd or message.mistyped:
        return False
    return all(not item.flags and item.kind in ("text", "call", "result") for item in message.items)
