"""Reads results and images written in other protocols, so that they stay where they are after a switch of provider.

Only an unmistakable result counts as one. It becomes a text with all of its content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from holdfast.history.draft_messages import DraftPart
from holdfast.history.formats.content import MOVED, note_block
from holdfast.history.formats.format import Json, as_array, as_object, as_text, digest, is_array, is_object, words
from holdfast.history.media.images import inspect_base64
from holdfast.history.media.media_forms import Picture, is_written_for, picture_in
from holdfast.history.shape import Flag, Grammar, Item, Media, Path, Role, is_synthetic

_WIRES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "tool": ("tool_call_id", "content"),  # Chat, by its role
        "function": ("tool_call_id", "content"),
        "tool_result": ("tool_use_id", "content"),  # Anthropic
        "function_call_output": ("call_id", "output"),  # Responses
        "custom_tool_call_output": ("call_id", "output"),
        "local_shell_call_output": ("call_id", "output"),
        "functionResponse": ("id", "response"),  # Gemini, by its field
        "function_response": ("id", "response"),
        "tool-return": ("tool_call_id", "content"),  # pydantic-ai
    }
)
"""The keys of a result's call id and of its content, by the name of its kind."""

_WITHOUT_TEXT = frozenset(
    {"type", "role", "name", "id", "is_error", "status", "cache_control", "part_kind", "tool_name"}
)


def result_of_another(
    path: Path, role: Role, raw: object, grammar: Grammar, *, kind_names: tuple[str, ...] | None = None
) -> Item | None:
    """Return the item of a result written in another protocol, None if it is not one.

    `kind_names` name an image in a result of this format, whose images it keeps; None if they become words.
    """
    found = _other_wire_result(raw)
    if found is None:
        return None
    kind, fields = found
    pictures = [] if kind_names is None else list(_pictures(fields.get(_WIRES[kind][1])))
    call = as_text(fields.get(_WIRES[kind][0]))
    name = as_text(fields.get("name")) or as_text(fields.get("tool_name"))
    text = text_of_another(raw, pictures=kind_names is None)
    flags: set[Flag] = {"other-wire"}
    if pictures:
        flags.add("other-picture")
    if pictures and fields.get("is_error") is True:
        flags.add("failed-blocks")
    if call is None and grammar.by_id:
        flags.add("id-missing")
    if name is None and not grammar.by_id:
        flags.add("name-missing")
    if not (text.strip() or pictures):
        flags.add("blank")
    if is_synthetic(text):
        flags.add("synthetic")
    at = tuple((*path, _WIRES[kind][1], place) for place, _ in pictures)
    media = tuple(inspect_picture(picture) for _, picture in pictures)
    names = (kind_names or ()) if pictures else ()
    known = frozenset(flags)
    return Item(
        "result",
        role,
        path,
        call,
        name,
        known,
        digest=digest(text),
        media=media,
        kind_names=names,
        media_at=at,
        files=at,
    )


def content_of_another(raw: object, piece: DraftPart, text: Callable[[str], object]) -> object:
    """Return the content of such a result, whose images have the form of this format: a text, or a list with images."""
    words_only = text_of_another(raw, pictures=False) if piece.text is None else piece.text
    found = _other_wire_result(raw)
    pictures = (
        list(_raw_pictures(found[1].get(_WIRES[found[0]][1]))) if found and piece.item and piece.item.media else []
    )
    if not pictures:
        return words_only
    reasons, moved = dict(piece.left_out), {path[-1] for path in piece.moved}
    parts: list[object] = [words_only] if words_only.strip() else []
    for which, (place, part) in enumerate(pictures):
        left = note_block([(which, reasons[which])]) if which in reasons else MOVED if place in moved else part
        parts.append(left)
    if all(isinstance(part, str) for part in parts):
        return "\n".join(words(part) for part in parts)
    return [text(part) if isinstance(part, str) else part for part in parts]


def _raw_pictures(content: object) -> Iterator[tuple[int, object]]:
    """Yield the images of a content, with their places."""
    for place, part in enumerate(as_array(content)):
        if picture_in(part) is not None:
            yield place, part


def _pictures(content: object) -> Iterator[tuple[int, Picture]]:
    for place, part in _raw_pictures(content):
        if (picture := picture_in(part)) is not None:
            yield place, picture


def result_in_other_field(path: Path, role: Role, raw: object, grammar: Grammar) -> Item | None:
    """Return the item of a result whose text is in another protocol's field, None if there is no text."""
    item = result_of_another(path, role, raw, grammar)
    return item if item is not None and "blank" not in item.flags else None


def text_of_another(raw: object, *, pictures: bool = True) -> str:
    """Return the text of a result written in another protocol, with its other fields; with `pictures` in words."""
    found = _other_wire_result(raw)
    if found is None:
        return words(raw)
    kind, fields = found
    id_key, content_key = _WIRES[kind]
    content = fields.get(content_key)
    outputs = (
        content.get("output") if is_object(content) and content.keys() == {"output"} else content
    )  # as Gemini wants it
    if not pictures and is_array(outputs):
        outputs = [part for part in outputs if picture_in(part) is None]
    other_fields = {
        key: value for key, value in fields.items() if key not in _WITHOUT_TEXT and key not in (id_key, content_key)
    }
    texts = [words(each) for each in (outputs, other_fields or None) if each is not None]
    return "\n".join(each for each in texts if each)


def _other_wire_result(raw: object) -> tuple[str, Json] | None:
    """Return the kind of a result and the object with its fields, None if it is not a result."""
    message = as_object(raw)
    for key in ("functionResponse", "function_response"):
        if is_object(message.get(key)):
            return key, as_object(message[key])
    if message.get("role") in ("tool", "function") and "parts" not in message:
        return str(message["role"]), message
    kind = as_text(message.get("part_kind")) or as_text(message.get("type"))
    return (kind, message) if kind is not None and kind in _WIRES and kind not in ("tool", "function") else None


def picture_item(path: Path, role: Role, raw: object, form: str, *, kind_names: tuple[str, ...] = ()) -> Item | None:
    """Return the item of an image in a form of another provider, or in a message that may not hold images.

    None if it is not an image, or if it is as the format wants it.
    """
    picture = picture_in(raw)
    if picture is None:
        return None
    flags: set[Flag] = set() if is_written_for(form, raw) else {"other-picture"}
    if role == "system" or (role == "assistant" and form != "gemini"):  # whose models make images
        flags.add("misplaced")
    if not flags:
        return None
    return Item("media", role, path, flags=frozenset(flags), media=(inspect_picture(picture),), kind_names=kind_names)


def inspect_picture(picture: Picture) -> Media:
    """Return what is known about an image."""
    return inspect_base64(picture.media_type, picture.data) if picture.data else Media()
