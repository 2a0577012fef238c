"""The kinds of content that some providers do not know, by name (`Item.kind_names`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

LEGACY = (
    "assistant/function_call tool/function assistant/custom assistant/refusal assistant/audio tool/file user/video_url"
)
"""Kinds of Chat that only OpenAI knows, some of them no more, and one that no provider knows: a file in a result."""

UNKNOWN_TO_MISTRAL = f"{LEGACY} user/file tool/image_url tool/bare-image assistant/mistyped"
CALL_FIELDS = "assistant/tool_calls assistant/function_call user/tool_calls user/function_call"
"""The calls of Chat beside the content of Anthropic's messages."""

_TOOLS = ("local_shell_call", "shell_call", "apply_patch_call", "computer_call")
OWN_TOOLS = frozenset((*(f"assistant/{each}" for each in _TOOLS), *(f"tool/{each}_output" for each in _TOOLS)))
"""The calls of tools that only OpenAI's models have, and their results."""

OPENAIS_OWN = (
    "assistant/additional_tools assistant/code_interpreter_call assistant/compaction assistant/compaction_summary"
    " assistant/compaction_trigger assistant/configuration_update assistant/context_compaction"
    " assistant/file_search_call assistant/image_generation_call assistant/mcp_approval_request"
    " assistant/mcp_approval_response assistant/mcp_call assistant/mcp_list_tools assistant/program"
    " assistant/program_output assistant/tool_search_call assistant/tool_search_output assistant/web_search_call"
    f" {' '.join(sorted(OWN_TOOLS))}"
)
"""Items of Responses that OpenAI runs or stores, and calls of `OWN_TOOLS`.

Others refuse them ("Invalid input", command-code#893) or, as llama.cpp says, "cannot determine" their type."""


def unknown_kinds(**by_format: str) -> Mapping[str, frozenset[str]]:
    """Return the unknown names of each format; the format's name has an underscore."""
    return MappingProxyType({form.replace("_", "-"): frozenset(words.split()) for form, words in by_format.items()})


def unknown_to_any(profiles: Iterable[Mapping[str, frozenset[str]]], **more: str) -> Mapping[str, frozenset[str]]:
    """Return the names that one of the profiles does not know, and `more` by format."""
    every = [*profiles, unknown_kinds(**more)]
    forms = dict.fromkeys(form for unknown in every for form in unknown)
    return MappingProxyType(
        {form: frozenset[str]().union(*(unknown.get(form, frozenset()) for unknown in every)) for form in forms}
    )
