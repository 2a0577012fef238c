"""The fields that a provider knows in each object of a conversation, as data; finds the unknown ones.

An object of a kind that is in no table is not checked: other rules judge its kind. The known fields are those that the
vendor's types declare (`tests/history/test_fields.py` compares them), and those seen to be accepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import cast

import msgspec

from holdfast.history.shape import BadFields, Path

_Object = dict[str, object]
_Array = Sequence[object]


class Fields(msgspec.Struct, frozen=True):
    """The known fields of an object, and the kinds of the objects in them.

    Fields in `judged` are known if they are not empty: then other rules check them. Those in `texts` are known if they
    hold a string, even an empty one.
    """

    names: frozenset[str]
    within: tuple[tuple[str, Kinds], ...] = ()
    judged: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()


class Kinds(msgspec.Struct, frozen=True, eq=False):
    """The objects allowed in a place, by the value of their field `by`; "" is an object without it."""

    by: str
    fields: Mapping[str, Fields]


def unknown_fields(raw: object, kinds: Kinds, path: Path) -> Iterator[BadFields]:
    """Yield each object of the message that has unknown fields, with their names."""
    if not isinstance(raw, dict):
        return
    obj = cast("_Object", raw)
    known = _known(obj, kinds)
    if known is None:
        return
    if not obj.keys() <= known.names and (unknown := [key for key in obj if not _is_known(key, obj, known)]):
        with_text = tuple(key for key in unknown if key in CONTENT_FIELDS and _has_content(obj[key]))
        yield BadFields(path, tuple(key for key in unknown if key not in with_text), with_text)
    for key, inner in known.within:
        value = obj.get(key)
        if isinstance(value, dict):
            yield from unknown_fields(cast("_Object", value), inner, (*path, key))
        elif isinstance(value, list | tuple):
            for number, element in enumerate(cast("_Array", value)):
                yield from unknown_fields(element, inner, (*path, key, number))


def known_only(raw: object, kinds: Kinds) -> object:
    """Return the message without its unknown fields; the same object if there are none."""
    if not isinstance(raw, dict):
        return raw
    obj = cast("_Object", raw)
    known = _known(obj, kinds)
    if known is None:
        return obj
    result = obj
    if unknown := [key for key in obj if not _is_known(key, obj, known)]:
        result = {key: value for key, value in obj.items() if key not in unknown}
    for key, inner in known.within:
        value = result.get(key)
        now = _known_within(value, inner)
        if now is not value:
            result = {**result, key: now}
    return result


def _known_within(value: object, kinds: Kinds) -> object:
    if isinstance(value, list | tuple):
        array = cast("_Array", value)
        now = [known_only(element, kinds) for element in array]
        return now if any(new is not old for new, old in zip(now, array, strict=True)) else array
    return known_only(value, kinds)


def _known(obj: _Object, kinds: Kinds) -> Fields | None:
    kind = obj.get(kinds.by) or ""
    return kinds.fields.get(kind) if isinstance(kind, str) else None


CONTENT_FIELDS = frozenset(
    {"content", "text", "output", "input", "arguments", "args", "function", "custom", "refusal", "transcript"}
    | {"parts", "response", "tool_calls", "function_call"}
)
"""Fields that hold text in some format. Out of place they are quoted, so that no text is lost."""


def _has_content(value: object) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, dict | list | tuple) and len(cast("Sequence[object]", value)) > 0


def _is_known(key: str, obj: _Object, known: Fields) -> bool:
    if key in known.texts and isinstance(obj[key], str):
        return True
    return key in known.names or (key in known.judged and bool(obj[key]))


# --- the tables ------------------------------------------------------------------------------------------------------


def _kinds(by: str, fields: Mapping[str, Fields]) -> Kinds:
    return Kinds(by, MappingProxyType(dict(fields)))


def _plain(table: Mapping[str, str]) -> dict[str, Fields]:
    return {kind: Fields(frozenset(names.split())) for kind, names in table.items()}


def _one(names: str, *within: tuple[str, Kinds], judged: str = "") -> Fields:
    return Fields(frozenset(names.split()), within, frozenset(judged.split()))


def _alone(fields: Fields) -> Kinds:
    """Return the kinds of a place where objects do not name their kind."""
    return _kinds("", {"": fields})


_RESULT_BLOCKS = _plain(
    {
        "text": "type text citations cache_control",
        "image": "type source cache_control transformations",
        "document": "type source cache_control citations context title",
        "search_result": "type source title content cache_control citations",
        "tool_reference": "type tool_name cache_control",
        "browser_state": "type state_changes tabs cache_control",
    }
)
_SERVER_RESULTS = (
    "advisor_tool_result bash_code_execution_tool_result code_execution_tool_result tool_search_tool_result"
    " text_editor_code_execution_tool_result"
)
_BLOCKS = {
    **_RESULT_BLOCKS,
    **_plain(
        {
            "thinking": "type thinking signature",
            "redacted_thinking": "type data",
            "tool_use": "type id name input cache_control caller toolset_name",
            "server_tool_use": "type id name input cache_control caller",
            "mcp_tool_use": "type id name input server_name cache_control",
            "mcp_tool_result": "type tool_use_id content is_error cache_control",
            "mcp_tool_listing": "type mcp_server_name tools",
            "container_upload": "type file_id cache_control",
            "compaction": "type content encrypted_content signature tool_changes cache_control",
            "fallback": "type from to trigger",
            "tool_addition": "type tool cache_control",
            "tool_removal": "type tool cache_control",
            **dict.fromkeys(_SERVER_RESULTS.split(), "type tool_use_id content cache_control"),
            "web_fetch_tool_result": "type tool_use_id content cache_control caller",
            "web_search_tool_result": "type tool_use_id content cache_control caller",
        }
    ),
    "tool_result": _one(
        "type tool_use_id content is_error cache_control toolset_name", ("content", _kinds("type", _RESULT_BLOCKS))
    ),
}
_MESSAGE_FIELDS = _one("role content", ("content", _kinds("type", _BLOCKS)), judged="tool_calls function_call")
ANTHROPIC_FIELDS = _kinds("role", {"user": _MESSAGE_FIELDS, "assistant": _MESSAGE_FIELDS})
"""Messages of Anthropic's, and the blocks they hold."""

