"""Messages of Anthropic's Messages API, and of the services that speak it.

Results come first in the user's message. A message keeps every unknown field and block, even when another block of it
changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType

import msgspec

from holdfast.history.draft_messages import DraftMessage, DraftPart
from holdfast.history.formats.anthropic import block_settings
from holdfast.history.formats.anthropic.block_settings import citing_in, has_no_settings, lifetimes_in, request_blocks
from holdfast.history.formats.content import (
    BLANK,
    FOREIGN_BLOCKS,
    content_as_text,
    content_of,
    edited_content,
    empty_flags,
    foreign,
    note_block,
    quote_result,
    raw_at,
    result_of_parts,
)
from holdfast.history.formats.format import (
    Json,
    RequestFacts,
    as_array,
    as_object,
    as_text,
    digest,
    has_content_elsewhere,
    is_array,
    is_hollow,
    is_object,
    not_a_message,
    object_arguments,
    quotable_content,
    quoted,
    role_in,
    words,
)
from holdfast.history.formats.other_wire_results import (
    content_of_another,
    picture_item,
    result_in_other_field,
    result_of_another,
    text_of_another,
)
from holdfast.history.media import pdf
from holdfast.history.media.images import (
    DATA_URL,
    inspect_base64,
    inspect_image_address,
    is_web_address,
    split_data_url,
    type_of,
)
from holdfast.history.shape import NO_FLAGS, Flag, Grammar, Item, Media, Message, Path, Role, is_synthetic

_SOMEWHERE = {"url": "url", "file": "file_id"}
_DOCUMENTS = {**_SOMEWHERE, "base64": "data", "text": "data", "content": "content"}


def is_somewhere(source: Json) -> bool:
    """Return whether a source has its document or its address; True for an unknown type."""
    kind = as_text(source.get("type"))
    return kind is not None and bool(source.get(_DOCUMENTS.get(kind, "type")))


def pdf_of(block: Json) -> Media | None:
    """Return what is known about a PDF given as bytes, None if the block is not one."""
    source = as_object(block.get("source"))
    data = source.get("data")
    if block.get("type") != "document" or source.get("type") != "base64" or not isinstance(data, str):
        return None
    if data.startswith("data:"):
        media_type, bare = split_data_url(data)
        return Media(DATA_URL, found=type_of(bare) or media_type)
    named = as_text(block.get("title")) or ""
    return pdf.inspect_pdf(data, name=named) if source.get("media_type") == pdf.TYPE else None


def image_of(source: Json) -> Media:
    """Return what is known about an image."""
    declared, data = source.get("media_type"), source.get("data")
    if source.get("type") == "base64" and isinstance(data, str):
        return inspect_base64(as_text(declared) or "nothing", data)
    key = _SOMEWHERE.get(as_text(source.get("type")) or "")
    if key == "url" and isinstance(source.get(key), str):
        return _at_address(str(source[key]))
    return Media() if key and isinstance(source.get(key), str) else Media(declared="of no known source")


def _at_address(url: str) -> Media:
    """Return what is known about an image by its address, which is one of the web for Anthropic."""
    if is_web_address(url):
        return Media()
    found = inspect_image_address(url)
    return msgspec.structs.replace(found, declared=DATA_URL) if found.declared.startswith("image/") else found


# --- The calls in Anthropic's messages that the provider runs itself, their results, and what its programs call ---

_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})

_ANSWERS: Mapping[str, str] = MappingProxyType(
    {
        **{
            name: f"{name}_tool_result"
            for name in ("web_search", "web_fetch", "code_execution", "bash_code_execution", "advisor")
        },
        "text_editor_code_execution": "text_editor_code_execution_tool_result",
        "tool_search_tool_regex": "tool_search_tool_result",
        "tool_search_tool_bm25": "tool_search_tool_result",
    }
)
"""The names that a `server_tool_use` may have, each with the kind of its result."""

_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
_NO_INPUT: frozenset[Flag] = frozenset({"arguments-type"})
_TEXT_INPUT: frozenset[Flag] = frozenset({"arguments"})


def provider_run(path: Path, kind: str, block: Json) -> Item | None:
    """Return the item of a call that the provider ran, or of its result; None if it is neither."""
    if kind not in _CALLS and not kind.endswith("_tool_result"):
        return None
    flags: set[Flag] = set()
    if kind in _CALLS:
        call, name = as_text(block.get("id")), as_text(block.get("name"))
        flags |= input_fault(block)
        if kind == "server_tool_use" and name not in _ANSWERS:
            flags.add("server-name")
    else:
        call, name = as_text(block.get("tool_use_id")), kind
    if not kind.startswith("mcp_") and not (call and _ID.fullmatch(call)):
        flags.add("server-id")
    what = "server-call" if kind in _CALLS else "server-result"
    kinds = frozenset(flags) if flags else NO_FLAGS
    fetched = pdf_of(as_object(as_object(block.get("content")).get("content"))) if what == "server-result" else None
    media = () if fetched is None else (fetched,)
    return Item(what, "assistant", path, call, name, kinds, media=media, caller=caller_of(block))


def caller_of(block: Json) -> str | None:
    """Return the id of the provider-run call that made this one, None if the model made it."""
    return as_text(as_object(block.get("caller")).get("tool_id"))


def input_fault(block: Json) -> frozenset[Flag]:
    """Return the fault of a call's input; a stream that was cut off leaves incomplete text."""
    if "input" not in block:
        return _NO_INPUT
    return NO_FLAGS if is_object(block["input"]) else _TEXT_INPUT


