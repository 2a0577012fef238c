"""The HTTP exchange: a request and a reply in, the response as timed events out. No clock, socket or state."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from holdfast.testing.protocols.anthropic.messages import Messages
from holdfast.testing.protocols.gemini import GeminiWire
from holdfast.testing.protocols.mistral import Mistral
from holdfast.testing.protocols.ollama import Ollama
from holdfast.testing.protocols.openai.chat import Chat
from holdfast.testing.protocols.openai.responses import Responses
from holdfast.testing.protocols.protocol import Incoming, Refusal, ResponseHead, WireEvent, WireProtocol, WireReply
from holdfast.testing.script import (
    Call,
    Cut,
    End,
    Fail,
    Finish,
    Headers,
    Hold,
    Ping,
    Raw,
    ReceivedRequest,
    Reply,
    Reset,
    ResponseAction,
    Say,
    Think,
    Wait,
    check_reply,
)

_CHAT, _MESSAGES, _GEMINI = Chat(), Messages(), GeminiWire()
_AMAZON = Messages("/anthropic/v1/messages")
_WIRES: tuple[WireProtocol, ...] = (_CHAT, Responses(), _MESSAGES, _GEMINI, Mistral(), _AMAZON, Ollama())
_KEYS = ("authorization", "x-api-key", "x-goog-api-key")


def wire_for_path(incoming: Incoming) -> WireProtocol:
    """Return the protocol that serves the path; for an unknown path, the one that the headers suggest."""
    default = _CHAT
    if "anthropic-version" in incoming.headers or "x-api-key" in incoming.headers:
        default = _MESSAGES
    elif "x-goog-api-key" in incoming.headers:
        default = _GEMINI
    return next((wire for wire in _WIRES if wire.serves(incoming.path)), default)


_OWN_PAGES = ("/props", "/api/ps", "/api/show")


def model_listing(incoming: Incoming, models: Sequence[str]) -> tuple[ResponseHead, bytes] | None:
    """Return the response to a request for the list of models, 404 without `models`; None for other requests.

    The pages on which servers of the user's own tell their window are not there either.
    """
    if incoming.path.partition("?")[0].endswith(_OWN_PAGES):
        return ResponseHead(404, (("content-type", "application/json"),)), b"{}"
    if incoming.method != "GET" or not incoming.path.endswith("/models"):
        return None
    body = {"object": "list", "data": [{"id": each} for each in models]}
    body |= {"models": [{"name": f"models/{each}"} for each in models]}  # Gemini's
    return ResponseHead(200 if models else 404, (("content-type", "application/json"),)), json.dumps(body).encode()


def admit_request(wire: WireProtocol, incoming: Incoming, *, key: str | None) -> ReceivedRequest:
    """Return the request. Raise `Refusal`, in the provider's words, if it must be refused.

    A server that needs no key refuses requests with one: it would be the key of another service.
    """
    key = key if wire.requires_key else None
    for header in _KEYS:
        if key is None and header in incoming.headers:
            raise Refusal(f"This server needs no key, but {header} has one.", status=401)
    if not wire.serves(incoming.path) or incoming.method != "POST":
        raise wire.not_found(incoming)
    return wire.admit(incoming, key=key)


def response_events(
    wire: WireProtocol, request: ReceivedRequest, reply: Reply, *, turn: int, number: int
) -> Iterator[WireEvent]:
    """Yield the response; pauses at the start come before the status line. `turn` counts the replies."""
    actions = check_reply(reply)
    while actions and isinstance(actions[0], Wait | Hold):
        yield actions[0]
        actions = actions[1:]
    first = actions[0] if actions else None
    if isinstance(first, Fail):
        failure = wire.failure(first)
        head, body = wire.error_response(failure, number=number)
        in_header = first.retry_after is not None and failure.retry_after is None
        retry_header = (("retry-after", f"{first.retry_after:g}"),) if in_header else ()
        yield ResponseHead(head.status, (*head.headers, *retry_header))
        yield body
        return
    if isinstance(first, Reset):
        yield first
        return
    content = tuple(action for action in actions if not isinstance(action, Fail))
    answer = WireReply(request, _with_finish(content), turn)
    yield from _streaming_events(wire, answer) if request.stream else _non_streaming_events(wire, answer)


def _streaming_events(wire: WireProtocol, answer: WireReply) -> Iterator[WireEvent]:
    first = answer.reply[0]
    yield _head(first if isinstance(first, Headers) else Headers())
    writer = wire.stream_writer(answer)
    for action in answer.reply:
        match action:
            case Say() | Think() | Call():
                yield from writer.write(action)
            case Ping(count, every):
                for _ in range(count):
                    yield from writer.ping()
                    yield Wait(every)
            case Raw():
                yield from _raw(action)
            case Finish(reason):
                yield from writer.finish(reason)
            case End():
                yield writer.end()
            case Wait() | Hold():
                yield action
            case Headers():
                pass
            case Reset():
                yield action
                return
            case Cut():
                return
    if not any(isinstance(action, End) for action in answer.reply):
        yield writer.end()


def _head(headers: Headers) -> ResponseHead:
    packed = (("content-encoding", headers.encoding),) if headers.encoding else ()
    return ResponseHead(
        headers.status, (("content-type", headers.content_type), ("cache-control", "no-cache"), *packed)
    )


def _raw(action: Raw) -> Iterator[WireEvent]:
    for _ in range(action.times):
        yield action.data
        if action.every:
            yield Wait(action.every)


def _non_streaming_events(wire: WireProtocol, answer: WireReply) -> Iterator[WireEvent]:
    """Yield all pauses and keep-alives, then the document; only half of it for a cut or a reset."""
    head = ResponseHead(200, (("content-type", "application/json"),))
    has_head = False
    for action in answer.reply:
        match action:
            case Wait() | Hold():
                yield action
            case Ping(count, every):
                yield Wait(count * every)
            case Headers() | Raw():
                if not has_head:
                    yield _head(action) if isinstance(action, Headers) else head
                    has_head = True
                if isinstance(action, Raw):
                    yield from _raw(action)
            case _:
                pass
    body = wire.non_streaming_body(answer)
    last = answer.reply[-1]
    if not has_head:
        yield head
    yield body[: len(body) // 2] if isinstance(last, Cut | Reset) else body
    if isinstance(last, Reset):
        yield last


def _with_finish(content: tuple[ResponseAction, ...]) -> tuple[ResponseAction, ...]:
    """Return the reply with a Finish, if it has none."""
    if any(isinstance(action, Finish | Cut | Reset) for action in content):
        return content
    end = next((place for place, action in enumerate(content) if isinstance(action, End)), len(content))
    calls = any(isinstance(action, Call) for action in content[:end])
    return (*content[:end], Finish("tool_calls" if calls else "stop"), *content[end:])
