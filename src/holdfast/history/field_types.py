"""The JSON types of fields that hold no content, which no other rule checks.

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
from types import MappingProxyType, UnionType
from typing import Any, NamedTuple, Never, Union, cast, get_args, get_origin

import msgspec

from holdfast.history.fields import Fields, Kinds
from holdfast.history.shape import IMAGES_ONLY, Flag, Item, Message, Odd, Path
from holdfast.typed_data import convert_value

_Object = Mapping[str, object]


class Objects(msgspec.Struct, frozen=True, eq=False):
    """The objects that may stand in a place, by what their field `by` says, with the types of their fields.

    "" is one that does not say it. `said` tells that a message says them, `closed` that there are no others, `many`
    that a list of them may stand there too, `listed` that only a list may. `beside` is the type of what else may.
    """

    by: str
    kinds: Mapping[str, Mapping[str, object]]
    said: bool = False
    closed: bool = False
    many: bool = False
    listed: bool = False
    beside: object = None


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
    """Return whether the object is right at a glance, for one that is looked at alone; False says nothing."""
    kind = raw.get(types.by, "") if types.by else ""
    known = _glances(types).get(kind) if isinstance(kind, str) else None
    if known is None or not known.required <= raw.keys():
        return False
    for name, value in raw.items():
        glance = known.fields.get(name)
        if glance is None or type(value) in glance.types:
            continue
        if isinstance(value, str):
            if not value.isascii() or not (glance.any_text or (glance.text is not None and glance.text.search(value))):
                return False
        elif not (isinstance(value, dict) and glance.inner and is_plain(cast("_Object", value), glance.inner)):
            return False
    return True


def faults(raw: object, types: Objects, path: Path) -> tuple[FieldFault, ...]:
    """Return every field of the object that has a wrong type, and every object in it of no known kind."""
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
    """Return the projection of the remaining message, with its faults; `raw` is the whole message."""
    if message.flags & {"malformed", "unknown-role"}:
        return message
    items = list(message.items)
    places = {item.path: at for at, item in reversed(list(enumerate(items)))}
    for fault in found:
        if fault.name is None:
            around = (fault.path[:length] for length in range(len(fault.path), 0, -1))
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
    """Return the value at the path, None if there is none."""
    for key in path:
        if isinstance(raw, dict):
            raw = cast("_Object", raw).get(str(key))
        else:
            raw = cast("Sequence[object]", raw)[key] if isinstance(raw, list | tuple) and isinstance(key, int) else None
    return raw


def _as_nothing(item: Item, path: Path) -> Item:
    """Return what is left of the item: of a result what it holds as text, of anything else a quotation."""
    alone = len(item.path) == 1 and item.name not in IMAGES_ONLY  # of a part, another kind may be what is wrong
    if item.kind == "result" and (alone or len(path) > len(item.path)):
        return msgspec.structs.replace(item, flags=item.flags | _FOREIGN)
    role = "assistant" if item.role == "tool" else item.role
    return Item("other", role, item.path, name=item.name, flags=_FOREIGN)


def _of_field(value: object, type_: object, path: Path, field: str) -> tuple[FieldFault, ...]:
    """Return the faults of a field and of its value."""
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
        right = many or (isinstance(value, dict) and not type_.listed) or _is(cast("object", value), type_.beside)
        if right and (type_.said or all(fault.name is not None for fault in inner)):
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


class _Glance(NamedTuple):
    """What is right in a field at a glance: a value of these types, a text (with this pattern), such an object."""

    types: frozenset[type]
    any_text: bool
    text: re.Pattern[str] | None
    inner: Objects | None


class _Glances(NamedTuple):
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
"""Types whose values are right wherever the type stands by itself."""


def _glance(type_: object) -> _Glance:
    inner = type_ if isinstance(type_, Objects) and not type_.listed else None
    said = type_.beside if isinstance(type_, Objects) else type_
    union = isinstance(said, UnionType) or get_origin(said) is Union
    each = get_args(said) if union else (said,)
    patterns = [meta.pattern for one in each for meta in get_args(one)[1:] if isinstance(meta, msgspec.Meta)]
    texts = [pattern for pattern in patterns if pattern is not None]
    text = texts[0] if len(texts) == 1 else None
    sure = frozenset(one for one in each if isinstance(one, type) and one in _SURE)
    return _Glance(sure, str in each, None if text is None else re.compile(text), inner)


@cache
def _shape(types: Objects) -> Any:  # noqa: ANN401 - a type of types that are made here
    """Return the `msgspec` type of such an object; it rejects every fault."""
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
    if type_.listed:
        return list[inner] if type_.beside is Never else list[inner] | type_.beside
    here = inner if type_.beside is Never else inner | type_.beside
    return here | list[inner] if type_.many else here


def _says(value: object) -> bool:
    """Return whether it contains text."""
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


# --- fields that are known -------------------------------------------------------------------------------------------


def all_known(raw: object, kinds: Kinds) -> bool:
    """Return whether every field of the message and its parts is known; a fast check that may wrongly say no."""
    return any(_fits(raw, shape) for shape in _shapes(kinds))


def strangers(messages: Sequence[object], kinds: Kinds) -> Iterator[int]:
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
    """Return the `msgspec` types of objects that say their kind and of those that do not: no other field fits."""
    every = [(_known_struct(kinds, kind, fields), kind) for kind, fields in kinds.fields.items()]
    told, untold = [shape for shape, kind in every if kind], [shape for shape, kind in every if not kind]
    if not told:
        return tuple(untold)
    either: Any = told[0]
    for shape in told[1:]:
        either |= shape
    return (either, *untold)


def _known_struct(kinds: Kinds, kind: str, fields: Fields) -> type[msgspec.Struct]:
    within = dict(fields.within)
    names = {f"field{number}": name for number, name in enumerate(sorted(fields.names)) if not kind or name != kinds.by}
    named = [(field, _known_within(within.get(name)), None) for field, name in names.items()]
    tag = {"tag_field": kinds.by, "tag": kind} if kind else {}
    return msgspec.defstruct("Known", named, rename=names, forbid_unknown_fields=True, **cast("Any", tag))


def _known_within(inner: Kinds | None) -> Any:  # noqa: ANN401 - the same
    if inner is None:
        return Any
    likeliest = _shapes(inner)[0]
    return likeliest | list[likeliest] | str | None


# --- how a table is written ------------------------------------------------------------------------------------------

FieldTable = Mapping[str, object]
TEXT = str | None
LIST = list[Any] | None
MAPS = list[dict[str, Any]] | None
MAP = dict[str, Any] | None
SCALAR = str | int | float | bool | None
"""What may stand in the place of a list of parts, and is judged by other rules."""


def by_kind(by: str, kinds: Mapping[str, FieldTable], *, beside: object = Never, closed: bool = False) -> Objects:
    """Return the objects of a place where they say by `by` of what kind they are."""
    return Objects(by, MappingProxyType(dict(kinds)), closed=closed, beside=beside)


def of_one_kind(fields: FieldTable, beside: object = Never) -> Objects:
    """Return the objects of a place where they say nothing of their kind."""
    return by_kind("", {"": fields}, beside=beside)


def contents(by: str, kinds: Mapping[str, FieldTable], beside: object = SCALAR) -> Objects:
    """Return what a content may hold."""
    return Objects(by, MappingProxyType(dict(kinds)), said=True, many=True, beside=beside)


def listed(by: str, kinds: Mapping[str, FieldTable], beside: object = Never) -> Objects:
    """Return the objects of which a list stands in a place, all of these kinds."""
    return Objects(by, MappingProxyType(dict(kinds)), closed=True, many=True, listed=True, beside=beside)