_BLOB = "data mimeType mime_type displayName display_name"
_FILE = "fileUri file_uri mimeType mime_type displayName display_name"


def _either(*fields: tuple[str, str, Kinds]) -> tuple[tuple[str, Kinds], ...]:
    """Return the contents of fields, under their names in camel case and in snake case."""
    return tuple((name, kinds) for camel, snake, kinds in fields for name in (camel, snake))


_FILES = _either(
    ("inlineData", "inline_data", _alone(_one(_BLOB))),
    ("fileData", "file_data", _alone(_one(_FILE))),
)
_GEMINI_PART = _one(
    "text thought thoughtSignature thought_signature inlineData inline_data fileData file_data functionCall"
    " function_call functionResponse function_response executableCode executable_code codeExecutionResult"
    " code_execution_result toolCall tool_call toolResponse tool_response videoMetadata video_metadata mediaResolution"
    " media_resolution mediaProcessing media_processing partMetadata part_metadata speechMetadata speech_metadata"
    " audioTranscription audio_transcription",
    *_FILES,
    *_either(
        (
            "functionCall",
            "function_call",
            _alone(_one("id name args partialArgs partial_args willContinue will_continue")),
        ),
        (
            "functionResponse",
            "function_response",
            _alone(
                _one(
                    "id name response parts scheduling willContinue will_continue",
                    ("parts", _alone(_one("inlineData inline_data fileData file_data mediaProcessing", *_FILES))),
                )
            ),
        ),
        ("executableCode", "executable_code", _alone(_one("id code language"))),
        ("codeExecutionResult", "code_execution_result", _alone(_one("id outcome output"))),
        ("toolCall", "tool_call", _alone(_one("id toolType tool_type args"))),
        ("toolResponse", "tool_response", _alone(_one("id toolType tool_type response"))),
    ),
)
GEMINI_FIELDS = _alone(_one("role parts", ("parts", _alone(_GEMINI_PART))))
"""Contents of Gemini's, and their parts."""

_RESPONSES_PARTS = _plain(
    {
        "input_text": "type text prompt_cache_breakpoint",
        "input_image": "type image_url file_id detail prompt_cache_breakpoint",
        "input_file": "type file_data file_id file_url filename detail prompt_cache_breakpoint",
        "output_text": "type text annotations logprobs",
        "refusal": "type refusal",
    }
)
_SUMMARY = _kinds("type", _plain({"summary_text": "type text"}))
_THOUGHTS = _kinds("type", _plain({"reasoning_text": "type text"}))
_MESSAGE = _one("type role content id status phase", ("content", _kinds("type", _RESPONSES_PARTS)))
_OUTPUT = ("output", _kinds("type", _RESPONSES_PARTS))
OPENAI_RESPONSES_FIELDS = _kinds(
    "type",
    {
        "": _MESSAGE,
        "message": _MESSAGE,
        "reasoning": _one(
            "type id summary content encrypted_content status", ("summary", _SUMMARY), ("content", _THOUGHTS)
        ),
        "function_call_output": _one("type call_id output id status caller name namespace", _OUTPUT),
        "custom_tool_call_output": _one("type call_id output id caller", _OUTPUT),
        **_plain(
            {
                "function_call": "type call_id name arguments id status namespace caller async",
                "custom_tool_call": "type call_id name input id namespace caller async",
                "local_shell_call": "type call_id action id status",
                "local_shell_call_output": "type call_id output id status",
                "shell_call": "type call_id action id status caller environment",
                "shell_call_output": "type call_id output id status caller max_output_length",
                "apply_patch_call": "type call_id operation id status caller",
                "apply_patch_call_output": "type call_id output id status caller",
                "computer_call": "type call_id action actions id status pending_safety_checks",
                "computer_call_output": "type call_id output id status acknowledged_safety_checks",
                "item_reference": "type id",
                "compaction": "type id encrypted_content",
            }
        ),
    },
)
"""Items of Responses, and the parts of messages and of results."""

