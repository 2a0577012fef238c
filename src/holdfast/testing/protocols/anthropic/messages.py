"""Anthropic's Messages: authorization, streaming of a reply, errors."""

from __future__ import annotations

import json
from collections.abc import Iterator

from holdfast.testing.protocols import signatures
from holdfast.testing.protocols.anthropic import messages_rules
from holdfast.testing.protocols.anthropic.messages_schema import AnthropicBody
from holdfast.testing.protocols.protocol import (
    Incoming,
    Refusal,
    ResponseHead,
    StreamWriter,
    WireReply,
    document,
    scripted_arguments,
    text_chunks,
)
from holdfast.testing.protocols.strict_json import NotJson, is_json_array, is_json_object, parse_strict_json
from holdfast.testing.script import Call, Fail, FinishReason, ReceivedRequest, Say, Think, Wait, WireName

_FAILURES = {  # status: type, message
    400: ("invalid_request_error", "Bad request"),
    401: ("authentication_error", "invalid x-api-key"),
    403: ("permission_error", "Your API key does not have permission to use the specified resource."),
    404: ("not_found_error", "Not Found"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed your account's rate limit. Please try again later."),
    500: ("api_error", "Internal server error"),
    504: ("timeout_error", "Request timed out"),
    529: ("overloaded_error", "Overloaded"),
}
_SERVERS = 500  # from this status on, the server is at fault
_BINDING_BETA = "thinking-binding-controls-2026-08-01"
_FINISH: dict[FinishReason, str] = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "refusal": "refusal",
}


class Messages:
    """The Messages protocol, at Anthropic's path or at that of another service for Claude."""

    name: WireName = "anthropic"
    requires_key = True

    def __init__(self, path: str = "/v1/messages") -> None:
        self.path = path

    def serves(self, path: str) -> bool:
        """Return whether it answers a POST on the path."""
        return path == self.path

    def not_found(self, incoming: Incoming) -> Refusal:
        """Return Anthropic's error for an unknown path or method."""
        if incoming.path != self.path:
            return Refusal("Not Found", status=404, kind="not_found_error")
        return Refusal("Method Not Allowed", status=405)

    def admit(self, incoming: Incoming, *, key: str | None) -> ReceivedRequest:
        """Return the request. Raise `Refusal` in Anthropic's words. The key may be in either of two headers."""
        if key is not None:
            _refuse_other_keys(incoming, key)
        if "anthropic-version" not in incoming.headers:
            raise Refusal("anthropic-version: header is required")
        try:
            conversation = messages_rules.check(parse_strict_json(incoming.body))
        except NotJson as error:
            raise Refusal(f"The request body is not valid JSON: {error}") from error
        thinking = conversation.body.get("thinking")
        if is_json_object(thinking) and "block_binding" in thinking and not _has_beta(incoming, _BINDING_BETA):
            raise Refusal(f"thinking.{thinking['type']}.block_binding: Extra inputs are not permitted")
        return _request(conversation)

    def failure(self, fail: Fail) -> Refusal:
        """Return Anthropic's own error for that status."""
        kind, message = _FAILURES.get(fail.status) or _FAILURES[400 if fail.status < _SERVERS else 500]
        return Refusal(fail.message or message, status=fail.status, kind=kind)

    def error_response(self, refusal: Refusal, *, number: int) -> tuple[ResponseHead, bytes]:
        """Return the error response."""
        identifier = f"req_{number:024d}"
        error = {"type": refusal.kind, "message": refusal.message}
        headers = (("content-type", "application/json"), ("request-id", identifier))
        return ResponseHead(refusal.status, headers), document(
            {"type": "error", "error": error, "request_id": identifier}
        )

    def stream_writer(self, answer: WireReply) -> StreamWriter:
        """Return a writer for the streamed answer."""
        return _Blocks(answer)

    def non_streaming_body(self, answer: WireReply) -> bytes:
        """Return the message as one JSON document."""
        content: list[dict[str, object]] = []
        thoughts = 0
        for action in answer.reply:
            match action:
                case Say(text) if content and content[-1]["type"] == "text":
                    content[-1] = {"type": "text", "text": f"{content[-1]['text']}{text}"}
                case Say(text):
                    content.append({"type": "text", "text": text})
                case Think(text):
                    content.append({"type": "thinking", "thinking": text, "signature": _signature(action, thoughts)})
                    thoughts += 1
                case Call():
                    content.append(_call(action, answer, len(content)) | {"input": _input(action)})
                case _:
                    pass
        ending = {"content": content, "stop_reason": answer.finish and _FINISH[answer.finish]}
        return document(_message(answer) | ending | {"usage": _usage(answer)})


