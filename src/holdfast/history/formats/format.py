"""The interface of a format, and what all formats share: applying edits, cleaning text, quoting.

Two rules. A format reads everything a document holds and changes only what an edit names. A message that no edit
touches comes back as the same object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, TypeGuard, runtime_checkable

import msgspec

from holdfast.history.draft_messages import DraftMessage
from holdfast.history.field_types import strangers, with_faults
from holdfast.history.fields import SAYING, Kinds, odd_fields
from holdfast.history.formats.shape_marks import marked, typed_messages, with_odd
from holdfast.history.formats.strings import with_strings
from holdfast.history.media.images import type_of
from holdfast.history.rules.profile import TextLimits
from holdfast.history.shape import Grammar, Item, Message, MessageFlag, Path, Role, Shape
from holdfast.text import valid_unicode
from holdfast.typed_data import convert_value, json_decoder

Json = dict[str, object]


class Declared(msgspec.Struct, frozen=True):
    """What a request declares beside its messages: names of tools (None if it cannot be told), thinking on or off.

    `continued` tells that it goes on from messages that the provider keeps, `marks` counts the cache markers, `blocks`
    are the parts that rules look at, `signed` are the texts of thinking that are known, by the signatures they got.
    `model` is which it asks, `text_only` that it takes no images and no files, `foreign` that what is signed or
    encrypted was made by another, `store` whether the provider keeps what is sent.
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
    """One kind of document. A message is any JSON value: what is not one is projected as malformed, never refused."""

    @property
    def name(self) -> str:
        """Return the name that callers use for it."""
        ...

    @property
    def grammar(self) -> Grammar:
        """Return how it arranges a conversation."""
        ...

    @property
    def profile(self) -> str:
        """Return the profile of the provider whose format it is."""
        ...

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the keys under which a request body may hold the messages, the likeliest first."""
        ...

    def declared(self, body: Mapping[str, object]) -> Declared:
        """Return what the request body says about tools and thinking."""
        ...

    def message(self, index: int, raw: object) -> Message:
        """Return the projection of one message (without `unclean`, which is the same for every format)."""
        ...

    def build(self, row: DraftMessage, messages: Sequence[object]) -> object:
        """Return the message for an edited row; `messages` are the originals, with clean text."""
        ...


@runtime_checkable
class Across(Protocol):
    """A format in which findings can involve several messages."""

    def across(self, projected: list[Message], messages: Sequence[object]) -> list[Message]:
        """Return the projection with the findings across messages: duplicate items, thinking without its call."""
        ...


@runtime_checkable
class Addressed(Protocol):
    """A format whose messages can get new ids without being written again."""

    def with_ids(self, raw: object, ids: Mapping[Path, str]) -> object:
        """Return a message without faults as `build` would, with new ids of the calls or the result at these places."""
        ...


def project_messages(
    form: Format,
    messages: Sequence[object],
    declared: Declared | None = None,
    *,
    known: Kinds | None = None,
    limits: TextLimits | None = None,
    begin: int = 0,
) -> Shape:
    """Return the shape of the messages; the index of the first is `begin`.

    `known` are the fields that the provider knows, if it refuses others; `limits` those of its texts.
    """
    declared = declared or Declared()
    read, wrong = typed_messages(form.name, messages, begin, known)
    projected = [form.message(index, raw) for index, raw in enumerate(read, begin)]
    for at, (found, raw) in wrong.items():
        projected[at] = with_faults(projected[at], found, raw)
    if known is not None:
        for at in strangers(read, known):
            projected[at] = with_odd(projected[at], tuple(odd_fields(read[at], known, (begin + at,))))
    projected = with_strings(projected, messages, limits, begin=begin)
    whole = form.across(projected, read) if isinstance(form, Across) else projected
    if declared.signed:
        texts = {digest(signature): digest(text) for signature, text in declared.signed.items()}
        whole = [_compared(message, texts) for message in whole]
    unkept = declared.store is False and not declared.continued
    if declared.foreign or unkept:
        whole = [marked(message, foreign=declared.foreign, unkept=unkept) for message in whole]
    return Shape(
        form.name,
        form.grammar,
        tuple(whole),
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
    *,
    of: Sequence[object],
    shape: Shape,
    project: Callable[[Sequence[object], int], Shape],
) -> Shape | None:
    """Return the shape of messages most of which are objects in `of`, whose shape is known; None if it takes all.

    Those keep the projection they have, with the index they had: such a shape is for looking whether anything is found.
    """
    projected = dict(zip(map(id, of), shape.messages, strict=True))
    if isinstance(form, Across) or len(projected) != len(of) or shape.beside:
        return None
    known = [projected.get(id(raw)) for raw in messages]
    new = [raw for raw, message in zip(messages, known, strict=True) if message is None]
    made = iter(project(new, len(of)).messages)
    return msgspec.structs.replace(shape, messages=tuple([message or next(made) for message in known]))


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


def declare_media(raw: object, path: Path) -> object:
    """Return `raw` with the images and files at the path declared as the type of their bytes, if known."""
    if not path:
        return _declared(raw)
    key, rest = path[0], path[1:]
    if is_object(raw) and isinstance(key, str):
        return {**raw, key: declare_media(raw.get(key), rest)}
    return [declare_media(each, rest) if at == key else each for at, each in enumerate(as_array(raw))]


_TYPES = ("media_type", "mimeType", "mime_type")


def _declared(raw: object) -> object:
    if is_array(raw):
        return [_declared(each) for each in raw]
    if not is_object(raw):
        return raw
    held = {key: _declared(value) for key, value in raw.items()}
    for key, value in raw.items():
        if isinstance(value, str) and key in _TYPES:
            held[key] = type_of(str(raw.get("data"))) or value
        elif isinstance(value, str) and key == "data" and not any(isinstance(raw.get(each), str) for each in _TYPES):
            held["media_type" if raw.get("type") == "base64" else "mimeType"] = type_of(value)  # Anthropic's, Gemini's
        elif isinstance(value, str) and key in ("url", "image_url", "file_data"):
            held[key] = _declared_url(value, key)
    return held


def _declared_url(url: str, key: str) -> str:
    head, _, data = url.partition(",")
    if url.startswith("data:") and (found := type_of(data)):
        return f"data:{found};{head.partition(';')[2]},{data}"
    if key == "file_data" and (found := type_of(url)):
        return f"data:{found};base64,{url}"
    return url


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


_ELSEWHERE = ("parts", "text", "message")


def not_a_message(index: int, flag: MessageFlag, written: str | None = None) -> Message:
    """Return the projection of something that is not a message, or has an unknown role: `written` is that role."""
    return Message(index, "user", (Item("other", "user", (index,), name=written),), frozenset({flag}))


_MISNAMED: Mapping[str, Role] = MappingProxyType(
    {"ai": "assistant", "model": "assistant", "assistant": "assistant", "human": "user"}
)


def role_in(roles: Mapping[str, Role], written: object) -> Role | None:
    """Return the role, by the format's names or those of other programs, None if it is unknown."""
    return (roles.get(written) or _MISNAMED.get(written)) if isinstance(written, str) else None


def says_elsewhere(raw: Json, *keys: str) -> bool:
    """Return whether a message without content has one of the keys, or other formats' key for it."""
    return not raw.get("content") and any(raw.get(key) for key in (*keys, *_ELSEWHERE))


def told_by(message: object) -> object:
    """Return the text of something that is not a message: its content, or all of it if it says more."""
    raw = as_object(message)
    more = any(raw.get(key) for key in (*SAYING, *_ELSEWHERE) if key != "content")
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


def quoted(what: str, words: str) -> str:
    """Return a text that quotes something literally."""
    return f"[{what[:1].upper()}{what[1:]}]\n{words}"


_TEXT_BLOCK = {"type", "text", "annotations", "cache_control"}
_BYTES = re.compile(r"(data:[^,]*,)?[A-Za-z0-9+/_-]{1000,}={0,2}")
_HELD_IN = {"data", "blob", "file_data", "image_url", "url", "b64_json"}


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
        return {
            key: f"({len(value)} characters of base64, left out)"
            if key in _HELD_IN and isinstance(value, str) and _BYTES.fullmatch(value)
            else _without_bytes(value)
            for key, value in raw.items()
        }
    return [_without_bytes(value) for value in raw] if is_array(raw) else raw
