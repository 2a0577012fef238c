"""Writes a row as a message of pydantic-ai.

Two rules. What is not named by an edit stays as it was, with every field. What is new loads in old versions too: it has
no field and no value that only new ones know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.history.draft_messages import DraftMessage, DraftPart
from holdfast.history.formats.content_writer import held_now, note_block, quoted_result, raw_at
from holdfast.history.formats.format import (
    Json,
    as_array,
    as_object,
    is_array,
    json_text,
    object_arguments,
    quoted,
    words,
)
from holdfast.history.formats.pydantic_ai.fields import loadable
from holdfast.history.formats.pydantic_ai.parts import (
    SYNTHETIC,
    UNSAID,
    call_part,
    is_said,
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
    unsaid = [part for source in sources for part in as_array(source.get("parts")) if kind_of(part) in UNSAID]
    if row.role == "tool":
        said = [_result_part(piece, messages) for piece in row.pieces]
    else:
        said = [_said_part(row, messages)]
    base["parts"] = [*said, *unsaid]
    return base


# --- responses -------------------------------------------------------------------------------------------------------


def _response_parts(piece: DraftPart, messages: Sequence[object]) -> Iterator[object]:
    if piece.item is None or piece.what is not None:
        for value in _values(piece, messages):
            yield {"part_kind": "text", "content": value if isinstance(value, str) else json_text(value)}
        return
    raw = raw_at(piece.item.path[:3], messages)
    part = raw if piece.item.path[1] == "parts" else call_part(as_object(raw))
    if not piece.touched:
        yield part
        return
    changed = dict(loadable(as_object(part)))
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


def _said_part(row: DraftMessage, messages: Sequence[object]) -> Json:
    """Return the content of the user or the system in the row as one part."""
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


def _values(piece: DraftPart, messages: Sequence[object]) -> Iterator[object]:
    """Yield the values that the piece adds to a content: texts, or files and texts with metadata unchanged."""
    if piece.item is None:
        yield piece.text or ""
        return
    raw = raw_at(piece.item.path, messages)
    if piece.what is not None:
        yield from _quoted(piece.what, piece, raw)
    elif piece.left_out:
        yield note_block(piece.left_out)
    elif kind_of(raw) in ("retry-prompt", "retry-feedback"):
        yield f"Validation feedback:\n{words(as_object(raw).get('content'))}"
    else:
        yield raw
        yield from _cache_points(piece.item, messages)


def _cache_points(item: Item, messages: Sequence[object]) -> Iterator[object]:
    """Yield the cache points directly after an entry of a list."""
    last = item.path[-1]
    if isinstance(last, int):
        behind = as_array(raw_at(item.path[:-1], messages))[last + 1 :]
        for each in behind:
            if as_object(each).get("kind") != "cache-point":
                return
            yield each


def _quoted(what: str, piece: DraftPart, raw: object) -> Iterator[object]:
    assert piece.item is not None
    if piece.item.kind == "result":
        yield from quoted_result(what, _result_content(piece, as_object(raw)), is_said)
        return
    content = as_object(raw).get("content")
    if content is None:
        content = [as_object(part).get("content", part) for part in as_array(as_object(raw).get("parts"))] or raw
    yield quoted(what, words(content))


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
    return held_now(content, piece, is_media=lambda each: bool(media_of(as_object(each))), text=str)
