"""Writes edited items of OpenAI's Responses, and names the kinds of calls and results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from holdfast.history.draft_messages import DraftMessage, DraftPart
from holdfast.history.formats.content import content_as_text, edited_content, note_block, quote_result, raw_at
from holdfast.history.formats.format import (
    Json,
    as_array,
    as_object,
    as_text,
    is_array,
    is_object,
    json_text,
    quotable_content,
    quoted,
    quoted_arguments,
    role_in,
    words,
)
from holdfast.history.formats.other_wire_results import content_of_another, text_of_another
from holdfast.history.media.images import type_of
from holdfast.history.shape import GENERATED, Role

CALLS: Mapping[str, str] = MappingProxyType(
    {
        "function_call": "",
        "custom_tool_call": "",
        "local_shell_call": "local_shell",
        "shell_call": "shell",
        "apply_patch_call": "apply_patch",
        "computer_call": "computer",
    }
)
"""The calls that a client answers, each with the name of its tool; "" if the call names it."""

FORMER_KINDS: Mapping[str, str] = MappingProxyType({"compaction_summary": "compaction"})
"""Kinds of items with another name, which Codex reads too; each with the name that the provider knows."""

RESULTS = frozenset(f"{kind}_output" for kind in CALLS)
TEXTUAL = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})
"""The results that hold a text or a list of parts."""

CONTENT_TYPES: Mapping[Role, str] = MappingProxyType(
    {"system": "input_text", "user": "input_text", "assistant": "output_text", "tool": "input_text"}
)
"""The type of a text part, by role."""

RESPONSES_ROLES: Mapping[str, Role] = MappingProxyType(
    {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
)
_NOTHING_SEEN = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)
"""An image of a single transparent pixel: a computer call can only be answered by an image."""

_NOTHING_THOUGHT: Json = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": " "}]}
"""Thinking to add where some is required and none is recorded: DeepSeek refuses an empty text, but not a blank one."""


_STATUSES = frozenset({"in_progress", "completed", "incomplete", "failed"})


_BUSY = _STATUSES | {"searching", "interpreting", "generating", "calling"}
"""The statuses of a call that the provider runs itself."""

_SEARCHES = frozenset({"search", "open_page", "find_in_page", "find"})
"""The actions of a web search; the last is a former name."""


def has_illegal_value(call: Json) -> bool:
    """Return whether a provider-run call has an unknown status or action."""
    status, action = call.get("status"), as_object(call.get("action")).get("type")
    bad_status = status is not None and not (isinstance(status, str) and status in _BUSY)
    acts = call.get("type") == "web_search_call" and action is not None
    return bad_status or (acts and not (isinstance(action, str) and action in _SEARCHES))


def id_key(result: Json) -> str:
    """Return the key with the id that a result answers; for a local shell it may be the result's own id."""
    return "id" if result.get("type") == "local_shell_call_output" and "call_id" not in result else "call_id"


def is_hollow_content(content: object) -> bool:
    """Return whether the content of reasoning is an empty object or a blank text instead of a list."""
    return content == {} or (isinstance(content, str) and not content.strip())


def build_item(row: DraftMessage, messages: Sequence[object]) -> object:
    """Return the item for an edited row: the original with changes, or a message."""
    if row.pieces and _is_item(row.pieces[0]):
        return _item(row.pieces[0], messages)
    return _message(row, messages)


def _is_item(piece: DraftPart) -> bool:
    if piece.label is not None:
        return False
    return piece.kind in ("call", "result", "thinking") or (
        piece.kind == "other" and piece.item is not None and len(piece.item.path) == 1
    )


# --- items that are no messages --------------------------------------------------------------------------------------


def _item(piece: DraftPart, messages: Sequence[object]) -> object:
    if piece.item is None:
        return dict(_NOTHING_THOUGHT) if piece.kind == "thinking" else _made_up(piece, messages)
    raw = raw_at(piece.item.path, messages)
    if not piece.touched:
        return raw
    if "other-wire" in piece.item.flags:
        output = content_of_another(raw, piece, lambda words: _text("tool", words))
        return {"type": "function_call_output", "call_id": piece.id, "output": output}
    item = dict(as_object(raw))
    if "item-id" in piece.dropped:
        item.pop("id", None)
    if piece.kind == "call":
        _change_call(item, piece)
    elif piece.kind == "result":
        _change_result(item, piece)
        if piece.quoted_fields:
            item["output"] = _output_with(item, piece.quotation)
    elif piece.kind == "thinking":
        _change_reasoning(item, piece)
    elif "kind" in piece.added:
        item["type"] = FORMER_KINDS[str(item["type"])]
    return item


