"""How a response of Anthropic Messages is read when it is not as the documents have it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from holdfast.errors import ProviderFailed
from holdfast.providers.model import CallDelta, StreamFinished, TextDelta
from holdfast.providers.model_table import cost_of, facts_of
from holdfast.providers.protocols.anthropic_messages import WIRE
from holdfast.providers.protocols.protocol import Delta
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage

Json = dict[str, Any]
TARGET = resolve_endpoint("anthropic:m", {"ANTHROPIC_API_KEY": "k"})
STOPPED = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}
CLOSED = {"type": "message_stop"}


def begun(index: int, kind: str, **fields: object) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}}


def delta(index: int, kind: str, **fields: object) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def read(*events: Json) -> tuple[list[Delta], StreamFinished]:
    reader = WIRE.reader(TARGET)
    deltas = [found for each in events for found in reader.event(each["type"], json.dumps(each).encode())]
    return deltas, reader.finished()


def failure(events: Sequence[tuple[str, bytes]]) -> ProviderFailed:
    *before, (name, data) = events
    reader = WIRE.reader(TARGET)
    for each in before:
        list(reader.event(*each))
    with pytest.raises(ProviderFailed) as caught:
        list(reader.event(name, data))
    return caught.value


def test_a_response_is_complete_with_its_reason_and_closed_with_its_last_event() -> None:
    reader = WIRE.reader(TARGET)
    states: list[tuple[bool, bool]] = []
    for each in (begun(0, "text", text="so"), STOPPED, CLOSED):
        list(reader.event("", json.dumps(each).encode()))  # the type in the data is enough
        states.append((reader.complete, reader.closed))
    assert states == [(False, False), (True, False), (True, True)]


def test_the_reason_that_came_is_not_forgotten() -> None:
    _, finished = read(STOPPED, {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 9}})
    assert (finished.finish, finished.usage.output_tokens) == ("stop", 9)


def test_a_count_that_is_left_out_later_stays() -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 10, "output_tokens": 1}
    later = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": None}}
    _, finished = read({"type": "message_start", "message": {"usage": usage}}, later)
    assert finished.usage == Usage(input_tokens=115, output_tokens=1, cache_read_tokens=100, cache_write_tokens=10)


def test_a_response_has_its_price_and_one_that_was_not_counted_has_none() -> None:
    priced = resolve_endpoint("anthropic:claude-sonnet-4-5", {"ANTHROPIC_API_KEY": "k"})
    costs: list[str | None] = []
    for usage in ({"input_tokens": 1_000_000, "output_tokens": 0}, {}):
        reader = WIRE.reader(priced)
        list(reader.event("", json.dumps({**STOPPED, "usage": usage}).encode()))
        costs.append(reader.finished().usage.cost)
    assert costs == [cost_of(facts_of(priced.name), Usage(input_tokens=1_000_000)), None]
    assert costs[0] is not None


@pytest.mark.parametrize("usage", [None, "x", [], {"input_tokens": "many", "output_tokens": -1}])
def test_a_count_that_is_none_is_nothing(usage: object) -> None:
    _, finished = read({"type": "message_start", "message": {"usage": usage}}, {**STOPPED, "usage": usage})
    assert finished.usage == Usage()


def test_blocks_that_all_have_the_same_number_are_blocks_of_their_own() -> None:
    deltas, finished = read(
        begun(0, "text", text=""),
        delta(0, "text_delta", text="so"),
        begun(0, "tool_use", id="a", name="read", input={}),
        delta(0, "input_json_delta", partial_json='{"n":1}'),
        begun(0, "tool_use", id="b", name="list", input={}),
        delta(0, "input_json_delta", partial_json="{}"),
        STOPPED,
    )
    assert finished.parts == (
        TextPart("so"),
        CallPart("", "read", '{"n":1}', wire_id="a"),
        CallPart("", "list", "{}", wire_id="b"),
    )
    assert finished.finish == "calls"  # though the server says that the turn ended
    assert [each.index for each in deltas if isinstance(each, CallDelta)] == [1, 1, 2, 2]


def test_text_without_the_beginning_of_its_block_is_read() -> None:
    deltas, finished = read(delta(7, "text_delta", text="so"), delta(7, "text_delta", text="."), STOPPED)
    assert (deltas, finished.parts) == ([TextDelta("so"), TextDelta(".")], (TextPart("so."),))


@pytest.mark.parametrize("before", [[], [begun(1, "text", text="so")]])
def test_arguments_without_their_call_are_not_left_out_in_silence(before: list[Json]) -> None:
    events = [*before, delta(1, "input_json_delta", partial_json="{}")]
    failed = failure([("", json.dumps(each).encode()) for each in events])
    assert failed.fault == "malformed"
    assert "block 1" in str(failed)


def test_a_tool_that_the_provider_runs_itself_is_ignored_with_its_arguments() -> None:
    _, finished = read(
        begun(0, "server_tool_use", id="srv", name="web_search", input={}),
        delta(0, "input_json_delta", partial_json="{}"),
        begun(1, "web_search_tool_result", tool_use_id="srv", content=[]),
        begun(2, "text", text="so"),
        STOPPED,
    )
    assert finished.parts == (TextPart("so"),)


def test_a_call_whose_input_comes_at_once_has_it() -> None:
    _, finished = read(begun(0, "tool_use", id="a", name="read", input={"path": "ä"}), STOPPED)
    assert finished.parts == (CallPart("", "read", '{"path": "ä"}', wire_id="a"),)


def test_an_empty_id_is_none() -> None:
    _, finished = read(begun(0, "tool_use", id="", name="read", input={}), STOPPED)
    assert finished.parts == (CallPart("", "read", ""),)


def test_redacted_thinking_keeps_its_data_as_its_signature() -> None:
    _, finished = read(begun(0, "redacted_thinking", data="data"), STOPPED)
    assert finished.parts == (ThinkingPart("", signature="data", id="redacted_thinking", provider="anthropic"),)


def test_half_a_surrogate_pair_is_read() -> None:
    reader = WIRE.reader(TARGET)
    half = b'{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "%s"}}'
    found = [each for text in (b"\\ud83d", b"\\ude00") for each in reader.event("", half.replace(b"%s", text))]
    assert found == [TextDelta("\ud83d"), TextDelta("\ude00")]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("content_block_delta", b'{"choices": [}', "JSONDecodeError"),
        ("content_block_delta", b"3", "wrong type"),
        ("content_block_delta", b"\xff", "UnicodeDecodeError"),
        ("", json.dumps(delta(0, "text_delta", text=3)).encode(), "text has the wrong type"),
        ("", json.dumps(begun(0, "tool_use", id=3, name="read")).encode(), "id has the wrong type"),
        ("", b'{"type": "content_block_start", "index": "0", "content_block": {"type": "text"}}', "index has"),
    ],
)
def test_what_is_not_the_protocol_is_invalid(name: str, data: bytes, message: str) -> None:
    failed = failure([(name, data)])
    assert failed.fault == "malformed"
    assert str(failed).startswith("Model 'anthropic:m' sent an invalid response: ")
    assert message in str(failed)


@pytest.mark.parametrize(
    ("kind", "fault", "status"),
    [
        ("overloaded_error", "overloaded", 529),
        ("rate_limit_error", "rate_limited", 429),
        ("invalid_request_error", "rejected", 400),
        ("surprise_error", "cut", None),
    ],
)
def test_an_error_in_the_stream_has_the_status_of_its_kind(kind: str, fault: str, status: int | None) -> None:
    error = json.dumps({"type": "error", "error": {"type": kind, "message": "It fell over."}}).encode()
    for name in ("error", ""):
        failed = failure([(name, error)])
        assert (failed.fault, failed.status) == (fault, status)
        assert "It fell over." in str(failed)


def test_an_error_that_is_no_json_is_shown_as_it_is() -> None:
    assert "upstream went away" in str(failure([("error", b"upstream went away")]))


def test_keep_alives_and_another_protocols_end_say_nothing() -> None:
    reader = WIRE.reader(TARGET)
    assert [*reader.event("ping", b""), *reader.event("", b"[DONE]")] == []
    assert not reader.complete


@pytest.mark.parametrize("reason", ["surprise", "error"])
def test_an_unknown_reason_is_an_incomplete_response(reason: str) -> None:
    with pytest.raises(ProviderFailed, match=f"ended its response with '{reason}'") as caught:
        read(begun(0, "text", text="so"), {**STOPPED, "delta": {"stop_reason": reason}})
    assert caught.value.fault == "cut"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>", "JSONDecodeError"),
        (b'{"id": "x"}', "it has no content"),
        (b'{"content": 5}', "content has the wrong type"),
        (b'{"type": "error", "error": {"type": "api_error", "message": "It fell over."}}', "It fell over."),
    ],
)
def test_a_document_that_is_no_message_is_a_failure(body: bytes, message: str) -> None:
    with pytest.raises(ProviderFailed, match=message):
        list(WIRE.reader(TARGET).document(body))


def test_a_document_without_a_reason_is_not_complete() -> None:
    reader = WIRE.reader(TARGET)
    assert list(reader.document(b'{"content": [{"type": "text", "text": "so"}]}')) == [TextDelta("so")]
    assert not reader.complete
