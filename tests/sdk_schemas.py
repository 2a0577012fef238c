"""JSON Schemas of what a request may hold, made from the types of the vendors' own SDKs.

    .venv/bin/python tests/sdk_schemas.py

writes `src/holdfast/testing/protocols/schemas`, by which the scripted providers refuse. Three rules. What is written
comes from the vendor; where its service differs from its types, an `Exceptions` says so, with the reason. Kinds of
blocks and items that a scripted provider does not know are left out, because it refuses them all. Parameters beside the
conversation keep the type of their value, and no more.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

import pydantic
from anthropic.types import beta as anthropic
from anthropic.types.beta import message_create_params as messages_body
from google.genai import models as google_requests
from google.genai import types as google
from mistral_common.protocol.instruct import messages as mistral
from mistral_common.protocol.instruct import tool_calls as mistral_calls
from openai.types import chat, responses, shared_params
from openai.types.chat import completion_create_params as chat_body
from openai.types.responses import response_create_params as responses_body
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticOmit

Schema = dict[str, Any]
SCHEMAS = Path(__file__).parents[1] / "src/holdfast/testing/protocols/schemas"
_WORDS = ("title", "description", "default", "examples", "discriminator")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exceptions:
    """Where a service differs from the types of its SDK, by definition: field and reason.

    `taken` are fields that the service takes without a type for them, `optional` those that it does not insist on,
    `refused` those that the types have and the service refuses.
    """

    taken: Mapping[str, Mapping[str, tuple[Schema, str]]] = field(default_factory=dict[str, Any])
    optional: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Any])
    refused: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The types of one wire: `types` by the name of their definition, `kinds` of which unions keep these alone.

    Fields of `flat` objects keep the type of their value, and no more.
    """

    types: Mapping[str, Any]
    flat: tuple[str, ...] = ("Body",)
    kinds: frozenset[str] = frozenset()
    exceptions: Exceptions = Exceptions()
    refused: Callable[[str, Schema], Iterator[str]] = lambda _name, _definition: iter(())


_STREAM: Mapping[str, tuple[Schema, str]] = {
    "stream": ({"type": ["boolean", "null"]}, "The SDK has a type of its own for each of its values."),
}
_OLDER = "Older models take it: the migration guide of the SDK has it sent beside the types, as pydantic-ai does."
_NUMBER: Schema = {"type": "number"}
_THINKING = "Compatible services want it back (DeepSeek, Moonshot, vLLM)."
_HEADER = "It is sent as a header."
_LATER = "It is refused behind the pairing, in other words, as was measured."
_API_OWN = "Types of Mistral's API have it so; its library, which has other fields alike, renders prompts."
_STATELESS = "OpenAI's own Codex leaves it out where nothing is stored."
_TEXT_OR_IMAGES: Schema = {
    "anyOf": [
        {"type": "string"},
        {
            "items": {
                "anyOf": [
                    {"$ref": "ChatCompletionContentPartTextParam"},
                    {"$ref": "ChatCompletionContentPartImageParam"},
                ]
            },
            "type": "array",
        },
    ]
}
_TEXT: Schema = {"type": ["string", "null"]}


def _vertex_only(name: str, definition: Schema) -> Iterator[str]:
    """Yield the fields of Google's type that its own SDK refuses to send to the Gemini API."""
    convert = vars(google_requests).get(f"_{name}_to_mldev")
    for each in definition["properties"] if convert else ():
        try:
            cast("Any", convert)({each: 1})
        except ValueError as error:
            if "only supported in" in str(error):
                yield each
        except (AttributeError, TypeError):  # it goes on into the value, which it sends
            pass