def _output_with(item: Json, quotation: str) -> object:
    """Return the output of the result followed by the quotation, in the form of its kind."""
    output = item.get("output")
    match item.get("type"):
        case "shell_call_output":
            return [*as_array(output), _stream(quotation)]
        case "apply_patch_call_output" | "local_shell_call_output":
            return "\n\n".join(filter(None, (words(output) if output else "", quotation)))
        case _:
            return [
                *(output if is_array(output) else [_text("tool", words(output))] if output else []),
                _text("tool", quotation),
            ]


def _stream(text: str) -> Json:
    """Return a shell output with the text; its outcome is a timeout, since an exit would be a claim."""
    return {"stdout": "", "stderr": text, "outcome": {"type": "timeout"}}


def _change_reasoning(item: Json, piece: DraftPart) -> None:
    if "field" in piece.added:
        item["summary"] = []
    if "mistyped" in piece.dropped:
        del item["content"]
    if piece.as_text:
        item["content"] = [{"type": "reasoning_text", "text": words(item["content"])}]
    if "thoughts" in piece.dropped:
        thoughts = [as_text(as_object(part).get("text")) for part in as_array(item.pop("content", None))]
        if not item.get("encrypted_content"):  # which contains the thoughts
            summed = ({"type": "summary_text", "text": text} for text in thoughts if text)
            item["summary"] = [*as_array(item.get("summary")), *summed]


def _change_call(item: Json, piece: DraftPart) -> None:
    assert piece.item is not None
    if piece.id != piece.item.id:
        item["call_id"] = piece.id
    if piece.name != piece.item.name:
        item["name"] = piece.name
    if piece.quote_arguments and item.get("type") == "custom_tool_call":
        item["input"] = words(item["input"]) if item.get("input") is not None else ""
    elif piece.quote_arguments:
        written = item.get("arguments")
        item["arguments"] = json_text(written if is_object(written) else quoted_arguments(written))


def _change_result(item: Json, piece: DraftPart) -> None:
    assert piece.item is not None
    if piece.id != piece.item.id:
        item[id_key(item)] = piece.id
    if piece.name != piece.item.name and "name" in item:
        item["name"] = piece.name
    kind = item.get("type")
    if piece.as_text and kind == "shell_call_output":
        item["output"] = [_stream(words(item.get("output")))]
    elif piece.as_text and kind == "apply_patch_call_output":
        ended = item.get("status") in ("completed", "failed")
        content = item.get("output") if ended else {key: item[key] for key in ("status", "output") if key in item}
        item |= {"status": item["status"] if ended else "failed", "output": words(content)}
    elif piece.text is not None or piece.as_text or piece.left_out or piece.moved:
        item["output"] = _output(piece, item)


def _output(piece: DraftPart, item: Json) -> object:
    """Return the new content of the result: filled if nothing else is left, with a note in place of bad images."""
    output = item.get("output")
    if piece.as_text:
        output = content_as_text(
            output, piece, fits=_fits_result, is_media=_is_media, text=lambda note: _text("tool", note)
        )
        if is_array(output):
            return output
    if is_array(output):
        return edited_content(output, piece, is_media=_is_media, text=lambda note: _text("tool", note))
    return (
        piece.text
        if piece.text is not None and (not output or (isinstance(output, str) and not output.strip()))
        else output
    )


def _fits_result(part: object) -> bool:
    """Return whether a part of a result stays as it is when the others become text."""
    text = as_object(part).get("text")
    return _is_media(part) or (as_object(part).get("type") == CONTENT_TYPES["tool"] and isinstance(text, str))


def is_image_part(raw: Json) -> bool:
    """Return whether the part is an image with a source."""
    url = raw.get("image_url")
    return raw.get("type") == "input_image" and as_text(raw.get("file_id") if url is None else url) is not None