# --- messages ---

_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}
_CONTENT_KINDS = frozenset({"text", "image", "document", "search_result"})
_RECORD_KINDS = frozenset(
    {"compaction", "fallback", "mcp_tool_listing", "tool_addition", "tool_removal"}
)  # not readable text
_KINDS: dict[Role, frozenset[str]] = {
    "system": frozenset({"text"}),
    "user": _CONTENT_KINDS | {"container_upload", "tool_addition", "tool_removal"},
    "assistant": frozenset({"text", "compaction", "fallback", "mcp_tool_listing"}),
    "tool": _CONTENT_KINDS | {"tool_reference", "browser_state"},  # in a result
}
_RESULT = frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"})
_THINKING = {"thinking": "signature", "redacted_thinking": "data"}
_NOTHING: frozenset[Flag] = frozenset({"blank", "null"})
_CALLS_OF_CHAT = ("tool_calls", "function_call")  # which some programs add to the content
_SIGNED: frozenset[Flag] = frozenset({"signed"})
_THINKING_MODES = {"enabled": True, "adaptive": True, "disabled": False}


class Anthropic:
    """The format `anthropic`."""

    name = "anthropic"
    grammar = Grammar(results="user")
    profile = "anthropic"
    keys = ("messages",)

    def request_facts(self, body: Mapping[str, object]) -> RequestFacts:
        """Return what the request body says about tools and thinking."""
        names = [name for tool in as_array(body.get("tools")) if (name := as_text(as_object(tool).get("name")))]
        mode = as_text(as_object(body.get("thinking")).get("type"))
        blocks = [*as_array(body.get("system")), *as_array(body.get("tools"))]
        marks = sum(len(lifetimes_in(block)) for block in blocks) + (body.get("cache_control") is not None)
        return RequestFacts(
            frozenset(names),
            _THINKING_MODES.get(mode or ""),
            marks=marks,
            blocks=tuple(request_blocks(body)),
            model=as_text(body.get("model")),
        )

    def message(self, index: int, raw: object) -> Message:
        """Return the projection of one message."""
        if not is_object(raw):
            return not_a_message(index, "malformed")
        written = raw.get("role")
        role = role_in(_ROLES, written)
        if role is None:
            other = result_of_another((index,), "user", raw, self.grammar, kind_names=())
            written = as_text(written) or as_text(raw.get("type"))
            return Message(index, "user", (other,)) if other else not_a_message(index, "unknown-role", written)
        if has_content_elsewhere(raw, "tool_calls"):
            return not_a_message(index, "malformed")
        items = tuple(content_of((index, "content"), role, raw.get("content"), _block))
        flags = empty_flags(role, items)
        if role != "system":
            calls = (key for key in _CALLS_OF_CHAT if raw.get(key))
            items += tuple(Item("other", role, (index, key), kind_names=(f"{role}/{key}",)) for key in calls)
        if role == "system":  # the system prompt is not one of the messages
            flags.add("unknown-role")
        elif written != role:
            flags.add("role-misnamed")
        return Message(index, role, items, frozenset(flags))

    def build(self, row: DraftMessage, messages: Sequence[object]) -> object:
        """Return the message for an edited row."""
        base: Json = {"role": row.role}
        for index in row.sources:
            message = as_object(messages[index])
            if role_in(_ROLES, message.get("role")) == row.role:
                base = {**message, **base}
        values = [
            _with_settings(value, piece)
            for piece in row.pieces
            if piece.label is not None or not _is_outside_content(piece)
            for value in _values(piece, messages)
        ]
        for piece in row.pieces:
            if piece.item is not None and piece.label is not None and _is_outside_content(piece):
                base.pop(str(piece.item.path[1]), None)
        if "thinking" in row.added:
            values.insert(0, {"type": "thinking", "thinking": "", "signature": ""})
        if len(values) == 1 and isinstance(values[0], str):
            base["content"] = values[0]
        else:
            base["content"] = [_text(value) if isinstance(value, str) else value for value in values]
        return base


