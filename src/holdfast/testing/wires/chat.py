"""OpenAI's Chat Completions on the wire: who may ask, how a reply is streamed, what an error looks like."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.testing.script import Call, Fail, FinishReason, Request, Say, Think, Wait, WireName
from holdfast.testing.wires import chat_rules
from holdfast.testing.wires.strict import NotJson, is_array, is_object, parse
from holdfast.testing.wires.wire import Answer, Head, Incoming, Refusal, Voice, document, pieces, written

_NO_KEY = (
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e."
    " Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're accessing the API from"
    " your browser and are prompted for a username and password. You can obtain an API key from"
    " https://platform.openai.com/account/api-keys."
)
_NOT_JSON = (
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library"
    " correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you have trouble"
    " figuring out how to fix this, please contact us through our help center at help.openai.com.)"
)
_SERVER_ERROR = (
    "The server had an error while processing your request. Sorry about that! You can retry your request, or contact us"
    " through our help center at help.openai.com if the error persists."
)
_FAILURES: dict[int, tuple[str, str | None, str]] = {  # status: type, code, message
    400: ("invalid_request_error", None, "Bad request."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    403: (
        "invalid_request_error",
        "unsupported_country_region_territory",
        "Country, region, or territory not supported",
    ),
    404: ("invalid_request_error", "model_not_found", "The model does not exist or you do not have access to it."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached for requests. Please try again later."),
    500: ("server_error", None, _SERVER_ERROR),
    503: ("service_unavailable_error", None, "That model is currently overloaded with other requests."),
}
_FINISH: dict[FinishReason, str] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "length": "length",
    "refusal": "content_filter",
}
_SERVERS = 500  # from this status on the fault is the server's
_SHOWN = 12  # of a wrong key so many characters are shown, the first eight and the last four
_CREATED = 1_767_225_600  # a fixed moment, so that the same script gives the same bytes


class Chat:
    """The Chat Completions wire; `Think` becomes `reasoning_content`, as the compatible services send it."""

    name: WireName = "openai-chat"
    path = "/v1/chat/completions"

    def serves(self, path: str) -> bool:
        """Return whether it answers a POST there."""
        return path == self.path

    def lost(self, incoming: Incoming) -> Refusal:
        """Return OpenAI's error for a path or a method it does not have."""
        if incoming.path != self.path:
            return Refusal(f"Invalid URL ({incoming.method} {incoming.path})", status=404)
        what = f"Not allowed to {incoming.method} on {incoming.path}."
        return Refusal(what, status=405, code="method_not_supported")

    def admit(self, incoming: Incoming, *, key: str | None) -> Request:
        """Return the request; raises `Refusal` in OpenAI's words."""
        if key is not None:
            _refuse_other_keys(incoming, key)
        try:
            body = chat_rules.check(parse(incoming.body))
        except NotJson as error:
            raise Refusal(_NOT_JSON) from error
        return _request(body)

    def failure(self, fail: Fail) -> Refusal:
        """Return OpenAI's own error for that status."""
        kind, code, message = _FAILURES.get(fail.status) or _FAILURES[400 if fail.status < _SERVERS else 500]
        return Refusal(fail.message or message, status=fail.status, kind=kind, code=code)

    def refused(self, refusal: Refusal, *, number: int) -> tuple[Head, bytes]:
        """Return the error response."""
        error = {"message": refusal.message, "type": refusal.kind, "param": refusal.param, "code": refusal.code}
        headers = (("content-type", "application/json"), ("x-request-id", f"req_{number:024d}"))
        return Head(refusal.status, headers), document({"error": error})

    def voice(self, answer: Answer) -> Voice:
        """Return what streams the answer."""
        return _Chunks(answer)

    def whole(self, answer: Answer) -> bytes:
        """Return the completion as one JSON document."""
        reply = answer.reply
        message: dict[str, object] = {"role": "assistant", "refusal": None}
        message["content"] = "".join(action.text for action in reply if isinstance(action, Say)) or None
        if thoughts := "".join(action.text for action in reply if isinstance(action, Think)):
            message["reasoning_content"] = thoughts
        if calls := [action for action in reply if isinstance(action, Call)]:
            message["tool_calls"] = [_call(call, answer, i, written(call)) for i, call in enumerate(calls)]
        finish = answer.finish and _FINISH[answer.finish]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        return document(_frame("chat.completion", answer) | {"choices": [choice], "usage": _usage(answer)})


