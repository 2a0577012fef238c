"""The field types of Responses' items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from holdfast.history.field_types import MAPS, TEXT, FieldTable, by_kind, contents, listed, of_one_kind

_Status = Literal["in_progress", "completed", "incomplete", "failed"]
_ITEM: FieldTable = {"status": _Status}
_RESULT: FieldTable = {"status": _Status | None}
_Detail = Literal["auto", "low", "high", "original"] | None
_LIKELY: FieldTable = {"token!": str, "logprob!": float, "bytes!": list[int], "top_logprobs!": list[dict[str, Any]]}
_BREAKPOINT: FieldTable = {"prompt_cache_breakpoint": of_one_kind({"mode!": str}, None)}
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
_CALL: FieldTable = {"async": bool | None, **_MADE_BY, **_ITEM}
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
        "function_call": _CALL,
        "custom_tool_call": _CALL,
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
