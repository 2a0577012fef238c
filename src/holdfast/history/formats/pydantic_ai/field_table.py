"""The field types of pydantic-ai's messages, their parts and the entries of a user's content."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from holdfast.history.field_types import MAP, TEXT, FieldTable, Objects, by_kind, listed, of_one_kind

_Time = Annotated[str, msgspec.Meta(pattern=r"^[+-]?\d")] | int | float
_Numeric = Annotated[str, msgspec.Meta(pattern=r"^\s*[+-]?\d+(\.\d*)?([eE][+-]?\d+)?\s*$")]
_Count = (
    Annotated[str, msgspec.Meta(pattern=r"^\s*[+-]?\d+\s*$")]
    | int
    | Annotated[float, msgspec.Meta(multiple_of=1)]
    | bool
)
_Bool = (
    bool
    | Annotated[str, msgspec.Meta(pattern=r"^(?i:0|off|f|false|n|no|1|on|t|true|y|yes)\Z")]
    | Annotated[int, msgspec.Meta(ge=0, le=1)]
    | Annotated[float, msgspec.Meta(ge=0, le=1, multiple_of=1)]
)
_Texts = list[str]

_SPENT = of_one_kind(
    {
        **dict.fromkeys(("input_tokens", "output_tokens", "output_reasoning_tokens", "unmeasured_requests"), _Count),
        **dict.fromkeys(("cache_write_tokens", "cache_write_1h_tokens", "cache_read_tokens"), _Count),
        **dict.fromkeys(("input_audio_tokens", "cache_audio_read_tokens", "output_audio_tokens"), _Count),
        **dict.fromkeys(("request_tokens", "response_tokens"), _Count | None),  # as older versions called them
        "audio_seconds": _Numeric | float | bool,
        "details": dict[str, _Count] | None,
        "cost": _Numeric | float | None,
    }
)
_ATTEMPTS = listed(
    "",
    {"": {"model_name!": str, "outcome!": str, "timestamp!": _Time, "duration!": str | int | float, "error": TEXT}},
    None,
)
_OF_BOTH: FieldTable = {"run_id": TEXT, "conversation_id": TEXT, "state": str, "metadata": MAP}
PYDANTIC_AI_MESSAGES = by_kind(
    "kind",
    {
        "request": {**_OF_BOTH, "timestamp": _Time | None, "instructions": TEXT},
        "response": {
            **_OF_BOTH,
            **dict.fromkeys(("model_name", "model_id", "provider_name", "provider_url", "finish_reason"), TEXT),
            **dict.fromkeys(("provider_response_id", "canonical_system", "history_digest"), TEXT),
            "timestamp": _Time,
            "usage": _SPENT,
            "provider_details": MAP,
            "workspace_ref": of_one_kind({"provider!": str, "id!": str}, None),
            "failed_attempts": _ATTEMPTS,
        },
    },
)
"""Messages, without their parts."""

_FILE: FieldTable = {"data!": object, "media_type!": str, "vendor_metadata": MAP, "identifier": TEXT}
_BYTES = of_one_kind({"kind": Literal["binary"], **_FILE})
_MADE: FieldTable = {"id": TEXT, "provider_name": TEXT, "provider_details": MAP}
_RETRY: FieldTable = {"cause!": str, "attempt": _Count | None, "max_retries": _Count | None}
_RETURNED: FieldTable = {
    "outcome": str,
    "timestamp": _Time,
    "tool_kind": TEXT,
    "content_file_digests": _Texts | TEXT | int | float | MAP,
    "retry": of_one_kind(_RETRY, None),
}
_SAID_WHEN = listed("", {"": {"text!": str, "start_ms!": _Count, "duration_ms!": _Count, "granularity": str}}, None)
_SOURCES = listed(
    "kind",
    {
        "web": {"url!": str, "title": TEXT, "excerpts": _Texts},
        "document": {"document_id": TEXT, "title": TEXT, "excerpts": _Texts},
    },
)
_ANCHOR = of_one_kind({"kind!": str, "start!": _Count, "end!": _Count}, None)
_CITED = listed("", {"": {"sources!": _SOURCES, "anchor?": _ANCHOR}}, None)
_Effort = Literal["minimal", "low", "medium", "high", "xhigh", "max"] | None
_INSTRUCTION: FieldTable = {
    "content!": str,
    "dynamic": _Bool,
    "on_change": Literal["rewrite", "append"],
    "name": TEXT,
    "id": TEXT,
}
_INSTRUCTIONS = listed(
    "part_kind",
    {
        "": {**_INSTRUCTION, "part_kind": Literal["instruction"]},
        "instruction": _INSTRUCTION,
        "instruction-digest": {"content_hash!": str, "dynamic": _Bool, "id": TEXT},
    },
)
_BY_PROVIDER: FieldTable = {"tool_name!": str, "tool_call_id?": str, "tool_kind": TEXT, **_MADE}
PYDANTIC_AI_PARTS = by_kind(
    "part_kind",
    {
        "system-prompt": {"timestamp": _Time, "dynamic_ref": TEXT, "context_id": TEXT, "scope": str, "metadata": MAP},
        "user-prompt": {"timestamp": _Time},
        "tool-return": {**_RETURNED, "tool_name": str},
        "retry-prompt": {"timestamp": _Time, "tool_call_id": str, "tool_name": TEXT},
        "retry-feedback": {"timestamp": _Time, "retry!": of_one_kind(_RETRY)},
        "text": {**_MADE, "citations": _CITED},
        "thinking": {**_MADE, "signature": TEXT},
        "tool-call": {**_MADE, "tool_kind": TEXT},
        "builtin-tool-call": {**_BY_PROVIDER, "args?": str | dict[str, Any] | None},
        "builtin-tool-return": {**_BY_PROVIDER, **_RETURNED},
        "file": {**_MADE, "content!": _BYTES},
        "compaction": {**_MADE, "metadata": MAP},
        "speech": {
            **_MADE,
            "speaker": Literal["user", "assistant"],
            "audio": Objects("", _BYTES.kinds, alternative=None),
            "interrupted_at_ms": _Count | None,
            "timestamps": _SAID_WHEN,
        },
        "tool-availability-delta": {"tools_added": _Texts, "added": _Texts, "tool_call_id": TEXT},
        "capability-load-delta": {"loaded": _Texts, "tool_call_id": TEXT},
        "model-settings-delta": {"settings!": of_one_kind({"thinking": _Effort}), "top_level": _Bool},
        "instruction-delta": {"id!": TEXT, "content!": TEXT, "base_hash": TEXT},
        "instruction-baseline": {"instructions!": _INSTRUCTIONS},
    },
)
"""Parts, without their content."""

_NAMED: FieldTable = {"vendor_metadata": MAP, "identifier": TEXT}
_AT: FieldTable = {"url!": str, "force_download": bool | str, "media_type": TEXT, **_NAMED}
PYDANTIC_AI_CONTENTS = by_kind(
    "kind",
    {
        **dict.fromkeys(("image-url", "audio-url", "document-url", "video-url"), _AT),
        "binary": _FILE,
        "uploaded-file": {"file_id!": str, "provider_name!": str, "media_type": TEXT, **_NAMED},
        "cache-point": {"ttl": str},
        "text-content": {"content!": str},
        "structured-content": {"content!": str, "value!": object, "tag": TEXT, "description": TEXT},
    },
)
"""The entries of a user's content besides plain texts."""
