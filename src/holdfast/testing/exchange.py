"""The protocol core: a request and a reply in, the response as timed events out; no clock, no socket, no state."""

from __future__ import annotations

from collections.abc import Iterator

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
    Reply,
    Request,
    Reset,
    Say,
    Spoken,
    Think,
    Wait,
    checked,
)
from holdfast.testing.wires.chat import Chat
from holdfast.testing.wires.gemini import Gemini
from holdfast.testing.wires.messages import Messages
from holdfast.testing.wires.mistral import Mistral
from holdfast.testing.wires.ollama import Ollama
from holdfast.testing.wires.responses import Responses
from holdfast.testing.wires.wire import Answer, Event, Head, Incoming, Refusal, Wire

_CHAT, _MESSAGES, _GEMINI = Chat(), Messages(), Gemini()
_AMAZON = Messages("/anthropic/v1/messages")
_WIRES: tuple[Wire, ...] = (_CHAT, Responses(), _MESSAGES, _GEMINI, Mistral(), _AMAZON, Ollama())
_KEYS = ("authorization", "x-api-key", "x-goog-api-key")


def wire_of(incoming: Incoming) -> Wire:
    """Return the wire whose path was asked for; for a path of none, the one whose client it seems to be."""
    strayed = _CHAT
    if "anthropic-version" in incoming.headers or "x-api-key" in incoming.headers:
        strayed = _MESSAGES
    elif "x-goog-api-key" in incoming.headers:
        strayed = _GEMINI
    return next((wire for wire in _WIRES if wire.serves(incoming.path)), strayed)


def admitted(wire: Wire, incoming: Incoming, *, key: str | None) -> Request:
    """Return the request; raises `Refusal`, as the provider puts it, if it is not to be answered.

    Who wants no key refuses one: it would be somebody else's.
    """
    key = key if wire.wants_key else None
    for header in _KEYS:
        if key is None and header in incoming.headers:
            raise Refusal(f"This server wants no key, and got one in {header}.", status=401)
    if not wire.serves(incoming.path) or incoming.method != "POST":
        raise wire.lost(incoming)
    return wire.admit(incoming, key=key)


def answered(wire: Wire, request: Request, reply: Reply, *, turn: int, number: int) -> Iterator[Event]:
    """Yield the response; pauses that begin a reply come before its status line. `turn` counts the replies."""
    actions = checked(reply)
    while actions and isinstance(actions[0], Wait | Hold):
        yield actions[0]
        actions = actions[1:]
    first = actions[0] if actions else None
    if isinstance(first, Fail):
        failure = wire.failure(first)
        head, body = wire.refused(failure, number=number)
        in_header = first.retry_after is not None and failure.retry_after is None
        later = (("retry-after", f"{first.retry_after:g}"),) if in_header else ()
        yield Head(head.status, (*head.headers, *later))
        yield body
        return
    if isinstance(first, Reset):
        yield first
        return
    spoken = tuple(action for action in actions if not isinstance(action, Fail))
    answer = Answer(request, _finished(spoken), turn)
    yield from _streamed(wire, answer) if request.stream else _whole(wire, answer)


def _streamed(wire: Wire, answer: Answer) -> Iterator[Event]:
    first = answer.reply[0]
    yield _head(first if isinstance(first, Headers) else Headers())
    voice = wire.voice(answer)
    for action in answer.reply:
        match action:
            case Say() | Think() | Call():
                yield from voice.say(action)
            case Ping(count, every):
                for _ in range(count):
                    yield from voice.ping()
                    yield Wait(every)
            case Raw():
                yield from _raw(action)
            case Finish(reason):
                yield from voice.finish(reason)
            case End():
                yield voice.end()
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
        yield voice.end()


def _head(headers: Headers) -> Head:
    packed = (("content-encoding", headers.encoding),) if headers.encoding else ()
    return Head(headers.status, (("content-type", headers.content_type), ("cache-control", "no-cache"), *packed))


def _raw(action: Raw) -> Iterator[Event]:
    for _ in range(action.times):
        yield action.data
        if action.every:
            yield Wait(action.every)


def _whole(wire: Wire, answer: Answer) -> Iterator[Event]:
    """Yield all pauses and all that is no part of it, then the document; a cut or a reset leaves half of it."""
    head = Head(200, (("content-type", "application/json"),))
    begun = False
    for action in answer.reply:
        match action:
            case Wait() | Hold():
                yield action
            case Ping(count, every):
                yield Wait(count * every)
            case Headers() | Raw():
                if not begun:
                    yield _head(action) if isinstance(action, Headers) else head
                    begun = True
                if isinstance(action, Raw):
                    yield from _raw(action)
            case _:
                pass
    body = wire.whole(answer)
    last = answer.reply[-1]
    if not begun:
        yield head
    yield body[: len(body) // 2] if isinstance(last, Cut | Reset) else body
    if isinstance(last, Reset):
        yield last


def _finished(spoken: tuple[Spoken, ...]) -> tuple[Spoken, ...]:
    """Return the reply with the Finish it did not spell out."""
    if any(isinstance(action, Finish | Cut | Reset) for action in spoken):
        return spoken
    end = next((place for place, action in enumerate(spoken) if isinstance(action, End)), len(spoken))
    calls = any(isinstance(action, Call) for action in spoken[:end])
    return (*spoken[:end], Finish("tool_calls" if calls else "stop"), *spoken[end:])
