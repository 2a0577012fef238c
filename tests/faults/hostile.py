"""What a provider can do wrong, as replies, and what each of it must come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bombs import bomb
from holdfast.errors import ProviderFault
from holdfast.testing.script import (
    Action,
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
    Reset,
    Say,
    ScriptStep,
    Think,
    Wait,
    WireName,
)
from long_texts import prose

TOOL = "touch"
CALL = Call(TOOL, {"path": "a"})
NEVER = Hold("never")

BOMB = bomb()
PACKED = ("gzip", "x-gzip", "deflate", "br", "zstd", "gzip, gzip", "GZIP", "no-such-way")

MEGABYTE = b"x" * 1_000_000

FOR_EVER = 100_000
"""More than any deadline lets come."""

TOO_LONG = "more than 8 MiB in one event"

_TOO_LONG: dict[WireName, str] = {
    "openai-chat": "This model's maximum context length is 128000 tokens. However, your messages resulted in 200000.",
    "openai-responses": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "anthropic": "prompt is too long: 210000 tokens > 200000 maximum",
    "gemini": "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).",
}
_ERROR_EVENT: dict[WireName, bytes] = {
    "openai-chat": b'data: {"error": {"message": "It fell over.", "type": "server_error", "code": null}}\n\n',
    "openai-responses": b'event: error\ndata: {"type": "error", "code": "server_error", "message": "It fell over.",'
    b' "param": null, "sequence_number": 9}\n\n',
    "anthropic": b'event: error\ndata: {"type": "error", "error":'
    b' {"type": "api_error", "message": "It fell over."}}\n\n',
    "gemini": b'data: {"error": {"code": 500, "message": "It fell over.", "status": "INTERNAL"}}\r\n\r\n',
}

_CLOSING: dict[WireName, bytes] = {
    "openai-chat": b"data: [DONE]\n\n",
    "openai-responses": b'event: response.incomplete\ndata: {"type": "response.incomplete", "sequence_number": 9,'
    b' "response": {"id": "resp_1", "object": "response", "status": "incomplete", "output": []}}\n\n',
    "anthropic": b'event: message_stop\ndata: {"type": "message_stop"}\n\n',
    "gemini": b"\r\n",
}

_EVENT: dict[WireName, bytes] = {
    "openai-chat": b"",
    "openai-responses": b"event: response.output_text.delta\n",
    "anthropic": b"event: content_block_delta\n",
    "gemini": b"",
}
"""The line before the data of an event."""

Ends = Literal["provider", "finished", "flood"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """A way to be hostile, and how a turn that meets it ends.

    `faults` are the classes that are right for it, `sentence` what the message must hold; `ran` is how often the tool
    may have run: only for a response that was complete. `final_text` must be in the conversation afterwards. `silent`
    are its requests, counted from 1, that end in a silence.
    """

    name: str
    reply: Sequence[Action] = ()
    steps: Sequence[ScriptStep] = ()
    faults: frozenset[ProviderFault] = frozenset()
    ends: Ends = "provider"
    sentence: str = ""
    final_text: str = ""
    ran: int = 0
    attempts: int = 1
    silent: tuple[int, ...] = ()

    @property
    def speaks_first(self) -> bool:
        """Return whether something comes before a silence."""
        return any(isinstance(action, Say | Think | Call) for action in self.reply)

    def script(self) -> list[ScriptStep]:
        """Return the replies: every attempt meets the same, unless the steps say otherwise."""
        return list(self.steps) or [tuple(self.reply)] * self.attempts


def _broken(name: str, *reply: Action, faults: set[ProviderFault], sentence: str = "", shown: str = "") -> Mode:
    """Return a mode whose response is broken; one that showed nothing is met twice."""
    calls = any(isinstance(action, Call) for action in reply)
    attempts = 1 if shown or calls or "flood" in faults else 2
    silent = tuple(range(1, attempts + 1)) if "silent" in faults else ()
    known = frozenset(faults)
    ends: Ends = "flood" if "flood" in faults else "provider"
    return Mode(
        name=name,
        reply=reply,
        faults=known,
        ends=ends,
        sentence=sentence,
        final_text=shown,
        attempts=attempts,
        silent=silent,
    )


def _not_streamed(name: str, *reply: Action, faults: set[ProviderFault]) -> Mode:
    """Return a mode that streams nothing, and whose answer in one piece is broken."""
    ends: Ends = "flood" if "flood" in faults else "provider"
    known: frozenset[ProviderFault] = frozenset({"silent", *faults})
    return Mode(name=name, steps=[(NEVER,), reply], faults=known, ends=ends, attempts=2, silent=(1,))


def _fine(name: str, *reply: Action, final_text: str = "", ran: int = 0) -> Mode:
    """Return a mode that looks hostile, and is none: the response is complete."""
    steps: list[ScriptStep] = [reply, (Say("after it"),)] if final_text == "after it" else [reply]
    return Mode(name=name, steps=steps, ends="finished", final_text=final_text, ran=ran)


def _status(status: int, fault: ProviderFault, *, retry_after: float | None = None, attempts: int = 1) -> Mode:
    delay = "" if retry_after is None else f", told to wait {retry_after:g} s"
    reply = (Fail(status, retry_after=retry_after),)
    sentence = f"status {status}"
    return Mode(name=f"{status}{delay}", reply=reply, faults=frozenset({fault}), sentence=sentence, attempts=attempts)


def _with_tool_messages(request: ReceivedRequest) -> Sequence[Action]:
    """Hang on a request that holds a tool's result, answer every other."""
    results = any(
        message.get("role") == "tool"
        or "tool_result" in str(message.get("content"))
        or "output" in message
        or "functionResponse" in str(message.get("parts"))
        for message in request.messages
    )
    return (NEVER,) if results else (CALL,)


