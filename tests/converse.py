"""Amazon's model of its service as a judge: what botocore would refuse to send to Bedrock's Converse.

Two rules. Messages of Anthropic's are translated as Amazon's documents have it, block by block. botocore leaves
lengths, patterns and enumerations to the service; the model that it ships with says them, so they are judged here.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

Json = dict[str, Any]

_LOADERS, _MODELS, _VALIDATE = (
    import_module(f"botocore.{name}") for name in ("loaders", "model", "validate")
)  # untyped


def converse_refusal(wire: str, messages: list[object]) -> str:
    """Return what botocore says to a Converse request with these messages, and what breaks its model of the service.

    They check that fields are there, known and of their types, one kind a block, ids and names of calls by length and
    letters, that input is an object, formats of images and documents, that media is not empty.
    They let pass everything that is between blocks and messages, blank text, signatures, what an input holds, and
    blocks that Converse has no word for (calls that the provider ran itself, and their results), which are left out.
    """
    try:
        translated = [_message(each) for each in json.loads(json.dumps(messages))]
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        return f"Judge could not read the {wire} body: {type(error).__name__} {error}"
    shape = _request()
    body: Json = {"modelId": "m", "messages": translated}
    if (report := _VALIDATE.ParamValidator().validate(body, shape)).has_errors():
        return f"Judge refused the {wire} body: {report.generate_report()}"
    return "; ".join(f"Judge refused the {wire} body: {each}" for each in _broken(shape, body, "body"))


@cache
def _request() -> Any:
    model = _MODELS.ServiceModel(_LOADERS.Loader().load_service_model("bedrock-runtime", "service-2"))
    return model.operation_model("Converse").input_shape


def _broken(shape: Any, value: Any, path: str) -> Iterator[str]:
    """Yield what is longer than the model says, or of other letters, or no value of an enumeration."""
    limits = shape.metadata
    if shape.type_name in ("string", "blob", "list") and len(value) > limits.get("max", len(value)):
        yield f"{path} is longer than {limits['max']}"
    if shape.type_name == "string":
        if "pattern" in limits and not re.fullmatch(limits["pattern"], value):
            yield f"{path} {value!r} is not of {limits['pattern']}"
        if "enum" in limits and value not in limits["enum"]:
            yield f"{path} {value!r} is not one of {', '.join(limits['enum'])}"
    elif shape.type_name == "structure" and not getattr(shape, "is_document_type", False):
        for key, each in value.items():
            yield from _broken(shape.members[key], each, f"{path}.{key}")
    elif shape.type_name == "list":
        for index, each in enumerate(value):
            yield from _broken(shape.member, each, f"{path}[{index}]")


# --- Anthropic's messages, as Converse has them ----------------------------------------------------------------------


def _message(message: Json) -> Json:
    content: str | list[Json] = message["content"]
    blocks = [{"text": content}] if isinstance(content, str) else [found for each in content if (found := _block(each))]
    return {"role": message["role"], "content": blocks}


def _block(block: Json) -> Json | None:
    """Return the block as Converse has it, None where it has no word for it."""
    found: Json | None = None
    match block["type"]:
        case "text":
            found = {"text": block["text"]}
        case "image":
            found = {"image": {"format": _format(block), "source": _source(block)}}
        case "document":
            found = _document(block)
        case "tool_use":
            found = {"toolUse": {"toolUseId": block["id"], "name": block["name"], "input": block["input"]}}
        case "tool_result":
            found = {"toolResult": _result(block)}
        case "thinking":
            signed = {"signature": block["signature"]} if "signature" in block else {}
            found = {"reasoningContent": {"reasoningText": {"text": block["thinking"], **signed}}}
        case "redacted_thinking":
            found = {"reasoningContent": {"redactedContent": block["data"].encode()}}
        case _:
            pass
    return found


def _result(block: Json) -> Json:
    content: str | list[Json] = block.get("content") or []
    parts = [{"text": content}] if isinstance(content, str) else [found for each in content if (found := _block(each))]
    failed = {"status": "error"} if block.get("is_error") else {}
    return {"toolUseId": block["tool_use_id"], "content": parts, **failed}


def _document(block: Json) -> Json | None:
    source = block["source"]
    match source["type"]:
        case "base64":
            return {"document": {"format": "pdf", "name": "document", "source": _source(block)}}
        case "text":
            return {"document": {"format": "txt", "name": "document", "source": {"text": source["data"]}}}
        case _:  # addresses and files of Anthropic's, which Converse does not take
            return None


def _format(block: Json) -> str:
    return block["source"].get("media_type", "image/png").removeprefix("image/")


def _source(block: Json) -> Json:
    source = block["source"]
    return {"bytes": base64.b64decode(source["data"], validate=True) if source["type"] == "base64" else b"x"}