FORMAT = Anthropic()


# --- from a message to its shape -------------------------------------------------------------------------------------


def _block(path: Path, role: Role, block: object) -> Item:
    item = _unmarked_block(path, role, block)
    if has_no_settings(block):  # almost always
        return item
    found, citing = lifetimes_in(block), tuple(citing_in(block))
    return msgspec.structs.replace(item, marks=len(found), lifetimes=found, citing=citing)


def _unmarked_block(path: Path, role: Role, block: object) -> Item:
    kind = _kind(block)
    raw = as_object(block)
    item: Item | None = None
    if role == "system":
        pass  # the whole block is quoted
    elif kind == "tool_use":
        item = _call(path, role, raw)
    elif kind == "tool_result":
        other_field = raw.get("content") is None and result_in_other_field(path, role, raw, Anthropic.grammar)
        item = other_field or _result(path, role, raw)
    elif role == "assistant":
        item = _of_assistant(path, kind, raw)
    if item is None and role != "system":
        item = result_of_another(path, role, raw, Anthropic.grammar, kind_names=())
    return item or _part(path, role, kind, raw)


def _kind(block: object) -> str:
    """Return the type of a block, "" if it has no type or is not a block."""
    return as_text(as_object(block).get("type")) or ""


def _of_assistant(path: Path, kind: str, block: Json) -> Item | None:
    """Return the item of a block that only the assistant can have, None for any other block."""
    if kind in _THINKING:
        return _thinking(path, kind, block)
    return provider_run(path, kind, block)


def _part(path: Path, role: Role, kind: str, block: Json) -> Item:
    """Return the item of a block in a message, or in a result (then `role` is `tool`)."""
    text = "" if kind == "text" and block.get("text") is None and is_hollow(block) else block.get("text")
    if kind not in _KINDS[role] or (kind == "text" and not isinstance(text, str)):
        return picture_item(path, role, block, Anthropic.name) or foreign(path, role, block)
    if isinstance(text, str) and kind == "text":
        blank = _NOTHING if block.get("text") is None else BLANK
        return Item("text", role, path, flags=NO_FLAGS if text.strip() else blank)
    source = block.get("source")
    if kind in ("image", "document") and (not is_object(source) or (kind == "document" and not is_somewhere(source))):
        return picture_item(path, role, block, Anthropic.name) or Item("other", role, path, flags=FOREIGN_BLOCKS)
    if kind == "image":
        return Item("media", role, path, media=(image_of(as_object(source)),))
    if kind == "tool_reference":
        name = as_text(block.get("tool_name"))
        return Item("other", role, path, name=name, flags=NO_FLAGS if name else FOREIGN_BLOCKS)
    flags: set[Flag] = set()
    if kind == "search_result" or as_object(source).get("type") in ("text", "content"):
        flags.add("readable")
    if kind == "compaction" and (block.get("signature") or block.get("encrypted_content")):
        flags |= {"signed"} if as_text(block.get("content")) else {"signed", "no-text"}
    document = pdf_of(block)
    files = () if document is None else (document,)
    what = "other" if kind in _RECORD_KINDS else "media"
    return Item(what, role, path, flags=frozenset(flags), media=files, kind_names=(f"{role}/{kind}",))


