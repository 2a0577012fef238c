"""The bounds of an answer at their edges: what is just within is counted, what is just over is a flood."""

from __future__ import annotations

import pytest

from holdfast.providers.model import CallDelta, TextDelta, ThinkingDelta
from holdfast.providers.protocols.answer_bounds import (
    LONGEST_CALL_NAME,
    MIB,
    MOST_CALLS,
    MOST_EVENTS,
    MOST_PARTS,
    MOST_TEXT,
    MOST_TURN_TEXT,
    MOST_WIRE_BYTES,
    AnswerSize,
    Flood,
    WireSize,
    answer_room,
)
from holdfast.providers.protocols.response_parts import ResponseParts
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart

LIMITS = (8 * MIB, 64 * MIB, 4_096, 200_000)


def test_the_limits_are_those_that_the_docs_state() -> None:
    assert (MOST_TEXT, MOST_TURN_TEXT, MOST_CALLS, MOST_EVENTS) == LIMITS


@pytest.mark.parametrize("unit", ["x", "ä", "🌊", "\ud83d"], ids=ascii)
def test_text_thinking_and_arguments_count_together_in_bytes(unit: str) -> None:
    size = len(unit.encode("utf-8", "surrogatepass"))
    third = unit * (MOST_TEXT // 4 // size)
    answer = AnswerSize()
    answer.add(TextDelta(third))
    answer.add(ThinkingDelta(third))
    answer.add(CallDelta(2, "", third))
    answer.add(CallDelta(2, third, ""))  # a name is text, too
    assert MOST_TEXT - 4 * size < answer.bytes <= MOST_TEXT
    answer.add(TextDelta("x" * (MOST_TEXT - answer.bytes)))
    with pytest.raises(Flood, match="more than 8 MiB of text, thinking and arguments in one answer"):
        answer.add(TextDelta("x"))


def test_calls_count_once_however_many_pieces_they_have() -> None:
    answer = AnswerSize()
    for index in range(MOST_CALLS):
        answer.add(CallDelta(index, "read", ""))
        answer.add(CallDelta(index, "", "{}"))
    with pytest.raises(Flood, match="more than 4,096 calls in one answer"):
        answer.add(CallDelta(MOST_CALLS, "read", ""))


def test_events_count() -> None:
    answer = AnswerSize()
    for _ in range(MOST_EVENTS):
        answer.add(TextDelta("x"))
    with pytest.raises(Flood, match="more than 200,000 events in one answer"):
        answer.add(TextDelta("x"))


@pytest.mark.parametrize(
    "part",
    [
        TextPart("x" * 1_000),
        ThinkingPart("x" * 1_000),
        ThinkingPart("", signature="x" * 1_000),
        ThinkingPart("", details={"a": "x" * 992}),
        CallPart(id="", name="x", arguments="x" * 999),
        CallPart(id="", name="x" * 1_000, arguments=""),
        CallPart(id="", name="x" * 100, arguments="x" * 800, details={"a": "x" * 92}),
    ],
    ids=lambda part: type(part).__name__,
)
def test_a_complete_answer_counts_also_what_no_delta_told(part: Part) -> None:
    answer = AnswerSize(1_000)
    answer.finish([part])
    assert answer.bytes == 1_000
    with pytest.raises(Flood, match="more than 64 MiB of text, thinking and arguments in the answers of one turn"):
        AnswerSize(999).finish([part])


def test_a_complete_answer_counts_its_calls() -> None:
    call = CallPart(id="", name="read", arguments="{}")
    AnswerSize().finish([call] * MOST_CALLS)
    with pytest.raises(Flood, match="4,096 calls"):
        AnswerSize().finish([call] * (MOST_CALLS + 1))


def test_a_turn_has_room_for_eight_answers() -> None:
    assert answer_room(0) == MOST_TURN_TEXT
    assert answer_room(MOST_TURN_TEXT - 1) == 1
    assert answer_room(MOST_TURN_TEXT + 1) == 0
    last = AnswerSize(answer_room(MOST_TURN_TEXT - 5))
    last.add(TextDelta("12345"))
    with pytest.raises(Flood, match="in the answers of one turn"):
        last.add(TextDelta("6"))


def test_a_response_counts_its_bytes_and_its_events_as_they_arrive() -> None:
    wire = WireSize()
    wire.add_bytes(MOST_WIRE_BYTES)
    for _ in range(MOST_EVENTS):
        wire.add_event()
    with pytest.raises(Flood, match="more than 64 MiB in one response"):
        wire.add_bytes(1)
    with pytest.raises(Flood, match="more than 200,000 events in one answer"):
        wire.add_event()


def test_parts_without_a_word_are_counted_too() -> None:
    parts = ResponseParts("p")
    for key in range(MOST_PARTS):
        parts.thinking(("thinking", key))
    for key in range(MOST_CALLS):
        parts.call(("call", key))
    with pytest.raises(Flood, match="4,096 separate texts"):
        parts.text("one more")
    with pytest.raises(Flood, match="4,096 calls"):
        parts.call("one more")


def test_the_name_of_a_call_has_an_end() -> None:
    parts = ResponseParts("p")
    parts.add_call(0, "x" * (LONGEST_CALL_NAME - 1), "")
    parts.add_call(0, "x", "{}")
    with pytest.raises(Flood, match="a call whose name has more than 1,024 characters"):
        parts.add_call(0, "x", "")