class _Blocks:
    """The events of one streamed message; a block stays open until the next one starts or the message finishes."""

    def __init__(self, answer: WireReply) -> None:
        self._answer = answer
        self._started = False
        self._open: Say | Think | Call | None = None
        self._count = 0  # number of closed blocks
        self._thoughts = 0  # how many of those are thinking

    def write(self, action: Say | Think | Call) -> Iterator[bytes | Wait]:
        yield from self._begin()
        if not (isinstance(action, Say) and isinstance(self._open, Say)):
            yield from self._close()
            yield _sse("content_block_start", {"index": self._count, "content_block": self._empty(action)})
            self._open = action
        for piece in text_chunks(action):
            yield piece if isinstance(piece, Wait) else self._delta(_delta(action, piece))

    def ping(self) -> Iterator[bytes]:
        yield from self._begin()
        yield _sse("ping", {})

    def finish(self, reason: FinishReason) -> Iterator[bytes]:
        yield from self._begin()
        yield from self._close()
        delta = {"stop_reason": _FINISH[reason], "stop_sequence": None}
        yield _sse("message_delta", {"delta": delta, "usage": {"output_tokens": self._answer.output_tokens}})

    def end(self) -> bytes:
        return _sse("message_stop", {})

    def _begin(self) -> Iterator[bytes]:
        if not self._started:
            self._started = True
            message = _message(self._answer) | {"usage": _usage(self._answer) | {"output_tokens": 1}}
            yield _sse("message_start", {"message": message})

    def _close(self) -> Iterator[bytes]:
        """Yield the end of the open block, if there is one; thinking gets its signature here."""
        if self._open is None:
            return
        if isinstance(self._open, Think):
            signature = _signature(self._open, self._thoughts)
            yield self._delta({"type": "signature_delta", "signature": signature})
            self._thoughts += 1
        yield _sse("content_block_stop", {"index": self._count})
        self._open = None
        self._count += 1

    def _empty(self, action: Say | Think | Call) -> dict[str, object]:
        match action:
            case Say():
                return {"type": "text", "text": ""}
            case Think():
                return {"type": "thinking", "thinking": "", "signature": ""}
            case Call():
                return _call(action, self._answer, self._count)

    def _delta(self, delta: dict[str, object]) -> bytes:
        return _sse("content_block_delta", {"index": self._count, "delta": delta})


def _delta(action: Say | Think | Call, piece: str) -> dict[str, object]:
    match action:
        case Say():
            return {"type": "text_delta", "text": piece}
        case Think():
            return {"type": "thinking_delta", "thinking": piece}
        case Call():
            return {"type": "input_json_delta", "partial_json": piece}


def _call(call: Call, answer: WireReply, place: int) -> dict[str, object]:
    return {"type": "tool_use", "id": call.id or f"toolu_{answer.number}_{place}", "name": call.name, "input": {}}


def _input(call: Call) -> object:
    """Return the arguments as JSON; {} if they are not valid JSON, because a whole message cannot carry that."""
    try:
        return json.loads(scripted_arguments(call))
    except ValueError:
        return {}


def _signature(thought: Think, place: int) -> str:
    return signatures.sign(thought.text, place=place) if thought.signature is None else thought.signature


def _has_beta(incoming: Incoming, beta: str) -> bool:
    return beta in (name.strip() for name in incoming.headers.get("anthropic-beta", "").split(","))


def _refuse_other_keys(incoming: Incoming, key: str) -> None:
    api_key = incoming.headers.get("x-api-key")
    scheme, _, bearer = incoming.headers.get("authorization", "").partition(" ")
    if api_key is None and scheme.lower() != "bearer":
        raise Refusal("x-api-key header is required", status=401, kind="authentication_error")
    if api_key not in {None, key}:
        raise Refusal("invalid x-api-key", status=401, kind="authentication_error")
    if api_key is None and bearer != key:
        raise Refusal("Invalid bearer token", status=401, kind="authentication_error")


def _request(conversation: AnthropicBody) -> ReceivedRequest:
    body = conversation.body
    messages, tools = body["messages"], body.get("tools")
    return ReceivedRequest(
        wire="anthropic",
        model=str(body["model"]),
        system=tuple(block.text for block in conversation.system),
        messages=tuple(item for item in messages if is_json_object(item)) if is_json_array(messages) else (),
        tools=tuple(str(tool.get("name")) for tool in tools if is_json_object(tool)) if is_json_array(tools) else (),
        stream=body.get("stream") is True,
        body=body,
    )


def _message(answer: WireReply) -> dict[str, object]:
    return {
        "id": f"msg_{answer.number}",
        "type": "message",
        "role": "assistant",
        "model": answer.request.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _usage(answer: WireReply) -> dict[str, object]:
    return {
        "input_tokens": answer.input_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": answer.output_tokens,
    }


def _sse(kind: str, fields: dict[str, object]) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + document({"type": kind} | fields) + b"\n\n"