def _thinking(path: Path, kind: str, block: Json) -> Item:
    if kind == "thinking" and not isinstance(block.get("thinking"), str):
        return Item("other", "assistant", path, flags=FOREIGN_BLOCKS)
    signature = as_text(block.get(_THINKING[kind]))
    if signature is None:
        maker = "anthropic" if kind == "redacted_thinking" else None
        return Item("thinking", "assistant", path, flags=frozenset({"unsigned"}), maker=maker)
    if kind == "redacted_thinking":  # no other provider makes these
        return Item("thinking", "assistant", path, flags=_SIGNED, maker="anthropic")
    text = str(block.get("thinking"))
    return Item("thinking", "assistant", path, flags=_SIGNED, digest=digest(text), seal=digest(signature))


def _call(path: Path, role: Role, block: Json) -> Item:
    call = as_text(block.get("id"))
    flags: set[Flag] = set()
    if role != "assistant":
        flags.add("misplaced")
    if call is None:
        flags.add("id-missing")
    flags |= input_fault(block)
    kinds = frozenset(flags) if flags else NO_FLAGS
    return Item("call", role, path, call, as_text(block.get("name")), kinds, caller=caller_of(block))


def _result(path: Path, role: Role, block: Json) -> Item:
    content = block.get("content")
    call = as_text(block.get("tool_use_id"))
    flags: set[Flag] = set()
    parts: list[Item] = []
    text = ""
    if call is None:
        flags.add("id-missing")
    if isinstance(content, str):
        text = content
    elif is_array(content):
        inside = enumerate(content)
        parts = [_part((*path, "content", at), "tool", _kind(part), as_object(part)) for at, part in inside]
        text = words(content)
        if any(part.flags & {"foreign", "null"} for part in parts):
            flags.add("foreign")
        if not parts or any("blank" in part.flags for part in parts):
            flags.add("blank-block")
    elif "content" in block:
        flags.add("null" if content is None else "foreign")
        text = words(content) if content is not None else ""
    if not text.strip():
        flags.add("blank")
    if is_synthetic(text):
        flags.add("synthetic")
    if any("other-picture" in part.flags for part in parts):
        flags.add("other-picture")
    if block.get("is_error") is True:
        if any(part.kind != "text" for part in parts):
            flags.add("failed-blocks")
        if "blank" in flags:
            flags.add("failed-empty")
    kinds = frozenset(flags) if flags else NO_FLAGS
    references = (part.name for part in parts if part.name is not None and "foreign" not in part.flags)
    return msgspec.structs.replace(
        result_of_parts(path, role, call, kinds, parts), digest=digest(text), references=tuple(references)
    )


# --- from a row to its message ---------------------------------------------------------------------------------------


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _with_settings(value: object, piece: DraftPart) -> object:
    """Return the value without the settings that the edits drop."""
    if "cache-mark" in piece.dropped:
        value = block_settings.unmarked(value)
    if "cache-ttl" in piece.dropped:
        value = block_settings.short_lived(value)
    if "caller" in piece.dropped and is_object(value):
        value = {key: each for key, each in value.items() if key != "caller"}
    return value


def _is_outside_content(piece: DraftPart) -> bool:
    """Return whether the piece is outside of the content."""
    return piece.item is not None and len(piece.item.path) > 1 and piece.item.path[1] in _CALLS_OF_CHAT


