"""A provider on a socket that refuses a request for as long as something is in it, on each wire."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from holdfast.providers.connect import open_model
from holdfast.providers.model import Model
from holdfast.providers.registry import resolve_endpoint

Json = dict[str, Any]
Wire = Literal["anthropic", "chat", "responses", "gemini"]
MODELS: dict[Wire, str] = {
    "anthropic": "anthropic:claude-opus-4-7",
    "chat": "openrouter:maker/model-one",
    "responses": "openai:gpt-5.5",
    "gemini": "google:gemini-3-flash",
}


@dataclass(frozen=True)
class Answer:
    """An answer: thinking with a signature, a text, and calls by their names with arguments."""

    text: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, Json], ...] = ()


@dataclass(frozen=True)
class Refused:
    """How the server refuses: with a status, a text and a code."""

    text: str
    status: int = 400
    code: str = ""
    body: str | None = None
    """The whole body, in place of the wire's own shape."""


@dataclass
class RefusingServer:
    """Answers with `answers` in turn, the last one for ever; refuses what `refuses` says."""

    wire: Wire
    refused: Refused
    refuses: Callable[[Json], bool]
    answers: list[Answer]
    requests: list[Json] = field(default_factory=list[Json])
    refusals: list[int] = field(default_factory=list[int])
    """The numbers of the refused requests."""
    address: str = ""

    @property
    def model(self) -> str:
        return MODELS[self.wire]

    def environ(self) -> dict[str, str]:
        """Return the variables with which holdfast finds this server."""
        keys = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY")
        return {
            **dict.fromkeys(keys, "a-key"),
            "ANTHROPIC_BASE_URL": self.address,
            "GOOGLE_GEMINI_BASE_URL": self.address,
            "OPENAI_BASE_URL": f"{self.address}/v1",
            "OPENROUTER_BASE_URL": f"{self.address}/v1",
        }

    async def connect(self, name: str) -> Model:
        """Return a connection over a real socket."""
        return open_model(resolve_endpoint(name, self.environ()))

    def reply(self, body: Json) -> tuple[int, str, bytes]:
        """Return status, content type and body for a request."""
        self.requests.append(body)
        if self.refuses(body):
            self.refusals.append(len(self.requests) - 1)
            return self.refused.status, "application/json", error_body(self.wire, self.refused)
        given = len(self.requests) - len(self.refusals) - 1
        answer = self.answers[min(given, len(self.answers) - 1)]
        return 200, "text/event-stream", WRITERS[self.wire](answer, len(self.requests))


@contextmanager
def serving(server: RefusingServer) -> Generator[RefusingServer]:
    """Serve on the loopback address."""

    class Request(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, kind, answer = server.reply(body)
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the library's name
            del format, arguments

    http = ThreadingHTTPServer(("127.0.0.1", 0), Request)
    http.daemon_threads = True
    server.address = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join(10)


def error_body(wire: Wire, refused: Refused) -> bytes:
    """Return the error in the shape of the wire."""
    if refused.body is not None:
        return refused.body.encode()
    match wire:
        case "anthropic":
            kind = refused.code or "invalid_request_error"
            error: Json = {"type": "error", "error": {"type": kind, "message": refused.text}}
        case "gemini":
            kind = refused.code or "INVALID_ARGUMENT"
            error = {"error": {"code": refused.status, "message": refused.text, "status": kind}}
        case "chat" | "responses":
            error = {"error": {"message": refused.text, "type": "invalid_request_error", "code": refused.code or None}}
    return json.dumps(error).encode()


def _events(*events: Json) -> bytes:
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        if "type" in event
        else f"data: {json.dumps(event)}\n\n".encode()
        for event in events
    )


