"""The field types of each format's messages and parts, as the vendors' own types declare them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, Never

from holdfast.history.field_types import (
    LIST,
    MAP,
    MAPS,
    SCALAR,
    TEXT,
    FieldTable,
    Objects,
    by_kind,
    contents,
    listed,
    of_one_kind,
)

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


# --- The field types of Chat's messages ---

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


# --- The field types of Gemini's contents and parts ---

_Name = str | int | None
"""The name of an enumeration's value, or its number in protocol buffers."""


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def _either(fields: FieldTable) -> dict[str, object]:
    """Return the fields under their names in camel case and in snake case; either may occur."""
    return {written: type_ for name, type_ in fields.items() for written in (name, _snake(name))}


_BYTES = of_one_kind(_either({"data!": str, "mimeType": TEXT, "displayName": TEXT}), None)
_PLACE = of_one_kind(_either({"fileUri?": str, "mimeType": TEXT, "displayName": TEXT}), None)
_FILES = _either({"inlineData?": _BYTES, "fileData?": _PLACE})
_RUN_BY_IT = of_one_kind(_either({"id": TEXT, "toolType?": _Name, "args?": MAP, "response?": MAP}), None)
_PROCESSED: FieldTable = {"mediaProcessing": _Name}
_ON: FieldTable = {"willContinue": bool | None}
_HOLDING_FILES = listed("", {"": {**_FILES, **_either(_PROCESSED)}}, None)
_CALL = of_one_kind(_either({"id": TEXT, "partialArgs": MAPS, **_ON}), SCALAR)
_RESPONSE = of_one_kind(_either({"id": TEXT, "parts": _HOLDING_FILES, "scheduling": _Name, **_ON}), SCALAR)
GEMINI_TYPES = of_one_kind(
    {
        "parts": contents(
            "",
            {
                "": {
                    "thought": bool | None,
                    **_FILES,
                    **_either(
                        {
                            "functionCall?": _CALL,
                            "functionResponse?": _RESPONSE,
                            "executableCode?": of_one_kind({"code!": str, "language?": _Name, "id": TEXT}, None),
                            "toolCall?": _RUN_BY_IT,
                            "toolResponse?": _RUN_BY_IT,
                            "codeExecutionResult?": of_one_kind({"outcome?": _Name, "output?": TEXT, "id": TEXT}, None),
                            "videoMetadata": MAP,
                            "mediaResolution": MAP,
                            "partMetadata": MAP,
                            "audioTranscription": MAP,
                            "speechMetadata": MAP,
                            **_PROCESSED,
                        }
                    ),
                }
            },
        )
    },
)


# --- The field types of Responses' items ---

_Status = Literal["in_progress", "completed", "incomplete", "failed"]
_ITEM: FieldTable = {"status": _Status}
_RESULT: FieldTable = {"status": _Status | None}

_LIKELY: FieldTable = {"token!": str, "logprob!": float, "bytes!": list[int], "top_logprobs!": list[dict[str, Any]]}

