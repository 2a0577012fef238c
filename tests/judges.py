"""Independent judges of request bodies: vendors' own readers, which share no line and no author with holdfast.

Two rules. A judge reads JSON, as a provider does. What a judge lets pass is said here, because a green judgement says
nothing about it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

import cohere_melody as cohere
import deepseek_recipe as deepseek
import pydantic
from google.genai import types as google
from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct import request as mistral
from mistral_common.protocol.instruct import validator as mistral_validator
from mistral_common.protocol.instruct.validator import ValidationMode
from mistral_common.tokens.tokenizers.base import TokenizerVersion

from chat_templates import mistral_templates, other_templates
from converse import converse_refusal
from holdfast.history.profiles import PAIRS
from sdk_types import anthropic_refusal, openai_refusal, pydantic_ai_refusal

Json = dict[str, object]


def judge(wire: str, body: bytes | Json) -> None:
    """Raise `AssertionError` with the words of DeepSeek's validator, for Gemini Google's types, unless it accepts."""
    if wire == "gemini":
        refusal = _google(_BODY, body if isinstance(body, bytes) else json.dumps(body))
    else:
        refusal = _deepseek(wire, body, deepseek.ReasoningContentBehavior.FillEmpty)
    if refusal:
        raise AssertionError(refusal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A reader of conversations: the formats it reads, the profiles it speaks for, and how it judges.

    `refusal` returns the words it refuses with, "" if it accepts; `thinking` is the setting of the request it reads.
    """

    formats: tuple[str, ...]
    profiles: tuple[str, ...]
    refusal: Callable[[str, list[object]], str]
    thinking: bool | None = None


# --- DeepSeek --------------------------------------------------------------------------------------------------------


def deepseek_refusal(wire: str, messages: list[object]) -> str:
    """Return what DeepSeek's own validator says to a body of any of its three wires.

    It checks JSON, required fields and their types, roles (Chat), that every call is answered directly after and
    exactly once, that no result is without its call, and that ids are unique in a turn (in Messages: results first,
    roles of blocks; in Responses: ids unique in the whole input).
    It lets pass arguments that are no JSON or no object, blank text, empty messages (Messages), unknown fields, the
    charset and length of ids and names, ids used again in a later turn, a system role inside Messages, who speaks
    first and last, equal roles in a row, cache markers, signatures of thinking, documents, and (Responses) items of
    kinds that it does not know, which it leaves out.
    """
    return _deepseek(wire, _body(wire, messages), deepseek.ReasoningContentBehavior.FillEmpty)


def deepseek_thinking_refusal(wire: str, messages: list[object]) -> str:
    """Return what the same validator says with thinking on: it insists on what led to calls, if only an empty text.

    It lets pass calls of a turn that is over without it: only the turn that is being answered is looked at.
    """
    return _deepseek(wire, _body(wire, messages), deepseek.ReasoningContentBehavior.Reject)


def _body(wire: str, messages: list[object]) -> Json:
    if wire == "openai-responses":
        return {"model": "m", "input": messages}
    return {"model": "m", "max_tokens": 1, "messages": messages}


def _deepseek(wire: str, body: bytes | Json, missing: deepseek.ReasoningContentBehavior) -> str:
    kinds = {
        "openai-chat": deepseek.ChatCompletionRequest,
        "anthropic": deepseek.MessagesRequest,
        "openai-responses": deepseek.ResponsesRequest,
    }
    options = deepseek.ConversionOptions(reasoning_content_behavior=missing)
    try:
        request = kinds[wire](body if isinstance(body, bytes) else json.dumps(body).encode())
        request.convert(options.with_model_alias(request.model, deepseek.ModelVersion.DeepseekV4Pro))
    except deepseek.ConversionError as error:
        return f"Judge refused the {wire} body: {error.body}"
    except ValueError as error:
        return f"Judge could not read the {wire} body: {error}"
    return ""


# --- Mistral ---------------------------------------------------------------------------------------------------------


