"""The interface of a format, and functions that all formats share: projecting, cleaning text, quoting.

A format reads everything in a document and changes only what an edit names. A message that no edit touches is returned
as the same object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, TypeGuard, runtime_checkable

import msgspec

from holdfast.history.draft_messages import DraftMessage
from holdfast.history.field_types import unfamiliar_messages, with_faults
from holdfast.history.fields import CONTENT_FIELDS, Kinds, unknown_fields
from holdfast.history.formats.shape_marks import marked, typed_messages, with_unknown_fields
from holdfast.history.formats.strings import with_strings
from holdfast.history.rules.profile import TextLimits
from holdfast.history.shape import Grammar, Item, Message, MessageFlag, Path, Role, Shape
from holdfast.text import valid_unicode
from holdfast.typed_data import convert_value, json_decoder

Json = dict[str, object]


class RequestFacts(msgspec.Struct, frozen=True):
    """Facts about a request besides its messages: tool names and thinking on or off, None if unknown.

    `continued`: it continues messages that the provider stores. `marks` counts the cache markers, `blocks` are the
    parts that rules check. `signed`: known texts of signed thinking, by their signatures. `model`: the model's name.
    `text_only`: the model takes no images and no files. `foreign`: another maker signed or encrypted the content.
    `store`: whether the provider stores what is sent.
    """

    tools: frozenset[str] | None = None
    thinking: bool | None = None
    continued: bool = False
    marks: int = 0
    blocks: tuple[Item, ...] = ()
    signed: Mapping[str, str] | None = None
    model: str | None = None
    text_only: bool = False
    foreign: bool = False
    store: bool | None = None


class Format(Protocol):
    """One kind of document. A message may be any JSON value: invalid ones are projected as malformed, not refused."""

    @property
    def name(self) -> str:
        """Return the name that callers use for the format."""
        ...

    @property
    def grammar(self) -> Grammar:
        """Return the arrangement of a conversation in the format."""
        ...

    @property
    def profile(self) -> str:
        """Return the profile of the provider that defines the format."""
        ...

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the keys of a request body that may hold the messages, the likeliest first."""
        ...

    def request_facts(self, body: Mapping[str, object]) -> RequestFacts:
        """Return what the request body says about tools and thinking."""
        ...

    def message(self, index: int, raw: object) -> Message:
        """Return the projection of one message (without `invalid_strings`, which is the same for every format)."""
        ...

    def build(self, row: DraftMessage, messages: Sequence[object]) -> object:
        """Return the message for an edited row; `messages` are the originals, with clean text."""
        ...


@runtime_checkable
class CrossMessageFormat(Protocol):
    """A format in which findings can involve several messages."""

    def cross_check(self, projected: list[Message], messages: Sequence[object]) -> list[Message]:
        """Return the projection with the findings across messages: duplicate items, thinking without its call."""
        ...


@runtime_checkable
class IdRewriter(Protocol):
    """A format that can give a message new ids without rewriting it."""

    def with_ids(self, raw: object, items: Sequence[Item], ids: Mapping[Path, str]) -> object:
        """Return the message with new ids for its calls or its result, by path. It has these `items`, and no faults."""
        ...


def project_messages(
    form: Format,
    messages: Sequence[object],
    declared: RequestFacts | None = None,
    *,
    known: Kinds | None = None,
    limits: TextLimits | None = None,
    begin: int = 0,
) -> Shape:
    """Return the shape of the messages; the index of the first is `begin`.

    `known` are the fields that the provider knows, if it refuses others. `limits` are its text limits.
    """
    declared = declared or RequestFacts()
    read, wrong = typed_messages(form.name, messages, begin, known)
    projected = [form.message(index, raw) for index, raw in enumerate(read, begin)]
    for at, (found, raw) in wrong.items():
        projected[at] = with_faults(projected[at], found, raw)
    if known is not None:
        for at in unfamiliar_messages(read, known):
            projected[at] = with_unknown_fields(projected[at], tuple(unknown_fields(read[at], known, (begin + at,))))
    projected = with_strings(projected, messages, limits, begin=begin)
    checked = form.cross_check(projected, read) if isinstance(form, CrossMessageFormat) else projected
    if declared.signed:
        texts = {digest(signature): digest(text) for signature, text in declared.signed.items()}
        checked = [_compared(message, texts) for message in checked]
    unkept = declared.store is False and not declared.continued
    if declared.foreign or unkept:
        checked = [marked(message, foreign=declared.foreign, unkept=unkept) for message in checked]
    return Shape(
        form.name,
        form.grammar,
        tuple(checked),
        declared.tools,
        declared.thinking,
        declared.continued,
        marks=declared.marks,
        blocks=declared.blocks,
        text_only=declared.text_only,
    )


