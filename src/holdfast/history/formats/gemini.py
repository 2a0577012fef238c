"""Contents of Google's Gemini API, as its endpoints take them and as its SDKs write them.

Results are in a user content, and are paired by id if both sides have one, else by name and position. Field names are
read in camel case and in snake case, and keep their spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from holdfast.history.draft_messages import DraftMessage, DraftPart
from holdfast.history.formats.content import BLANK, FOREIGN_BLOCKS, MOVED, note_block, quote_result, raw_at
from holdfast.history.formats.format import (
    Json,
    RequestFacts,
    as_array,
    as_object,
    as_text,
    digest,
    is_array,
    is_object,
    not_a_message,
    object_arguments,
    quotable_content,
    quoted,
    role_in,
    words,
)
from holdfast.history.formats.other_wire_results import (
    picture_item,
    result_in_other_field,
    result_of_another,
    text_of_another,
)
from holdfast.history.media import pdf
from holdfast.history.media.images import STANDARD, inspect_base64, is_base64
from holdfast.history.shape import (
    GEMINI_FILE,
    NO_FLAGS,
    Flag,
    Grammar,
    Item,
    Kind,
    Media,
    Message,
    MessageFlag,
    Path,
    Role,
)
from holdfast.history.shape import is_synthetic as is_made_up

CAMEL: dict[str, Kind] = {
    "text": "text",
    "functionCall": "call",
    "functionResponse": "result",
    "executableCode": "server-call",
    "toolCall": "server-call",
    "codeExecutionResult": "server-result",
    "toolResponse": "server-result",
    "inlineData": "media",
    "fileData": "media",
}
ATTRIBUTES = ("thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata")


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


SNAKE = {name: _snake(name) for name in (*CAMEL, *ATTRIBUTES, "mimeType", "fileUri")}
KINDS: dict[str, Kind] = {**CAMEL, **{SNAKE[name]: kind for name, kind in CAMEL.items()}}
KNOWN = {*KINDS, *ATTRIBUTES, *(SNAKE[name] for name in ATTRIBUTES)}


def field(raw: Json, name: str) -> object:
    """Return the field, in camel case or snake case."""
    found = raw.get(name)
    return raw.get(SNAKE[name]) if found is None else found


def key_of(part: Json) -> str:
    """Return the name of the part's data field, "" if there is none; the part may have a text as well."""
    keys = [key for key, value in part.items() if key in KINDS and value is not None]
    return next((key for key in keys if key != "text"), keys[0] if keys else "")


def extra_data_keys(part: Json) -> list[str]:
    """Return the names of surplus data fields: a part may have one, but some programs write more."""
    first = key_of(part)
    return [key for key, value in part.items() if key in KINDS and value is not None and key != first]


def first_part(part: Json) -> Json:
    """Return the part without its surplus data fields; the same object if there are none."""
    extra = extra_data_keys(part)
    extra += ["thought"] if "text" in extra and "thought" in part else []  # it describes the text
    return {key: value for key, value in part.items() if key not in extra} if extra else part


def second_part(part: Json, key: str) -> Json:
    """Return a part with one surplus data field of the part."""
    thought = {"thought": part["thought"]} if key == "text" and "thought" in part else {}
    return {key: part.get(key), **thought}


def signature_of(raw: Json) -> bool | None:
    """Return whether the signature is valid base64 (a truncated one is not), None if there is none."""
    signature = field(raw, "thoughtSignature")
    if signature is None or signature in ("", b""):
        return None
    return isinstance(signature, bytes) or (  # as an SDK holds it
        isinstance(signature, str) and is_base64(signature)
    )


# --- gemini ---

UNSIGNED = "skip_thought_signature_validator"
"""The placeholder that Google documents for the signature of a call that its model did not make."""

_ROLES: dict[str, Role] = {
    "user": "user",
    "function": "user",  # the role of results in older documents
    "model": "assistant",
    "system": "system",
    "developer": "system",
}
_FIELDS = {"role", "parts"}
_NOTHING: frozenset[Flag] = frozenset({"null"})
_OF_RESULTS: frozenset[MessageFlag] = frozenset({"role-misnamed"})  # only results may have the role `function`