def _only_in_one_piece(request: ReceivedRequest) -> Sequence[Action]:
    """Never answer a request for a stream; answer every other."""
    return (NEVER,) if request.stream else (Think("hm"), Say("in one piece"), CALL)


def _says_why(wire: WireName) -> list[Mode]:
    """Return responses that say why they end, and nothing after that: where that is the end, they have not said it."""
    text, call = "says why it ends, and nothing after that", "says why after a call, and nothing after that"
    if wire == "openai-responses":
        cut = _broken(text, Say("done"), Finish("stop"), Cut(), faults={"cut"}, shown="done")
        return [cut, _broken(call, CALL, Finish("tool_calls"), Cut(), faults={"cut"})]
    fine = _fine(text, Say("done"), Finish("stop"), Cut(), final_text="done")
    return [fine, _fine(call, CALL, Finish("tool_calls"), Cut(), final_text="after it", ran=1)]


def _without_a_reason(wire: WireName) -> list[Mode]:
    """Return responses that are closed and do not say why: of Chat Completions, whole answers end so."""
    text, call = "ends without saying why", "ends in a call without saying why"
    half = Call("look", '{"n": ')
    broken = _broken(call, half, Raw(_CLOSING[wire]), Cut(), faults={"cut"})
    if wire == "openai-chat":
        return [_fine(text, Say("done"), Raw(_CLOSING[wire]), Cut(), final_text="done"), broken]
    return [_broken(text, Say("half"), Raw(_CLOSING[wire]), Cut(), faults={"cut"}, shown="half")]


def _ghost_call(wire: WireName) -> Mode:
    """Return a response with a call after its end; where nothing but the last byte is one, it is a call like any."""
    if wire == "gemini":
        return _fine("a call after the reason", Say("done"), End(), CALL, final_text="after it", ran=1)
    return _fine("a ghost call after the end", Say("done"), End(), CALL, final_text="done")