SOURCES: Mapping[str, Source] = {
    "anthropic": Source(
        types={
            "Body": messages_body.MessageCreateParamsBase,
            "Message": anthropic.BetaMessageParam,
            "System": anthropic.BetaTextBlockParam,
            "Thinking": anthropic.BetaThinkingConfigParam,
            "OutputConfig": anthropic.BetaOutputConfigParam,
            "Tool": anthropic.BetaToolParam,
        },
        flat=("Body", "OutputConfig"),
        kinds=frozenset(
            {"text", "image", "document", "search_result", "thinking", "redacted_thinking", "tool_use", "tool_result"}
            | {"server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "advisor_tool_result"}
            | {"code_execution_tool_result", "bash_code_execution_tool_result", "user", "assistant"}
            | {"text_editor_code_execution_tool_result", "tool_search_tool_result"}
            | {"enabled", "disabled", "adaptive", "between_tools"}
        ),
        exceptions=Exceptions(
            taken={
                "Body": {
                    **_STREAM,
                    "temperature": (_NUMBER, _OLDER),
                    "top_k": ({"type": "integer"}, _OLDER),
                    "top_p": (_NUMBER, _OLDER),
                }
            },
            refused={
                "Body": dict.fromkeys(("betas", "user_profile_id", "workspace_id"), _HEADER),
            },
        ),
    ),
    "openai-chat": Source(
        types={
            "Body": chat_body.CompletionCreateParamsBase,
            "Message": chat.ChatCompletionMessageParam,
            "Tool": chat.ChatCompletionFunctionToolParam,
        },
        exceptions=Exceptions(
            taken={
                "Body": _STREAM,
                "ChatCompletionAssistantMessageParam": {
                    "reasoning_content": (_TEXT, _THINKING),
                    "reasoning": (_TEXT, _THINKING),
                },
                "ChatCompletionToolMessageParam": {
                    "name": (_TEXT, "Older types of the SDK have it, and it is taken."),
                    "content": (_TEXT_OR_IMAGES, "It names both where it refuses another part."),
                },
            },
            optional={
                f"ChatCompletion{role}MessageParam": {"content": _LATER}
                for role in ("Developer", "System", "User", "Tool", "Function")
            },
        ),
    ),
    "openai-responses": Source(
        types={
            "Body": responses_body.ResponseCreateParamsBase,
            "Include": list[responses.ResponseIncludable],
            "Item": responses.ResponseInputItemParam,
            "Reasoning": shared_params.Reasoning,
            "Tool": responses.FunctionToolParam,
        },
        flat=("Body", "Reasoning"),
        kinds=frozenset({"message", "function_call", "function_call_output", "reasoning", "item_reference"}),
        exceptions=Exceptions(
            taken={"Body": _STREAM},
            optional={
                "ResponseOutputMessageParam": dict.fromkeys(("id", "status", "type"), _STATELESS),
                "ResponseReasoningItemParam": {"id": _STATELESS},
                "ResponseOutputTextParam": {"annotations": _STATELESS},
                "ResponseInputImageParam": {"detail": "Its documentation has a default."},
                "Tool": {"strict": "Its documentation has a default."},
            },
        ),
    ),
    "gemini": Source(
        types={
            "Content": google.Content,
            "Tool": google.Tool,
            "FunctionDeclaration": google.FunctionDeclaration,
            "GenerationConfig": google.GenerationConfig,
            "ThinkingConfig": google.ThinkingConfig,
        },
        flat=("Tool", "FunctionDeclaration", "GenerationConfig", "ThinkingConfig"),
        refused=_vertex_only,
    ),
    "mistral": Source(
        types={
            "system": mistral.SystemMessage,
            "user": mistral.UserMessage,
            "assistant": mistral.AssistantMessage,
            "tool": mistral.ToolMessage,
            "Tool": mistral_calls.Tool,
        },
        flat=(),
        kinds=frozenset({"text", "image_url", "input_audio", "thinking"}),
        exceptions=Exceptions(
            taken={
                "ToolCall": {"index": ({"type": "integer"}, _API_OWN)},
                "ThinkChunk": {
                    "thinking": ({"type": "array", "items": {"$ref": "TextChunk"}}, _API_OWN),
                },
                "FunctionCall": {"arguments": ({"type": ["string", "object"]}, _API_OWN)},
            }
        ),
    ),
}


class _Types(GenerateJsonSchema):
    """JSON Schema of types; what no JSON has, as an open file, is left out."""

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> Schema:
        del schema, error_info
        raise PydanticOmit


def declared(types: Mapping[str, Any]) -> dict[str, Schema]:
    """Return the JSON Schemas of the types by their names, and of what they refer to, without words."""
    adapters = [(name, "validation", pydantic.TypeAdapter(type_)) for name, type_ in types.items()]
    roots, schema = pydantic.TypeAdapter.json_schemas(
        cast("Any", adapters), schema_generator=_Types, by_alias=False, ref_template="{model}"
    )
    found = {name: _bare(each) for name, each in schema.get("$defs", {}).items()}
    for (name, _), root in roots.items():
        found[name] = found[root["$ref"]] if "$ref" in root else _bare(root)
    return found


@cache
def schemas(wire: str) -> Mapping[str, Schema]:
    """Return the definitions of a wire, as they are to be written."""
    source = SOURCES[wire]
    known = copy.deepcopy(bare_schemas(wire))
    for name, each in known.items():
        _apply(source, name, each)
    reached = list(source.types)
    for name in reached:
        reached += [each for each in _refs(known[name]) if each not in reached]
    return {name: known[name] for name in sorted(reached)}


@cache
def bare_schemas(wire: str) -> dict[str, Schema]:
    """Return the definitions of a wire without exceptions."""
    source = SOURCES[wire]
    found = declared(source.types)
    foreign = {name for name, each in found.items() if _is_foreign(each, source.kinds)}
    known = {name: _without(each, foreign) for name, each in found.items()}
    for name in source.flat:
        fields = known[name]["properties"]
        known[name]["properties"] = {key: _flat(each, known) for key, each in fields.items()}
    return known


def written(wire: str) -> str:
    """Return the file of a wire: one definition to a line, so that a change can be read."""
    lines = (f"{json.dumps(name)}: {json.dumps(each)}" for name, each in schemas(wire).items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _bare(raw: Any) -> Any:
    """Return the schema without words, a reference as the name of its definition, each alternative once."""
    if isinstance(raw, list):
        listed = [_bare(each) for each in cast("list[Any]", raw)]
        return [each for at, each in enumerate(listed) if each not in listed[:at]]
    if not isinstance(raw, dict):
        return raw
    read = cast("Schema", raw)
    bare: Schema = {}
    for key, value in read.items():
        if key == "properties":
            bare[key] = {name: _bare(each) for name, each in value.items()}
        elif key in ("anyOf", "oneOf"):
            alternatives = _bare(value)
            wide = [each["type"] for each in alternatives if each.keys() == {"type"}]  # more than some of its values
            alternatives = [each for each in alternatives if each.keys() == {"type"} or each.get("type") not in wide]
            anything = {} in alternatives
            bare |= {} if anything else alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}
        elif key not in _WORDS and not (key == "format" and value != "base64url"):
            bare[key] = _bare(value)
    return bare


def tags(definition: Schema) -> list[str]:
    """Return of which kinds an object of the definition says that it is, by its type, else by its role."""
    fields = definition.get("properties", {})
    tagged = fields.get("type", fields.get("role", {}))
    return [word for each in tagged.get("anyOf", [tagged]) for word in each.get("enum", [each.get("const")]) if word]


def _is_foreign(definition: Schema, kinds: frozenset[str]) -> bool:
    """Return whether it is a type of answers, which takes unknown fields, or of a kind that is not known."""
    answers = definition.get("additionalProperties") is True and "properties" in definition
    return answers or (bool(kinds) and kinds.isdisjoint(tags(definition)))


def _without(raw: Any, foreign: set[str], *, listed: bool = True) -> Any:
    """Return the schema without foreign alternatives, where a list may also hold one that is known."""
    if isinstance(raw, list):
        return [_without(each, foreign, listed=False) for each in cast("list[Any]", raw)]
    if not isinstance(raw, dict):
        return raw
    read = cast("Schema", raw)
    if listed and "anyOf" in read and (left := [each for each in read["anyOf"] if each.get("$ref") not in foreign]):
        read = {**read, "anyOf": left}
    return {key: _without(each, foreign, listed=key == "items") for key, each in read.items()}


def _flat(raw: Any, known: Mapping[str, Schema]) -> Any:
    """Return the schema with objects and items of any kind."""
    if "$ref" in raw:
        return {key: each for key, each in known[raw["$ref"]].items() if key in ("type", "enum", "const")}
    if "anyOf" in raw:
        return _bare({"anyOf": [_flat(each, known) for each in raw["anyOf"]]})
    return {key: each for key, each in raw.items() if key in ("type", "enum", "const")}


def _apply(source: Source, name: str, definition: Schema) -> None:
    fields, required = definition.get("properties", {}), definition.get("required", [])
    refused = [*source.exceptions.refused.get(name, {}), *source.refused(name, definition)]
    optional = source.exceptions.optional.get(name, {})
    untyped = source.exceptions.taken.get(name, {})
    if "properties" not in definition:
        return
    definition.pop("additionalProperties", None)
    definition["properties"] = {
        **{key: each for key, each in fields.items() if key not in refused},
        **{key: each for key, (each, _) in untyped.items()},
    }
    definition["required"] = [key for key in required if key not in optional]


def _refs(raw: Any) -> Iterator[str]:
    if isinstance(raw, dict):
        read = cast("Schema", raw)
        if isinstance(read.get("$ref"), str):
            yield read["$ref"]
        for each in read.values():
            yield from _refs(each)
    elif isinstance(raw, list):
        for each in cast("list[Any]", raw):
            yield from _refs(each)


if __name__ == "__main__":
    SCHEMAS.mkdir(exist_ok=True)
    for each_wire in SOURCES:
        (SCHEMAS / f"{each_wire}.json").write_text(written(each_wire), "utf-8")