class Gemini:
    """The format `gemini`."""

    name = "gemini"
    grammar = Grammar(results="user", by_id=False)
    profile = "gemini"
    keys = ("contents",)

    def request_facts(self, body: Mapping[str, object]) -> RequestFacts:
        """Return what the request body, or the `config` of an SDK's call, says about tools and thinking."""
        config = as_object(body.get("config"))
        names = [
            name
            for tool in (*as_array(body.get("tools")), *as_array(config.get("tools")))
            for key in ("functionDeclarations", "function_declarations")
            for function in as_array(as_object(tool).get(key))
            if (name := as_text(as_object(function).get("name")))
        ]
        return RequestFacts(frozenset(names), _thinking(body, config), model=as_text(body.get("model")))

    def message(self, index: int, raw: object) -> Message:
        """Return the projection of one message."""
        if is_object(raw) and "parts" not in raw and (result := result_of_another((index,), "user", raw, self.grammar)):
            return Message(index, "user", (result,))
        if not is_object(raw) or (
            raw.get("parts") is None and any(raw[key] is not None for key in raw.keys() - _FIELDS)
        ):
            return not_a_message(index, "malformed")
        role = _role(raw)
        if role is None:
            return not_a_message(index, "unknown-role", as_text(raw.get("role")))
        items = tuple(_parts(index, role, raw.get("parts")))
        flags: set[MessageFlag] = set()
        if role == "system":  # the system prompt is not one of the contents
            flags.add("unknown-role")
        elif raw.get("role") not in _ROLES and (role == "assistant" or raw.get("role") is not None):
            flags.add("role-misnamed")
        elif raw.get("role") == "function" and items and not any(item.kind == "result" for item in items):
            flags |= _OF_RESULTS
        if not items:
            flags.add("empty")
        elif role == "assistant" and all(item.kind == "thinking" or "blank" in item.flags for item in items):
            flags.add("blank-answer")
        return Message(index, role, items, frozenset(flags))

    def build(self, row: DraftMessage, messages: Sequence[object]) -> object:
        """Return the message for an edited row."""
        base: Json = {}
        for index in row.sources:
            message = as_object(messages[index])
            if message.get("parts") is not None and _role(message) == row.role:
                base = {**message, **base}
        results_only = all(piece.kind == "result" for piece in row.pieces)
        if row.role == "assistant":
            role = "model"
        else:
            role = "function" if base.get("role") == "function" and results_only else "user"
        parts = [part for piece in row.pieces for part in _built(piece, messages)]
        return {"role": role, **base} | {"role": role, "parts": parts}


FORMAT = Gemini()


# --- from a message to its shape -------------------------------------------------------------------------------------


def _thinking(body: Mapping[str, object], config: Json) -> bool | None:
    for holder in (as_object(body.get("generationConfig")), as_object(body.get("generation_config")), config):
        settings = as_object(holder.get("thinkingConfig") or holder.get("thinking_config"))
        if settings:
            return settings.get("thinkingBudget", settings.get("thinking_budget")) != 0
    return None


def _role(raw: Json) -> Role | None:
    """Return the role; if it is missing, the assistant if only the model can have made a part, else the user."""
    written = raw.get("role")
    if written is None:
        parts = [as_object(part) for part in _listed(raw.get("parts"))]
        by_model = any(_kind(part) in ("call", "server-call") or part.get("thought") is True for part in parts)
        return "assistant" if by_model else "user"
    return "user" if written == "tool" else role_in(_ROLES, written)  # the role of results in other formats


def _listed(parts: object) -> Sequence[object]:
    """Return the parts; like the endpoints, accept a single part as a list of one."""
    return parts if is_array(parts) else () if parts is None else (parts,)


def _parts(index: int, role: Role, parts: object) -> Iterator[Item]:
    if is_array(parts):
        for number, part in enumerate(parts):
            yield from _within((index, "parts", number), role, part)
    elif parts is not None:
        yield from _within((index, "parts"), role, parts)


def _within(path: Path, role: Role, part: object) -> Iterator[Item]:
    """Yield the items of the part; surplus data fields have a path of their own."""
    whole_part = _part(path, role, part)
    raw = as_object(part)
    if role == "system" or "other-wire" in whole_part.flags or not (extra_keys := extra_data_keys(raw)):
        yield whole_part
        return
    more = [_part((*path, key), role, second_part(raw, key)) for key in extra_keys]
    items = [msgspec.structs.replace(item, flags=item.flags | {"second"}) for item in more]
    first = _part(path, role, first_part(raw))
    yield from (first, *items) if first.kind == "result" else (*items, first)


def _kind(part: Json) -> Kind:
    return KINDS.get(key_of(part), "other")


def _part(path: Path, role: Role, part: object) -> Item:
    raw: Json = {"text": part} if isinstance(part, str) else as_object(part)  # SDKs accept a string as a part
    key = key_of(raw)
    if is_object(part) and not key and all(raw[unknown] is None for unknown in raw.keys() - KNOWN):
        return Item("other", role, path, flags=_NOTHING)
    item = _item(path, role, raw, key)
    if item is None and role != "system" and not key:
        item = result_of_another(path, role, raw, Gemini.grammar) or picture_item(path, role, raw, Gemini.name)
    item = item or Item("other", role, path, flags=FOREIGN_BLOCKS)
    signature = None if item.kind == "other" or not is_object(part) else signature_of(raw)
    if signature is None or (signature and field(raw, "thoughtSignature") == UNSIGNED):
        return item
    return msgspec.structs.replace(item, flags=item.flags | {"signed" if signature else "altered"})