_RESPONSES_PARTS = contents(
    "type",
    {
        "input_text": _BREAKPOINT,
        "input_image": {"detail": _Detail, **_BREAKPOINT},
        "input_file": {"filename": TEXT, "detail": _Detail, **_BREAKPOINT},
        "output_text": {"annotations": list[dict[str, Any]], "logprobs": listed("", {"": _LIKELY}, None)},
        "refusal": {},
    },
)
_SAID: FieldTable = {"content": _RESPONSES_PARTS, "phase": TEXT, **_ITEM}
_CALLERS = {"": {"type!": str}, "direct": {}, "program": {"caller_id!": str}}
_CALLER: FieldTable = {"caller": by_kind("type", _CALLERS, alternative=None)}
_MADE_BY: FieldTable = {"namespace": TEXT, **_CALLER}
_RESPONSES_CALL: FieldTable = {"async": bool | None, **_MADE_BY, **_ITEM}
_ANSWERED: FieldTable = {"output": _RESPONSES_PARTS, "name": TEXT, **_MADE_BY, **_RESULT}
_TOLD_IN_SUMMARY = listed("type", {"summary_text": {"text!": str}})
_THOUGHTS = list[Any] | str | dict[str, Any] | None  # other values are rewritten as a list
_COMMAND: FieldTable = {
    "type?": Literal["exec"],
    "command?": list[str],
    "env?": dict[str, str] | None,
    "timeout_ms": float | None,
    "user": TEXT,
    "working_directory": TEXT,
}
_ADDRESS: FieldTable = {"pattern": TEXT, "url": TEXT}  # Codex may leave out either
_ABSENT = Literal["(no value is allowed)"]
_UNSEARCHED: FieldTable = {"query": _ABSENT, "queries": _ABSENT}
_SEARCHES = {
    "": {"type!": str},
    "search": {"query": str, "queries": list[str] | None, "sources": MAPS},
    "open_page": {"url": TEXT, **_UNSEARCHED},
    "find_in_page": {**_ADDRESS, **_UNSEARCHED},
    "find": {**_ADDRESS, **_UNSEARCHED},
}
_DONE: FieldTable = {"status": Literal["in_progress", "completed", "incomplete"] | None}
_OWN: FieldTable = {"id?": TEXT}
_POINT: FieldTable = {"x!": int, "y!": int}
_ACTIONS = {
    "click": {"button!": Literal["left", "right", "wheel", "back", "forward"], **_POINT},
    "double_click": _POINT,
    "drag": {"path!": listed("", {"": _POINT})},
    "keypress": {"keys!": list[str]},
    "move": _POINT,
    "screenshot": {},
    "scroll": {"scroll_x!": int, "scroll_y!": int, **_POINT},
    "type": {"text!": str},
    "wait": {},
}
_COMMANDS: FieldTable = {"commands!": list[str], "timeout_ms": float | None, "max_output_length": float | None}
_OUTCOMES = by_kind("type", {"timeout": {}, "exit": {"exit_code!": int}}, closed=True)
_STREAMS: FieldTable = {"stdout!": str, "stderr!": str, "outcome!": _OUTCOMES}
_CHANGE: FieldTable = {"path!": str, "diff!": str}
_PATCHES = by_kind("type", {"create_file": _CHANGE, "update_file": _CHANGE, "delete_file": {"path!": str}}, closed=True)
_ASKED: FieldTable = {"arguments?": str, "name?": str, "server_label?": str}
_RAN: Mapping[str, FieldTable] = {
    "code_interpreter_call": {
        **_OWN,
        "code?": TEXT,
        "container_id?": str,
        "outputs?": listed("type", {"logs": {"logs!": str}, "image": {"url!": str}}, None),
    },
    "file_search_call": {**_OWN, "queries?": list[str], "results": list[dict[str, Any]] | None},
    "image_generation_call": {**_OWN, "result?": TEXT, "revised_prompt": TEXT},
    "mcp_call": {**_OWN, **_ASKED, "approval_request_id": TEXT, "output": TEXT},
    "mcp_list_tools": {**_OWN, "server_label?": str, "tools?": list[dict[str, Any]]},
    "mcp_approval_request": {**_OWN, **_ASKED},
    "mcp_approval_response": {**_OWN, "approval_request_id?": str, "approve?": bool, "reason": TEXT},
    "web_search_call": {"id": TEXT, "action?": by_kind("type", _SEARCHES, alternative=None)},
    "compaction": {"id": TEXT, "encrypted_content?": str},
    "item_reference": {"id!": str},
    "tool_search_call": {"execution": Literal["server", "client"]},
}
"""Items that the provider runs or stores itself. Missing fields pass, because programs leave them out."""
RESPONSES_TYPES = by_kind(
    "type",
    {
        "": _SAID,
        "message": _SAID,
        "reasoning": {"summary": _TOLD_IN_SUMMARY, "content": _THOUGHTS, "encrypted_content": TEXT, **_ITEM},
        "function_call": _RESPONSES_CALL,
        "custom_tool_call": _RESPONSES_CALL,
        "function_call_output": _ANSWERED,
        "custom_tool_call_output": _ANSWERED,
        "local_shell_call": {
            "id?": TEXT,
            "status?": _Status,
            "action?": of_one_kind(_COMMAND),
        },
        "local_shell_call_output": _RESULT,
        "shell_call": {"action?": of_one_kind(_COMMANDS), **_CALLER, **_DONE},
        "shell_call_output": {
            "output?": listed("", {"": _STREAMS}),
            "max_output_length": float | None,
            **_CALLER,
            **_DONE,
        },
        "apply_patch_call": {"operation?": _PATCHES, "status?": Literal["in_progress", "completed"], **_CALLER},
        "apply_patch_call_output": {"status?": Literal["completed", "failed"], "output?": TEXT, **_CALLER},
        "computer_call": {
            **_OWN,
            "action?": by_kind("type", _ACTIONS, closed=True, alternative=None),
            "pending_safety_checks?": list[dict[str, Any]],
            "status?": Literal["in_progress", "completed", "incomplete"],
        },
        "computer_call_output": {
            "output?": by_kind("type", {"computer_screenshot": {"image_url": str, "file_id": str}}, closed=True),
            "acknowledged_safety_checks": list[dict[str, Any]] | None,
            **_DONE,
        },
        **_RAN,
    },
)


# --- field tables ---

TYPES: Mapping[str, Objects] = MappingProxyType(
    {
        "openai-chat": CHAT_TYPES,
        "anthropic": ANTHROPIC_TYPES,
        "openai-responses": RESPONSES_TYPES,
        "gemini": GEMINI_TYPES,
    }
)
"""The messages of each format. pydantic-ai's are checked by its reader, because it splits requests."""
