"""Types of vendors' SDKs as judges: OpenAI's of both wires, Anthropic's, and pydantic-ai's own adapter.

Two rules. A judge reads JSON. pydantic reads what a type calls an `Iterable` only when a caller goes through it, and so
says nothing of calls, parts and blocks: it is made a list first.
"""

from __future__ import annotations

import json
from collections.abc import Container
from typing import Any, cast

import pydantic
from anthropic.types import beta as anthropic
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputParam
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_core import SchemaValidator

from holdfast.history.formats.format import Json, as_text, is_array, is_object


def eager(shape: pydantic.TypeAdapter[Any]) -> SchemaValidator:
    """Return what reads the same, lists at once, without the types of answers."""
    schema: Any = shape.core_schema
    models = {each["ref"] for each in schema.get("definitions", ()) if each["type"] == "model"}
    return SchemaValidator(_listed(schema, models))


def _listed(schema: Any, models: Container[str]) -> Any:
    if isinstance(schema, list):
        return [_listed(each, models) for each in cast("list[object]", schema)]
    if isinstance(schema, tuple):
        return tuple(_listed(each, models) for each in cast("tuple[object, ...]", schema))
    if not isinstance(schema, dict):
        return schema
    read = {key: _listed(each, models) for key, each in cast("dict[str, Any]", schema).items()}
    if read.get("type") == "union":
        read["choices"] = [each for each in read["choices"] if not _of_answers(each, models)] or read["choices"]
    return {**read, "type": "list"} if read.get("type") == "generator" else read


def _of_answers(schema: Any, models: Container[str]) -> bool:
    """Return whether it is a type of answers: a model, as no type of requests, which takes any field."""
    if schema["type"] == "union":
        return all(_of_answers(each, models) for each in schema["choices"])
    return schema["type"] == "model" or schema.get("schema_ref") in models


_CHAT = eager(pydantic.TypeAdapter(list[ChatCompletionMessageParam]))
_RESPONSES = eager(pydantic.TypeAdapter(ResponseInputParam))
_BLOCK = eager(pydantic.TypeAdapter(anthropic.BetaContentBlockParam))


def openai_refusal(wire: str, messages: list[object]) -> str:
    """Return what the types of OpenAI's own SDK say to messages of Chat, or to items of Responses.

    They check that roles and kinds are known, that fields are there and of their types, values of enumerations.
    They let pass unknown fields, everything between messages or items, blank text, and what ids, names, arguments and
    addresses are but for being text. What OpenAI's own Codex and documents leave out is filled in first: ids of
    reasoning, of a local shell and of the assistant's messages, their status, the annotations of a text, the detail of
    an image, what a search was for.
    """
    if wire == "openai-chat":
        return _refusal(wire, _CHAT, messages)
    return _refusal(wire, _RESPONSES, [_filled(each) for each in messages])


_LEFT_OUT: dict[str, dict[str, object]] = {
    "output_text": {"annotations": []},
    "input_image": {"detail": "auto"},
    "reasoning": {"id": "rs_1"},
    "local_shell_call": {"id": "lsh_1", "status": "completed", "action": {}},
    "local_shell_call_output": {"id": "lsh_1"},
    "web_search_call": {"id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
}


def _filled(item: object) -> object:
    read = _filled_item(item)
    if not (is_object(read) and is_array(content := read.get("content"))):
        return read
    envelope = {"type": "message", "id": "msg_1", "status": "completed"} if read.get("role") == "assistant" else {}
    return {**envelope, **read, "content": [_filled_item(part) for part in content]}


def _filled_item(raw: object) -> object:
    if not is_object(raw):
        return raw
    kind = as_text(raw.get("type")) or ""
    left_out = {key: value for key, value in _LEFT_OUT.get(kind, {}).items() if raw.get(key) is None}
    filled: Json = {**raw, **left_out}
    if kind == "local_shell_call" and is_object(action := filled["action"]):
        filled["action"] = _completed(action, {"type": "exec", "command": [], "env": {}})
    if kind == "web_search_call" and is_object(action := filled["action"]):
        filled["action"] = _completed(action, {"pattern": "x", "url": "x"})
    return filled


def _completed(raw: Json, left_out: Json) -> Json:
    return {**raw, **{key: value for key, value in left_out.items() if raw.get(key) is None}}


def pydantic_ai_refusal(wire: str, messages: list[object]) -> str:
    """Return why pydantic-ai's own adapter cannot load the messages.

    It checks that kinds of messages and parts are known, and that fields are there and of their types.
    It lets pass unknown fields, everything between messages and parts, arguments that are no JSON, blank text.
    """
    return _refusal(wire, ModelMessagesTypeAdapter, messages)


def anthropic_refusal(wire: str, messages: list[object]) -> str:
    """Return what the types of Anthropic's own SDK say to blocks, each by itself.

    They check that a block is of a kind that is known, that its fields are there and of their types, and what a result
    holds in the same way.
    They let pass everything that is between blocks and messages, unknown fields, blank text, ids, names, signatures and
    what an image is.
    """
    try:
        contents = [message["content"] for message in cast("list[dict[str, Any]]", json.loads(json.dumps(messages)))]
    except (KeyError, TypeError) as error:
        return f"Judge could not read the {wire} body: {type(error).__name__} {error}"
    blocks = (block for content in contents if isinstance(content, list) for block in cast("list[object]", content))
    return "; ".join(refusal for block in blocks if (refusal := _refusal(wire, _BLOCK, block)))


def _refusal(wire: str, shape: SchemaValidator | pydantic.TypeAdapter[Any], raw: object) -> str:
    try:
        shape.validate_json(json.dumps(raw))
    except pydantic.ValidationError as error:
        messages = {each["loc"]: each["msg"] for each in error.errors()}
        meant = {loc: words for loc, words in messages.items() if not _of_another_kind(loc, messages)} or messages
        return "; ".join(f"Judge refused the {wire} body: {loc} {words}" for loc, words in meant.items())
    return ""


def _of_another_kind(loc: tuple[int | str, ...], messages: Container[object]) -> bool:
    """Return whether a type of another kind than what it read said this: each of a union says something."""
    types = (end for end, name in enumerate(loc, start=1) if isinstance(name, str) and name[:1].isupper())
    return any((*loc[:end], kind) in messages for end in types for kind in ("type", "role"))
