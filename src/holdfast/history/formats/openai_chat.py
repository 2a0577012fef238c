"""Messages of OpenAI's Chat Completions, and of the many services that speak it.

A result is one message, paired by `tool_call_id`. A message keeps every unknown field, even when another field of it
changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import cast

import msgspec

from holdfast.history.draft_messages import DraftMessage
from holdfast.history.formats.content import (
    BLANK,
    FOREIGN_BLOCKS,
    content_of,
    empty_flags,
    foreign,
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
    is_arguments,
    is_array,
    is_hollow,
    is_object,
    json_text,
    not_a_message,
    words,
)
from holdfast.history.formats.openai_chat_writer import (
    CHAT_ROLES,
    THINKING,
    build_message,
    calls_in,
    chat_role,
    custom_of,
    flat_function,
    has_illegal_name,
    has_unusable_name,
    name_of,
    readdressed,
)
from holdfast.history.formats.other_wire_results import picture_item, result_in_other_field, result_of_another
from holdfast.history.media.images import AUDIO, DATA_URL, inspect_image_address
from holdfast.history.media.media_forms import picture_in
from holdfast.history.shape import (
    NO_FILES,
    NO_FLAGS,
    Flag,
    Grammar,
    Item,
    Media,
    Message,
    MessageFlag,
    Path,
    Role,
    is_synthetic,
)

_USER_KINDS = frozenset({"text", "image_url", "input_audio", "file", "video_url"})
_KINDS: dict[Role, frozenset[str]] = {
    "system": frozenset({"text"}),
    "user": _USER_KINDS,
    "assistant": frozenset({"text", "refusal"}),
    "tool": frozenset({"text", "image_url", "file"}),
}
_TEXTS = frozenset({"text", "refusal"})
_SOURCES: Mapping[str, tuple[str, ...]] = MappingProxyType({"file": ("file_data", "file_id"), "input_audio": ("data",)})
"""The fields that locate a file or a sound, which is invalid without one of them."""
_IN_RESULT = ("tool/image_url",)
_SPELLING: frozenset[Flag] = frozenset({"spelling"})
_NOTHING: frozenset[Flag] = frozenset({"blank", "null"})
_NO_FAULTS: frozenset[MessageFlag] = frozenset()
_NULL_CONTENT: frozenset[MessageFlag] = frozenset({"null-content"})
_ILLEGAL_NAME: frozenset[MessageFlag] = frozenset({"name-illegal"})
_SEPARATE_FIELD: frozenset[Flag] = frozenset({"separate-field"})


class OpenAIChat:
    """The format `openai-chat`."""

    name = "openai-chat"
    grammar = Grammar(results="own")
    profile = "openai-chat"
    keys = ("messages",)

    def request_facts(self, body: Mapping[str, object]) -> RequestFacts:
        """Return what the request body says about tools and thinking."""
        functions = [as_object(as_object(tool).get("function")) for tool in as_array(body.get("tools"))]
        names = [name for function in functions if (name := as_text(function.get("name")))]
        names += [name for each in as_array(body.get("functions")) if (name := as_text(as_object(each).get("name")))]
        kind = as_object(body.get("thinking")).get("type")
        thinking = {"enabled": True, "disabled": False}.get(kind) if isinstance(kind, str) else None
        return RequestFacts(frozenset(names), thinking, model=as_text(body.get("model")))

    def message(self, index: int, raw: object) -> Message:
        """Return the projection of one message."""
        if not is_object(raw):
            return not_a_message(index, "malformed")
        return plain_message(index, raw) or self.any_message(index, raw)

    def any_message(self, index: int, raw: Json) -> Message:
        """Return the projection of a message of any form."""
        role = chat_role(raw)
        if role is None:
            other = result_of_another((index,), "tool", raw, self.grammar, kind_names=_IN_RESULT)
            written = as_text(raw.get("role")) or as_text(raw.get("type"))
            return Message(index, "tool", (other,)) if other else not_a_message(index, "unknown-role", written)
        if role == "tool" and (raw.get("content") is not None or "parts" not in raw):
            return Message(index, role, (_result(index, raw),), _name_flags(raw))
        if has_content_elsewhere(raw) and not raw.get("tool_calls"):
            return not_a_message(index, "malformed")
        if role == "assistant":
            return _assistant(index, raw)
        items = (
            *content_of((index, "content"), role, raw.get("content"), _part),
            *_misplaced(_calls(index, raw, set()), role),
        )
        flags: set[MessageFlag] = set() if items else {"empty"}
        if raw.get("role") == "developer":
            flags.add("developer")
        elif raw.get("role") not in CHAT_ROLES:
            flags.add("role-misnamed")
        if has_unusable_name(raw):
            flags.add("mistyped")
        return Message(index, role, items, frozenset(flags) | _name_flags(raw))

    def build(self, row: DraftMessage, messages: Sequence[object]) -> object:
        """Return the message for an edited row."""
        return build_message(row, messages)

    def with_ids(self, raw: object, items: Sequence[Item], ids: Mapping[Path, str]) -> object:
        """Return the message with new ids for its calls or its result, by path. It has these `items`, and no faults."""
        return readdressed(as_object(raw), items, ids)


FORMAT = OpenAIChat()


# --- from a message to its shape -------------------------------------------------------------------------------------


def plain_message(index: int, raw: Json) -> Message | None:
    """Return the projection of a message with only the usual fields, None if it has faults or other fields.

    The result is that of `any_message`, in a third of the time.
    """
    role, content, size = raw.get("role"), raw.get("content"), len(raw)
    has_text = isinstance(content, str) and content != "" and not content.isspace()
    item: Item | None = None
    if role == "assistant" and "tool_calls" in raw:
        return _plain_calls(index, raw)
    if role == "tool":
        item = _plain_result(index, raw) if has_text else None
    elif size == _ROLE_AND_CONTENT and has_text and isinstance(role, str) and (speaker := _SPEAKERS.get(role)):
        item = Item("text", speaker, (index, "content"))
    return None if item is None else Message(index, item.role, (item,))


_ROLE_AND_CONTENT = 2
_SPEAKERS: Mapping[str, Role] = MappingProxyType({"user": "user", "assistant": "assistant", "system": "system"})


def _plain_result(index: int, raw: Json) -> Item | None:
    """Return the result of a call with its id and a text."""
    call, text = raw.get("tool_call_id"), str(raw["content"])
    if len(raw) != _ROLE_AND_CONTENT + 1 or not isinstance(call, str) or not call or is_synthetic(text):
        return None
    return Item("result", "tool", (index,), call, digest=digest(text))


def _plain_calls(index: int, raw: Json) -> Message | None:
    """Return the message of calls and an optional text, None if it has faults or other fields."""
    content, calls = raw.get("content"), raw["tool_calls"]
    has_text = isinstance(content, str) and content != "" and not content.isspace()
    if not isinstance(calls, list) or not calls or len(raw) != ("content" in raw) + 2:
        return None
    if not has_text and content not in (None, ""):
        return None
    items = [Item("text", "assistant", (index, "content"))] if has_text else []
    for number, call in enumerate(cast("list[object]", calls)):
        item = _plain_call((index, "tool_calls", number), call)
        if item is None:
            return None
        items.append(item)
    return Message(index, "assistant", tuple(items), _NULL_CONTENT if content is None else _NO_FAULTS)


def _plain_call(path: Path, raw: object) -> Item | None:
    """Return the call of a function with only the usual fields, None if it has faults or other fields."""
    if not is_object(raw) or len(raw) != 3 or raw.get("type") != "function":  # noqa: PLR2004 - and its id and function
        return None
    call, function = raw.get("id"), raw.get("function")
    if not isinstance(call, str) or not call or not is_object(function) or len(function) != 2:  # noqa: PLR2004 - of two
        return None
    name = function.get("name")
    if not isinstance(name, str) or not name or not is_arguments(function.get("arguments")):
        return None
    return Item("call", "assistant", path, call, name)


def _assistant(index: int, raw: Json) -> Message:
    items = [
        Item("thinking", "assistant", (index, key), flags=_SEPARATE_FIELD, kind_names=_by("assistant", key))
        for key in THINKING
        if isinstance(raw.get(key), str)
    ]
    flags: set[MessageFlag] = set()
    if raw.get("role") not in CHAT_ROLES:
        flags.add("role-misnamed")
    if has_unusable_name(raw):
        flags.add("mistyped")
    if raw.get("prefix") is True:  # Mistral and DeepSeek continue the answer
        flags.add("prefix")
    content = raw.get("content")
    calls = tuple(_calls(index, raw, flags))
    if content != "" or not (calls or raw.get("refusal") or raw.get("audio")):
        items.extend(content_of((index, "content"), "assistant", content, _part))
    for number, image in enumerate(as_array(raw.get("images"))):  # as OpenRouter answers
        if picture_in(image) is not None:
            items.append(_part((index, "images", number), "assistant", image))
    spoken = any("blank" not in item.flags for item in items if item.kind != "thinking")
    alone = not (spoken or calls)  # then a provider that does not know these fields finds no content
    if as_text(raw.get("refusal")) is not None:
        kind_names = _by("assistant", "refusal") if alone else ()
        items.append(Item("text", "assistant", (index, "refusal"), flags=_SPELLING, kind_names=kind_names))
    if raw.get("audio") is not None:
        kind_names = _by("assistant", "audio") if alone else ()
        items.append(Item("other", "assistant", (index, "audio"), kind_names=kind_names))
    items.extend(calls)
    if calls:
        if content is None or content == []:
            flags.add("null-content")
    else:
        flags |= empty_flags("assistant", items)
    return Message(index, "assistant", tuple(items), frozenset(flags) | _name_flags(raw))


def _name_flags(raw: Json) -> frozenset[MessageFlag]:
    return _ILLEGAL_NAME if "name" in raw and has_illegal_name(raw) else _NO_FAULTS


def _calls(index: int, raw: Json, flags: set[MessageFlag]) -> Iterator[Item]:
    listed = raw.get("tool_calls")
    if is_array(listed):
        if not listed:
            flags.add("no-calls")
        for number, call in enumerate(listed):
            if call is None:  # left by a stream that counts from one
                yield Item("other", "assistant", (index, "tool_calls", number), flags=_NOTHING)
                continue
            path = (index, "tool_calls", number)
            yield _call(path, call) if is_object(call) else Item("other", "assistant", path, flags=FOREIGN_BLOCKS)
    elif listed is not None:
        yield Item("other", "assistant", (index, "tool_calls"), flags=FOREIGN_BLOCKS)
    if is_object(legacy := raw.get("function_call")):
        yield _call((index, "function_call"), {"function": legacy, "type": "function_call"})
    elif legacy is not None:
        yield Item("other", "assistant", (index, "function_call"), flags=FOREIGN_BLOCKS)


def _misplaced(calls: Iterator[Item], role: Role) -> Iterator[Item]:
    """Yield the calls in a message whose role cannot make calls."""
    for call in calls:
        yield msgspec.structs.replace(call, role=role, flags=call.flags | {"misplaced"})


def _call(path: Path, raw: Json) -> Item:
    custom_tool = custom_of(raw)
    is_custom, custom = custom_tool is not None, custom_tool or {}
    flat = flat_function(raw)
    function = flat or as_object(raw.get("function"))
    call = as_text(raw.get("id"))
    flags: set[Flag] = set()
    kind = raw.get("type", "untyped")
    if is_custom or kind not in ("function", "function_call", "untyped"):
        kind = "custom" if is_custom and kind == "custom" else "mistyped"
    if kind != "function":
        flags.add("spelling")
    if call is None and kind != "function_call":
        flags.add("id-missing")
    if is_custom:  # a custom tool takes text, not arguments
        if not isinstance(custom.get("input"), str):
            flags.add("arguments-type")
    else:
        arguments = function.get("arguments")
        if flat or not isinstance(arguments, str):
            flags.add("arguments-type")
        elif not is_arguments(arguments):
            flags.add("arguments")
    name = as_text((custom if is_custom else function).get("name"))
    if not flags:
        return Item("call", "assistant", path, call, name)
    kinds = ("custom", kind) if is_custom and kind != "custom" else (kind,)
    kind_names = () if kind == "function" else tuple(word for each in kinds for word in _by("assistant", str(each)))
    return Item("call", "assistant", path, call, name, frozenset(flags), kind_names=kind_names)


def _result(index: int, raw: Json) -> Item:
    content = raw.get("content")
    if content is None and (other_field := result_in_other_field((index,), "tool", raw, OpenAIChat.grammar)):
        return other_field
    call = as_text(raw.get("tool_call_id"))
    flags: set[Flag] = set()
    parts: list[Item] = []
    kind_names: tuple[str, ...] = ()
    text = content if isinstance(content, str) else ""
    if raw.get("role") == "function":
        flags |= {"spelling", "old-kind"}
        kind_names = _by("tool", "function")
    elif call is None:
        flags.add("id-missing")
    if raw.get("name") == "" or (raw.get("role") == "function" and name_of(raw) is None):
        flags.add("name-missing")
    if has_unusable_name(raw):
        flags.add("mistyped")
    if calls_in(raw):
        flags.add("holds-calls")
    if content is None:
        flags.add("null")
    elif not isinstance(content, str):
        parts = list(content_of((index, "content"), "tool", content, _part))
        text = json_text(content)
        if any(part.flags & {"foreign", "null"} for part in parts):
            flags.add("foreign")
        if not parts or any("blank" in part.flags for part in parts):
            flags.add("blank-block")
        if all("blank" in part.flags for part in parts) or not words(content).strip():
            flags.add("blank")
    elif not content.strip():
        flags.add("blank")
    if is_synthetic(text):
        flags.add("synthetic")
    if any("other-picture" in part.flags for part in parts):
        flags.add("other-picture")
    kinds = frozenset(flags) if flags else NO_FLAGS
    item = result_of_parts((index,), "tool", call, kinds, parts)
    kind_names += item.kind_names
    return msgspec.structs.replace(item, name=name_of(raw), digest=digest(text), kind_names=kind_names)


def _part(path: Path, role: Role, part: object) -> Item:
    kind = as_text(as_object(part).get("type"))
    other = result_of_another(path, role, part, OpenAIChat.grammar, kind_names=_IN_RESULT)
    if other is not None and role in ("user", "assistant"):
        return other
    if (
        not is_object(part)
        or kind is None
        or kind not in _KINDS[role]
        or not (kind in _TEXTS or _has_source(part, kind))
    ):
        return _unusual(path, role, part)
    if kind == "image_url":
        return _image(path, role, part.get("image_url"))
    if kind not in _TEXTS:
        kind_names = (*_by(role, kind), NO_FILES) if role == "tool" else _by(role, kind)
        return Item("media", role, path, media=_sound(part.get(kind)), kind_names=kind_names)
    if not isinstance(text := part.get(kind), str):
        return Item("other", role, path, flags=_NOTHING if is_hollow(part) else FOREIGN_BLOCKS)
    flags = NO_FLAGS if text.strip() else BLANK
    spelled = (NO_FLAGS, ()) if kind == "text" else (_SPELLING, _by(role, kind))
    return Item("text", role, path, flags=flags | spelled[0], kind_names=spelled[1])


def _sound(source: object) -> tuple[Media, ...]:
    """Return the fault of a sound that is a data URL, where only its base64 is accepted; nothing for other media."""
    data = as_text(as_object(source).get("data"))
    return (Media(declared=DATA_URL, found=AUDIO),) if data is not None and data.startswith("data:") else ()


def _unusual(path: Path, role: Role, part: object) -> Item:
    """Return the item of a part that OpenAI does not know: Mistral's thinking, else foreign content."""
    raw = as_object(part)
    if role == "assistant" and raw.get("type") == "thinking" and _is_thought(raw.get("thinking")):
        return Item("thinking", role, path, kind_names=_by(role, "thinking"))
    known = _by(role, "image_url") if role in ("user", "tool") else ()
    return picture_item(path, role, part, OpenAIChat.name, kind_names=known) or foreign(path, role, part)


