"""Writes edited messages of Chat, in a form that every service accepts.

A call or an image in a form that only some services know gets the common form. Everything else keeps its fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from holdfast.history.draft_messages import DraftMessage, DraftPart
from holdfast.history.fields import CONTENT_FIELDS
from holdfast.history.formats.content import content_as_text, edited_content, note_block, quote_result, raw_at
from holdfast.history.formats.format import (
    Json,
    as_array,
    as_object,
    as_text,
    block_text,
    is_arguments,
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
from holdfast.history.provider_ids import legal_speaker
from holdfast.history.shape import Item, Path, Role

CHAT_ROLES: Mapping[str, Role] = MappingProxyType(
    {
        "system": "system",
        "developer": "system",
        "user": "user",
        "assistant": "assistant",
        "tool": "tool",
        "function": "tool",
    }
)
THINKING = ("reasoning_content", "reasoning")
_FLAT = {"name": "name", "arguments": "arguments", "args": "arguments"}
_WRITTEN = frozenset({"name", "content", "refusal", "audio", "tool_calls", "function_call", *THINKING})


def chat_role(message: Json) -> Role | None:
    """Return the role, None if it is unknown."""
    return role_in(CHAT_ROLES, message.get("role"))


def has_unusable_name(message: Json) -> bool:
    """Return whether the name of the speaker, or of the tool, is not a string."""
    return "name" in message and not isinstance(message["name"], str | None)


def has_illegal_name(message: Json) -> bool:
    """Return whether the name is a text that OpenAI refuses; a result of the role `function` has that of its call."""
    name = message.get("name")
    legal = name is None or message.get("role") == "function" or not isinstance(name, str)
    return not legal and _SPEAKER.fullmatch(str(name)) is None


_SPEAKER = re.compile(r"[^\s<|\\/>]{1,64}")


def name_of(message: Json) -> str | None:
    """Return the name of the speaker or of the tool; a number counts as its digits, anything else as none."""
    name = message.get("name")
    return str(name) if isinstance(name, int | float) and not isinstance(name, bool) else as_text(name)


def calls_in(result: Json) -> Json:
    """Return the fields of a result that hold calls, which do not belong there."""
    return {key: result[key] for key in ("tool_calls", "function_call") if result.get(key)}


def flat_function(call: Json) -> Json:
    """Return the function that some programs write into the call itself, else an empty object."""
    if is_object(call.get("function")) or is_object(call.get("custom")):
        return {}
    return {_FLAT[key]: value for key, value in call.items() if key in _FLAT}


def custom_of(call: Json) -> Json | None:
    """Return the data of a custom tool's call, None for a function; the type decides if the call has both."""
    custom = call.get("custom")
    by_name = call.get("type") == "function" and is_object(call.get("function"))
    return custom if is_object(custom) and not by_name else None


def build_message(row: DraftMessage, messages: Sequence[object]) -> Json:
    """Return the message for an edited row."""
    sources = (as_object(messages[index]) for index in row.sources)
    source: Json = next((each for each in sources if chat_role(each) == row.role), Json())
    base = _named(source)
    base.setdefault("role", row.role)
    if "role" in row.added:
        base["role"] = row.role
    for index in row.sources:
        message = as_object(messages[index])
        if chat_role(message) == row.role:
            base.update({key: value for key, value in message.items() if key not in base and key not in _WRITTEN})
    if row.role == "tool":
        built = _built_result(row.pieces[0], base, messages)
        return _with_legal_name(built) if "name" in row.pieces[0].added else built
    calls = [piece for piece in row.pieces if piece.kind == "call"]
    content = _joined(list(_contents(row, base, messages)))
    if content:
        base["content"] = content
    elif row.fill is not None:
        base["content"] = row.fill
    elif base.get("content"):
        base["content"] = ""
    if row.role == "assistant":
        _put_calls(base, calls, messages)
        _put_thinking(base, row, messages)
    else:
        _put_calls(base, [], messages)  # calls of another role were quoted
    return _with_legal_name(base) if "name" in row.added else base


def readdressed(message: Json, items: Sequence[Item], ids: Mapping[Path, str]) -> Json:
    """Return the message with new ids for its calls or its result, by path. It has these `items`, and no faults."""
    if items[0].kind == "result":
        return {**message, "tool_call_id": ids[items[0].path]}
    calls = list(as_array(message["tool_calls"]))
    for item in items:
        if (new := ids.get(item.path)) is not None:
            number = int(item.path[-1])
            calls[number] = {**as_object(calls[number]), "id": new}
    result = {**message, "tool_calls": calls}
    result.pop("function_call", None)  # null
    return result