def _item(path: Path, role: Role, raw: Json, key: str) -> Item | None:
    """Return the part as an item, None if its kind is unknown or not allowed there."""
    kind, value = KINDS.get(key, "other"), raw.get(key)
    item: Item | None = None
    if kind == "text" and isinstance(value, str):
        item = _text(path, role, raw, value)
    elif role == "system":
        pass  # the whole part is quoted
    elif kind == "call" and is_object(value):
        item = _call(path, role, raw, value)
    elif kind == "result" and is_object(value):
        bare = value.get("response") is None and "parts" not in value
        item = (bare and result_in_other_field(path, role, raw, Gemini.grammar)) or _result(path, role, value, key)
    elif kind in ("server-call", "server-result") and is_object(value) and role == "assistant":
        item = Item(kind, role, path, as_text(value.get("id")), key)
    elif kind == "media" and (media := _media(value)) is not None:
        item = Item("media", role, path, media=(media,))
    return item


def _text(path: Path, role: Role, raw: Json, text: str) -> Item:
    """Return a text as an item; an empty text with a signature is thinking."""
    if role == "assistant" and (raw.get("thought") is True or (not text and signature_of(raw) is not None)):
        return Item("thinking", role, path, flags=NO_FLAGS if text or signature_of(raw) is not None else _NOTHING)
    if text.strip():
        return Item("text", role, path)
    return Item("text", role, path, flags=BLANK if text else BLANK | _NOTHING)


def _call(path: Path, role: Role, raw: Json, call: Json) -> Item:
    flags: set[Flag] = set()
    if role != "assistant":
        flags.add("misplaced")
    elif not signature_of(raw):
        flags.add("call-unsigned")
    if call.get("args") is not None and not is_object(call["args"]):
        flags.add("arguments")
    kinds = frozenset(flags) if flags else NO_FLAGS
    return Item("call", role, path, as_text(call.get("id")), as_text(call.get("name")), kinds)


def _result(path: Path, role: Role, result: Json, key: str) -> Item:
    response, name = result.get("response"), as_text(result.get("name"))
    text = _response(response)
    flags: set[Flag] = set()
    if name is None:
        flags.add("name-missing")
    if response is None:
        flags.add("null")
    elif not is_object(response):
        flags.add("foreign")
    if not text.strip():
        flags.add("blank")
    if is_made_up(text):
        flags.add("synthetic")
    kinds = frozenset(flags) if flags else NO_FLAGS
    parts = [as_object(part) for part in as_array(result.get("parts"))]
    item = Item("result", role, path, as_text(result.get("id")), name, kinds, None, digest(text))
    if not parts:
        return item
    holder = path if isinstance(path[-1], str) else (*path, key)
    files = tuple((*holder, "parts", number) for number in range(len(parts)))
    media = tuple(_media(part.get(key_of(part))) or Media() for part in parts)
    return msgspec.structs.replace(item, media=media, media_at=files, files=files, kind_names=(GEMINI_FILE,))


def _response(response: object) -> str:
    """Return the text of a result: its output unchanged, other fields line by line."""
    if not is_object(response):
        return "" if response is None else _text_of(response)
    if len(response) == 1 and isinstance(output := next(iter(response.values())), str) and "error" not in response:
        return output
    return "\n".join(f"{key}: {_text_of(value)}" for key, value in response.items())


def _media(raw: object) -> Media | None:
    """Return what is known about an image or a file, None if there is none; only images and PDFs are inspected."""
    blob = as_object(raw)
    declared, data = as_text(field(blob, "mimeType")), as_text(blob.get("data"))
    if as_text(field(blob, "fileUri")) is not None:
        return Media(declared) if declared is not None and declared.startswith("image/") else Media()
    if data is None:
        return None
    padding = "" if data.startswith("data:") else "=" * (-len(data) % 4)
    if declared is None or declared.startswith("image/") or declared == "application/octet-stream":
        return inspect_base64(declared or "no type", data.translate(STANDARD) + padding)
    if declared == pdf.TYPE:
        return pdf.inspect_pdf(data.translate(STANDARD) + padding, name=as_text(blob.get("displayName")) or "")
    return Media() if is_base64(data) else None


# --- from a row to its message ---------------------------------------------------------------------------------------


def _text_of(raw: object) -> str:
    """Return the text of `raw`: a string unchanged, the texts of a list of parts, anything else as JSON."""
    if isinstance(raw, str):
        return raw
    if is_array(raw):
        return "\n".join(_text_of(each) for each in raw)
    text = raw.get("text") if is_object(raw) and _kind(raw) == "text" else None
    return text if isinstance(text, str) else words(raw)


