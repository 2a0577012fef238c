"""Mistral's Chat: Chat Completions with its own rules, errors and thinking format.

It is served below `/mistral`, because its path is that of Chat Completions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from holdfast.testing.protocols import mistral_rules
from holdfast.testing.protocols.openai.chat import FINISH, Chat, Chunks, chat_request, chat_usage, choice
from holdfast.testing.protocols.protocol import Incoming, Refusal, ResponseHead, StreamWriter, WireReply, document
from holdfast.testing.protocols.strict_json import NotJson, parse_strict_json
from holdfast.testing.script import Fail, FinishReason, ReceivedRequest, Say

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
        return chat_request(mistral_rules.check(body))

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