def _with_legal_name(message: Json) -> Json:
    if not has_illegal_name(message):
        return message
    named = {**message, "name": legal_speaker(str(message["name"]))}
    return named if named["name"] else {key: value for key, value in named.items() if key != "name"}


def _named(message: Json) -> Json:
    """Return a copy of the message with its name as a string, if possible."""
    named = dict(message)
    if has_unusable_name(message):
        name = named.pop("name")
        if isinstance(name, int | float) and not isinstance(name, bool):
            named["name"] = str(name)
    return named


def _contents(row: DraftMessage, base: Json, messages: Sequence[object]) -> Iterator[object]:
    """Yield the contents of the row; with the speaker's name if messages of several people were joined."""
    speaker = base.get("name")
    for piece in row.pieces:
        values = list(_values(piece, base, messages))
        source = as_object(messages[piece.item.message]) if piece.item else base
        if values and chat_role(source) == row.role and (name := _named(source).get("name")) != speaker:
            speaker = name
            yield f"[{as_text(speaker) or 'Another'} says]"
        yield from values


def _values(piece: DraftPart, base: Json, messages: Sequence[object]) -> Iterator[object]:
    """Yield the values that the piece adds to the content: strings, or unchanged parts."""
    if piece.item is None:
        yield piece.text or ""
    elif piece.label is not None:
        yield from _quoted(piece.label, piece, messages)
    elif piece.left_out:
        yield _text(note_block(piece.left_out))
    elif piece.kind == "media" or (piece.kind in ("text", "other", "thinking") and piece.item.path[1] == "content"):
        raw = raw_at(piece.item.path, messages)
        yield words(raw) if piece.as_text else _spelled(as_object(raw)) if "kind" in piece.added else raw
    elif piece.kind == "text" and "kind" in piece.added:
        base.pop("refusal", None)
        yield raw_at(piece.item.path, messages)  # this message's, even if joined to one with another refusal
    elif piece.kind == "text" and base.get("refusal") != (refusal := raw_at(piece.item.path, messages)):
        yield refusal  # of a message joined to one with another refusal
    elif piece.item.path[1] == "audio" and base.get("audio") != (audio := raw_at(piece.item.path, messages)):
        yield quoted("Audio", words(audio))


def _spelled(part: Json) -> object:
    """Return the part in the common form: a refusal as a text, an image with its address in an object."""
    if part.get("type") == "refusal":
        return part.get("refusal")
    return {**part, "image_url": {"url": part.get("image_url")}}


def _quoted(label: str, piece: DraftPart, messages: Sequence[object]) -> Iterator[object]:
    assert piece.item is not None
    raw = raw_at(piece.item.path, messages)
    if "other-wire" in piece.item.flags:
        yield quoted(label, text_of_another(raw))
    elif piece.item.kind == "result":
        content = _result_content(piece, as_object(raw).get("content"))
        calls = calls_in(as_object(raw))
        yield from quote_result(label, content if is_array(content) else words(content or raw), is_object)
        if calls and content:  # else the rest of it names them
            yield quoted("A call", words(calls))
        if content:
            known = {"content", *calls, *piece.dropped}
            names = [name for name in as_object(raw) if name in CONTENT_FIELDS - known and as_object(raw)[name]]
            yield from (quoted(f"field {name}", words(as_object(raw)[name])) for name in names)
    else:
        yield quoted(label, words(raw if len(piece.item.path) > 1 else quotable_content(raw)))


def _joined(values: list[object]) -> object:
    """Return the values as one content: a string if all are strings."""
    if all(isinstance(value, str) for value in values):
        texts = [value for value in values if isinstance(value, str)]
        return "\n\n".join(texts)
    return [_text(value) if isinstance(value, str) else value for value in values]


