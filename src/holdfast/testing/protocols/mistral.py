"""Mistral's Chat: Chat Completions with its own rules, errors and thinking format.

It is served below `/mistral`, because its path is that of Chat Completions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from holdfast.testing.protocols.openai.chat import FINISH, Chat, Chunks, chat_request, chat_usage, choice
from holdfast.testing.protocols.protocol import Incoming, Refusal, ResponseHead, StreamWriter, WireReply, document
from holdfast.testing.protocols.strict_json import NotJson, is_json_array, is_json_object, parse_strict_json
from holdfast.testing.protocols.vendor_schema import VendorSchema, pydantic_words
from holdfast.testing.script import Fail, FinishReason, ReceivedRequest, Say

_PARAMETERS = frozenset(
    {
        *("model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "temperature", "top_p"),
        *("max_tokens", "stop", "random_seed", "response_format", "presence_penalty", "frequency_penalty", "n"),
        *("prediction", "prompt_mode", "safe_prompt", "reasoning_effort"),
    }
)
_SCHEMA = VendorSchema("mistral")
_ROLES = ("system", "user", "assistant", "tool")
_FOLLOWS = {  # roles allowed before a role; None is the start
    "system": {None, "system", "user"},
    "user": {None, "system", "user", "assistant", "tool"},
    "assistant": {None, "system", "user", "assistant", "tool"},
    "tool": {"assistant", "tool"},
}
_DETAILS = {
    "missing": "missing",
    "unknown": "extra_forbidden",
    "type": "model_attributes_type",
    "value": "literal_error",
    "kind": "union_tag_invalid",
    "base64": "value_error",
}
_ID = re.compile(r"[a-zA-Z0-9]{9}\Z")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")


def check(body: object) -> dict[str, object]:
    """Return the body. Raise `Refusal` for the first broken rule."""
    if not is_json_object(body):
        raise _detail("model_attributes_type", "body", message="Input should be a valid dictionary")
    _known(body, _PARAMETERS, "body")
    for key in ("model", "messages"):
        if key not in body:
            raise _detail("missing", "body", key, message="Field required")
    for i, tool in enumerate(_objects(body.get("tools"))):
        _check_declared(tool, "Tool", "body", "tools", str(i))
        _function(tool, "body", "tools", str(i))
    messages = list(_objects(body["messages"]))
    if not messages:
        raise _order("Conversation must have at least one message")
    for i, message in enumerate(messages):
        _message(message, i)
    _sequence(messages)
    _pairs(messages)
    return body


def _message(message: dict[str, object], index: int) -> None:
    role, content = message.get("role"), message.get("content")
    at = ("body", "messages", str(index))
    if not isinstance(role, str) or role not in _ROLES:
        listed = ", ".join(f"'{each}'" for each in _ROLES)
        what = f"Input tag '{role}' found using 'role' does not match any of the expected tags: {listed}"
        raise _detail("union_tag_invalid", *at, message=what)
    if role != "assistant" and not isinstance(content, str | list):
        raise _detail("string_type", *at, role, "content", message="Input should be a valid string")
    _check_declared(message, role, *at, role)
    calls = list(_objects(message.get("tool_calls")))
    if role == "assistant" and not content and not calls:
        raise _order("Assistant message must have either content or tool_calls, but not none.", code="3240")
    for call in calls:
        _function(call, *at, role, "tool_calls")
        _identifier(call.get("id"))
    if role == "tool":
        _identifier(message.get("tool_call_id"))


def _function(owner: dict[str, object], *at: str) -> None:
    function = owner.get("function")
    if not is_json_object(function):
        raise _detail("missing", *at, "function", message="Field required")
    if not _NAME.match(str(function.get("name"))):
        what = f"Function name was {function.get('name')} but must be a-z, A-Z, 0-9, or contain underscores and dashes,"
        raise Refusal(f"{what} with a maximum length of 64.", kind="invalid_function_call", code="3280")


def _identifier(call: object) -> None:
    if not isinstance(call, str) or not _ID.match(call):
        what = f"Tool call id was {call} but must be a-z, A-Z, 0-9, with a length of 9."
        raise Refusal(what, kind="invalid_function_call", code="3280")


def _sequence(messages: list[dict[str, object]]) -> None:
    before: str | None = None
    for message in messages:
        role = str(message["role"])
        if before not in _FOLLOWS[role]:
            raise _order(f"Unexpected role '{role}' after role '{before}'")
        if before == "tool" and role == "user":  # a rule of older models and hosts; valid for them is valid for all
            raise _order("Unexpected role 'user' after role 'tool'")
        before = role
    last = messages[-1]
    if last["role"] not in {"user", "tool"} and last.get("prefix") is not True:
        what = "Expected last role User or Tool (or Assistant with prefix True) for serving but got"
        raise _order(f"{what} {last['role']}")


def _pairs(messages: list[dict[str, object]]) -> None:
    waiting: list[object] = []
    for message in [*messages, {"role": "user"}]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                raise _order(f"Unexpected tool call id {message['tool_call_id']} in tool results")
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            raise _order("Not the same number of function calls and responses")
        for call in _objects(message.get("tool_calls")):
            if call["id"] in waiting:
                raise _order(f"Duplicate tool call id {call['id']} in assistant message")
            waiting.append(call["id"])


def _objects(value: object) -> Iterable[dict[str, object]]:
    return (item for item in value if is_json_object(item)) if is_json_array(value) else ()


def _known(owner: dict[str, object], keys: frozenset[str], *at: str) -> None:
    for key in owner:
        if key not in keys:
            raise _detail("extra_forbidden", *at, key, message="Extra inputs are not permitted")


def _check_declared(value: object, name: str, *at: str) -> None:
    if fault := _SCHEMA.fault(value, name):
        raise _detail(_DETAILS[fault.problem], *at, *map(str, fault.path), message=pydantic_words(fault))


def _detail(kind: str, *at: str, message: str) -> Refusal:
    """Return the refusal of a body by its schema, with the position."""
    return Refusal(message, status=422, kind=kind, param=".".join(at))


def _order(message: str, *, code: str = "3230") -> Refusal:
    return Refusal(message, kind="invalid_request_message_order", code=code)


# --- mistral ---

_FAILURES = {  # status: type, message
    401: ("invalid_request_error", "Unauthorized"),
    404: ("invalid_model", "Invalid model"),
    429: ("rate_limited", "Rate limit exceeded"),
    500: ("internal_server_error", "Service unavailable."),
}


class Mistral(Chat):
    """Mistral's protocol."""

    path = "/mistral/v1/chat/completions"

    def not_found(self, incoming: Incoming) -> Refusal:
        """Return the error for an unknown path or method."""
        return Refusal(f"no Route matched with {incoming.method} {incoming.path}", status=404, kind="not_found")

    def read(self, body: object) -> ReceivedRequest:
        """Parse the body. Raise `Refusal` in Mistral's words."""
        return chat_request(check(body))

    def admit(self, incoming: Incoming, *, key: str | None) -> ReceivedRequest:
        """Return the request. Raise `Refusal` in Mistral's words."""
        if key is not None and incoming.headers.get("authorization") != f"Bearer {key}":
            raise Refusal("Unauthorized", status=401)
        try:
            return self.read(parse_strict_json(incoming.body))
        except NotJson as error:
            raise Refusal(f"JSON decode error: {error}", status=422) from error

    def failure(self, fail: Fail) -> Refusal:
        """Return Mistral's own error for that status."""
        kind, message = _FAILURES.get(fail.status, ("invalid_request_error", "Bad request"))
        return Refusal(fail.message or message, status=fail.status, kind=kind)

    def error_response(self, refusal: Refusal, *, number: int) -> tuple[ResponseHead, bytes]:
        """Return the error response."""
        message, kind = refusal.message, refusal.kind
        if refusal.param is not None:  # schema errors are a list
            where = {"type": kind, "loc": refusal.param.split("."), "msg": message}
            message, kind = {"detail": [where]}, "invalid_request_error"
        error: dict[str, object] = {"object": "error", "message": message, "type": kind, "param": None}
        headers = (("content-type", "application/json"), ("mistral-correlation-id", f"{number:032d}"))
        return ResponseHead(refusal.status, headers), document(error | {"code": refusal.code})

    def stream_writer(self, answer: WireReply) -> StreamWriter:
        """Return a writer for the streamed answer."""
        return _Chunks(answer, thinking_field=self.thinking_field)

    def non_streaming_body(self, answer: WireReply) -> bytes:
        """Return the completion as one JSON document."""
        body = json.loads(super().non_streaming_body(answer))
        message = body["choices"][0]["message"]
        del message["refusal"]
        if thoughts := message.pop(self.thinking_field, None):
            text = "".join(action.text for action in answer.reply if isinstance(action, Say))
            message["content"] = [_thought(thoughts), {"type": "text", "text": text}]
        return document(body)


class _Chunks(Chunks):
    """Chunks whose last one has the usage, and whose thinking is a part of the content."""

    def finish(self, reason: FinishReason) -> Iterator[bytes]:
        yield from self.open()
        yield self.chunk([choice({"content": ""}, FINISH[reason])], chat_usage(self.answer))

    def thinking_delta(self, piece: str) -> dict[str, object]:
        return {"content": [_thought(piece)]}


def _thought(text: str) -> dict[str, object]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}