def _values(piece: DraftPart, messages: Sequence[object]) -> Iterator[object]:
    """Yield the values that the piece adds to the content: texts, or unchanged blocks."""
    if piece.item is None:
        made_up = {"type": "tool_result", "tool_use_id": piece.id, "content": piece.text}
        yield made_up if piece.kind == "result" else piece.text or ""
        return
    raw = raw_at(piece.item.path, messages)
    if piece.label is not None:
        yield from _quoted(piece.label, piece, raw)
    elif piece.kind == "result":
        yield _built_result(piece, as_object(raw))
    elif piece.left_out and piece.kind == "server-result":
        yield _without_file(as_object(raw), note_block(piece.left_out))
    elif piece.left_out:
        yield note_block(piece.left_out)
    elif piece.kind in ("call", "server-call"):
        yield _built_call(piece, as_object(raw))
    else:
        yield words(raw) if piece.as_text else raw


def _quoted(label: str, piece: DraftPart, raw: object) -> Iterator[object]:
    if piece.item is not None and "other-wire" in piece.item.flags:
        yield quoted(label, text_of_another(raw))
    elif piece.item is not None and piece.item.kind == "result":
        content = _result_content(piece, as_object(raw))
        other_fields = {key: value for key, value in as_object(raw).items() if key not in _RESULT}
        if other_fields:  # content of another kind of block
            filled = content is None or piece.text is not None
            content = [*(() if filled else content if is_array(content) else [content]), words(other_fields)]
        yield from quote_result(label, content, _fits_user_message)
    else:
        yield quoted(
            label, words(quotable_content(raw) if piece.item is not None and len(piece.item.path) == 1 else raw)
        )


def _fits_user_message(block: object) -> bool:
    """Return whether a user message may contain it: nothing that refers to tools."""
    return not _part((), "user", _kind(block), as_object(block)).flags - {"readable"}


def _result_content(piece: DraftPart, block: Json) -> object:
    """Return the new content of the result: filled if nothing else is left, with a note in place of bad images."""
    content = block.get("content")
    if piece.as_text:
        fits = partial(_fits_result, piece=piece)
        content = content_as_text(content, piece, fits=fits, is_media=_is_media, text=_text)
    elif is_array(content):
        return edited_content(content, piece, is_media=_is_media, text=_text)
    if not is_array(content):
        has_text = piece.as_text and isinstance(content, str) and content.strip()
        return content if has_text or piece.text is None else piece.text
    return content


def _fits_result(part: object, piece: DraftPart) -> bool:
    """Return whether a part of a result stays as it is when the others become text."""
    item = _part((), "tool", _kind(part), as_object(part))
    kinds = ("text",) if piece.only_texts else ("text", "image", "document")
    return _kind(part) in kinds and not item.flags & {"foreign", "null"}


def _without_file(result: Json, note: str) -> Json:
    """Return a fetched page with a note in place of its file: the call must keep its result."""
    page = as_object(result.get("content"))
    document = {**as_object(page.get("content"))}
    document["source"] = {"type": "text", "media_type": "text/plain", "data": note}
    return {**result, "content": {**page, "content": document}}


def _is_media(block: object) -> bool:
    raw = as_object(block)
    return (_kind(block) == "image" and is_object(raw.get("source"))) or pdf_of(raw) is not None


def _built_result(piece: DraftPart, raw: Json) -> Json:
    if not piece.touched:
        return raw
    block = dict(raw)
    assert piece.item is not None
    if "other-wire" in piece.item.flags:
        text = content_of_another(raw, piece, _text)
        failed = {"is_error": raw["is_error"]} if "is_error" in raw else {}
        return {"type": "tool_result", "tool_use_id": piece.id, "content": text, **failed}
    if piece.id != piece.item.id:
        block["tool_use_id"] = piece.id
    if piece.text is not None or piece.as_text or piece.left_out or piece.moved:
        block["content"] = _result_content(piece, raw)
    return block


def _built_call(piece: DraftPart, raw: Json) -> Json:
    if not piece.touched:
        return raw
    block = dict(raw)
    assert piece.item is not None
    if piece.id != piece.item.id:
        block["id"] = piece.id
    if piece.name != piece.item.name:
        block["name"] = piece.name
    if piece.quote_arguments:
        block["input"] = object_arguments(raw["input"]) if "input" in raw else {}
    return block
