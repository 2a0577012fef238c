"""The JSON types of fields that hold no content, which no other rule checks.

Each format has a table of the objects that a message may hold, and of their fields. The types are those of `msgspec`,
which checks whole conversations: a valid one costs nothing measurable. Fields are checked one by one only in a message
with a fault. A field of a wrong type has one of three ranks:

- It is optional: it is removed, and its content is quoted as text.
- Its name ends in "!": the object is invalid if the field is wrong or missing.
- Its name ends in "?": the object is invalid if the field is wrong, but not if it is missing.

An invalid object makes the field wrong that holds it. If it is content of a message (`Objects.is_content`), it is
quoted instead. So `{"type": "document", "source": {"type": "url", "url": 5}}` is no document, and becomes text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType, UnionType
from typing import Any, NamedTuple, Never, Union, cast, get_args, get_origin

import msgspec

from holdfast.history.fields import Fields, Kinds
from holdfast.history.shape import IMAGES_ONLY, BadFields, Flag, Item, Message, Path
from holdfast.typed_data import convert_value

_Object = Mapping[str, object]


class Objects(msgspec.Struct, frozen=True, eq=False):
    """The objects allowed in a place, by the value of their field `by`, with the types of their fields.

    "" is an object without that field. `is_content`: they are content of a message. `closed`: no other objects are
    allowed. `many`: a list of them is allowed too. `listed`: only a list is. `alternative` is another allowed type.
    """

    by: str
    kinds: Mapping[str, Mapping[str, object]]
    is_content: bool = False
    closed: bool = False
    many: bool = False
    listed: bool = False
    alternative: object = None


class FieldFault(NamedTuple):
    """A field of a wrong type; without a name, an object of no known kind."""

    path: Path
    name: str | None = None


def suspects(messages: Sequence[object], types: Objects) -> Iterator[int]:
    """Yield the messages to check; a fast filter, which may yield too many."""
    shape = _shape(types)
    for begin in range(0, len(messages), _MANY):
        some = messages[begin : begin + _MANY]
        if not _is(some, list[shape]):
            yield from (at for at, raw in enumerate(some, begin) if not _is(raw, shape))


def is_plain(raw: _Object, types: Objects) -> bool:
    """Return whether the object is valid, by a fast check of one object; False may be wrong."""
    kind = raw.get(types.by, "") if types.by else ""
    known = _glances(types).get(kind) if isinstance(kind, str) else None
    if known is None or not known.required <= raw.keys():
        return False
    fields = known.fields
    for name, value in raw.items():
        if (glance := fields.get(name)) is None:
            continue
        if isinstance(value, str):
            if not value.isascii() or not (glance.any_text or (glance.text is not None and glance.text.search(value))):
                return False
        elif type(value) not in glance.types and not (
            isinstance(value, dict) and glance.inner and is_plain(cast("_Object", value), glance.inner)
        ):
            return False
    return True


def faults(raw: object, types: Objects, path: Path) -> tuple[FieldFault, ...]:
    """Return every field of the object that has a wrong type, and every object in it of no known kind."""
    if not isinstance(raw, dict):
        return (FieldFault(path),) if types.closed else ()
    obj = cast("_Object", raw)
    kind = obj.get(types.by) or ""
    known = types.kinds.get(kind) if isinstance(kind, str) else None
    if known is None:
        return (FieldFault(path),) if types.closed else ()
    found: list[FieldFault] = []
    for field, type_ in known.items():
        name = field.rstrip("!?")
        if name not in obj:
            inner = (FieldFault(path),) if field.endswith("!") else ()
        else:
            inner = _of_field(obj[name], type_, path, field)
        if FieldFault(path) in inner:
            return inner
        found += inner
    return tuple(found)


def with_faults(message: Message, found: Sequence[FieldFault], raw: object) -> Message:
    """Return the projection of the remaining message, with its faults; `raw` is the whole message."""
    if message.flags & {"malformed", "unknown-role"}:
        return message
    items = list(message.items)
    places = {item.path: at for at, item in reversed(list(enumerate(items)))}
    for fault in found:
        if fault.name is None:
            around = (fault.path[:length] for length in range(len(fault.path), 0, -1))
            at = next((places[path] for path in around if path in places), None)
            if at is not None and not _is_converted(items[at], fault.path):
                items[at] = _as_nothing(items[at], fault.path)
    named: dict[Path, list[str]] = {}
    for fault in found:
        if fault.name is not None:
            named.setdefault(fault.path, []).append(fault.name)
    mistyped = tuple(
        BadFields(path, tuple(name for name in names if name not in with_text), tuple(with_text))
        for path, names in named.items()
        for with_text in [
            [name for name in names if not _is_silent(path, name) and _has_text(value_at(raw, (*path[1:], name)))]
        ]
    )
    role = "assistant" if message.role == "tool" and items and items[0].kind == "other" else message.role
    return msgspec.structs.replace(message, role=role, items=tuple(items), mistyped_fields=mistyped)


def value_at(raw: object, path: Path) -> object:
    """Return the value at the path, None if there is none."""
    for key in path:
        if isinstance(raw, dict):
            raw = cast("_Object", raw).get(str(key))
        else:
            raw = cast("Sequence[object]", raw)[key] if isinstance(raw, list | tuple) and isinstance(key, int) else None
    return raw


def _as_nothing(item: Item, path: Path) -> Item:
    """Return the item to send instead of an invalid one: a result as text, anything else as a quotation."""
    alone = len(item.path) == 1 and item.name not in IMAGES_ONLY  # in a part, another kind may be the fault
    if item.kind == "result" and (alone or len(path) > len(item.path)):
        return msgspec.structs.replace(item, flags=item.flags | _FOREIGN)
    role = "assistant" if item.role == "tool" else item.role
    return Item("other", role, item.path, name=item.name, flags=_FOREIGN)


def _is_converted(item: Item, path: Path) -> bool:
    """Return whether the path is in an image that a repair writes again."""
    pictures = (item.media_at or (item.path,)) if "other-picture" in item.flags else ()
    return any(path[: len(each)] == each for each in pictures)


def _of_field(value: object, type_: object, path: Path, field: str) -> tuple[FieldFault, ...]:
    """Return the faults of a field and of its value."""
    name = field.rstrip("!?")
    inner: tuple[FieldFault, ...] = ()
    if isinstance(type_, Objects):
        here = (*path, name)
        if type_.many and isinstance(value, list | tuple):
            elements = enumerate(cast("Sequence[object]", value))
            inner = tuple(fault for at, element in elements for fault in faults(element, type_, (*here, at)))
        elif isinstance(value, dict):
            inner = faults(cast("_Object", value), type_, here)
        many = type_.many and isinstance(value, list | tuple)
        right = many or (isinstance(value, dict) and not type_.listed) or _is(cast("object", value), type_.alternative)
        if right and (type_.is_content or all(fault.name is not None for fault in inner)):
            return inner
    elif _is(value, type_):
        return ()
    return (FieldFault(path, None if field.endswith(("!", "?")) else name),)


def _is(value: object, type_: object) -> bool:
    if type_ is Never:
        return False
    try:
        convert_value(value, cast("Any", type_))
    except (msgspec.ValidationError, UnicodeEncodeError, RecursionError):
        return False
    return True


class _Glance(msgspec.Struct, frozen=True):
    """The fast check of a field: allowed types, any text or its pattern, and the objects in it."""

    types: frozenset[type]
    any_text: bool
    text: re.Pattern[str] | None
    inner: Objects | None


class _Glances(msgspec.Struct, frozen=True):
    required: frozenset[str]
    fields: Mapping[str, _Glance]


@cache
def _glances(types: Objects) -> Mapping[str, _Glances]:
    return {
        kind: _Glances(
            frozenset(field.rstrip("!") for field in fields if field.endswith("!")),
            {field.rstrip("!?"): _glance(type_) for field, type_ in fields.items() if type_ is not object},
        )
        for kind, fields in types.kinds.items()
    }


_SURE = frozenset({int, type(None)})
"""Types whose values need no further check."""


def _glance(type_: object) -> _Glance:
    inner = type_ if isinstance(type_, Objects) and not type_.listed else None
    plain = type_.alternative if isinstance(type_, Objects) else type_
    union = isinstance(plain, UnionType) or get_origin(plain) is Union
    options = get_args(plain) if union else (plain,)
    patterns = [meta.pattern for option in options for meta in get_args(option)[1:] if isinstance(meta, msgspec.Meta)]
    texts = [pattern for pattern in patterns if pattern is not None]
    text = texts[0] if len(texts) == 1 else None
    sure = frozenset(option for option in options if isinstance(option, type) and option in _SURE)
    return _Glance(sure, str in options, None if text is None else re.compile(text), inner)


@cache
def _shape(types: Objects) -> Any:  # noqa: ANN401 - a type of types that are made here
    """Return the `msgspec` type of such an object; it rejects every fault."""
    structs = [_struct(types, kind, fields) for kind, fields in types.kinds.items() if kind or not types.by]
    if types.by and len(structs) == 1:  # with several kinds, each object must name its kind
        structs.append(_struct(types, "\0", {}))
    shape = structs[0]
    for each in structs[1:]:
        shape |= each
    return shape


def _struct(types: Objects, kind: str, fields: Mapping[str, object]) -> type[msgspec.Struct]:
    tag = {"tag_field": types.by, "tag": kind} if types.by else {}
    names = {f"field{number}": field.rstrip("!?") for number, field in enumerate(fields)}
    named = [
        (name, _annotation(type_), msgspec.NODEFAULT if field.endswith("!") else None)
        for name, (field, type_) in zip(names, fields.items(), strict=True)
    ]
    return msgspec.defstruct("Object", named, rename=names, kw_only=True, gc=False, **cast("Any", tag))


def _annotation(type_: object) -> Any:  # noqa: ANN401 - the same
    if not isinstance(type_, Objects):
        return type_
    inner = _shape(type_)
    if type_.listed:
        return list[inner] if type_.alternative is Never else list[inner] | type_.alternative
    here = inner if type_.alternative is Never else inner | type_.alternative
    return here | list[inner] if type_.many else here


def _is_silent(path: Path, name: str) -> bool:
    """Return whether a field holds no words, or words of an earlier call: what a search looked for."""
    return name in _SILENT or (path[-1] == "action" and name in _SEARCHED)


def _has_text(value: object) -> bool:
    """Return whether it contains text."""
    if isinstance(value, str):
        return bool(value.strip())
    if isinstance(value, dict):
        return any(_has_text(each) for key, each in cast("_Object", value).items() if key != "type")
    return isinstance(value, list | tuple) and any(map(_has_text, cast("Sequence[object]", value)))


_MANY = 1_000
_FOREIGN: frozenset[Flag] = frozenset({"foreign"})
_SEARCHED = frozenset({"query", "queries"})
_SILENT = frozenset(
    {"id", "status", "role", "name", "filename", "cache_control", "citations", "annotations", "logprobs", "signature"}
    | {"encrypted_content", "reasoning", "reasoning_content", "summary", "thought", "thoughtSignature", "is_error"}
    | {"audio", "detail", "phase", "action", "data", "media_type", "mimeType", "url", "source", "caller"}
)
"""Fields that hold no words: bytes, flags, thinking, facts about an answer."""


# --- fields that are known -------------------------------------------------------------------------------------------


def all_known(raw: object, kinds: Kinds) -> bool:
    """Return whether every field of the message and its parts is known; a fast check that may wrongly say no."""
    return any(_fits(raw, shape) for shape in _shapes(kinds))


def unfamiliar_messages(messages: Sequence[object], kinds: Kinds) -> Iterator[int]:
    """Yield the messages that may have unknown fields; the same check, which is faster for many at once."""
    shapes = [list[shape] for shape in _shapes(kinds)]
    for begin in range(0, len(messages), _MANY):
        some = messages[begin : begin + _MANY]
        if not any(_fits(some, shape) for shape in shapes):
            yield from (at for at, raw in enumerate(some, begin) if not all_known(raw, kinds))


def _fits(raw: object, shape: Any) -> bool:  # noqa: ANN401 - a type that is made here
    try:
        convert_value(raw, shape)
    except (msgspec.ValidationError, UnicodeEncodeError, RecursionError):
        return False
    return True


@cache
def _shapes(kinds: Kinds) -> tuple[Any, ...]:
    """Return the `msgspec` types of tagged and untagged objects, without unknown fields."""
    every = [(_known_struct(kinds, kind, fields), kind) for kind, fields in kinds.fields.items()]
    tagged, untagged = [shape for shape, kind in every if kind], [shape for shape, kind in every if not kind]
    if not tagged:
        return tuple(untagged)
    either: Any = tagged[0]
    for shape in tagged[1:]:
        either |= shape
    return (either, *untagged)


def _known_struct(kinds: Kinds, kind: str, fields: Fields) -> type[msgspec.Struct]:
    within = dict(fields.within)
    names = {f"field{number}": name for number, name in enumerate(sorted(fields.names)) if not kind or name != kinds.by}
    named = [(field, _known_within(within.get(name)), None) for field, name in names.items()]
    tag = {"tag_field": kinds.by, "tag": kind} if kind else {}
    return msgspec.defstruct("Known", named, rename=names, forbid_unknown_fields=True, gc=False, **cast("Any", tag))


def _known_within(inner: Kinds | None) -> Any:  # noqa: ANN401 - the same
    if inner is None:
        return Any
    likeliest = _shapes(inner)[0]
    return likeliest | list[likeliest] | str | None


# --- for the tables --------------------------------------------------------------------------------------------------

FieldTable = Mapping[str, object]
TEXT = str | None
LIST = list[Any] | None
MAPS = list[dict[str, Any]] | None
MAP = dict[str, Any] | None
SCALAR = str | int | float | bool | None
"""Values allowed instead of a list of parts, which other rules check."""


def by_kind(by: str, kinds: Mapping[str, FieldTable], *, alternative: object = Never, closed: bool = False) -> Objects:
    """Return the objects of a place where the field `by` names their kind."""
    return Objects(by, MappingProxyType(dict(kinds)), closed=closed, alternative=alternative)


def of_one_kind(fields: FieldTable, alternative: object = Never) -> Objects:
    """Return the objects of a place where all are of one, unnamed kind."""
    return by_kind("", {"": fields}, alternative=alternative)


def contents(by: str, kinds: Mapping[str, FieldTable], alternative: object = SCALAR) -> Objects:
    """Return the objects that a content may hold."""
    return Objects(by, MappingProxyType(dict(kinds)), is_content=True, many=True, alternative=alternative)


def listed(by: str, kinds: Mapping[str, FieldTable], alternative: object = Never) -> Objects:
    """Return the objects of a place that holds a list of these kinds."""
    return Objects(by, MappingProxyType(dict(kinds)), closed=True, many=True, listed=True, alternative=alternative)