def _as_mistral_reads(value: Json) -> Json:
    """Return the object with thinking as one text: Mistral's service has a list of texts there, its library a text."""
    thinking = value.get("thinking")
    if value.get("type") != "thinking" or not isinstance(thinking, list):
        return value
    texts = cast("list[Json]", thinking)
    return value | {"thinking": "".join(str(each["text"]) for each in texts)}


def mistral_refusal(version: TokenizerVersion) -> Callable[[str, list[object]], str]:
    """Return what Mistral's own request validator says, that of one version of its models, as used for serving.

    It checks fields and their types, roles and their order, who speaks last, that a step has as many results as calls
    (from v11 by id, before by count), ids of nine letters and digits (before v13), names, and before v11 that no
    thinking goes back.
    It lets pass arguments that are no JSON, blank text, the user or the assistant twice in a row, the assistant first,
    the user directly behind a result, a result behind the user's text (by count), unknown fields, the legacy
    `function_call`, ids used again in a later turn.
    """
    validator = mistral_validator.get_validator(version, ValidationMode.serving)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - typed in part

    def refusal(wire: str, messages: list[object]) -> str:
        try:
            read = json.loads(json.dumps(messages), object_hook=_as_mistral_reads)
            request = mistral.ChatCompletionRequest.from_openai(read, model="m")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - typed in part
            validator.validate_request(request)  # pyright: ignore[reportUnknownMemberType] - typed in part
        except MistralCommonException as error:
            return f"Judge refused the {wire} body: {error}"
        except (ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
            return f"Judge could not read the {wire} body: {type(error).__name__} {error}"
        return ""

    return refusal


# --- Cohere ----------------------------------------------------------------------------------------------------------


def cohere_refusal(wire: str, messages: list[Any]) -> str:
    """Return what Cohere's own renderers of prompts say, of all three generations of its models.

    They read a schema of their own, into which Chat messages are translated here, as its compatible endpoint has to:
    roles, texts as parts, images as placeholders, calls without the layer `function`; `reasoning_content` is not.
    They check that ids are there and unique in the whole conversation, that arguments are JSON objects (the third
    generation; the others want JSON), that only the assistant calls, that it says something or calls, Unicode.
    They let pass calls without results and a result without a call, order, blank text, names, any length of ids.
    """
    try:
        config: Json = {"messages": [_for_cohere(message) for message in messages]}
        for render in (cohere.render_cmd3, cohere.render_cmd4, cohere.render_cmd5):  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - typed in part
            render(config)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return f"Judge refused the {wire} body: {type(error).__name__} {error}"
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of its Rust, and no `Exception`: two results without calls
            raise
        return f"Judge broke over the {wire} body: {error}"
    return ""


def _for_cohere(message: dict[str, Any]) -> Json:
    role = {"assistant": "chatbot", "developer": "system"}.get(message["role"], message["role"])
    content: str | list[dict[str, Any]] = [] if message.get("content") is None else message["content"]
    parts: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    translated: Json = {"role": role, "content": [_part(part) for part in parts]}
    if calls := message.get("tool_calls"):
        translated["tool_calls"] = [
            {"id": call["id"], "name": function.get("name"), "parameters": function["arguments"]}
            for call in calls
            for function in [call["function"]]
        ]
    if call := message.get("tool_call_id"):
        translated["tool_call_id"] = call
    return translated


def _part(part: dict[str, Any]) -> Json:
    if part["type"] == "image_url":
        return {"type": "image", "image": {"template_placeholder": "image"}}
    if part["type"] == "text":  # which knows no further fields
        return {"type": "text", "text": part["text"]}
    return part


# --- Google ----------------------------------------------------------------------------------------------------------


class _Body(pydantic.BaseModel, extra="forbid"):
    """A request to generate content, of which only the parts have types in Google's SDK."""

    contents: list[google.Content]
    system_instruction: google.Content | None = pydantic.Field(None, alias="systemInstruction")
    tools: list[google.Tool] | None = None
    tool_config: google.ToolConfig | None = pydantic.Field(None, alias="toolConfig")
    generation_config: google.GenerationConfig | None = pydantic.Field(None, alias="generationConfig")


_BODY = pydantic.TypeAdapter(_Body)
_CONTENTS = pydantic.TypeAdapter(list[google.Content])


def google_refusal(wire: str, messages: list[object]) -> str:
    """Return what the types of Google's own SDK say to contents.

    They check JSON, the types of fields, that no field is unknown, that arguments and responses are objects, base64 and
    Unicode.
    They let pass everything that is between contents: order, roles, how many results there are, signatures but for
    their base64, names, empty contents and empty parts. Requests are written by the same SDK, from other types.
    """
    del wire
    listed = [_listed(cast("Json", each)) if isinstance(each, dict) else each for each in messages]
    return _google(_CONTENTS, json.dumps(listed))


def _listed(content: Json) -> Json:
    """Return the content with a list of parts: a single one is taken for it by the endpoint, a text by the SDK."""
    parts = content.get("parts")
    if parts is None:
        return content
    listed = cast("list[object]", parts) if isinstance(parts, list) else [parts]
    return content | {"parts": [{"text": part} if isinstance(part, str) else part for part in listed]}


def _google(shape: pydantic.TypeAdapter[Any], raw: str | bytes) -> str:
    try:
        shape.validate_json(raw)
    except pydantic.ValidationError as error:
        return "; ".join(f"Judge refused the gemini body: {each['loc']} {each['msg']}" for each in error.errors())
    except AttributeError as error:  # its enumerations read only texts
        return f"Judge could not read the gemini body: {error}"
    return ""


def _every() -> Iterator[tuple[str, Judge]]:
    wires = ("openai-chat", "anthropic", "openai-responses")
    yield "deepseek", Judge(formats=wires, profiles=("deepseek",), refusal=deepseek_refusal)
    thinking = Judge(formats=wires, profiles=("deepseek",), refusal=deepseek_thinking_refusal, thinking=True)
    yield "deepseek-thinking", thinking
    for version in (TokenizerVersion.v3, TokenizerVersion.v7, TokenizerVersion.v13):
        refusal = mistral_refusal(version)
        templates = (
            ("mistral-templates",) if version is TokenizerVersion.v13 else ()
        )  # the others take no thinking back
        judge = Judge(formats=("openai-chat",), profiles=("mistral", *templates), refusal=refusal)
        yield f"mistral-{version.value}", judge
    yield "anthropic", Judge(formats=("anthropic",), profiles=("anthropic",), refusal=anthropic_refusal)
    compatible = ("openai-chat", "openai-compatible")
    yield "openai-chat", Judge(formats=("openai-chat",), profiles=compatible, refusal=openai_refusal)
    items = Judge(formats=("openai-responses",), profiles=("openai-responses",), refusal=openai_refusal)
    yield "openai-responses", items
    every = tuple(profile for profile in PAIRS["pydantic-ai"] if profile != "any")
    yield "pydantic-ai", Judge(formats=("pydantic-ai",), profiles=every, refusal=pydantic_ai_refusal)
    yield "converse", Judge(formats=("anthropic",), profiles=("bedrock",), refusal=converse_refusal)
    for name, refusal in mistral_templates():
        yield name, Judge(formats=("openai-chat",), profiles=("mistral-templates",), refusal=refusal)
    for name, refusal in other_templates():
        yield name, Judge(formats=("openai-chat",), profiles=("openai-compatible",), refusal=refusal)
    yield "google", Judge(formats=("gemini",), profiles=("gemini",), refusal=google_refusal)
    yield "cohere", Judge(formats=("openai-chat",), profiles=("cohere",), refusal=cohere_refusal)


JUDGES: Mapping[str, Judge] = MappingProxyType(dict(_every()))
"""Every judge by its name. What pleases the profile `any` has to please all of them."""