def spliced(
    form: Format,
    messages: Sequence[object],
    known: Sequence[Message | None],
    *,
    shape: Shape,
    project: Callable[[Sequence[object], int], Shape],
) -> Shape | None:
    """Return the shape of edited messages, None if all must be projected again.

    `known` are the projections of messages that are unchanged or have only new ids, None for the others; `shape` is the
    shape before the edits.
    Known projections have their old index, so the result only shows whether there are any findings.
    """
    if isinstance(form, CrossMessageFormat) or shape.invalid_strings:
        return None
    new = [raw for raw, message in zip(messages, known, strict=True) if message is None]
    projections = iter(project(new, len(shape.messages)).messages)
    return msgspec.structs.replace(shape, messages=tuple([message or next(projections) for message in known]))


def _compared(message: Message, known: Mapping[int, int]) -> Message:
    """Return the message, with thinking marked whose text differs from the text that was signed."""
    if all(known.get(item.seal, item.digest) == item.digest for item in message.items if item.seal):
        return message
    items = [
        msgspec.structs.replace(item, flags=item.flags | {"altered"})
        if item.seal and known.get(item.seal, item.digest) != item.digest
        else item
        for item in message.items
    ]
    return msgspec.structs.replace(message, items=tuple(items))


# --- text ------------------------------------------------------------------------------------------------------------


def cleaned(raw: object) -> object:
    """Return `raw` with every string converted to valid Unicode without NUL; valid values stay the same objects."""
    if isinstance(raw, str):
        return valid_unicode(raw)
    if is_object(raw):
        return {valid_unicode(key): cleaned(value) for key, value in raw.items()}
    if is_array(raw):
        return [cleaned(value) for value in raw]
    if isinstance(raw, msgspec.Struct):
        return convert_value(cleaned(msgspec.to_builtins(raw)), type(raw))
    return raw


# --- for the formats -------------------------------------------------------------------------------------------------


def is_object(raw: object) -> TypeGuard[Json]:
    """Return whether `raw` is a JSON object."""
    return isinstance(raw, dict)


def is_array(raw: object) -> TypeGuard[list[object]]:
    """Return whether `raw` is a JSON array."""
    return isinstance(raw, list | tuple)


def as_object(raw: object) -> Json:
    """Return `raw` if it is a JSON object, else an empty one."""
    return raw if is_object(raw) else {}


def as_array(raw: object) -> Sequence[object]:
    """Return `raw` if it is a JSON array, else an empty one."""
    return raw if is_array(raw) else ()


def as_text(raw: object) -> str | None:
    """Return `raw` if it is a string that is not empty, else None."""
    return raw if isinstance(raw, str) and raw else None


_ELSEWHERE = ("parts", "text", "message", "blocks", "items")


def not_a_message(index: int, flag: MessageFlag, written: str | None = None) -> Message:
    """Return the projection of something that is not a message, or has the unknown role `written`."""
    return Message(index, "user", (Item("other", "user", (index,), name=written),), frozenset({flag}))


_MISNAMED: Mapping[str, Role] = MappingProxyType(
    {"ai": "assistant", "model": "assistant", "assistant": "assistant", "human": "user"}
)


def role_in(roles: Mapping[str, Role], written: object) -> Role | None:
    """Return the role, by the format's names or those of other programs, None if it is unknown."""
    return (roles.get(written) or _MISNAMED.get(written)) if isinstance(written, str) else None