def _is_thought(raw: object) -> bool:
    """Return whether it is a list of texts."""
    texts = (as_object(each) for each in as_array(raw))
    return is_array(raw) and all(each.get("type") == "text" and isinstance(each.get("text"), str) for each in texts)


def _has_source(part: Json, kind: str) -> bool:
    """Return whether the part has the data or the address that its kind requires."""
    value = part.get(kind)
    keys = _SOURCES.get(kind)
    return bool(value) if keys is None else any(as_text(as_object(value).get(each)) for each in keys)


def _image(path: Path, role: Role, image: object) -> Item:
    url = image if isinstance(image, str) else as_object(image).get("url")
    if not isinstance(url, str) or not url:
        return Item("other", role, path, flags=FOREIGN_BLOCKS)
    if isinstance(image, str):
        return Item(
            "media",
            role,
            path,
            flags=_SPELLING,
            media=(inspect_image_address(url),),
            kind_names=(*_by(role, "bare-image"), *(_by(role, "image_url") if role == "tool" else ())),
        )
    return Item("media", role, path, media=(inspect_image_address(url),), kind_names=_by(role, "image_url"))


@cache
def _by(role: Role, kind: str) -> tuple[str, ...]:
    """Return the name under which an unusual kind is reported, with its role."""
    return (f"{role}/{kind}",)
