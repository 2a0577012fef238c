"""A response with status 200 that is no answer: what came is said and classified, streamed or not."""

from __future__ import annotations

import json

import pytest

from holdfast.errors import ProviderFailed
from holdfast.providers.event_stream import events_of_plain, expect_json
from holdfast.providers.protocols.openai_chat_reader import ChatReader
from holdfast.providers.registry import ModelEndpoint, resolve_endpoint

PAGE = "<!doctype html><html><head><title>My Router</title></head><body>hi</body></html>"
BUSY = "<html><head><title>503 Service Temporarily Unavailable</title></head></html>"
ENDPOINT: ModelEndpoint = resolve_endpoint("openrouter:x/y", {"OPENROUTER_API_KEY": "k"})


def failed(body: str, *, document: bool = False) -> ProviderFailed:
    with pytest.raises(ProviderFailed) as caught:
        read(body.encode(), document=document)
    return caught.value


def read(raw: bytes, *, document: bool) -> None:
    if document:
        expect_json("openrouter:x/y", raw)
    list(events_of_plain("openrouter:x/y", raw, ChatReader(ENDPOINT)))


@pytest.mark.parametrize("document", [False, True])
@pytest.mark.parametrize(
    ("body", "fault", "said"),
    [
        (PAGE, "web_page", "a web page came in its place (My Router)"),
        (f"\n <?xml version='1.0'?>{PAGE}", "web_page", "My Router"),
        (BUSY, "overloaded", "503 Service Temporarily Unavailable"),
        ("<HTML><body><h1>502 Bad Gateway</h1>", "overloaded", "502 Bad Gateway"),
        ("<html><body>Please <b>sign in</b></body>", "web_page", "Please sign in"),
        ("upstream connect error or disconnect/reset before headers", "overloaded", "upstream connect error"),
        ("Internal error", "malformed", "sent a text in place of an answer: Internal error."),
    ],
)
def test_a_page_or_a_text(body: str, fault: str, said: str, *, document: bool) -> None:
    found = failed(body, document=document)
    assert found.fault == fault
    assert said in str(found)


@pytest.mark.parametrize(
    ("error", "fault", "said"),
    [
        ({"error": {"message": "model is loading", "code": 503}}, "overloaded", "status 503: model is loading."),
        ({"error": {"message": "Insufficient credits", "code": 402}}, "no_credit", "Insufficient credits"),
        ({"error": "prompt is too long: 9 tokens > 8 maximum"}, "too_long", "prompt is too long"),
        ({"detail": "Not here"}, "cut", "Not here"),
    ],
)
def test_an_error_as_json_without_a_stream(error: object, fault: str, said: str) -> None:
    found = failed(json.dumps(error))
    assert found.fault == fault
    assert said in str(found)


def test_a_whole_answer_in_place_of_a_stream_is_read() -> None:
    reader = ChatReader(ENDPOINT)
    answer = {"choices": [{"message": {"role": "assistant", "content": "whole"}, "finish_reason": "stop"}]}
    events = events_of_plain("openrouter:x/y", json.dumps(answer).encode(), reader)
    assert "".join(getattr(each, "text", "") for each in events) == "whole"
    assert reader.complete


@pytest.mark.parametrize("body", [b"", b"\n\n", b": PROCESSING\n\n: AGAIN\n\n", b"data: {}", b"event: x\nid: 7\n"])
def test_a_stream_without_events_or_with_comments_alone_is_no_text(body: bytes) -> None:
    assert list(events_of_plain("m", body, ChatReader(ENDPOINT))) == []  # may be empty: that is what is tried