class _Chunks:
    """The chunks of one streamed completion; the first that says something brings the role."""

    def __init__(self, answer: Answer) -> None:
        options = answer.request.body.get("stream_options")
        self._answer = answer
        self._counted = is_object(options) and options.get("include_usage") is True
        self._opened = False
        self._calls = 0

    def say(self, action: Say | Think | Call) -> Iterator[bytes | Wait]:
        yield from self._open()
        if isinstance(action, Call):
            yield self._delta({"tool_calls": [{"index": self._calls, **_call(action, self._answer, self._calls, "")}]})
        for piece in pieces(action):
            if isinstance(piece, Wait):
                yield piece
                continue
            match action:
                case Say():
                    yield self._delta({"content": piece})
                case Think():
                    yield self._delta({"reasoning_content": piece})
                case Call():
                    yield self._delta({"tool_calls": [{"index": self._calls, "function": {"arguments": piece}}]})
        self._calls += isinstance(action, Call)

    def ping(self) -> Iterator[bytes]:
        yield b": keep-alive\n\n"

    def finish(self, reason: FinishReason) -> Iterator[bytes]:
        yield from self._open()
        yield self._delta({}, _FINISH[reason])
        if self._counted:
            yield self._chunk([], _usage(self._answer))

    def end(self) -> bytes:
        return b"data: [DONE]\n\n"

    def _open(self) -> Iterator[bytes]:
        if not self._opened:
            self._opened = True
            yield self._delta({"role": "assistant", "content": ""})

    def _delta(self, delta: dict[str, object], finish: str | None = None) -> bytes:
        return self._chunk([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}])

    def _chunk(self, choices: list[dict[str, object]], usage: dict[str, object] | None = None) -> bytes:
        chunk = _frame("chat.completion.chunk", self._answer) | {"choices": choices}
        if self._counted:
            chunk["usage"] = usage
        return b"data: " + document(chunk) + b"\n\n"


def _refuse_other_keys(incoming: Incoming, key: str) -> None:
    scheme, _, given = incoming.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not given:
        raise Refusal(_NO_KEY, status=401)
    if given != key:
        shown = given if len(given) <= _SHOWN else f"{given[:8]}{'*' * (len(given) - _SHOWN)}{given[-4:]}"
        where = "You can find your API key at https://platform.openai.com/account/api-keys."
        what = f"Incorrect API key provided: {shown}. {where}"
        raise Refusal(what, status=401, code="invalid_api_key")


def _request(body: dict[str, object]) -> Request:
    messages = tuple(item for item in _items(body.get("messages")) if is_object(item))
    systems = [_plain(message.get("content")) for message in messages if message["role"] in {"system", "developer"}]
    functions = [tool.get("function") for tool in _items(body.get("tools")) if is_object(tool)]
    return Request(
        wire="openai-chat",
        model=str(body["model"]),
        system=tuple(systems),
        messages=messages,
        tools=tuple(str(function["name"]) for function in functions if is_object(function)),
        stream=body.get("stream") is True,
        body=body,
    )


def _plain(content: object) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in _items(content) if is_object(part))


def _items(value: object) -> list[object]:
    return value if is_array(value) else []


def _usage(answer: Answer) -> dict[str, object]:
    return {
        "prompt_tokens": answer.sent,
        "completion_tokens": answer.received,
        "total_tokens": answer.sent + answer.received,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    }


def _call(call: Call, answer: Answer, place: int, arguments: str) -> dict[str, object]:
    identifier = call.id or f"call_{answer.number}_{place}"
    return {"id": identifier, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _frame(kind: str, answer: Answer) -> dict[str, object]:
    return {"id": f"chatcmpl-{answer.number}", "object": kind, "created": _CREATED, "model": answer.request.model}