def _built(piece: DraftPart, messages: Sequence[object]) -> Iterator[object]:
    """Yield the parts for the piece."""
    if piece.item is None:
        yield _made_up(piece, messages) if piece.kind == "result" else {"text": piece.text or ""}
        return
    raw = _part_at(piece.item.path, messages)
    if piece.label is not None:
        yield from _quoted(piece.label, piece, raw)
        return
    part: object = raw
    if piece.left_out and piece.kind == "media":
        part = {"text": note_block(piece.left_out)}
    elif piece.touched and piece.kind in ("call", "result"):
        part = (_built_call if piece.kind == "call" else _built_result)(piece, as_object(raw))
    yield _signed(piece, as_object(part)) if "signature" in (*piece.added, *piece.dropped) else part


def _part_at(path: Path, messages: Sequence[object]) -> object:
    """Return the part at the path, with a single data field."""
    key = path[-1]
    if isinstance(key, str) and key in KINDS:
        return second_part(as_object(raw_at(path[:-1], messages)), key)
    raw = raw_at(path, messages)
    return first_part(raw) if is_object(raw) and len(path) > 1 else raw


def _sendable_media(piece: DraftPart, result: Json) -> list[object]:
    """Return the images and files of a result that can be sent there."""
    left_out = {which for which, _ in piece.left_out} | {path[-1] for path in piece.moved}
    return [part for which, part in enumerate(as_array(result.get("parts"))) if which not in left_out]


def _quoted(label: str, piece: DraftPart, raw: object) -> Iterator[object]:
    part, item = as_object(raw), piece.item
    if item is not None and "other-wire" in item.flags:
        yield {"text": quoted(label, text_of_another(raw))}
    elif item is not None and item.kind == "result":
        result = as_object(part.get(key_of(part)))
        content = [_response(result.get("response")), note_block(piece.left_out), *_sendable_media(piece, result)]
        for value in quote_result(label, content, _fits_user_message):
            yield {"text": value} if isinstance(value, str) else value
    elif item is not None and len(item.path) == 1:
        yield {"text": quoted(label, _text_of(part.get("parts") or quotable_content(raw)))}
    else:
        yield {"text": quoted(label, _text_of(raw))}


def _fits_user_message(part: object) -> bool:
    """Return whether a user message may contain it: a text or a file, but no call."""
    item = _part((), "user", part)
    return item.kind in ("text", "media") and not item.flags - {"signed"}


def _made_up(piece: DraftPart, messages: Sequence[object]) -> Json:
    """Return a new result, with its fields spelled like those of its call."""
    call = as_object(_part_at(piece.call.item.path, messages)) if piece.call and piece.call.item else {}
    known = {} if piece.id is None else {"id": piece.id}
    key = "function_response" if key_of(call) == "function_call" else "functionResponse"
    return {key: {**known, "name": piece.name or "", "response": {"output": piece.text}}}


def _built_result(piece: DraftPart, part: Json) -> Json:
    if piece.item is not None and "other-wire" in piece.item.flags:
        known = {} if piece.id is None else {"id": piece.id}
        text = text_of_another(part) if piece.text is None else piece.text
        return {"functionResponse": {**known, "name": piece.name or "", "response": {"output": text}}}
    key = key_of(part)
    result = _named(piece, as_object(part[key]))
    if piece.text is not None:
        result["response"] = {next(iter(as_object(result.get("response"))), "output"): piece.text}
    elif piece.as_text:
        result["response"] = {"output": _response(result.get("response"))}
    if piece.left_out or piece.moved:
        result["parts"] = _sendable_media(piece, result)
        if not result["parts"]:
            del result["parts"]
        notes = {"left_out": note_block(piece.left_out)} if piece.left_out else {}
        notes |= {"moved": MOVED} if piece.moved else {}
        result["response"] = {**as_object(result.get("response")), **notes}
    return {**part, key: result}


def _built_call(piece: DraftPart, part: Json) -> Json:
    key = key_of(part)
    call = _named(piece, as_object(part[key]))
    if piece.quote_arguments:
        call["args"] = object_arguments(call.get("args"))
    return {**part, key: call}


def _named(piece: DraftPart, raw: Json) -> Json:
    """Return a copy of the call or result with its new id and name."""
    assert piece.item is not None
    named = dict(raw)
    if piece.id != piece.item.id:
        named["id"] = piece.id
    if piece.name != piece.item.name:
        named["name"] = piece.name
    return named


def _signed(piece: DraftPart, part: Json) -> Json:
    """Return the part without its signature, or with a placeholder signature if it needs one."""
    unsigned = {key: value for key, value in part.items() if key not in ("thoughtSignature", "thought_signature")}
    if "signature" in piece.added:
        unsigned["thought_signature" if key_of(part) == "function_call" else "thoughtSignature"] = UNSIGNED
    return unsigned
