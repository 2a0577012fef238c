"""The fields of pydantic-ai's messages and parts without content, and those that its adapter would reject.

Only a wrong JSON type is a finding, since allowed values differ between versions. A wrong field is removed, and only
the wrong fields of an object in a field; a part that is invalid without the field is quoted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from holdfast.history.field_types import FieldFault, Objects, faults, is_plain, suspects
from holdfast.history.formats.format import Json, as_array, as_object, as_text, is_array, is_object
from holdfast.history.formats.pydantic_ai.field_table import (
    PYDANTIC_AI_CONTENTS,
    PYDANTIC_AI_MESSAGES,
    PYDANTIC_AI_PARTS,
)
from holdfast.history.formats.shape_marks import without_fields
from holdfast.history.media.images import is_base64

RECORD_KINDS = frozenset(
    {
        "tool-availability-delta",
        "capability-load-delta",
        "model-settings-delta",
        "instruction-delta",
        "instruction-baseline",
    }
)
"""Kinds of request parts that record settings and instructions, not content of the conversation."""


def is_record(part: object) -> bool:
    """Return whether the part is a record with all required fields."""
    raw = as_object(part)
    return as_text(raw.get("part_kind")) in RECORD_KINDS and not lacks_required(raw)


def mistyped_fields(raw: Json) -> list[str]:
    """Return the fields of a message, a part or a content entry that do not load entirely."""
    types = _types(raw)
    found, untyped = _faults(raw, types), _untyped_faults(raw, types)
    if not found:
        return untyped
    wrong = [str((*each.path, each.name)[0]) for each in found if each.name is not None]
    return list(dict.fromkeys([*wrong, *untyped]))


def loads(part: Json) -> bool:
    """Return whether a part loads, apart from its speaker; a fast check that may wrongly say no."""
    kind = part.get("part_kind")
    if not isinstance(kind, str) or kind not in _PLAIN or "parts" in part or part.get("tool_kind") is not None:
        return False
    return (kind != "tool-return" or "tool_name" in part) and is_plain(part, PYDANTIC_AI_PARTS)


_PLAIN = frozenset({"system-prompt", "user-prompt", "tool-return", "retry-prompt", "text", "thinking", "tool-call"})
"""The kinds of parts whose fields are checked one by one."""


def message_loads(message: Json) -> bool:
    """Return whether the fields of a message besides its parts load, and its parts without content."""
    if not is_plain(message, PYDANTIC_AI_MESSAGES) and mistyped_fields(message):
        return False
    for part in as_array(message.get("parts")):
        raw = as_object(part)
        has_records = is_record(raw) or is_array(raw.get("content"))
        if has_records and any(mistyped_fields(each) for each in _records_in(raw)):
            return False
    return True


def lacks_required(raw: Json) -> bool:
    """Return whether a part, or a content entry, lacks required data."""
    holder = raw if raw.get("kind") == "binary" else raw.get("content") if raw.get("part_kind") == "file" else None
    data = holder.get("data") if is_object(holder) else b""
    return not _holds_bytes(data) or any(each.name is None for each in _faults(raw, _types(raw)))


def loadable(raw: Json) -> Json:
    """Return the message, part or content entry without the fields that do not load."""
    types = _types(raw)
    wrong = [(each.path, (each.name,)) for each in _faults(raw, types) if each.name is not None]
    wrong += [((), (name,)) for name in _untyped_faults(raw, types)]
    return as_object(without_fields(raw, wrong)) if wrong else raw


def with_speaker(part: Json, speaker: Literal["user", "assistant"]) -> Json:
    """Return the part as a message of this speaker may hold it; the same object if it is right."""
    if part.get("part_kind") == "speech" and part.get("speaker") != speaker:
        return {**part, "speaker": speaker}
    if (
        part.get("part_kind") == "compaction"
        and speaker == "user"
        and any(part.get(each) is not None for each in _PROVIDED)
    ):
        return {key: value for key, value in part.items() if key not in _PROVIDED}  # a user's part has no provider
    return part


_PROVIDED = ("id", "provider_name", "provider_details")


def loadable_message(message: Json) -> Json:
    """Return the message without the fields that do not load, including those of parts without content."""
    loaded = loadable(message)
    return {**loaded, "parts": [_loadable_part(as_object(part)) for part in as_array(loaded.get("parts"))]}


def is_feedback(content: object) -> bool:
    """Return whether the content is feedback for the model: a text, or a list of errors."""
    return isinstance(content, str) or (is_array(content) and all(map(_is_error, content)))


def _is_error(raw: object) -> bool:
    """Return whether it is one of the errors that pydantic finds in arguments."""
    if not is_object(raw) or "input" not in raw or not is_array(place := raw.get("loc")):
        return False
    required = isinstance(raw.get("type"), str) and isinstance(raw.get("msg"), str)
    optional = isinstance(raw.get("ctx", {}), dict) and isinstance(raw.get("url", ""), str)
    return required and optional and all(isinstance(each, str | int) for each in place)


def is_served(call: Json) -> bool:
    """Return whether a provider-run call, or its result, has its required fields."""
    has_content = call.get("part_kind") == "builtin-tool-call" or "content" in call
    return has_content and as_text(call.get("tool_name")) is not None and not lacks_required(call)


# --- what is wrong ---------------------------------------------------------------------------------------------------


def _faults(raw: Json, types: Objects | None) -> tuple[FieldFault, ...]:
    if types is None or is_plain(raw, types):
        return ()
    return faults(raw, types, ()) if any(True for _ in suspects((raw,), types)) else ()


def _types(raw: Json) -> Objects | None:
    if "parts" in raw and as_text(raw.get("kind")) in PYDANTIC_AI_MESSAGES.kinds:
        return PYDANTIC_AI_MESSAGES
    if isinstance(kind := raw.get("part_kind"), str):
        return PYDANTIC_AI_PARTS if kind in PYDANTIC_AI_PARTS.kinds else None
    for types in (PYDANTIC_AI_MESSAGES, PYDANTIC_AI_CONTENTS):
        if (as_text(raw.get("kind")) or "") in types.kinds:
            return types
    return None


def _untyped_faults(raw: Json, types: Objects | None) -> list[str]:
    """Return the faulty fields that no type shows: missing ones, and those that contradict another field."""
    kind = "" if types is PYDANTIC_AI_MESSAGES else as_text(raw.get("part_kind")) or ""
    required = _REQUIRED.get(kind)
    wrong = [] if required is None or required in raw else [required]
    if (audio := raw.get("audio")) and kind == "speech" and not _holds_bytes(as_object(audio).get("data", b"")):
        wrong.append("audio")
    if isinstance(tool := raw.get("tool_kind"), str) and not _is_of_kind(raw, kind, tool):
        wrong.append("tool_kind")
    return wrong


_REQUIRED: Mapping[str, str] = MappingProxyType({"tool-return": "tool_name", "speech": "speaker"})
"""Required fields that a writer can fill in."""


def _holds_bytes(data: object) -> bool:
    return isinstance(data, bytes) or (isinstance(data, str) and is_base64(data))


def _is_search(args: object) -> bool:
    queries = as_object(args).get("queries")
    return is_array(queries) and all(isinstance(each, str) for each in queries)


def _is_found(content: object) -> bool:
    tools = as_object(content).get("discovered_tools")
    named = is_array(tools) and all(isinstance(as_object(each).get("name"), str) for each in tools)
    return named and isinstance(as_object(content).get("message", ""), str)


def _is_load(args: object) -> bool:
    return isinstance(as_object(args).get("id"), str)


def _is_loaded(content: object) -> bool:
    return is_object(content) and all(isinstance(content.get(each, ""), str) for each in ("message", "instructions"))


_TYPED: Mapping[tuple[str, str], tuple[str, Callable[[object], bool]]] = MappingProxyType(
    {
        ("tool-call", "tool-search"): ("search_tools", _is_search),
        ("builtin-tool-call", "tool-search"): ("tool_search", _is_search),
        ("tool-return", "tool-search"): ("search_tools", _is_found),
        ("builtin-tool-return", "tool-search"): ("tool_search", _is_found),
        ("tool-call", "capability-load"): ("load_capability", _is_load),
        ("tool-return", "capability-load"): ("load_capability", _is_loaded),
    }
)
"""pydantic-ai's own tools: with their kind, calls and results load only in the right form."""


def _is_of_kind(raw: Json, part: str, tool: str) -> bool:
    if (part, tool) not in _TYPED or raw.get("outcome", "success") != "success":
        return True
    name, fits = _TYPED[part, tool]
    if raw.get("tool_name", name) != name:
        return False
    if part.endswith("call"):
        return isinstance(raw.get("args"), str | None) or fits(raw["args"])
    return fits(raw.get("content"))


def _records_in(part: Json) -> list[Json]:
    if is_record(part):
        return [part]
    return [each for each in map(as_object, as_array(part.get("content"))) if each.get("kind") == "cache-point"]


def _loadable_part(part: Json) -> Json:
    if is_record(part):
        return loadable(part)
    if not any(map(mistyped_fields, _records_in(part))):
        return part
    entries = as_array(part.get("content"))
    now = [loadable(as_object(each)) if as_object(each).get("kind") == "cache-point" else each for each in entries]
    return {**part, "content": now}
