"""The fields of pydantic-ai's messages and parts without content, and those that its adapter would reject.

Two rules. Only a wrong type of JSON is a finding: which words a field knows differs from version to version. A field
that is wrong goes, and of an object in a field only what is wrong in it; a part that is nothing without it is quoted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from holdfast.history.field_tables.pydantic_ai_objects import (
    PYDANTIC_AI_CONTENTS,
    PYDANTIC_AI_MESSAGES,
    PYDANTIC_AI_PARTS,
)
from holdfast.history.field_types import FieldFault, Objects, faults, is_plain, suspects
from holdfast.history.formats.field_removal import without_fields
from holdfast.history.formats.format import Json, as_array, as_object, as_text, is_array, is_object
from holdfast.history.media.images import is_base64

UNSAID = frozenset(
    {
        "tool-availability-delta",
        "capability-load-delta",
        "model-settings-delta",
        "instruction-delta",
        "instruction-baseline",
    }
)
"""Kinds of parts of a request that record settings and instructions: no words of the conversation."""


def is_record(part: object) -> bool:
    """Return whether the part is a record, and holds what it is nothing without."""
    raw = as_object(part)
    return as_text(raw.get("part_kind")) in UNSAID and not holds_nothing(raw)


def mistyped(raw: Json) -> list[str]:
    """Return the fields of a message, a part or an entry of a content that do not load, or hold what does not."""
    types = _types(raw)
    found, beside = _faults(raw, types), _beside(raw, types)
    if not found:
        return beside
    wrong = [str((*each.path, each.name)[0]) for each in found if each.name is not None]
    return list(dict.fromkeys([*wrong, *beside]))


def loads(part: Json) -> bool:
    """Return whether a part loads, apart from its speaker; a fast check that may wrongly say no."""
    kind = part.get("part_kind")
    if not isinstance(kind, str) or kind not in _PLAIN or "parts" in part or part.get("tool_kind") is not None:
        return False
    return (kind != "tool-return" or "tool_name" in part) and is_plain(part, PYDANTIC_AI_PARTS)


_PLAIN = frozenset({"system-prompt", "user-prompt", "tool-return", "retry-prompt", "text", "thinking", "tool-call"})
"""The kinds of parts of which each field is judged by itself."""


def message_loads(message: Json) -> bool:
    """Return whether the fields of a message beside its parts load, and what of its parts says nothing."""
    if not is_plain(message, PYDANTIC_AI_MESSAGES) and mistyped(message):
        return False
    for part in as_array(message.get("parts")):
        raw = as_object(part)
        beside = is_record(raw) or not isinstance(raw.get("content"), str | None)
        if beside and any(mistyped(each) for each in _unsaid(raw)):
            return False
    return True


def holds_nothing(raw: Json) -> bool:
    """Return whether a part, or an entry of a content, lacks what it is nothing without."""
    held = raw if raw.get("kind") == "binary" else raw.get("content") if raw.get("part_kind") == "file" else None
    data = held.get("data") if is_object(held) else b""
    return not _holds_bytes(data) or any(each.name is None for each in _faults(raw, _types(raw)))


def loadable(raw: Json) -> Json:
    """Return the message, the part or the entry of a content without the fields that do not load."""
    types = _types(raw)
    wrong = [(each.path, (each.name,)) for each in _faults(raw, types) if each.name is not None]
    wrong += [((), (name,)) for name in _beside(raw, types)]
    return as_object(without_fields(raw, wrong)) if wrong else raw


def said_by(part: Json, speaker: Literal["user", "assistant"]) -> Json:
    """Return the part as the one whose message it stands in may say it: the same object, if that is so."""
    if part.get("part_kind") == "speech" and part.get("speaker") != speaker:
        return {**part, "speaker": speaker}
    if (
        part.get("part_kind") == "compaction"
        and speaker == "user"
        and any(part.get(each) is not None for each in _PROVIDED)
    ):
        return {key: value for key, value in part.items() if key not in _PROVIDED}  # no provider made it
    return part


_PROVIDED = ("id", "provider_name", "provider_details")


def loadable_whole(message: Json) -> Json:
    """Return the message without the fields that do not load, also in what says nothing."""
    kept = loadable(message)
    return {**kept, "parts": [_loadable_part(as_object(part)) for part in as_array(kept.get("parts"))]}


def is_feedback(content: object) -> bool:
    """Return whether it is feedback for the model: a text, or a list of what is wrong."""
    return isinstance(content, str) or (is_array(content) and all(map(_is_error, content)))


def _is_error(raw: object) -> bool:
    """Return whether it is one of the errors that pydantic finds in arguments."""
    if not is_object(raw) or "input" not in raw or not is_array(place := raw.get("loc")):
        return False
    named = isinstance(raw.get("type"), str) and isinstance(raw.get("msg"), str)
    beside = isinstance(raw.get("ctx", {}), dict) and isinstance(raw.get("url", ""), str)
    return named and beside and all(isinstance(each, str | int) for each in place)


def is_served(call: Json) -> bool:
    """Return whether a provider-run call, or its result, has its required fields."""
    held = call.get("part_kind") == "builtin-tool-call" or "content" in call
    return held and as_text(call.get("tool_name")) is not None and not holds_nothing(call)


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


def _beside(raw: Json, types: Objects | None) -> list[str]:
    """Return the fields that no type tells of: what is wrong also where it is missing, or for what stands beside it."""
    kind = "" if types is PYDANTIC_AI_MESSAGES else as_text(raw.get("part_kind")) or ""
    required = _REQUIRED.get(kind)
    wrong = [] if required is None or required in raw else [required]
    if (audio := raw.get("audio")) and kind == "speech" and not _holds_bytes(as_object(audio).get("data", b"")):
        wrong.append("audio")
    if isinstance(tool := raw.get("tool_kind"), str) and not _is_of_kind(raw, kind, tool):
        wrong.append("tool_kind")
    return wrong


_REQUIRED: Mapping[str, str] = MappingProxyType({"tool-return": "tool_name", "speech": "speaker"})
"""What a writer knows without being told."""


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
"""The tools of pydantic-ai's own, whose calls and results load only as what they are; without their kind, as any."""


def _is_of_kind(raw: Json, part: str, tool: str) -> bool:
    if (part, tool) not in _TYPED or raw.get("outcome", "success") != "success":
        return True
    name, fits = _TYPED[part, tool]
    if raw.get("tool_name", name) != name:
        return False
    if part.endswith("call"):
        return isinstance(raw.get("args"), str | None) or fits(raw["args"])
    return fits(raw.get("content"))


def _unsaid(part: Json) -> list[Json]:
    if is_record(part):
        return [part]
    return [each for each in map(as_object, as_array(part.get("content"))) if each.get("kind") == "cache-point"]


def _loadable_part(part: Json) -> Json:
    if is_record(part):
        return loadable(part)
    if not any(map(mistyped, _unsaid(part))):
        return part
    held = as_array(part.get("content"))
    now = [loadable(as_object(each)) if as_object(each).get("kind") == "cache-point" else each for each in held]
    return {**part, "content": now}
