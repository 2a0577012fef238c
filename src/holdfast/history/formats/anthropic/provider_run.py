"""The calls in Anthropic's messages that the provider runs itself, their results, and what its programs call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from holdfast.history.formats.format import Json, as_object, as_text, is_object
from holdfast.history.shape import NO_FLAGS, Flag, Item, Path

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
    return Item(what, "assistant", path, call, name, kinds, caller=caller_of(block))


def caller_of(block: Json) -> str | None:
    """Return the id of the provider-run call that made this one, None if the model made it."""
    return as_text(as_object(block.get("caller")).get("tool_id"))


def input_fault(block: Json) -> frozenset[Flag]:
    """Return the fault of a call's input; a stream that was cut off leaves incomplete text."""
    if "input" not in block:
        return _NO_INPUT
    return NO_FLAGS if is_object(block["input"]) else _TEXT_INPUT
