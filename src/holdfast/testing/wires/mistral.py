"""Mistral's Chat on the wire: Chat Completions with rules, errors and thinking of its own.

It is served below `/mistral`, since its path is that of Chat Completions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from holdfast.testing.script import Fail, FinishReason, Request, Say
from holdfast.testing.wires import mistral_rules
from holdfast.testing.wires.chat import FINISH, Chat, Chunks, asked, choice, counted
from holdfast.testing.wires.strict import NotJson, parse
from holdfast.testing.wires.wire import Answer, Head, Incoming, Refusal, Voice, document

_FAILURES = {  # status: type, message
    401: ("invalid_request_error", "Unauthorized"),
    404: ("invalid_model", "Invalid model"),
    429: ("rate_limited", "Rate limit exceeded"),
    500: ("internal_server_error", "Service unavailable."),
}


class Mistral(Chat):
    """Mistral's wire."""

    path = "/mistral/v1/chat/completions"

    def lost(self, incoming: Incoming) -> Refusal:
        """Return the error for a path or a method that is not there."""
        return Refusal(f"no Route matched with {incoming.method} {incoming.path}", status=404, kind="not_found")

    def read(self, body: object) -> Request:
        """Return what is asked; raises `Refusal` in Mistral's words."""
        return asked(mistral_rules.check(body))

    def admit(self, incoming: Incoming, *, key: str | None) -> Request:
        """Return the request; raises `Refusal` in Mistral's words."""
        if key is not None and incoming.headers.get("authorization") != f"Bearer {key}":
            raise Refusal("Unauthorized", status=401)
        try:
            return self.read(parse(incoming.body))
        except NotJson as error:
            raise Refusal(f"JSON decode error: {error}", status=422) from error

    def failure(self, fail: Fail) -> Refusal:
        """Return Mistral's own error for that status."""
        kind, message = _FAILURES.get(fail.status, ("invalid_request_error", "Bad request"))
        return Refusal(fail.message or message, status=fail.status, kind=kind)

    def refused(self, refusal: Refusal, *, number: int) -> tuple[Head, bytes]:
        """Return the error response."""
        message, kind = refusal.message, refusal.kind
        if refusal.param is not None:  # what does not fit the schema is told as a list
            where = {"type": kind, "loc": refusal.param.split("."), "msg": message}
            message, kind = {"detail": [where]}, "invalid_request_error"
        error: dict[str, object] = {"object": "error", "message": message, "type": kind, "param": None}
        headers = (("content-type", "application/json"), ("mistral-correlation-id", f"{number:032d}"))
        return Head(refusal.status, headers), document(error | {"code": refusal.code})

    def voice(self, answer: Answer) -> Voice:
        """Return what streams the answer."""
        return _Chunks(answer, thinks_in=self.thinks_in)

    def whole(self, answer: Answer) -> bytes:
        """Return the completion as one JSON document."""
        body = json.loads(super().whole(answer))
        message = body["choices"][0]["message"]
        del message["refusal"]
        if thoughts := message.pop(self.thinks_in, None):
            said = "".join(action.text for action in answer.reply if isinstance(action, Say))
            message["content"] = [_thought(thoughts), {"type": "text", "text": said}]
        return document(body)


class _Chunks(Chunks):
    """Chunks whose last one counts, and whose thinking is a part of the content."""

    def finish(self, reason: FinishReason) -> Iterator[bytes]:
        yield from self.open()
        yield self.chunk([choice({"content": ""}, FINISH[reason])], counted(self.answer))

    def thought(self, piece: str) -> dict[str, object]:
        return {"content": [_thought(piece)]}


def _thought(text: str) -> dict[str, object]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}
