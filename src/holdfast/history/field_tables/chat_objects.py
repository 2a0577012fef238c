"""The field types of Chat's messages."""

from __future__ import annotations

from typing import Literal

from holdfast.history.field_types import LIST, SCALAR, TEXT, FieldTable, by_kind, contents, of_one_kind

_Detail = Literal["auto", "low", "high", "original"] | None
_HELD = {"function?": of_one_kind({}, None), "custom?": of_one_kind({}, None)}
_CHAT_CALLS = contents("", {"": _HELD})
_BREAKPOINT: FieldTable = {"prompt_cache_breakpoint": of_one_kind({"mode!": str}, None)}
_CHAT_CONTENT = contents(
    "type",
    {
        "text": _BREAKPOINT,
        "refusal": {},
        "thinking": {"closed": bool},
        "image_url": {"image_url?": of_one_kind({"detail": _Detail}, SCALAR), **_BREAKPOINT},
        "input_audio": {"input_audio!": of_one_kind({"data!": str, "format!": str}), **_BREAKPOINT},
        "file": {"file!": of_one_kind({"file_data": TEXT, "file_id": TEXT, "filename": TEXT}), **_BREAKPOINT},
    },
)
_OF_ASSISTANT = {
    "refusal": TEXT,
    "audio": of_one_kind({"id!": str}, None),
    "annotations": LIST,
    "reasoning_content": TEXT,
    "reasoning": TEXT,
    "tool_calls": _CHAT_CALLS,
}
CHAT_TYPES = by_kind(
    "role",
    {
        **{role: {"content": _CHAT_CONTENT} for role in ("system", "developer", "user", "tool", "function")},
        "assistant": {"content": _CHAT_CONTENT, **_OF_ASSISTANT},
    },
)