def has_content_elsewhere(raw: Json, *keys: str) -> bool:
    """Return whether a message without content has one of the keys, or a key that other formats use for content."""
    return not raw.get("content") and any(raw.get(key) for key in (*keys, *_ELSEWHERE))


def quotable_content(message: object) -> object:
    """Return the part to quote of something that is not a message: its content, or all of it if it has more."""
    raw = as_object(message)
    more = any(raw.get(key) for key in (*CONTENT_FIELDS, *_ELSEWHERE) if key != "content")
    return message if more or not raw.get("content") else raw["content"]


_arguments = json_decoder(dict[str, object])


def is_arguments(text: object) -> bool:
    """Return whether `text` is the JSON text of an object."""
    if not isinstance(text, str):
        return False
    try:
        _arguments.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True


def quoted_arguments(raw: object) -> Json:
    """Return an object that quotes what a model wrote as arguments, an empty object if it is blank."""
    if (raw.strip() if isinstance(raw, str) else raw) in ("", "null", "[]", None, []):
        return {}
    if isinstance(inner := _text_in(raw), str) and is_arguments(inner):  # written as JSON twice
        return as_object(cleaned(_arguments.decode(inner)))
    return {"_unreadable_arguments": raw if isinstance(raw, str) else json_text(raw)}


def _text_in(raw: object) -> object:
    """Return the string that the JSON text `raw` encodes, None if it encodes none."""
    try:
        return msgspec.json.decode(raw) if isinstance(raw, str) and raw.startswith('"') else None
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None


def object_arguments(written: object) -> object:
    """Return the object that the JSON text `written` encodes, else one that quotes it."""
    if isinstance(written, str) and is_arguments(written):
        return cleaned(_arguments.decode(written))
    return quoted_arguments(written)


def digest(text: str) -> int:
    """Return a digest that is equal for equal texts, within this process."""
    return hash(text)


def json_text(raw: object) -> str:
    """Return `raw` as JSON text, always the same for the same value."""
    return json.dumps(raw, sort_keys=True, ensure_ascii=False, default=str)


def quoted(label: str, text: str) -> str:
    """Return a text that quotes something literally."""
    return f"[{label[:1].upper()}{label[1:]}]\n{text}"


_TEXT_BLOCK = {"type", "text", "annotations", "cache_control"}
_BYTES = re.compile(r"(data:[^,]*,)?[A-Za-z0-9+/_-]{1000,}={0,2}")
_SEALED_FIELDS = {"encrypted_content", "encrypted_index"}
_BYTE_FIELDS = {"data", "result", "blob", "file_data", "image_url", "url", "b64_json"}


def words(raw: object) -> str:
    """Return the text of `raw`: a string unchanged, the texts of a list of blocks, anything else as JSON."""
    if isinstance(raw, str):
        return raw
    if is_array(raw):
        return "\n".join(words(each) for each in raw)
    text = "" if is_object(raw) and raw.get("type") == "text" and is_hollow(raw) else block_text(raw)
    return json_text(_without_bytes(raw)) if text is None else text


def is_hollow(block: Json) -> bool:
    """Return whether a block names its type and has no content."""
    return not any(value for key, value in block.items() if key not in ("type", "cache_control"))


def block_text(raw: object) -> str | None:
    """Return the text of a block that holds only a text, whatever its type, else None."""
    if not is_object(raw) or not isinstance(text := raw.get("text"), str) or not raw.keys() <= _TEXT_BLOCK:
        return None
    return text


def _without_bytes(raw: object) -> object:
    """Return `raw` with a note in place of files in base64, which cannot be read as text."""
    if is_object(raw):
        return {key: _readable(key, value) for key, value in raw.items()}
    return [_without_bytes(value) for value in raw] if is_array(raw) else raw


def _readable(key: str, value: object) -> object:
    """Return the value of a field, a note if it is a file, or text that only the provider can read."""
    if key in _BYTE_FIELDS and isinstance(value, str) and _BYTES.fullmatch(value):
        return f"({len(value)} characters of base64, left out)"
    if key in _SEALED_FIELDS and isinstance(value, str) and value:
        return "(encrypted, left out)"
    return _without_bytes(value)
