"""How a response of OpenAI Responses is read when it is not as the documents have it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from holdfast.errors import ProviderFailed
from holdfast.history.formats.format import is_arguments
from holdfast.providers.model import CallDelta, StreamFinished, TextDelta, ThinkingDelta
from holdfast.providers.model_table import cost_of, facts_of
from holdfast.providers.protocols.openai_responses import WIRE
from holdfast.providers.protocols.protocol import Delta
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage

Json = dict[str, Any]
TARGET = resolve_endpoint("openai:gpt-5.5", {"OPENAI_API_KEY": "k"})
COMPLETED: Json = {"type": "response.completed", "response": {"status": "completed", "output": []}}


def event(kind: str, **fields: object) -> Json:
    return {"type": f"response.{kind}", **fields}


def call(item_id: str, arguments: str = "", *, name: str = "read") -> Json:
    fields = {"call_id": f"call_{item_id}", "name": name, "arguments": arguments}
    return {"type": "function_call", "id": item_id, **fields}


def read(*events: Json) -> tuple[list[Delta], StreamFinished]:
    reader = WIRE.reader(TARGET)
    deltas = [found for each in events for found in reader.event(each["type"], json.dumps(each).encode())]
    return deltas, reader.finished()


def called(item_id: str, arguments: str) -> CallPart:
    return CallPart("", "read", arguments, wire_id=f"call_{item_id}", item_id=item_id, provider="openai")


def test_a_gateway_that_changes_the_ids_is_understood_by_the_index() -> None:
    _, finished = read(
        event("output_item.added", output_index=0, item=call("a")),
        event("output_item.added", output_index=1, item=call("b")),
        event("function_call_arguments.delta", output_index=0, item_id="x", delta='{"n":'),
        event("function_call_arguments.delta", output_index=1, item_id="y", delta="{}"),
        event("function_call_arguments.delta", output_index=0, item_id="z", delta="1}"),
        event("output_item.done", output_index=0, item={**call("v", '{"n":1}'), "call_id": "call_a"}),
        COMPLETED,
    )
    assert finished.parts == (called("a", '{"n":1}'), called("b", "{}"))
    assert finished.finish == "calls"


def test_a_gateway_that_has_one_index_is_understood_by_the_ids() -> None:
    _, finished = read(
        event("output_item.added", output_index=0, item=call("a")),
        event("output_item.added", output_index=0, item=call("b")),
        event("function_call_arguments.delta", output_index=0, item_id="a", delta='{"n":1}'),
        event("function_call_arguments.delta", output_index=0, item_id="b", delta="{}"),
        COMPLETED,
    )
    assert finished.parts == (called("a", '{"n":1}'), called("b", "{}"))


def test_what_only_the_last_events_of_an_item_hold_is_read() -> None:
    deltas, finished = read(
        event("output_item.added", output_index=0, item=call("a")),
        event("function_call_arguments.done", output_index=0, item_id="a", arguments='{"n":1}'),
        event("output_item.done", output_index=1, item=call("b", "{}")),
        event("output_text.done", output_index=2, item_id="m", content_index=0, text="so"),
        event(
            "output_item.done",
            output_index=3,
            item={"type": "reasoning", "id": "r", "summary": [{"text": "hm"}], "encrypted_content": "seal"},
        ),
        COMPLETED,
    )
    assert finished.parts == (
        called("a", '{"n":1}'),
        called("b", "{}"),
        TextPart("so"),
        ThinkingPart("hm", signature="seal", id="r", provider="openai"),
    )
    assert [each for each in deltas if not isinstance(each, CallDelta)] == [TextDelta("so"), ThinkingDelta("hm")]


def test_what_the_deltas_brought_is_not_read_again() -> None:
    item = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "so."}]}
    deltas, finished = read(
        event("output_text.delta", output_index=0, item_id="m", content_index=0, delta="so"),
        event("output_text.delta", output_index=0, item_id="m", content_index=0, delta="."),
        event("output_text.done", output_index=0, item_id="m", content_index=0, text="so."),
        event("output_item.done", output_index=0, item=item),
        event("output_item.added", output_index=1, item=call("a")),
        event("output_item.added", output_index=1, item=call("a")),
        event("function_call_arguments.delta", output_index=1, item_id="a", delta="{}"),
        event("function_call_arguments.done", output_index=1, item_id="a", arguments="{}"),
        event("output_item.done", output_index=1, item=call("a", "{}")),
        {"type": "response.completed", "response": {"status": "completed", "output": [item, call("a", "{}")]}},
    )
    assert finished.parts == (TextPart("so."), called("a", "{}"))
    assert sum(isinstance(each, TextDelta) for each in deltas) == 2


def test_the_items_of_the_last_event_are_not_read_again() -> None:
    """A gateway may give them other IDs there, and leave some out."""
    _, finished = read(
        event("output_item.added", output_index=1, item=call("a", "{}")),
        event("completed", response={"status": "completed", "output": [call("z", "{}")]}),
    )
    assert finished.parts == (called("a", "{}"),)


def test_arguments_that_the_last_event_has_otherwise_are_no_object_so_the_call_is_refused() -> None:
    _, finished = read(
        event("output_item.added", output_index=0, item=call("a")),
        event("function_call_arguments.delta", output_index=0, item_id="a", delta='{"n":1}'),
        event("function_call_arguments.done", output_index=0, item_id="a", arguments='{"n": 2}'),
        COMPLETED,
    )
    assert finished.parts == (called("a", '{"n":1}{"n": 2}'),)
    assert not is_arguments('{"n":1}{"n": 2}')


def test_arguments_before_their_call_wait_for_it() -> None:
    _, finished = read(
        event("function_call_arguments.delta", output_index=0, item_id="a", delta='{"n":1}'),
        event("output_item.done", output_index=0, item=call("a", '{"n":1}')),
        COMPLETED,
    )
    assert finished.parts == (called("a", '{"n":1}'),)


def test_a_response_that_comes_only_at_the_end_is_read_there() -> None:
    output = [{"type": "message", "content": [{"type": "output_text", "text": "so"}]}, call("a", "{}")]
    deltas, finished = read(event("completed", response={"status": "completed", "output": output}))
    assert finished.parts == (TextPart("so"), called("a", "{}"))
    assert deltas[0] == TextDelta("so")


def test_several_summaries_are_parts_of_one_item_and_the_first_has_the_seal() -> None:
    _, finished = read(
        event("output_item.added", output_index=0, item={"type": "reasoning", "id": "r", "summary": []}),
        event("reasoning_summary_text.delta", output_index=0, item_id="r", summary_index=0, delta="one"),
        event("reasoning_summary_text.delta", output_index=0, item_id="r", summary_index=1, delta="two"),
        event("output_item.done", output_index=0, item={"type": "reasoning", "id": "r", "encrypted_content": "seal"}),
        COMPLETED,
    )
    assert finished.parts == (
        ThinkingPart("one", signature="seal", id="r", provider="openai"),
        ThinkingPart("two", id="r", provider="openai"),
    )


def test_what_an_open_model_thinks_is_shown_and_kept_apart_from_summaries() -> None:
    deltas, finished = read(
        event("reasoning_text.delta", output_index=0, item_id="r", content_index=1_000_000_000, delta="so"),
        event("reasoning_text.delta", output_index=0, item_id="r", content_index=0, delta="h"),
        event("reasoning_text.delta", output_index=0, item_id="r", content_index=0, delta="m"),
        COMPLETED,
    )
    assert deltas == [ThinkingDelta("so"), ThinkingDelta("h"), ThinkingDelta("m")]
    assert finished.parts == (ThinkingPart("", id="r", provider="openai", details={"raw_content": ["hm", "so"]}),)


def test_reasoning_without_anything_in_it_is_no_part() -> None:
    item: Json = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": None}
    _, finished = read(event("output_item.done", output_index=0, item=item), COMPLETED)
    assert finished.parts == ()


@pytest.mark.parametrize("delta", [None, ""])
def test_a_delta_of_nothing_is_nothing(delta: object) -> None:
    deltas, finished = read(event("output_text.delta", output_index=0, item_id="m", delta=delta), COMPLETED)
    assert (deltas, finished.parts) == ([], ())


def test_a_refusal_is_the_end() -> None:
    _, finished = read(event("refusal.delta", output_index=0, item_id="m", delta="I cannot"), COMPLETED)
    assert finished.finish == "refusal"
    reader = WIRE.reader(TARGET)
    content = [{"type": "refusal", "refusal": "I cannot"}]
    list(
        reader.document(
            json.dumps({"status": "completed", "output": [{"type": "message", "content": content}]}).encode()
        )
    )
    assert reader.finished().finish == "refusal"


@pytest.mark.parametrize(
    ("kind", "response", "finish"),
    [
        ("incomplete", {"incomplete_details": {"reason": "max_output_tokens"}}, "max_tokens"),
        ("incomplete", {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "refusal"),
        ("completed", {}, "stop"),
    ],
)
def test_why_it_ended(kind: str, response: Json, finish: str) -> None:
    assert read(event(kind, response=response))[1].finish == finish


@pytest.mark.parametrize("response", [{"status": "incomplete"}, {}, {"incomplete_details": None}])
def test_an_incomplete_response_without_a_reason_is_closed_and_not_complete(response: Json) -> None:
    reader = WIRE.reader(TARGET)
    list(reader.event("", json.dumps(event("incomplete", response=response)).encode()))
    assert (reader.closed, reader.complete) == (True, False)


@pytest.mark.parametrize("status", ["failed", "cancelled", "surprise"])
def test_another_status_is_an_incomplete_response(status: str) -> None:
    with pytest.raises(ProviderFailed, match=f"ended its response with '{status}'") as caught:
        read(event("failed", response={"status": status, "error": None}))
    assert caught.value.fault == "cut"


@pytest.mark.parametrize("tier", ["default", "flex"])
def test_a_response_has_the_price_of_its_tier(tier: str) -> None:
    usage = {"input_tokens": 3_000_000, "output_tokens": 1_000_000, "input_tokens_details": {"cached_tokens": 9}}
    _, finished = read(event("completed", response={"status": "completed", "usage": usage, "service_tier": tier}))
    counted = Usage(input_tokens=3_000_000, output_tokens=1_000_000, cache_read_tokens=9)
    assert finished.usage == msgspec.structs.replace(
        counted, cost=cost_of(facts_of(TARGET.name), counted, service_tier=tier)
    )
    assert finished.usage.cost is not None


def test_what_was_not_counted_has_no_price() -> None:
    _, finished = read(event("completed", response={"status": "completed", "usage": None}))
    assert finished.usage == Usage()


@pytest.mark.parametrize("usage", ["x", {"input_tokens": "many", "output_tokens": -1}])
def test_a_count_that_is_none_is_nothing(usage: object) -> None:
    _, finished = read(event("completed", response={"status": "completed", "usage": usage}))
    assert msgspec.structs.replace(finished.usage, cost=None) == Usage()


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("response.output_text.delta", b'{"choices": [}', "JSONDecodeError"),
        ("response.output_text.delta", b"3", "wrong type"),
        ("", json.dumps(event("output_text.delta", delta=3)).encode(), "delta has the wrong type"),
        ("", json.dumps(event("output_item.added", item={**call("a"), "name": 3})).encode(), "name has the wrong type"),
        ("", json.dumps(event("completed", response={"status": 3})).encode(), "status has the wrong type"),
    ],
)
def test_what_is_not_the_protocol_is_invalid(name: str, data: bytes, message: str) -> None:
    with pytest.raises(ProviderFailed, match=message) as caught:
        list(WIRE.reader(TARGET).event(name, data))
    assert caught.value.fault == "malformed"


def test_an_error_that_is_no_json_is_shown_as_it_is() -> None:
    with pytest.raises(ProviderFailed, match="upstream went away"):
        list(WIRE.reader(TARGET).event("error", b"upstream went away"))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>", "JSONDecodeError"),
        (b'{"id": "x"}', "it has no output"),
        (b'{"output": "so"}', "output has the wrong type"),
        (b'{"error": {"code": "server_error", "message": "It fell over."}}', "status 500: It fell over"),
    ],
)
def test_a_document_that_is_no_response_is_a_failure(body: bytes, message: str) -> None:
    with pytest.raises(ProviderFailed, match=message):
        list(WIRE.reader(TARGET).document(body))


def test_another_protocols_end_says_nothing() -> None:
    reader = WIRE.reader(TARGET)
    assert list(reader.event("", b"[DONE]")) == []
    assert not reader.complete