def modes(wire: WireName) -> list[Mode]:
    """Return every mode on a wire."""
    half = CALL.name, '{"path": "a'
    event = _EVENT[wire]
    half_calls = [
        _broken("stalls in arguments", Call(*half), NEVER, faults={"silent"}, sentence="sent nothing"),
        _broken("reset in arguments", Call(*half), Reset(), faults={"unreachable", "cut"}),
        _broken("cut in arguments", Call(*half), Cut(), faults={"cut"}),
        _broken("cut right after a call's name", Call(TOOL, ""), Cut(), faults={"cut"}),
    ]
    return [
        # Silence.
        _broken("never answers", NEVER, faults={"silent"}, sentence="sent nothing for"),
        _broken("headers, then silence", Headers(), NEVER, faults={"silent"}, sentence="sent nothing for"),
        _broken(
            "stalls in text", Say("half of it"), NEVER, faults={"silent"}, sentence="sent nothing", shown="half of it"
        ),
        _broken("stalls in thinking", Think("hm"), NEVER, faults={"silent"}, sentence="sent nothing", shown=" "),
        *([] if wire == "gemini" else half_calls),  # there a call comes whole, or not at all
        _broken("stalls after a call, before the end", CALL, NEVER, faults={"silent"}, sentence="sent nothing"),
        _broken("keep-alives for ever", Ping(FOR_EVER, every=0.01), faults={"silent"}, sentence="sent nothing"),
        _broken(
            "text, then keep-alives for ever",
            Say("half of it"),
            Ping(FOR_EVER, every=0.01),
            faults={"silent"},
            sentence="sent nothing",
            shown="half of it",
        ),
        _broken("blank lines for ever", Headers(), Raw(b"\n", times=FOR_EVER, every=0.01), faults={"silent"}),
        Mode(
            name="hangs only when the request holds tool messages",
            steps=[_with_tool_messages] * 3,
            faults=frozenset({"silent"}),
            sentence="sent nothing",
            ran=1,
            silent=(2, 3),
        ),
        Mode(
            name="answers only what is not to be streamed",
            steps=[_only_in_one_piece, _only_in_one_piece, (Say("after it"),)],
            faults=frozenset({"silent"}),
            ends="finished",
            final_text="in one piece",
            ran=1,
            silent=(1,),
        ),
        _not_streamed("cut in a whole answer", Say("half of it"), Cut(), faults={"malformed"}),
        _not_streamed("cut in a whole answer with a call", CALL, Cut(), faults={"malformed"}),
        _not_streamed("reset in a whole answer", Say("half of it"), Reset(), faults={"unreachable"}),
        _not_streamed(
            "a page in place of a whole answer",
            Headers(content_type="text/html"),
            Raw(b"<html>"),
            Cut(),
            faults={"malformed", "web_page"},
        ),
        _not_streamed("a whole answer without an end", Raw(b" " * 1_000_000, times=FOR_EVER), faults={"flood"}),
        # Slow, and well.
        _fine("trickles text", Say("a slow answer", chunk=1, delay=0.02), final_text="a slow answer"),
        _fine("trickles arguments", Call(TOOL, {"path": "a"}, chunk=1, delay=0.02), final_text="after it", ran=1),
        _fine("waits, then answers", Wait(0.1), Say("late"), final_text="late"),
        _fine("keep-alives between the words", Say("a "), Ping(5, every=0.02), Say("b"), final_text="a b"),
        # Broken off.
        _broken("reset before headers", Reset(), faults={"unreachable"}, sentence="Connection to model"),
        _broken("reset after headers", Headers(), Reset(), faults={"unreachable", "cut"}),
        _broken("reset in text", Say("half of it"), Reset(), faults={"unreachable", "cut"}, shown="half of it"),
        _broken("reset after a whole call", CALL, Reset(), faults={"unreachable", "cut"}),
        _broken("cut before anything", Headers(), Cut(), faults={"cut", "malformed"}),
        _broken("cut in text", Say("half of it"), Cut(), faults={"cut"}, shown="half of it"),
        _broken("cut in thinking", Think("hm"), Cut(), faults={"cut"}, shown=" "),
        _broken("cut after a whole call", CALL, Cut(), faults={"cut"}),
        *_without_a_reason(wire),
        _broken(
            "an error in the stream",
            Say("half"),
            Raw(_ERROR_EVENT[wire]),
            Cut(),
            faults=set(),
            sentence="It fell over",
            shown="half",
        ),
        # Not the protocol.
        _broken("bad JSON", Headers(), Raw(event + b'data: {"choices": [}\n\n'), NEVER, faults={"malformed"}),
        _broken("bad UTF-8", Headers(), Raw(event + b'data: {"id": "\xff\xfe"}\n\n'), NEVER, faults={"malformed"}),
        _broken("JSON that is no event", Headers(), Raw(event + b"data: 3\n\n"), NEVER, faults={"malformed"}),
        _broken("a 30 MB line", Headers(), Raw(MEGABYTE, times=30), NEVER, faults={"flood"}, sentence=TOO_LONG),
        _broken("a line for ever", Headers(), Raw(MEGABYTE, times=FOR_EVER), faults={"flood"}, sentence=TOO_LONG),
        _broken(
            "an event of lines for ever",
            Headers(),
            Raw(b"data: " + MEGABYTE + b"\n", times=FOR_EVER),
            faults={"flood"},
            sentence=TOO_LONG,
        ),
        _broken(
            "text, then a line for ever",
            Say("half of it"),
            Raw(MEGABYTE, times=FOR_EVER),
            faults={"flood"},
            sentence=TOO_LONG,
            shown="half of it",
        ),
        _broken(
            "text for ever",
            Say(prose(9_000_000), chunk=60_000),
            faults={"flood"},
            sentence="more than 8 MiB of text, thinking and arguments in one answer",
            shown="left out here",
        ),
        _broken(
            "thinking for ever",
            Think(prose(9_000_000), chunk=60_000),
            faults={"flood"},
            sentence="more than 8 MiB of text, thinking and arguments in one answer",
            shown=" ",
        ),
        _broken(
            "a call for ever",
            Call(TOOL, '{"path": "' + "x" * 9_000_000, chunk=60_000),
            faults={"flood"},
            sentence=TOO_LONG if wire == "gemini" else "more than 8 MiB of text, thinking and arguments in one answer",
        ),
        _broken(
            "events for ever",
            Headers(),
            Raw(b"data: {}\n\n" * 5_000, times=FOR_EVER),
            faults={"flood"},
            sentence="more than 200,000 events in one answer",
        ),
        _broken(
            "keep-alives for ever",
            Headers(),
            Raw(b": still here\n\n" * 80_000, times=FOR_EVER),
            faults={"flood"},
            sentence="more than 64 MiB in one response",
        ),
        *(
            _broken(
                f"packed unasked: {ways}",
                Headers(encoding=ways),
                Raw(BOMB),
                Cut(),
                faults={"malformed"},
                sentence=f"sent a compressed response ({ways.lower()})",
            )
            for ways in PACKED
        ),
        _not_streamed(
            "a whole answer, packed",
            Headers(content_type="application/json", encoding="gzip"),
            Raw(BOMB),
            Cut(),
            faults={"malformed"},
        ),
        _broken(
            "an error page, packed",
            Headers(500, "application/json", encoding="gzip"),
            Raw(BOMB),
            Cut(),
            faults={"overloaded"},
            sentence="status 500",
        ),
        _fine("said to be packed as it is", Headers(encoding="identity"), Say("plain"), final_text="plain"),
        _broken("an error page without an end", Headers(500, "text/html"), Raw(MEGABYTE, times=FOR_EVER), faults=set()),
        _broken("wrong content type", Headers(content_type="text/html"), Raw(b"<html>Hello"), Cut(), faults=set()),
        _broken("a page of a gateway", Headers(502, "text/html"), Raw(b"<html>Bad"), Cut(), faults={"overloaded"}),
        # Odd, and complete.
        _fine("duplicate call ids", Call(TOOL, {}, id="one"), replace(CALL, id="one"), final_text="after it", ran=2),
        _fine("an empty call id", Call(TOOL, {}, id=""), final_text="after it", ran=1),
        _fine("arguments that are no JSON", Call(TOOL, "{path"), final_text="after it"),
        _fine("arguments that are a list", Call(TOOL, "[1]"), final_text="after it"),
        _fine("an answer without a word", Finish("stop")),
        *_says_why(wire),
        _fine("ghost text after the end", Say("done"), End(), Say(" and more"), final_text="done"),
        _ghost_call(wire),
        _fine("a reset after the end", Say("done"), Finish("stop"), End(), Wait(0.2), Reset(), final_text="done"),
        _fine("silence after the end", Say("done"), End(), NEVER, final_text="done"),
        _fine("keep-alives after the end", Say("done"), End(), Ping(FOR_EVER, every=0.01), final_text="done"),
        # Refusals.
        _status(400, "rejected"),
        _status(401, "credentials"),
        _status(403, "credentials"),
        _status(404, "rejected"),
        _status(413, "too_long"),
        _status(429, "rate_limited", attempts=2),
        _status(429, "rate_limited", retry_after=0.05, attempts=2),
        _status(429, "rate_limited", retry_after=9_999),
        _status(500, "overloaded", attempts=2),
        _status(529, "overloaded", attempts=2),
        Mode(
            name="the context is too long",
            reply=(Fail(400, _TOO_LONG[wire]),),
            faults=frozenset({"too_long"}),
            sentence=_TOO_LONG[wire],
        ),
    ]
