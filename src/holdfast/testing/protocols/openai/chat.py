"""OpenAI's Chat Completions: authorization, streaming of a reply, errors.

What OpenAI's Chat Completions refuses about a body, in its words and in its order.

The order was measured on the real service: model, messages, unknown keys, types and roles, pairing, missing content.
`reasoning_content` and `reasoning` of an assistant are accepted, because compatible services want them back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.testing.protocols.openai.errors import OpenAI
from holdfast.testing.protocols.openai.fields import (
    an_object,
    array,
    check_chat_settings,
    check_declared,
    check_length,
    function_name,
    missing,
    speaker_name,
    text,
    wrong_type,
)
from holdfast.testing.protocols.protocol import (
    Refusal,
    StreamWriter,
    WireReply,
    document,
    scripted_arguments,
    text_chunks,
)
from holdfast.testing.protocols.strict_json import is_json_array, is_json_object
from holdfast.testing.protocols.vendor_schema import VendorSchema
from holdfast.testing.script import Call, FinishReason, ReceivedRequest, Say, Think, Wait, WireName

_SCHEMA = VendorSchema("openai-chat", nulls=True)
_ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
_MOST_ID = 40
_MOST = 128


@dataclass(frozen=True, slots=True)
class _Message:
    """The parts of a message that pairing and content rules need."""

    role: str
    calls: tuple[str, ...] = ()
    answers: str = ""
    empty: bool = False


def check(body: object) -> dict[str, object]:
    """Return the body. Raise `Refusal` for the first broken rule."""
    if not is_json_object(body) or body.get("model") is None or body["model"] == "":
        raise Refusal("you must provide a model parameter")
    if "messages" not in body:
        raise missing("messages")
    check_declared(_SCHEMA, body, "Body")
    check_chat_settings(body)
    items = array(body["messages"], "messages", least=1)
    messages = [_message(item, f"messages[{i}]") for i, item in enumerate(items)]
    _tools(body)
    if body.get("stream_options") is not None and body.get("stream") is not True:
        what = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        raise Refusal(what, param="stream_options")
    _pairs(messages)
    _contents(messages)
    return body


def _message(item: object, at: str) -> _Message:
    message = an_object(item, at)
    if "role" not in message:
        raise missing(f"{at}.role")
    role = message["role"]
    if not isinstance(role, str) or role not in _ROLES:
        shown = role if isinstance(role, str) else str(role).lower()
        listed = ", ".join(f"'{each}'" for each in _ROLES[:-1])
        what = f"Invalid value: '{shown}'. Supported values are: {listed}, and '{_ROLES[-1]}'."
        raise Refusal(what, param=f"{at}.role", code="invalid_value")
    _content(message.get("content"), at, role)
    check_declared(_SCHEMA, message, "Message", at)
    if role != "function":  # it is that of the function
        speaker_name(message, at)
    answers = ""
    if role == "tool":
        answers = _identifier(message, "tool_call_id", at)
    instead = any(message.get(key) is not None for key in _INSTEAD_OF_CONTENT)
    return _Message(
        role=role,
        calls=_calls(message, at) if role == "assistant" else (),
        answers=answers,
        empty=message.get("content") is None and not (role == "assistant" and instead),
    )


def _content(content: object, at: str, role: str) -> None:
    if content is None or isinstance(content, str):
        return
    if not is_json_array(content):
        raise wrong_type(f"{at}.content", "one of a string or array of objects", content)
    for i, item in enumerate(content):
        part = an_object(item, f"{at}.content[{i}]")
        kind = part.get("type")
        if role == "tool" and kind not in {"text", "image_url"}:
            what = f"Invalid '{at}'. Content blocks are expected to be either text or image_url type."
            raise Refusal(what, param=at, code="invalid_value")
        if kind is None:
            raise missing(f"{at}.content[{i}].type")


def _calls(message: dict[str, object], at: str) -> tuple[str, ...]:
    if message.get("tool_calls") is None:
        return ()
    items = array(message["tool_calls"], f"{at}.tool_calls", least=1, most=_MOST)
    ids: list[str] = []
    for i, item in enumerate(items):
        place = f"{at}.tool_calls[{i}]"
        call = an_object(item, place)
        ids.append(_identifier(call, "id", place))
        if "type" not in call:
            raise missing(f"{place}.type")
        function = an_object(call.get("function"), f"{place}.function")
        function_name(function, f"{place}.function")
    return tuple(ids)


def _tools(body: dict[str, object]) -> None:
    if body.get("tools") is None:
        return
    for i, item in enumerate(array(body["tools"], "tools", least=1, most=_MOST)):
        tool = an_object(item, f"tools[{i}]")
        if "type" not in tool:
            raise missing(f"tools[{i}].type")
        if tool["type"] == "function":
            function_name(an_object(tool.get("function"), f"tools[{i}].function"), f"tools[{i}].function")
            check_declared(_SCHEMA, tool, "Tool", f"tools[{i}]")


def _pairs(messages: list[_Message]) -> None:
    caller: frozenset[str] | None = None  # call IDs that tool messages may still answer
    waiting: list[str] = []
    for i, message in enumerate(messages):
        if message.role == "tool":
            if caller is None:
                what = (
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with"
                    " 'tool_calls'."
                )
                raise Refusal(what, param=f"messages.[{i}].role")
            if message.answers not in caller:
                what = (
                    f"Invalid parameter: 'tool_call_id' of '{message.answers}' not found in 'tool_calls' of previous"
                    " message."
                )
                raise Refusal(what, param=f"messages.[{i}].tool_call_id")
            if message.answers not in waiting:
                raise _duplicate(message.answers, i)
            waiting.remove(message.answers)
            continue
        if waiting:
            raise _missing_results(waiting, f"messages.[{i}].role")
        caller, waiting = (frozenset(message.calls), list(message.calls)) if message.calls else (None, [])
        for place, call in enumerate(message.calls):
            if call in message.calls[:place]:
                raise _duplicate(call, i)
    if waiting:
        raise _missing_results(waiting, "messages")


def _contents(messages: list[_Message]) -> None:
    for i, message in enumerate(messages):
        if message.empty and message.role == "developer":
            raise missing(f"messages[{i}].content")
        if message.empty:
            raise Refusal("Invalid value for 'content': expected a string, got null.", param=f"messages.[{i}].content")


def _missing_results(waiting: list[str], param: str) -> Refusal:
    what = (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
        f" The following tool_call_ids did not have response messages: {', '.join(waiting)}"
    )
    return Refusal(what, param=param)


def _duplicate(call: str, index: int) -> Refusal:
    return Refusal(f"Duplicate value for 'tool_call_id' of {call} in message[{index}]")


def _identifier(owner: dict[str, object], key: str, at: str) -> str:
    if key not in owner:
        raise missing(f"{at}.{key}")
    return check_length(text(owner[key], f"{at}.{key}"), f"{at}.{key}", most=_MOST_ID)


# --- chat ---

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
        return chat_request(check(body))

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
