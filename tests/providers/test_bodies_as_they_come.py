"""An answer is read whatever its body looks like, and what is no answer is said in its own words."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from test_http_model import EVENTS, Body, answer, events_of, failure, text_of

from holdfast.errors import ProviderFailed
from holdfast.providers.error_mapping import explanation_of, http_failure
from holdfast.providers.model import StreamEvent, StreamFinished
from holdfast.session.journal.parts import CallPart

Json = dict[str, Any]
TEXT = "Grüße 你好 🎉"
DOCUMENT = "application/json"

MODELS = {
    "chat": "home:m",
    "anthropic": "anthropic:claude-opus-4-7",
    "responses": "openai:gpt-5.5",
    "gemini": "google:gemini-3-flash",
}
MESSAGES: dict[str, list[Json]] = {
    "chat": [
        {"choices": [{"index": 0, "delta": {"content": TEXT}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ],
    "anthropic": [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": TEXT}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ],
    "responses": [
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": TEXT},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ],
    "gemini": [
        {"candidates": [{"content": {"role": "model", "parts": [{"text": TEXT}]}}]},
        {"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": "STOP"}]},
    ],
}


def written(messages: list[Json]) -> list[bytes]:
    return [json.dumps(each, ensure_ascii=False).encode() for each in messages]


def events(messages: list[Json]) -> bytes:
    return b"".join(b"data: " + each + b"\n\n" for each in written(messages))


ARRANGED: dict[str, tuple[str, Callable[[list[Json]], bytes]]] = {
    "events": (EVENTS, events),
    "events as JSON": (DOCUMENT, events),
    "events behind blank lines, as JSON": (DOCUMENT, lambda each: b"\n\r\n" + events(each)),
    "events with a mark, as JSON": (DOCUMENT, lambda each: b"\xef\xbb\xbf" + events(each)),
    "a comment first, as JSON": (DOCUMENT, lambda each: b": ping\n\n" + events(each)),
    "the last blank line is missing": (EVENTS, lambda each: events(each).removesuffix(b"\n\n")),
    "no blank lines": (EVENTS, lambda each: b"".join(b"data: " + one + b"\n" for one in written(each))),
    "blank events": (EVENTS, lambda each: b"data:\n\ndata\n\ndata:  \n\n" + events(each)),
    "signs of life": (EVENTS, lambda each: b"event: keep-alive\ndata: 12:01\n\nevent: PING\ndata\n\n" + events(each)),
    "a line for each, as JSON": (DOCUMENT, lambda each: b"\n".join(written(each))),
    "a line for each": ("application/x-ndjson", lambda each: b"\n".join(written(each)) + b"\n"),
    "a list": (DOCUMENT, lambda each: b"[" + b",\n".join(written(each)) + b"]"),
    "a list, without a type": ("", lambda each: b"[" + b",".join(written(each)) + b"]"),
}


@pytest.mark.parametrize("wire", MODELS)
@pytest.mark.parametrize(("kind", "arrange"), ARRANGED.values(), ids=ARRANGED)
@pytest.mark.parametrize("size", [1, 1_000_000], ids=["bytes", "whole"])
async def test_an_answer_is_the_same_however_its_body_is_arranged(
    wire: str, kind: str, arrange: Callable[[list[Json]], bytes], size: int
) -> None:
    body = arrange(MESSAGES[wire])
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    got = await events_of(answer(Body(pieces), content_type=kind), name=MODELS[wire])
    assert text_of(got) == TEXT
    assert isinstance(got[-1], StreamFinished)


@pytest.mark.parametrize("wire", MODELS)
async def test_events_that_come_though_a_document_was_asked_for_are_read(wire: str) -> None:
    got = await events_of(answer(Body([events(MESSAGES[wire])])), name=MODELS[wire], non_streaming=True)
    assert text_of(got) == TEXT


@pytest.mark.parametrize("wire", MODELS)
async def test_an_event_that_is_cut_is_not_read(wire: str) -> None:
    """The last message is what ends the answer: without its last byte nothing has ended."""
    cut = events(MESSAGES[wire]).removesuffix(b"\n\n")[:-1]
    got: list[StreamEvent] = []
    with suppress(ProviderFailed):
        got = await events_of(answer(Body([cut]), content_type=EVENTS), name=MODELS[wire])
    finished = any(isinstance(each, StreamFinished) for each in got)
    assert finished == (wire == "anthropic"), "only Anthropic's last message says nothing more"


NO_ANSWERS = {
    "an error in a list": (b'[{"error": {"code": 429, "message": "Quota."}}]', "Quota.", "rate_limited"),
    "a text": (b'"Internal error"', "Internal error", "malformed"),
    "nothing": (b"null", "null", "malformed"),
    "no JSON": (b"{'error': {'message': 'CUDA out of memory'}}", "CUDA out of memory", "malformed"),
    "a page": (b"<html><head><title>Log in</title></head></html>", "Log in", "web_page"),
    "a busy server": (b"The engine is currently overloaded, please try again later", "overloaded", "overloaded"),
}


@pytest.mark.parametrize("wire", MODELS)
@pytest.mark.parametrize(("body", "words", "fault"), NO_ANSWERS.values(), ids=NO_ANSWERS)
@pytest.mark.parametrize("kind", ["event", DOCUMENT])
async def test_what_is_no_answer_is_said_in_its_own_words(
    wire: str, body: bytes, words: str, fault: str, kind: str
) -> None:
    raw, named = (b"data: " + body + b"\n\n", EVENTS) if kind == "event" else (body, DOCUMENT)
    with pytest.raises(ProviderFailed) as caught:
        await events_of(answer(Body([raw]), content_type=named), name=MODELS[wire])
    assert words in str(caught.value)
    assert caught.value.fault == fault


async def test_the_error_of_a_choice_is_the_reason() -> None:
    choice = {"delta": {"content": ""}, "finish_reason": "error", "error": {"code": 502, "message": "Upstream died."}}
    failed = await failure(answer(Body([events([{"choices": [choice]}])]), content_type=EVENTS))
    assert "Upstream died." in str(failed)
    assert failed.fault == "overloaded"


@pytest.mark.parametrize("status", [204, 205, 304, 307, 600, 999])
async def test_a_status_that_has_no_answer_is_said(status: int) -> None:
    failed = await failure(answer(Body([]), status))
    assert f"failed with status {status}" in str(failed)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ('["bad thing"]', "bad thing"),
        ('{"error": ["a", {"message": "b"}]}', "a; b"),
        ('{"detail": [{"loc": ["body", 0, "model"], "msg": "field required", "type": "missing"}]}', "field required"),
        ('{"errors": [{"title": "Too large"}]}', "Too large"),
        ('{"error": null, "message": null}', ""),
        ('{"error": {}}', ""),
        ('{"error": 17}', "17"),
        ('{"error": {"code": 5, "hint": "x"}}', '{"code":5,"hint":"x"}'),
    ],
)
def test_an_error_of_any_shape_is_said_in_words(raw: str, words: str) -> None:
    said = explanation_of(json.loads(raw))
    assert said == words if not words or words != "field required" else said == "body.0.model: field required"
    assert "{'" not in str(http_failure("home:m", 400, {}, raw.encode()))


CALL = {"index": 0, "id": "c", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
FLAT = {"index": 0, "id": "c", "name": "read", "arguments": '{"path": "a"}'}
ODD_CALLS: dict[str, tuple[str, list[Json]]] = {
    "not in a list": ("chat", [{"choices": [{"delta": {"tool_calls": CALL}, "finish_reason": "tool_calls"}]}]),
    "without its object": ("chat", [{"choices": [{"delta": {"tool_calls": [FLAT]}, "finish_reason": "tool_calls"}]}]),
    "an object as arguments": (
        "responses",
        [
            {
                "type": "response.completed",
                "response": {
                    "status": "completed",
                    "output": [{"type": "function_call", "call_id": "c", "name": "read", "arguments": {"path": "a"}}],
                },
            }
        ],
    ),
    "arguments as a text": (
        "gemini",
        [
            {
                "candidates": [
                    {
                        "content": {"parts": [{"functionCall": {"id": "c", "name": "read", "args": '{"path": "a"}'}}]},
                        "finishReason": "STOP",
                    }
                ]
            }
        ],
    ),
}


@pytest.mark.parametrize(("wire", "messages"), ODD_CALLS.values(), ids=ODD_CALLS)
async def test_a_call_in_an_odd_form_is_read(wire: str, messages: list[Json]) -> None:
    got = await events_of(answer(Body([events(messages)]), content_type=EVENTS), name=MODELS[wire])
    finished = got[-1]
    assert isinstance(finished, StreamFinished)
    calls = [part for part in finished.parts if isinstance(part, CallPart)]
    assert [(each.name, json.loads(each.arguments)) for each in calls] == [("read", {"path": "a"})]


async def test_a_message_that_stops_without_a_reason_is_complete_if_it_says_something() -> None:
    messages = [each for each in MESSAGES["anthropic"] if each["type"] != "message_delta"]
    got = await events_of(answer(Body([events(messages)]), content_type=EVENTS), name=MODELS["anthropic"])
    assert isinstance(got[-1], StreamFinished)
    assert got[-1].finish == "stop"
