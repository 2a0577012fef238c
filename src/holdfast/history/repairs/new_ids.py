"""New ids for calls, and where edits stand.

A switch of provider can give every call another id: most of the work of a repair would be rows of such messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import msgspec

from holdfast.history.edit_places import EditPlace
from holdfast.history.edits import (
    AddResult,
    CleanText,
    DeclareTools,
    DropMessage,
    Edit,
    Insert,
    Merge,
    MoveCall,
    MoveResult,
    Quote,
    QuoteArguments,
    Rename,
    SetId,
    Split,
    TurnOffThinking,
)
from holdfast.history.repairs.block_edits import MoveContent
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


_HARMLESS: frozenset[MessageFlag] = frozenset({"null-content", "prefix"})
_KINDS: frozenset[Kind] = frozenset({"text", "call", "result"})


def _is_plain(message: Message) -> bool:
    """Return whether the message has only texts, calls and results without faults."""
    if not message.flags <= _HARMLESS or message.invalid_strings or message.unknown_fields or message.mistyped_fields:
        return False
    for item in message.items:  # noqa: SIM110 - a generator takes twice as long
        if item.flags or item.kind not in _KINDS:
            return False
    return True


# --- Converts positions of edits among the sent messages to positions in the document ---


def located(edit: Edit, where: Callable[[Path], Path], place: Callable[[EditPlace], EditPlace]) -> Edit:
    """Return the edit with its positions in the document; `where` and `place` convert those among sent messages."""
    match edit:
        case AddResult(call=call):
            found = msgspec.structs.replace(edit, call=where(call), place=place(edit.place))
        case MoveResult(result=result, call=call):
            found = MoveResult(where(result), where(call), place(edit.place))
        case MoveContent(path=path, place=insertion, parts=parts):
            found = msgspec.structs.replace(
                edit, path=where(path), place=place(insertion), parts=tuple(where(part) for part in parts)
            )
        case MoveCall(call=call, message=message):
            found = MoveCall(where(call), _index(where((message,))))
        case Split(calls=calls, results=results):
            found = Split(tuple(where(path) for path in calls), tuple(where(path) for path in results))
        case Quote(path=path, place=EditPlace() as insertion):
            found = msgspec.structs.replace(edit, path=where(path), place=place(insertion))
        case SetId(paths=paths) | Rename(paths=paths):
            found = msgspec.structs.replace(edit, paths=tuple(where(path) for path in paths))
        case CleanText(message=int(message)):
            found = CleanText(_index(where((message,))))
        case DropMessage(message=int(message)) | Merge(message=int(message)) | Insert(message=int(message)):
            at = where((message,))
            part = at[-1] if len(at) > 1 and isinstance(at[-1], int) else None
            found = msgspec.structs.replace(edit, message=_index(at), part=part)
        case CleanText() | Insert() | DeclareTools() | TurnOffThinking():
            found = edit  # outside the messages, or after all of them
        case _:
            found = msgspec.structs.replace(edit, path=where(edit.path))
    return found


def _index(path: Path) -> int:
    index = path[0]
    assert isinstance(index, int)
    return index