def _anthropic(answer: Answer, number: int) -> bytes:
    blocks: list[tuple[Json, Json]] = []
    if answer.thinking:
        thought: Json = {"type": "thinking", "thinking": answer.thinking, "signature": "c2ln"}
        blocks.append((thought, {}))
    if answer.text:
        blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": answer.text}))
    for place, (name, arguments) in enumerate(answer.calls):
        start: Json = {"type": "tool_use", "id": f"toolu_{number}_{place}", "name": name, "input": {}}
        blocks.append((start, {"type": "input_json_delta", "partial_json": json.dumps(arguments)}))
    events: list[Json] = [{"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}]
    for index, (start, delta) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        if delta:
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    reason = "tool_use" if answer.calls else "end_turn"
    events += [{"type": "message_delta", "delta": {"stop_reason": reason}}, {"type": "message_stop"}]
    return _events(*events)


def _chat(answer: Answer, number: int) -> bytes:
    delta: Json = {"role": "assistant", "content": answer.text}
    if answer.thinking:
        thought = {"type": "reasoning.text", "text": answer.thinking, "signature": "c2ln", "format": "x", "index": 0}
        delta |= {"reasoning": answer.thinking, "reasoning_details": [thought]}
    if answer.calls:
        delta["tool_calls"] = [
            {
                "index": place,
                "id": f"call_{number}_{place}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for place, (name, arguments) in enumerate(answer.calls)
        ]
    reason = "tool_calls" if answer.calls else "stop"
    chunks: list[Json] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
    ]
    return _events(*chunks) + b"data: [DONE]\n\n"


def _responses(answer: Answer, number: int) -> bytes:
    items: list[Json] = []
    if answer.thinking:
        summary = [{"type": "summary_text", "text": answer.thinking}]
        items.append({"type": "reasoning", "id": f"rs_{number}", "summary": summary, "encrypted_content": "gAAA"})
    if answer.text:
        content: list[Json] = [{"type": "output_text", "text": answer.text, "annotations": []}]
        items.append({"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content})
    items += [
        {
            "type": "function_call",
            "id": f"fc_{number}_{place}",
            "call_id": f"call_{number}_{place}",
            "name": name,
            "arguments": json.dumps(arguments),
        }
        for place, (name, arguments) in enumerate(answer.calls)
    ]
    done = [
        {"type": "response.output_item.done", "output_index": index, "item": item} for index, item in enumerate(items)
    ]
    ended = {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": items}}
    return _events({"type": "response.created", "response": {"id": "r"}}, *done, ended)


def _gemini(answer: Answer, number: int) -> bytes:
    parts: list[Json] = []
    if answer.thinking:
        parts.append({"text": answer.thinking, "thought": True})
    if answer.text:
        parts.append({"text": answer.text})
    for place, (name, arguments) in enumerate(answer.calls):
        call: Json = {"functionCall": {"id": f"c{number}{place}", "name": name, "args": arguments}}
        parts.append(call | ({"thoughtSignature": "c2ln"} if answer.thinking and not place else {}))
    return _events({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]})


WRITERS: dict[Wire, Callable[[Answer, int], bytes]] = {
    "anthropic": _anthropic,
    "chat": _chat,
    "responses": _responses,
    "gemini": _gemini,
}


# --- what is in a request --------------------------------------------------------------------------------------------


def history(body: Json) -> list[Json]:
    """Return the messages, items or contents of a request."""
    return body.get("messages") or body.get("input") or body.get("contents") or []


def has_thinking(body: Json) -> bool:
    """Return whether the history has thinking, or anything that only the model's provider can read."""
    text = json.dumps(history(body))
    return any(
        each in text
        for each in ('"thinking"', '"redacted_thinking"', '"reasoning"', '"reasoning_details"', '"c2ln"', '"thought"')
    )


def has_markers(body: Json) -> bool:
    """Return whether there is a control token anywhere."""
    return "<|" in json.dumps(body, ensure_ascii=False)


def has_image(body: Json) -> bool:
    """Return whether the history has an image."""
    text = json.dumps(history(body))
    return any(each in text for each in ('"image_url"', '"input_image"', '"inlineData"', '"type": "image"'))


def lacks_reasoning(body: Json) -> bool:
    """Return whether an answer has calls and not its reasoning; Gemini's wire has no place for it."""
    thought = False  # in the items of the answer so far
    for message in history(body):
        text = json.dumps(message)
        if message.get("role") == "user" or message.get("type") == "function_call_output":
            thought = False
        thought = thought or message.get("type") == "reasoning" or '"type": "thinking"' in text
        has_calls = any(each in text for each in ('"tool_calls"', '"tool_use"', '"functionCall"', '"function_call"'))
        if has_calls and not thought and "reasoning_content" not in message:
            return True
    return False


def declares(name: str) -> Callable[[Json], bool]:
    """Return a check whether a request declares this tool."""
    return lambda body: f'"name": "{name}"' in json.dumps(body.get("tools", []))


def calls_at_once(body: Json) -> int:
    """Return the most calls that are in one message, or between results."""
    most = run = 0
    for message in history(body):
        text = json.dumps(message)
        found = (text.count('"tool_use_id"') and 0) or max(
            len(message.get("tool_calls") or ()),
            text.count('"type": "tool_use"'),
            text.count('"functionCall"'),
        )
        run = run + 1 if message.get("type") == "function_call" else 0
        most = max(most, found, run)
    return most