def _built_result(piece: DraftPart, base: Json, messages: Sequence[object]) -> Json:
    if piece.item is None:
        if piece.call is not None and _is_legacy(piece.call):
            return {"role": "function", "name": piece.name, "content": piece.text}
        return {"role": "tool", "tool_call_id": piece.id, "content": piece.text}
    if "other-wire" in piece.item.flags:
        content = content_of_another(raw_at(piece.item.path, messages), piece, _text)
        return {"role": "tool", "tool_call_id": piece.id, "content": content}
    if piece.id != piece.item.id:
        base["tool_call_id"] = piece.id
    if "kind" in piece.added:
        base = _with_legal_name({**base, "role": "tool"})
    if piece.name != piece.item.name and ("name" in base or base.get("role") == "function"):
        base["name"] = piece.name
    if piece.text is not None or piece.as_text or piece.left_out or piece.moved:
        base["content"] = _result_content(piece, base.get("content"))
    notes: list[object] = [piece.quotation] if piece.quoted_fields else []
    if calls := calls_in(base):
        notes.append(quoted("A call", words(calls)))
        base = {key: value for key, value in base.items() if key not in calls}
    if notes:
        text = base.get("content")
        base["content"] = _joined([*(text if is_array(text) else [text or ""]), *notes])
    return base


def _result_content(piece: DraftPart, content: object) -> object:
    """Return the new content of the result: filled if nothing else is left, with a note in place of bad images."""
    if piece.as_text:
        text = content_as_text(content, piece, fits=_fits_result, is_media=_is_image, text=_text)
        return piece.text if piece.text is not None and isinstance(text, str) and not text.strip() else text
    if not is_array(content):
        return content if piece.text is None else piece.text
    return edited_content(content, piece, is_media=_is_image, text=_text)


def _fits_result(part: object) -> bool:
    """Return whether a part of a result stays as it is when the others become text."""
    return block_text(part) is not None or _is_image(part)


def _is_image(part: object) -> bool:
    image = as_object(part).get("image_url")
    url = image if isinstance(image, str) else as_object(image).get("url")
    return as_object(part).get("type") == "image_url" and as_text(url) is not None


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _built_call(piece: DraftPart, messages: Sequence[object]) -> object:
    assert piece.item is not None
    raw = raw_at(piece.item.path, messages)
    if not piece.touched:
        return raw
    call: Json = {"function": raw} if piece.item.path[1] == "function_call" else dict(as_object(raw))
    if "kind" in piece.added:
        custom = custom_of(call)
        call = {**call, "type": "function"}
        if custom is not None:
            arguments = {"input": custom.get("input"), **{key: custom[key] for key in custom if key != "name"}}
            arguments |= {"function": extra_function} if is_object(extra_function := call.get("function")) else {}
            del call["custom"]
            call["function"] = {"name": custom.get("name"), "arguments": json_text(arguments)}
    if flat := flat_function(call):
        call = {**{key: value for key, value in call.items() if key not in _FLAT}, "function": flat}
    kind = "function" if custom_of(call) is None else "custom"
    function = dict(as_object(call.get(kind)))
    if piece.id != piece.item.id:
        call["id"] = piece.id
    if piece.name != piece.item.name:
        function["name"] = piece.name
    if piece.quote_arguments and kind == "custom":
        function["input"] = words(written) if (written := function.get("input")) is not None else ""
    elif piece.quote_arguments and not is_arguments(written := function.get("arguments")):
        function["arguments"] = json_text(written if is_object(written) else quoted_arguments(written))
    return function if _is_legacy(piece) else {**call, kind: function}


def _is_legacy(call: DraftPart) -> bool:
    """Return whether the call is, and stays, in the field `function_call`."""
    return call.item is not None and call.item.path[1] == "function_call" and "kind" not in call.added


def _put_calls(base: Json, calls: list[DraftPart], messages: Sequence[object]) -> None:
    listed = [_built_call(call, messages) for call in calls if not _is_legacy(call)]
    legacy = [_built_call(call, messages) for call in calls if _is_legacy(call)]
    for key, value in (("tool_calls", listed), ("function_call", legacy[0] if legacy else None)):
        if value:
            base[key] = value
        else:
            base.pop(key, None)


def _put_thinking(base: Json, row: DraftMessage, messages: Sequence[object]) -> None:
    texts: dict[str, list[str]] = {}
    for piece in row.pieces:
        if piece.kind == "thinking" and piece.item is not None and piece.item.path[1] in THINKING:
            texts.setdefault(str(piece.item.path[1]), []).append(str(raw_at(piece.item.path, messages)))
    for key in THINKING:
        if key in texts:
            base[key] = "\n\n".join(texts[key])
        elif isinstance(base.get(key), str):
            del base[key]
    if "thinking" in row.added:  # the same thinking under its other name, if there
        base["reasoning_content"] = base.get("reasoning", "")
