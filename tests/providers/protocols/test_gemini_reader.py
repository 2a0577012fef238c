"""What is read of Gemini's responses: parts as the journal keeps them, how a response ends, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from holdfast.errors import ProviderFailed
from holdfast.providers.model import CallDelta, ModelFinish, StreamFinished, TextDelta, ThinkingDelta
from holdfast.providers.model_table import cost_of, facts_of
from holdfast.providers.protocols.gemini import WIRE
from holdfast.providers.protocols.protocol import Delta, ResponseReader
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import AnswerRefusal, CallPart, TextPart, ThinkingPart, Usage

TARGET = resolve_endpoint("google:gemini-3-m", {"GEMINI_API_KEY": "k"})
STOP = {"finishReason": "STOP"}
SIGNED = {"thoughtSignature": "c2ln"}
SEAL = ThinkingPart("", signature="c2ln", provider="google")


def text_part(text: str, **more: object) -> dict[str, object]:
    return {"text": text, **more}


def event(*parts: object, reason: str | None = None, **more: object) -> dict[str, Any]:
    """Return one event with these parts."""
    ending = {} if reason is None else {"finishReason": reason}
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **ending}], **more}


def read(*events: object, document: bool = False) -> tuple[ResponseReader, list[Delta]]:
    """Read the events; `document` reads one of them as a document."""
    reader = WIRE.reader(TARGET)
    deltas: list[Delta] = []
    for each in events:
        raw = each if isinstance(each, bytes) else json.dumps(each).encode()
        deltas.extend(reader.document(raw) if document else reader.event("", raw))
    return reader, deltas


def finished(*events: object) -> StreamFinished:
    reader, _ = read(*events)
    assert reader.complete
    assert not reader.closed
    return reader.finished()


def parts_of(*parts: object) -> Sequence[Part]:
    """Return what the reader makes of the parts: of each in a separate event, and of all in one document."""
    streamed = finished(*(event(part) for part in parts), event(reason="STOP")).parts
    reader, _ = read(event(*parts, reason="STOP"), document=True)
    assert reader.finished().parts == streamed
    return streamed


def test_pieces_of_one_kind_are_one_part() -> None:
    assert parts_of(
        text_part("h", thought=True),
        text_part("m", thought=True),
        text_part("a"),
        text_part("b"),
        text_part("c", thought=True),
    ) == (
        ThinkingPart("hm"),
        TextPart("ab"),
        ThinkingPart("c"),
    )


def test_what_arrives_is_emitted_at_once() -> None:
    call = {"functionCall": {"id": "x", "name": "read", "args": {"path": "ä", "n": 1}}}
    _, deltas = read(event(text_part("hm", thought=True)), event(text_part("so"), call), event(text_part("")))
    written = '{"path": "ä", "n": 1}'
    assert deltas == [ThinkingDelta("hm"), TextDelta("so"), CallDelta(2, "read", written)]


def test_a_signature_on_a_text_is_empty_thinking_before_it() -> None:
    assert parts_of(text_part("a"), text_part("b", **SIGNED)) == (SEAL, TextPart("ab"))
    assert parts_of(text_part("a"), text_part("", **SIGNED)) == (SEAL, TextPart("a"))
    assert parts_of(text_part("", **SIGNED)) == (SEAL, TextPart(""))


def test_nothing_is_joined_to_what_is_signed() -> None:
    other = ThinkingPart("", signature="b3RoZXI=", provider="google")
    signed_again = text_part("b", thoughtSignature="b3RoZXI=")
    assert parts_of(text_part("a", **SIGNED), signed_again, text_part("c")) == (
        *(SEAL, TextPart("a")),
        *(other, TextPart("b")),
        TextPart("c"),
    )
    assert parts_of(text_part("h", thought=True, **SIGNED), text_part("m", thought=True)) == (
        ThinkingPart("h", provider="google", details={"thought_signature": "c2ln"}),
        ThinkingPart("m"),
    )


def test_a_call_is_read_with_its_id_and_its_signature() -> None:
    calls: tuple[dict[str, object], ...] = (
        {"functionCall": {"id": "x", "name": "read", "args": {"a": 1}}, **SIGNED},
        {"functionCall": {"name": "list"}},
        {"functionCall": {"name": "list", "args": {}}},
    )
    assert parts_of(*calls) == (
        CallPart("", "read", '{"a": 1}', wire_id="x", provider="google", details={"thought_signature": "c2ln"}),
        CallPart("", "list", ""),
        CallPart("", "list", "{}"),
    )


@pytest.mark.parametrize("signature", ["-_-_", "+/+/", "c2lnbg==", "c2lnbg"])
def test_a_signature_is_kept_byte_for_byte(signature: str) -> None:
    call = {"functionCall": {"name": "read"}, "thoughtSignature": signature}
    (part,) = parts_of(call)
    assert isinstance(part, CallPart)
    assert part.details == {"thought_signature": signature}


def test_kinds_of_parts_that_were_not_requested_are_left_out() -> None:
    code: dict[str, object] = {"executableCode": {"language": "PYTHON", "code": "1"}}
    assert parts_of(text_part("a"), code, {"inlineData": {"data": ""}}, SIGNED, {}, text_part("b")) == (
        TextPart("a"),
        TextPart("b"),
    )


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("STOP", "stop"),
        ("stop", "stop"),
        ("MAX_TOKENS", "max_tokens"),
        ("CONTINUATION", "max_tokens"),
        ("SAFETY", "refusal"),
        ("RECITATION", "refusal"),
        ("PROHIBITED_CONTENT", "refusal"),
        ("MODEL_ARMOR", "refusal"),
    ],
)
def test_how_it_finished(reason: str, finish: ModelFinish) -> None:
    assert finished(event(text_part("so")), event(reason=reason)).finish == finish
    called = finished(event({"functionCall": {"name": "read"}}, reason=reason)).finish
    assert called == ("calls" if finish == "stop" else finish)


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "OTHER", "FINISH_REASON_UNSPECIFIED", "A_NEW_ONE"])
def test_any_other_reason_means_that_it_is_cut_off(reason: str) -> None:
    with pytest.raises(ProviderFailed) as caught:
        finished(event({"functionCall": {"name": "read"}}, reason=reason))
    assert caught.value.fault == "cut"
    assert str(caught.value) == (
        f"Model 'google:gemini-3-m' ended its response with {reason!r}: the response is incomplete. "
        "No call in it was run."
    )


@pytest.mark.parametrize("ending", [{}, {"finishReason": None}, {"finishReason": ""}])
def test_without_a_reason_it_is_not_complete(ending: dict[str, object]) -> None:
    reader, _ = read({"candidates": [{"content": {"parts": [text_part("half")]}, **ending}]})
    assert not reader.complete


def test_what_comes_after_the_reason_counts() -> None:
    found = finished(event(text_part("a"), reason="STOP"), event(text_part("b"), usageMetadata={"promptTokenCount": 3}))
    assert (found.parts, found.usage.input_tokens) == ((TextPart("ab"),), 3)


def test_a_blocked_prompt_is_a_refusal() -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}}
    why = AnswerRefusal("SAFETY")
    assert finished(blocked) == StreamFinished((), "refusal", Usage(input_tokens=9), why)
    assert finished(blocked, event(reason="STOP")).finish == "refusal"


def test_usage_is_the_last_count_of_each_kind() -> None:
    first = {"promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 1}
    last = {"promptTokenCount": 10, "thoughtsTokenCount": 5, "candidatesTokenCount": 7, "toolUsePromptTokenCount": 2}
    zero = {"cachedContentTokenCount": 0}
    usage = finished(
        event(usageMetadata=first), event(usageMetadata=zero), event(usageMetadata=last, reason="STOP")
    ).usage
    assert usage == Usage(input_tokens=12, output_tokens=12, cache_read_tokens=4)


@pytest.mark.parametrize("count", ["7", -1, 1.5, True, None, 10**30])
def test_a_count_that_is_none_is_nothing(count: object) -> None:
    usage = finished(event(reason="STOP", usageMetadata={"promptTokenCount": count, "candidatesTokenCount": 1})).usage
    assert usage == Usage(output_tokens=1)


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"{", "JSONDecodeError: "),
        (b'{"a": "\xff"}', "UnicodeDecodeError: "),
        (b"[" * 100_000, "RecursionError: "),
        (b"3", "the response has the wrong type"),
        ({"candidates": {}}, "candidates has the wrong type"),
        ({"candidates": [3]}, "candidates has the wrong type"),
        ({"candidates": [{"content": "x"}]}, "content has the wrong type"),
        ({"candidates": [{"finishReason": 3}]}, "finishReason has the wrong type"),
        ({"promptFeedback": []}, "promptFeedback has the wrong type"),
        ({"usageMetadata": 3}, "usageMetadata has the wrong type"),
        (event(3), "parts has the wrong type"),
        (event({"text": 3}), "text has the wrong type"),
        (event({"text": "a", "thought": 1}), "thought has the wrong type"),
        (event({"text": "a", "thoughtSignature": 3}), "thoughtSignature has the wrong type"),
        (event({"text": "a", "thoughtSignature": "ä"}), "thoughtSignature is not base64"),
        (event({"functionCall": "x"}), "functionCall has the wrong type"),
        (event({"functionCall": {}}), "a call has no name"),
        (event({"functionCall": {"name": 3}}), "name has the wrong type"),
        (event({"functionCall": {"name": "a", "args": 5}}), "args has the wrong type"),
        (event({"functionCall": {"name": "a", "id": 3}}), "id has the wrong type"),
    ],
)
def test_what_is_not_the_protocol_is_refused(sent: object, why: str) -> None:
    with pytest.raises(ProviderFailed) as caught:
        read(sent)
    assert caught.value.fault == "malformed"
    assert str(caught.value).startswith(f"Model 'google:gemini-3-m' sent an invalid response: {why}")


@pytest.mark.parametrize(
    ("sent", "arguments"),
    [(r'"\ud83d"', '{"a": "\ud83d"}'), ("NaN", '{"a": NaN}'), ("1e400", '{"a": Infinity}'), ("1" * 30, '{"a": %s}')],
)
def test_json_that_only_python_reads_is_read(sent: str, arguments: str) -> None:
    call = event({"functionCall": {"name": "t", "args": {"a": "?"}}})
    _, deltas = read(json.dumps(call).replace('"?"', sent).encode())
    assert deltas == [CallDelta(0, "t", arguments % sent if "%" in arguments else arguments)]


@pytest.mark.parametrize(
    ("error", "fault", "status"),
    [
        ({"code": 500, "message": "It fell over.", "status": "INTERNAL"}, "overloaded", 500),
        ({"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED"}, "rate_limited", 429),
        ({"message": "It fell over."}, "cut", None),
        ("It fell over.", "cut", None),
    ],
)
def test_an_error_in_the_stream_is_what_it_says(error: object, fault: str, status: int | None) -> None:
    with pytest.raises(ProviderFailed) as caught:
        read(event(text_part("half")), {"error": error})
    assert (caught.value.fault, caught.value.status) == (fault, status)
    assert str(caught.value).endswith(": It fell over." if status != 429 else ": Slow down.")


def test_a_response_has_its_price() -> None:
    reader = WIRE.reader(resolve_endpoint("google:gemini-2.5-pro", {"GEMINI_API_KEY": "k"}))
    counts = {"promptTokenCount": 1_000, "cachedContentTokenCount": 400, "candidatesTokenCount": 100}
    assert list(reader.event("", json.dumps(event(reason="STOP", usageMetadata=counts)).encode())) == []
    usage = reader.finished().usage
    assert usage.cost == cost_of(facts_of("google:gemini-2.5-pro"), usage)
    assert usage.cost is not None