_NEWER = frozenset({"phase", "namespace", "caller", "async", "prompt_cache_breakpoint"})
"""Fields that only OpenAI knows: Codex's requests with them are refused elsewhere (codex#10832, codex2api#406)."""


def _without(kinds: Kinds, names: frozenset[str]) -> Kinds:
    """Return the kinds without the fields of these names, here and in the objects within."""
    return _kinds(
        kinds.by,
        {
            kind: Fields(fields.names - names, tuple((key, _without(inner, names)) for key, inner in fields.within))
            for kind, fields in kinds.fields.items()
        },
    )


RESPONSES_COMPATIBLE = _without(OPENAI_RESPONSES_FIELDS, _NEWER)
"""Items of Responses, the fields known to other services too."""


def _chat(parts: Mapping[str, Fields], call: str, messages: Mapping[str, str], *, judged: str = "") -> Kinds:
    """Return the messages of Chat, whose contents and calls are the same for every role."""
    content = ("content", _kinds("type", parts))
    function = ("function", _alone(_one("name arguments")))
    calls = ("tool_calls", _alone(_one(call, function, ("custom", _alone(_one("name input"))))))
    inner = (content, calls, ("function_call", _alone(_one("name arguments"))))
    return _kinds("role", {role: _one(names, *inner, judged=judged) for role, names in messages.items()})


def _with_texts(kinds: Kinds, kind: str, *texts: str) -> Kinds:
    """Return the kinds; one of them may hold these texts, even empty ones."""
    fields = msgspec.structs.replace(kinds.fields[kind], texts=frozenset(texts))
    return _kinds(kinds.by, {**kinds.fields, kind: fields})


_IMAGE_URL = ("image_url", _alone(_one("url detail")))
_FILE_PART = ("file", _alone(_one("file_data file_id filename")))
_OPENAI_PARTS = {
    "text": _one("type text prompt_cache_breakpoint"),
    "image_url": _one("type image_url prompt_cache_breakpoint", _IMAGE_URL),
    "input_audio": _one("type input_audio prompt_cache_breakpoint", ("input_audio", _alone(_one("data format")))),
    "file": _one("type file prompt_cache_breakpoint", _FILE_PART),
    "refusal": _one("type refusal"),
}
_THINKING = "reasoning_content reasoning"
OPENAI_CHAT_FIELDS = _chat(
    _OPENAI_PARTS,
    "id type function custom",
    {
        **dict.fromkeys(("system", "developer"), "role content name"),
        "user": "role content name",
        "assistant": f"role content name tool_calls function_call refusal audio annotations {_THINKING}",
        "tool": "role content tool_call_id name",
        "function": "role content name",
    },
    judged="tool_calls function_call",
)
"""Messages of Chat, OpenAI's fields; the thinking fields of other services are left to the rules on thinking.

OpenAI puts `annotations` in every answer and accepts them back, since its SDK appends an answer unchanged. Other
services do not: Groq says "property 'annotations' is unsupported".
"""

_STRICT_PARTS = {
    "text": _one("type text"),
    "image_url": _one("type image_url", _IMAGE_URL),
    "input_audio": _one("type input_audio"),
    "file": _one("type file"),
}
_STRICT = {
    "system": "role content",
    "user": "role content",
    "assistant": "role content tool_calls prefix",
    "tool": "role content tool_call_id name",
}
_JUDGED = f"tool_calls function_call refusal audio {_THINKING}"
_THOUGHTS_OF_MISTRAL = {
    "thinking": _one("type thinking closed", ("thinking", _kinds("type", _plain({"text": "type text"}))))
}
MISTRAL_FIELDS = _chat({**_STRICT_PARTS, **_THOUGHTS_OF_MISTRAL}, "id type function index", _STRICT, judged=_JUDGED)
"""Messages of Chat, Mistral's fields: it refuses any other field, even null."""

COMPATIBLE = _chat(
    _STRICT_PARTS,
    "id type function",
    {
        "system": "role content name",
        "user": "role content name",
        "assistant": "role content name tool_calls",
        "tool": "role content tool_call_id name",
    },
    judged=_JUDGED,
)
"""Messages of Chat, the fields known to every service that refuses unknown ones."""

COMPATIBLE_THINKING = _with_texts(COMPATIBLE, "assistant", "reasoning_content")
"""The same with thinking on: Moonshot requires the field with calls, and accepts an empty one."""

EVERYWHERE = _chat(
    _STRICT_PARTS, "id type function", {**_STRICT, "assistant": "role content tool_calls"}, judged=_JUDGED
)
"""Messages of Chat, the fields known to every service."""
