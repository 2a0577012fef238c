"""Converts positions of edits among the sent messages to positions in the document."""

from __future__ import annotations

from collections.abc import Callable

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
    Rename,
    SetId,
    Split,
    TurnOffThinking,
)
from holdfast.history.repairs.block_edits import MoveContent
from holdfast.history.shape import Path


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
