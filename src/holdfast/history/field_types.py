"""Of which JSON type fields are: the fields beside what is said, which no other rule judges.

Each format has a table of the objects that may stand in a message, and of their fields. A type is what `msgspec` takes
for one, and it is `msgspec` that looks at whole conversations: what is right costs nothing that could be measured. Only
where something is wrong somewhere, each field is looked at by itself. A field of a wrong type is of one of three ranks:

- It may be left out: then it goes, and text tells what it says.
- Its name ends in "!": the object is nothing without it, be it wrong or missing.
- Its name ends in "?": it may be missing, and the object is nothing if it is wrong.

An object that is nothing makes the field wrong that holds it. If it is something that a message says (`Objects.said`),
it is quoted instead. So `{"type": "document", "source": {"type": "url", "url": 5}}` is no document, and becomes text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Never, cast

import msgspec

from holdfast.history.shape import Flag, Item, Message, Odd, Path

_Object = Mapping[str, object]


class Objects(msgspec.Struct, frozen=True, eq=False):
    """The objects that may stand in a place, by what their field `by` says, with the types of their fields.

    "" is one that does not say it. `said` tells that a message says them, `closed` that there are no others, `many`
    that a list of them may stand there too. `beside` is the type of what else may.
    """

    by: str
    kinds: Mapping[str, Mapping[str, object]]
    said: bool = False
    closed: bool = False
    many: bool = False
    beside: object = None


class FieldFault(NamedTuple):
    """A field of a wrong type; without its name, an object that is nothing."""

    path: Path
    name: str | None = None


def suspects(messages: Sequence[object], types: Objects) -> Iterator[int]:
    """Yield which messages have to be looked at: a fast look, which may be at too many."""
    shape = _shape(types)
    for begin in range(0, len(messages), _MANY):
        some = messages[begin : begin + _MANY]
        if not _is(some, list[shape]):
            yield from (at for at, raw in enumerate(some, begin) if not _is(raw, shape))


def faults(raw: object, types: Objects, path: Path) -> tuple[FieldFault, ...]:
    """Return every field of the object that is of a wrong type, and every object in it that is nothing."""
    if not isinstance(raw, dict):
        return (FieldFault(path),) if types.closed else ()
    held = cast("_Object", raw)
    kind = held.get(types.by) or ""
    known = types.kinds.get(kind) if isinstance(kind, str) else None
    if known is None:
        return (FieldFault(path),) if types.closed else ()
    found: list[FieldFault] = []
    for field, type_ in known.items():
        name = field.rstrip("!?")
        if name not in held:
            inner = (FieldFault(path),) if field.endswith("!") else ()
        else:
            inner = _of_field(held[name], type_, path, field)
        if FieldFault(path) in inner:
            return inner
        found += inner
    return tuple(found)


def with_faults(message: Message, found: Sequence[FieldFault], raw: object) -> Message:
    """Return the projection of what is left of the message, with what is wrong with it; `raw` is all that it held."""
    if message.flags & {"malformed", "unknown-role"}:
        return message
    items = list(message.items)
    places = {item.path: at for at, item in reversed(list(enumerate(items)))}
    for fault in found:
        if fault.name is None:
            around = (fault.path[:length] for length in range(1, len(fault.path) + 1))
            at = next((places[path] for path in around if path in places), None)
            if at is not None:
                items[at] = _as_nothing(items[at], fault.path)
    named: dict[Path, list[str]] = {}
    for fault in found:
        if fault.name is not None:
            named.setdefault(fault.path, []).append(fault.name)
    odd = tuple(
        Odd(path, tuple(name for name in names if name not in said), tuple(said))
        for path, names in named.items()
        for said in [[name for name in names if name not in _SILENT and _says(held(raw, (*path[1:], name)))]]
    )
    role = "assistant" if message.role == "tool" and items and items[0].kind == "other" else message.role
    return msgspec.structs.replace(message, role=role, items=tuple(items), mistyped=odd)


def held(raw: object, path: Path) -> object:
    """Return what stands at the path, None if nothing does."""
    for key in path:
        if isinstance(raw, dict):
            raw = cast("_Object", raw).get(str(key))
        else:
            raw = cast("Sequence[object]", raw)[key] if isinstance(raw, list | tuple) and isinstance(key, int) else None
    return raw


def _as_nothing(item: Item, path: Path) -> Item:
    """Return what is left of the item: of a result what it holds as text, of anything else a quotation."""
    if item.kind == "result" and len(path) > len(item.path):
        return msgspec.structs.replace(item, flags=item.flags | _FOREIGN)
    role = "assistant" if item.role == "tool" else item.role
    return Item("other", role, item.path, name=item.name, flags=_FOREIGN)


def _of_field(value: object, type_: object, path: Path, field: str) -> tuple[FieldFault, ...]:
    """Return what is wrong with a field and with what it holds."""
    name = field.rstrip("!?")
    inner: tuple[FieldFault, ...] = ()
    if isinstance(type_, Objects):
        here = (*path, name)
        if type_.many and isinstance(value, list | tuple):
            each = enumerate(cast("Sequence[object]", value))
            inner = tuple(fault for at, one in each for fault in faults(one, type_, (*here, at)))
        elif isinstance(value, dict):
            inner = faults(cast("_Object", value), type_, here)
        many = type_.many and isinstance(value, list | tuple)
        right = many or isinstance(value, dict) or _is(cast("object", value), type_.beside)
        if right and (type_.said or all(fault.name is not None for fault in inner)):
            return inner
    elif _is(value, type_):
        return ()
    return (FieldFault(path, None if field.endswith(("!", "?")) else name),)


def _is(value: object, type_: object) -> bool:
    if type_ is Never:
        return False
    try:
        msgspec.convert(value, cast("Any", type_))
    except (msgspec.ValidationError, UnicodeEncodeError, RecursionError):
        return False
    return True


@cache
def _shape(types: Objects) -> Any:  # noqa: ANN401 - a type of types that are made here
    """Return the type that `msgspec` has for such an object, which takes nothing in which something is wrong."""
    made = [_struct(types, kind, fields) for kind, fields in types.kinds.items() if kind or not types.by]
    if types.by and len(made) == 1:  # of several, each has to say its kind
        made.append(_struct(types, "\0", {}))
    shape = made[0]
    for each in made[1:]:
        shape |= each
    return shape


def _struct(types: Objects, kind: str, fields: Mapping[str, object]) -> type[msgspec.Struct]:
    tag = {"tag_field": types.by, "tag": kind} if types.by else {}
    names = {f"field{number}": field.rstrip("!?") for number, field in enumerate(fields)}
    named = [
        (name, _annotation(type_), msgspec.NODEFAULT if field.endswith("!") else None)
        for name, (field, type_) in zip(names, fields.items(), strict=True)
    ]
    return msgspec.defstruct("Object", named, rename=names, kw_only=True, **cast("Any", tag))


def _annotation(type_: object) -> Any:  # noqa: ANN401 - the same
    if not isinstance(type_, Objects):
        return type_
    inner = _shape(type_)
    here = inner if type_.beside is Never else inner | type_.beside
    return here | list[inner] if type_.many else here


def _says(value: object) -> bool:
    """Return whether there is a text in it."""
    if isinstance(value, str):
        return bool(value.strip())
    if isinstance(value, dict):
        return any(_says(each) for key, each in cast("_Object", value).items() if key != "type")
    return isinstance(value, list | tuple) and any(map(_says, cast("Sequence[object]", value)))


_MANY = 1_000
_FOREIGN: frozenset[Flag] = frozenset({"foreign"})
_SILENT = frozenset(
    {"id", "status", "role", "name", "filename", "cache_control", "citations", "annotations", "logprobs", "signature"}
    | {"encrypted_content", "reasoning", "reasoning_content", "summary", "thought", "thoughtSignature", "is_error"}
    | {"audio", "detail", "phase", "action", "data", "media_type", "mimeType", "url", "source", "caller"}
)
"""Fields that hold no words: bytes, flags, thinking, facts about an answer."""

# --- the tables ------------------------------------------------------------------------------------------------------

_Fields = Mapping[str, object]
_Text = str | None
_List = list[Any] | None
_Map = dict[str, Any] | None
_Scalar = str | int | float | bool | None
"""What may stand in the place of a list of parts, and is judged by other rules."""


def _kinds(by: str, kinds: Mapping[str, _Fields], *, beside: object = Never, closed: bool = False) -> Objects:
    return Objects(by, MappingProxyType(dict(kinds)), closed=closed, beside=beside)


def _alone(fields: _Fields, beside: object = Never) -> Objects:
    """Return the objects of a place where they say nothing of their kind."""
    return _kinds("", {"": fields}, beside=beside)


def _parts(by: str, kinds: Mapping[str, _Fields], beside: object = _Scalar) -> Objects:
    """Return what a content may hold."""
    return Objects(by, MappingProxyType(dict(kinds)), said=True, many=True, beside=beside)


_HELD = {"function?": _alone({}, None), "custom?": _alone({}, None)}
_CHAT_CALLS = _parts("", {"": _HELD})
_CHAT_CONTENT = _parts(
    "type",
    {
        "text": {},
        "refusal": {},
        "image_url": {"image_url?": _alone({"detail": _Text}, _Scalar)},
        "input_audio": {"input_audio!": _alone({"data!": str, "format!": str})},
        "file": {"file!": _alone({"file_data": _Text, "file_id": _Text, "filename": _Text})},
    },
)
_OF_ASSISTANT = {
    "refusal": _Text,
    "audio": _alone({"id!": str}, None),
    "annotations": _List,
    "reasoning_content": _Text,
    "reasoning": _Text,
    "tool_calls": _CHAT_CALLS,
}
_CHAT = _kinds(
    "role",
    {
        **{role: {"content": _CHAT_CONTENT} for role in ("system", "developer", "user", "tool", "function")},
        "assistant": {"content": _CHAT_CONTENT, **_OF_ASSISTANT},
    },
)

_MARKED: _Fields = {"cache_control": _Map}
_SOURCE = {"base64": {"data!": str, "media_type!": str}, "url": {"url!": str}, "file": {"file_id!": str}}
_PAPER = {**_SOURCE, "text": {"data!": str}, "content": {"content!": str | list[Any]}}
_TOLD: Mapping[str, _Fields] = {
    "text": {"citations": _List, **_MARKED},
    "image": _MARKED,
    "document": {
        "source!": _kinds("type", _PAPER, closed=True),
        "title": _Text,
        "context": _Text,
        "citations": _Map,
        **_MARKED,
    },
}
_SERVED: _Fields = {"id!": str, "name!": str, **_MARKED}
_BLOCKS = _parts(
    "type",
    {
        **_TOLD,
        "thinking": {"signature": _Text},
        "redacted_thinking": {},
        "tool_use": {"caller": _Map, **_MARKED},
        "server_tool_use": _SERVED,
        "web_search_tool_result": {"tool_use_id!": str, "content!": dict[str, Any] | list[dict[str, Any]], **_MARKED},
        "tool_result": {"content": _parts("type", _TOLD), "is_error": bool | None, **_MARKED},
    },
)
_ANTHROPIC = _kinds("role", {role: {"content": _BLOCKS} for role in ("user", "assistant")})

_Status = Literal["in_progress", "completed", "incomplete", "failed"] | None
_ITEM: _Fields = {"status": _Status}
_RESPONSES_PARTS = _parts(
    "type",
    {
        "input_text": {},
        "input_image": {"detail": _Text},
        "input_file": {"filename": _Text, "detail": _Text},
        "output_text": {"annotations": list[dict[str, Any]], "logprobs": _List},
        "refusal": {},
    },
)
_SAID: _Fields = {"content": _RESPONSES_PARTS, "phase": _Text, **_ITEM}
_ANSWERED: _Fields = {"output": _RESPONSES_PARTS, **_ITEM}
_TOLD_IN_SUMMARY = Objects("type", MappingProxyType({"summary_text": {"text!": str}}), closed=True, many=True)
_THOUGHTS = list[Any] | str | dict[str, Any] | None  # any but a list is written as one
_COMMAND: _Fields = {
    "type?": Literal["exec"],
    "command?": list[str],
    "env?": dict[str, str] | None,
    "timeout_ms": float | None,
}
_ADDRESS: _Fields = {"pattern": _Text, "url": _Text}  # Codex may leave out either
_SEARCHES = {
    "": {"type!": str},
    "search": {"query": _Text, "queries": list[str] | None, "sources": _List},
    "open_page": {"url": _Text},
    "find_in_page": _ADDRESS,
    "find": _ADDRESS,
}
_RESPONSES = _kinds(
    "type",
    {
        "": _SAID,
        "message": _SAID,
        "reasoning": {"summary": _TOLD_IN_SUMMARY, "content": _THOUGHTS, "encrypted_content": _Text, **_ITEM},
        "function_call": _ITEM,
        "custom_tool_call": _ITEM,
        "function_call_output": _ANSWERED,
        "custom_tool_call_output": _ANSWERED,
        "local_shell_call": {
            "id?": _Text,
            "status?": _Status,
            "action?": _alone(_COMMAND),
        },
        "local_shell_call_output": {},
        "item_reference": {"id!": str},
        "web_search_call": {"id": _Text, "action?": _kinds("type", _SEARCHES, beside=None)},
    },
)


_Name = str | int | None
"""A name of an enumeration, or its number in protocol buffers."""


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def _either(fields: _Fields) -> dict[str, object]:
    """Return the fields by their names in camel case and in snake case; either may be the one that is there."""
    return {written: type_ for name, type_ in fields.items() for written in (name, _snake(name))}


_BYTES = _alone(_either({"data!": str, "mimeType": _Text, "displayName": _Text}), None)
_PLACE = _alone(_either({"fileUri?": str, "mimeType": _Text, "displayName": _Text}), None)
_FILES = _either({"inlineData?": _BYTES, "fileData?": _PLACE})
_HOLDING_FILES = _parts("", {"": _FILES}, None)
_GEMINI = _alone(
    {
        "parts": _parts(
            "",
            {
                "": {
                    "thought": bool | None,
                    **_FILES,
                    **_either(
                        {
                            "functionCall?": _alone({"id": _Text}, _Scalar),
                            "functionResponse?": _alone(
                                {"id": _Text, "parts": _parts("", {"": _FILES}, None)}, _Scalar
                            ),
                            "executableCode?": _alone({"code!": str, "language?": _Name, "id": _Text}, None),
                            "codeExecutionResult?": _alone({"outcome?": _Name, "output?": _Text, "id": _Text}, None),
                            "videoMetadata": _Map,
                            "mediaResolution": _Map,
                            "partMetadata": _Map,
                        }
                    ),
                }
            },
        )
    },
)

TYPES: Mapping[str, Objects] = MappingProxyType(
    {"openai-chat": _CHAT, "anthropic": _ANTHROPIC, "openai-responses": _RESPONSES, "gemini": _GEMINI}
)
"""By the name of a format, its messages. Those of pydantic-ai are judged where they are read: a request is parted."""
