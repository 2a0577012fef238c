"""Writes a row as a message of pydantic-ai.

Whatever no edit names stays unchanged, with every field. New parts load in old versions too: they use no field and no
value that only new versions know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.history.draft_messages import DraftMessage, DraftPart
from holdfast.history.fields import CONTENT_FIELDS
from holdfast.history.formats.content import edited_content, note_block, quote_result, raw_at
from holdfast.history.formats.format import (
    Json,
    as_array,
    as_object,
    is_array,
    is_object,
    json_text,
    object_arguments,
    quoted,
    words,
)
from holdfast.history.formats.pydantic_ai.fields import is_record, loadable, with_speaker
from holdfast.history.formats.pydantic_ai.parts import (
    SYNTHETIC,
    call_part,
    fits_user_message,
    kind_of,
    media_of,
)
from holdfast.history.shape import Item


def write_message(row: DraftMessage, messages: Sequence[object]) -> Json:
    """Return the message for a row: a response, or a request of one part."""
    kind = "response" if row.role == "assistant" else "request"
    sources = [source for index in row.sources if (source := as_object(messages[index])).get("kind") == kind]
    base: Json = {"kind": kind}
    for source in reversed(sources):
        base |= loadable(source)
    if row.role == "assistant":
        base["parts"] = [part for piece in row.pieces for part in _response_parts(piece, messages)]
        base.pop("tool_calls", None)  # each call is a part now
        if "thinking" in row.added:
            base["parts"] = [{"part_kind": "thinking", "content": ""}, *as_array(base["parts"])]
        return base
    records = [part for source in sources for part in as_array(source.get("parts")) if is_record(part)]
    if row.role == "tool":
        content_parts = [_result_part(piece, messages) for piece in row.pieces]
    else:
        content_parts = [_content_part(row, messages)]
    base["parts"] = [*content_parts, *(loadable(as_object(part)) for part in records)]
    return base


# --- responses -------------------------------------------------------------------------------------------------------


def _response_parts(piece: DraftPart, messages: Sequence[object]) -> Iterator[object]:
    if piece.item is None or piece.label is not None:
        for value in _values(piece, messages):
            yield {"part_kind": "text", "content": value if isinstance(value, str) else json_text(value)}
        return
    if piece.left_out:
        yield {"part_kind": "text", "content": note_block(piece.left_out)}
        return
    raw = raw_at(piece.item.path[:3], messages)
    part = raw if piece.item.path[1] == "parts" else call_part(as_object(raw))
    if not piece.touched:
        yield part
        return
    changed = dict(with_speaker(loadable(as_object(part)), "assistant"))
    if "item-id" in piece.dropped:
        changed.pop("id", None)
    if piece.id != piece.item.id:
        changed["tool_call_id"] = piece.id
    if piece.name != piece.item.name:
        changed["tool_name"] = piece.name
    if piece.quote_arguments:
        arguments = object_arguments(changed.get("args"))
        changed["args"] = json_text(arguments) if isinstance(changed.get("args"), str) else arguments
    yield changed


# --- requests --------------------------------------------------------------------------------------------------------


def _content_part(row: DraftMessage, messages: Sequence[object]) -> Json:
    """Return the content of the user or the system in the row as one part."""
    if len(row.pieces) == 1 and (trimmed := _trimmed_part(row.pieces[0], messages)) is not None:
        return trimmed
    kind = "system-prompt" if row.role == "system" else "user-prompt"
    parts = (part for index in row.sources for part in as_array(as_object(messages[index]).get("parts")))
    base: Json = next((as_object(part) for part in parts if kind_of(part) == kind), {"part_kind": kind})
    values = [value for piece in row.pieces for value in _values(piece, messages)]
    content: object = values
    if len(values) == 1 and isinstance(values[0], str) and not is_array(base.get("content")):
        content = values[0]
    elif row.role == "system":
        content = "\n\n".join(words(value) for value in values)
    return {**loadable(base), "content": content}


def _trimmed_part(piece: DraftPart, messages: Sequence[object]) -> Json | None:
    """Return the part of a request that only loses fields, if it is of a kind that has no other content."""
    part = None if piece.item is None else as_object(raw_at(piece.item.path[:3], messages))
    if part is None or kind_of(part) not in ("speech", "compaction") or piece.label is not None:
        return None
    return with_speaker(loadable(part), "user") if "mistyped" in piece.dropped else None


def _values(piece: DraftPart, messages: Sequence[object]) -> Iterator[object]:
    """Yield the values that the piece adds to a content: texts, or files and texts with metadata unchanged."""
    if piece.item is None:
        yield piece.text or ""
        return
    raw = raw_at(piece.item.path, messages)
    if piece.label is not None:
        yield from _quoted(piece.label, piece, raw)
    elif piece.left_out:
        yield note_block(piece.left_out)
    elif kind_of(raw) in ("retry-prompt", "retry-feedback"):
        yield f"Validation feedback:\n{words(as_object(raw).get('content'))}"
    else:
        yield loadable(raw) if is_object(raw) else raw
        yield from _cache_points(piece.item, messages)


def _cache_points(item: Item, messages: Sequence[object]) -> Iterator[object]:
    """Yield the cache points directly after an entry of a list."""
    last = item.path[-1]
    if isinstance(last, int):
        following = as_array(raw_at(item.path[:-1], messages))[last + 1 :]
        for each in following:
            if as_object(each).get("kind") != "cache-point":
                return
            yield loadable(as_object(each))


def _quoted(label: str, piece: DraftPart, raw: object) -> Iterator[object]:
    assert piece.item is not None
    part = as_object(raw)
    content = part.get("content")
    if piece.item.kind == "result":
        for value in quote_result(label, _result_content(piece, part), fits_user_message):
            yield loadable(value) if is_object(value) else value  # a file in a result may have mistyped fields
    elif content is None:
        parts = as_array(part.get("parts")) if len(piece.item.path) == 1 else ()
        yield quoted(label, words([as_object(each).get("content", each) for each in parts] or raw))
        return
    else:
        yield quoted(label, words(content))
    names = [name for name in part if name in CONTENT_FIELDS - {"content"} and part[name]]
    yield from (quoted(f"field {name}", words(part[name])) for name in names)


def _result_part(piece: DraftPart, messages: Sequence[object]) -> Json:
    if piece.item is None:
        return {
            "part_kind": "tool-return",
            "tool_name": piece.name or "",
            "content": piece.text,
            "tool_call_id": piece.id,
            "metadata": {SYNTHETIC: True},
        }
    part = dict(loadable(as_object(raw_at(piece.item.path, messages))))
    part.setdefault("tool_name", piece.name or "")
    if piece.id != piece.item.id:
        part["tool_call_id"] = piece.id
    if piece.name != piece.item.name:
        part["tool_name"] = piece.name
    if piece.as_text:
        part["content"] = words(part.get("content"))
    if piece.text is not None or piece.left_out:
        part["content"] = _result_content(piece, part)
    return part


def _result_content(piece: DraftPart, part: Json) -> object:
    """Return the new content of the result: filled if nothing else is left, with a note in place of bad images."""
    content = part.get("content")
    if not is_array(content):
        return note_block(piece.left_out) or (content if piece.text is None else piece.text)
    return edited_content(content, piece, is_media=lambda each: bool(media_of(as_object(each))), text=str)
