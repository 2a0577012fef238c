"""Repairs the parts of a request besides its messages: system prompt, declared tools, thinking on or off.

Everything that no edit names stays unchanged. An added tool declaration claims nothing: it accepts any object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.history.edits import CleanText, DeclareTools, Drop, DropField, Edit, TurnOffThinking
from holdfast.history.formats.anthropic.block_settings import short_lived, short_mark
from holdfast.history.formats.format import Json, as_array, as_object, cleaned
from holdfast.history.rules import Violation
from holdfast.history.shape import Path, Shape

_DECLARED = "It was used earlier in this conversation; its description is not recorded."


def is_request_edit(edit: Edit) -> bool:
    """Return whether the edit changes only what is outside of the messages."""
    match edit:
        case DeclareTools() | TurnOffThinking():
            return True
        case Drop(path=path) | DropField(path=path):
            return isinstance(path[0], str)
        case _:
            return False


def edits_of_request(shape: Shape, left: Sequence[Violation]) -> Iterator[Edit]:
    """Yield the edits of the request, for findings that no edit of messages repairs."""
    broken = {each.rule for each in left}
    if "tools-not-declared" in broken:
        calls = (item.name for message in shape.messages for item in message.items if item.kind == "call")
        yield DeclareTools(tuple(dict.fromkeys(name for name in calls if name)))
    if "thinking-not-first" in broken:
        yield TurnOffThinking()


def repaired_request(body: Json, edits: Sequence[Edit], *, key: str, messages: object) -> Json:
    """Return the request with its messages and with the other changes of the edits."""
    request_body: object = body
    if any(isinstance(edit, CleanText) and edit.message is None for edit in edits):
        request_body = cleaned(body)
    request: Json = {**as_object(request_body), key: messages}
    dropped: set[Path] = set()
    for edit in edits:
        match edit:
            case DeclareTools(names=names):
                request["tools"] = [
                    {"name": name, "description": _DECLARED, "input_schema": {"type": "object"}} for name in names
                ]
            case TurnOffThinking():
                request["thinking"] = {"type": "disabled"}
            case DropField(path=(str(holder),), field="cache-ttl"):  # of the whole request
                request[holder] = short_mark(request.get(holder))
            case DropField(path=(str(holder), int(index)), field="cache-ttl"):
                listed = list(as_array(request.get(holder)))
                listed[index] = short_lived(listed[index])
                request[holder] = listed
            case DropField(path=(str(holder), int(index))):
                listed = list(as_array(request.get(holder)))
                listed[index] = {
                    name: value for name, value in as_object(listed[index]).items() if name != "cache_control"
                }
                request[holder] = listed
            case Drop(path=(str(), int()) as path):
                dropped.add(path)
            case _:
                pass
    for holder in sorted({str(path[0]) for path in dropped}):
        listed = as_array(request.get(holder))
        remaining = [each for index, each in enumerate(listed) if (holder, index) not in dropped]
        if remaining:
            request[holder] = remaining
        else:
            del request[holder]
    return request
