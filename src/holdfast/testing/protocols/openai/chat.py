"""OpenAI's Chat Completions: authorization, streaming of a reply, errors."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.testing.protocols.openai import chat_rules
from holdfast.testing.protocols.openai.errors import OpenAI
from holdfast.testing.protocols.protocol import StreamWriter, WireReply, document, scripted_arguments, text_chunks
from holdfast.testing.protocols.strict_json import is_json_array, is_json_object
from holdfast.testing.script import Call, FinishReason, ReceivedRequest, Say, Think, Wait, WireName

FINISH: dict[FinishReason, str] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "length": "length",
    "refusal": "content_filter",
}
_CREATED = 1_767_225_600  # a fixed time, so that the same script gives the same bytes


class Chat(OpenAI):
    """The Chat Completions protocol; `Think` becomes `reasoning_content`, as compatible services send it."""

    name: WireName = "openai-chat"
    path = "/v1/chat/completions"
    thinking_field = "reasoning_content"

    def read(self, body: object) -> ReceivedRequest:
        """Parse the body. Raise `Refusal` in OpenAI's words."""
        return chat_request(chat_rules.check(body))

    def stream_writer(self, answer: WireReply) -> StreamWriter:
        """Return a writer for the streamed answer."""
        return Chunks(answer, thinking_field=self.thinking_field)

    def non_streaming_body(self, answer: WireReply) -> bytes:
        """Return the completion as one JSON document."""
        reply = answer.reply
        message: dict[str, object] = {"role": "assistant", "refusal": None}
        message["content"] = "".join(action.text for action in reply if isinstance(action, Say)) or None
        if thoughts := "".join(action.text for action in reply if isinstance(action, Think)):
            message[self.thinking_field] = thoughts
        if calls := [action for action in reply if isinstance(action, Call)]:
            message["tool_calls"] = [_call(call, answer, i, scripted_arguments(call)) for i, call in enumerate(calls)]
        finish = answer.finish and FINISH[answer.finish]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        return document(_frame("chat.completion", answer) | {"choices": [choice], "usage": chat_usage(answer)})


class Chunks:
    """The chunks of one streamed completion; the first one with content has the role."""

    def __init__(self, answer: WireReply, *, thinking_field: str) -> None:
        options = answer.request.body.get("stream_options")
        self.answer = answer
        self._thinking_field = thinking_field
        self._reports_usage = is_json_object(options) and options.get("include_usage") is True
        self._started = False
        self._calls = 0

    def write(self, action: Say | Think | Call) -> Iterator[bytes | Wait]:
        """Yield text, reasoning or a call."""
        yield from self.open()
        if isinstance(action, Call):
            yield self._delta({"tool_calls": [{"index": self._calls, **_call(action, self.answer, self._calls, "")}]})
        for piece in text_chunks(action):
            if isinstance(piece, Wait):
                yield piece
                continue
            match action:
                case Say():
                    yield self._delta({"content": piece})
                case Think():
                    yield self._delta(self.thinking_delta(piece))
                case Call():
                    yield self._delta({"tool_calls": [{"index": self._calls, "function": {"arguments": piece}}]})
        self._calls += isinstance(action, Call)

    def ping(self) -> Iterator[bytes]:
        """Yield a keep-alive."""
        yield b": keep-alive\n\n"

    def finish(self, reason: FinishReason) -> Iterator[bytes]:
        """Yield the finish reason and the usage."""
        yield from self.open()
        yield self._delta({}, FINISH[reason])
        if self._reports_usage:
            yield self.chunk([], chat_usage(self.answer))

    def end(self) -> bytes:
        """Return the terminal event."""
        return b"data: [DONE]\n\n"

    def thinking_delta(self, piece: str) -> dict[str, object]:
        """Return the delta for thinking."""
        return {self._thinking_field: piece}

    def open(self) -> Iterator[bytes]:
        """Yield the chunk with the role, once."""
        if not self._started:
            self._started = True
            yield self._delta({"role": "assistant", "content": ""})

    def _delta(self, delta: dict[str, object], finish: str | None = None) -> bytes:
        return self.chunk([choice(delta, finish)])

    def chunk(self, choices: list[dict[str, object]], usage: dict[str, object] | None = None) -> bytes:
        """Return one chunk."""
        chunk = _frame("chat.completion.chunk", self.answer) | {"choices": choices}
        if self._reports_usage or usage:
            chunk["usage"] = usage
        return b"data: " + document(chunk) + b"\n\n"


def chat_request(body: dict[str, object]) -> ReceivedRequest:
    """Return the request for an accepted body."""
    messages = tuple(item for item in _items(body.get("messages")) if is_json_object(item))
    systems = [_plain(message.get("content")) for message in messages if message["role"] in {"system", "developer"}]
    functions = [tool.get("function") for tool in _items(body.get("tools")) if is_json_object(tool)]
    return ReceivedRequest(
        wire="openai-chat",
        model=str(body["model"]),
        system=tuple(systems),
        messages=messages,
        tools=tuple(str(function["name"]) for function in functions if is_json_object(function)),
        stream=body.get("stream") is True,
        body=body,
    )


def _plain(content: object) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in _items(content) if is_json_object(part))


def _items(value: object) -> list[object]:
    return value if is_json_array(value) else []


def choice(delta: dict[str, object], finish: str | None) -> dict[str, object]:
    """Return the only choice of a chunk."""
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def chat_usage(answer: WireReply) -> dict[str, object]:
    """Return the usage."""
    return {
        "prompt_tokens": answer.input_tokens,
        "completion_tokens": answer.output_tokens,
        "total_tokens": answer.input_tokens + answer.output_tokens,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    }


def _call(call: Call, answer: WireReply, place: int, arguments: str) -> dict[str, object]:
    identifier = call.id or f"call_{answer.number}_{place}"
    return {"id": identifier, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _frame(kind: str, answer: WireReply) -> dict[str, object]:
    return {"id": f"chatcmpl-{answer.number}", "object": kind, "created": _CREATED, "model": answer.request.model}