def is_file_part(raw: Json) -> bool:
    """Return whether the part is a file with a source."""
    return raw.get("type") == "input_file" and any(as_text(raw.get(f"file_{key}")) for key in ("data", "id", "url"))


def _is_media(part: object) -> bool:
    return is_image_part(as_object(part)) or is_file_part(as_object(part))


def _made_up(piece: DraftPart, messages: Sequence[object]) -> Json:
    """Return a new result for a call without one, which says so if its kind can hold text."""
    assert piece.call is not None
    assert piece.call.item is not None
    kind = as_object(messages[piece.call.item.message]).get("type")
    result: Json = {"type": f"{kind}_output", "call_id": piece.id}
    if kind == "shell_call":
        result["output"] = [_stream(piece.text or "")]
    elif kind == "computer_call":
        result["output"] = {"type": "computer_screenshot", "image_url": _NOTHING_SEEN}
    else:
        result["output"] = piece.text
    if kind == "apply_patch_call":
        result["status"] = "failed"
    return result


# --- messages --------------------------------------------------------------------------------------------------------


def _message(row: DraftMessage, messages: Sequence[object]) -> Json:
    base: Json = {}
    holding = {piece.item.message for piece in row.pieces if piece.item is not None}
    for index in row.sources:
        message = as_object(messages[index])
        if index not in holding:  # the id of an empty message would name an item that the provider never made
            message = {key: value for key, value in message.items() if key != "id"}
        if is_message(message) and role_in(RESPONSES_ROLES, message.get("role")) == row.role:
            base = {**message, **base}
    if "role" in row.added:
        base["role"] = row.role
    listed = is_array(base.get("content"))
    base = base or {"type": "message", "role": row.role}
    if any("item-id" in piece.dropped for piece in row.pieces):
        base.pop("id", None)
    values = [value for piece in row.pieces for value in _values(piece, messages)]
    if len(values) == 1 and isinstance(values[0], str) and not listed:
        base["content"] = values[0]
    else:
        base["content"] = [_text(row.role, value) if isinstance(value, str) else value for value in values]
    return base


def is_message(raw: Json) -> bool:
    """Return whether the item is a message; the kind may be missing."""
    return raw.get("type") == "message" or (raw.get("type") is None and "role" in raw)


def _text(role: Role, text: str) -> Json:
    return {"type": CONTENT_TYPES[role], "text": text}


def _values(piece: DraftPart, messages: Sequence[object]) -> Iterator[object]:
    """Yield the values that the piece adds to the content of a message: texts, or unchanged parts."""
    if piece.item is None:
        yield piece.text or ""
        return
    raw = raw_at(piece.item.path, messages)
    if piece.label is not None:
        yield from _quoted(piece.label, piece, raw)
    elif piece.left_out:
        yield note_block(piece.left_out)
    elif piece.as_text:
        yield _part_text(raw)
    else:
        yield raw


def _part_text(part: object) -> str:
    raw = as_object(part)
    text = raw.get("refusal" if raw.get("type") == "refusal" else "text")
    return text if isinstance(text, str) else words(part)


def _quoted(label: str, piece: DraftPart, raw: object) -> Iterator[object]:
    assert piece.item is not None
    item = as_object(raw)
    if "other-wire" in piece.item.flags:
        yield quoted(label, text_of_another(raw))
        return
    if label == GENERATED and (data := as_text(item.get("result"))) and (found := type_of(data)):
        yield quoted(label, as_text(item.get("revised_prompt")) or "").rstrip()
        yield {"type": "input_image", "image_url": f"data:{found};base64,{data}"}
        return
    if piece.item.kind != "result":
        yield quoted(label, words(quotable_content(raw) if len(piece.item.path) == 1 else raw))
        return
    content = _output(piece, item)
    if item.get("type") == "computer_call_output" and (url := as_text(as_object(content).get("image_url"))):
        content = [{"type": "input_image", "image_url": url}]
    elif is_array(content) and item.get("type") not in TEXTUAL:
        content = words(content)
    content = content if is_array(content) else words(raw if content is None else content)
    yield from quote_result(label, content, is_object)
