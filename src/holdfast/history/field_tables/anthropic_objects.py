"""The field types of Anthropic's messages and blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Never

from holdfast.history.field_types import MAP, TEXT, FieldTable, Objects, by_kind, contents, listed, of_one_kind

_MARKED: FieldTable = {
    "cache_control": of_one_kind({"type!": Literal["ephemeral"], "ttl": Literal["5m", "1h"] | None}, None)
}
_CALLED: FieldTable = {"caller": of_one_kind({"type!": str}, None)}
_SOURCE = {"base64": {"data!": str, "media_type!": str}, "url": {"url!": str}, "file": {"file_id!": str}}
_SAYS: Mapping[str, FieldTable] = {"text": {"text!": str}}
_PAPER: Mapping[str, FieldTable] = {
    **_SOURCE,
    "text": {"data!": str, "media_type!": Literal["text/plain"]},
    "content": {"content!": listed("type", {**_SAYS, "image": {"source!": dict[str, Any]}}, str)},
}
_CITING = of_one_kind({"enabled": bool}, None)
_CITED: FieldTable = {"cited_text!": str}
_OF_A_PAPER: FieldTable = {**_CITED, "document_index!": int, "document_title": TEXT, "file_id": TEXT}
_CITATIONS = listed(
    "type",
    {
        "char_location": {**_OF_A_PAPER, "start_char_index!": int, "end_char_index!": int},
        "page_location": {**_OF_A_PAPER, "start_page_number!": int, "end_page_number!": int},
        "content_block_location": {**_OF_A_PAPER, "start_block_index!": int, "end_block_index!": int},
        "web_search_result_location": {**_CITED, "encrypted_index!": str, "title": TEXT, "url!": str},
        "search_result_location": {
            **_CITED,
            "search_result_index!": int,
            "source!": str,
            "title": TEXT,
            "start_block_index!": int,
            "end_block_index!": int,
        },
    },
    None,
)
_TOLD: Mapping[str, FieldTable] = {
    "text": {"citations": _CITATIONS, **_MARKED},
    "image": {"transformations": MAP, **_MARKED},
    "document": {
        "source!": by_kind("type", _PAPER, closed=True),
        "title": TEXT,
        "context": TEXT,
        "citations": _CITING,
        **_MARKED,
    },
    "search_result": {
        "source!": str,
        "title!": str,
        "content!": listed("type", _SAYS),
        "citations": _CITING,
        **_MARKED,
    },
}
_FOUND = Objects(
    "type",
    {
        "web_search_result": {"encrypted_content!": str, "title!": str, "url!": str, "page_age": TEXT},
        "web_search_tool_result_error": {"error_code!": str},
    },
    closed=True,
    many=True,
    alternative=Never,
)
_FETCHED = by_kind(
    "type",
    {
        "web_fetch_result": {
            "url?": str,
            "content?": by_kind("type", {"document": _TOLD["document"]}, closed=True),
            "retrieved_at": TEXT,
        },
        "web_fetch_tool_result_error": {"error_code!": str},
    },
    closed=True,
)
_MODEL = of_one_kind({"model!": str})
_CHANGED = of_one_kind({"type!": str})
_SERVED: FieldTable = {"id!": str, "name!": str, **_MARKED}
_BLOCKS = contents(
    "type",
    {
        **_TOLD,
        "thinking": {"signature": TEXT},
        "redacted_thinking": {},
        "tool_use": {"toolset_name": TEXT, **_CALLED, **_MARKED},
        "server_tool_use": {**_SERVED, **_CALLED},
        "mcp_tool_use": {**_SERVED, "server_name!": str},
        "mcp_tool_result": {
            "tool_use_id!": str,
            "content": listed("type", _SAYS, str),
            "is_error": bool | None,
            **_MARKED,
        },
        "web_fetch_tool_result": {"tool_use_id!": str, "content!": _FETCHED, **_CALLED, **_MARKED},
        "container_upload": {"file_id!": str, **_MARKED},
        "compaction": {"content?": TEXT, **_MARKED},
        "fallback": {"from?": _MODEL, "to?": _MODEL},
        "tool_addition": {"tool!": _CHANGED, **_MARKED},
        "tool_removal": {"tool!": _CHANGED, **_MARKED},
        "web_search_tool_result": {"tool_use_id!": str, "content!": _FOUND, **_CALLED, **_MARKED},
        "tool_result": {
            "content": contents("type", {**_TOLD, "tool_reference": _MARKED}),
            "is_error": bool | None,
            "toolset_name": TEXT,
            **_MARKED,
        },
    },
)
ANTHROPIC_TYPES = by_kind("role", {role: {"content": _BLOCKS} for role in ("user", "assistant")})
