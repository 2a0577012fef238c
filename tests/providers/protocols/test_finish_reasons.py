"""A reason for the end of a response is known on every protocol, in every spelling."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import ProviderFailed
from holdfast.providers.model import ModelFinish
from holdfast.providers.protocols import protocol_of
from holdfast.providers.protocols.finish_reasons import CLOSED, finish_for, known_finish
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import CallPart, TextPart
from laws import law

Json = dict[str, Any]
REASONS: dict[str, ModelFinish] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "completed": "stop",
    "COMPLETE": "stop",
    "tool_calls": "calls",
    "tool_use": "calls",
    "TOOL_CALL": "calls",
    "function_call": "calls",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "MAX_TOKENS": "max_tokens",
    "model_length": "max_tokens",
    "max_output_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "content_filter": "refusal",
    "refusal": "refusal",
    "SAFETY": "refusal",
    "RECITATION": "refusal",
    "guardrail_intervened": "refusal",
    "sensitive": "refusal",
}
ERRORS = (
    "error",
    "network_error",
    "abort",
    "MALFORMED_FUNCTION_CALL",
    "OTHER",
    "insufficient_system_resource",
    "time_limit",
)
MODELS = {
    "openai-chat": "openrouter:x/y",
    "anthropic": "anthropic:claude-opus-4-7",
    "openai-responses": "openai:gpt-5.5",
    "gemini": "google:gemini-3-flash",
}
KEYS: dict[str, str] = dict.fromkeys(
    ("OPENROUTER_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"), "k"
)


def streamed(wire: str, reason: str) -> list[Json]:
    """Return the events of an answer with a text, in a protocol, that ends with the reason."""
    match wire:
        case "openai-chat":
            return [{"choices": [{"delta": {"content": "so"}, "finish_reason": reason}]}]
        case "anthropic":
            text = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "so"}}
            return [text, {"type": "message_delta", "delta": {"stop_reason": reason}}]
        case "openai-responses":
            text = {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "delta": "so"}
            details = {"status": "incomplete", "incomplete_details": {"reason": reason}}
            return [text, {"type": "response.incomplete", "response": details}]
        case _:
            return [{"candidates": [{"content": {"parts": [{"text": "so"}]}, "finishReason": reason}]}]


def finish(wire: str, reason: str) -> ModelFinish:
    endpoint = resolve_endpoint(MODELS[wire], KEYS)
    reader = protocol_of(endpoint.provider.kind).reader(endpoint)
    for event in streamed(wire, reason):
        list(reader.event("", json.dumps(event).encode()))
    assert reader.complete
    return reader.finished().finish


@pytest.mark.parametrize("wire", MODELS)
@pytest.mark.parametrize("reason", REASONS)
def test_every_protocol_knows_the_reasons_of_all(wire: str, reason: str) -> None:
    assert finish(wire, reason) == REASONS[reason]


@pytest.mark.parametrize("wire", MODELS)
@pytest.mark.parametrize("reason", ERRORS)
def test_a_reason_outside_the_table_is_no_end_on_any_protocol(wire: str, reason: str) -> None:
    with pytest.raises(ProviderFailed, match="incomplete") as failed:
        finish(wire, reason)
    assert failed.value.fault == "cut"


@law()
@given(reason=st.sampled_from(sorted(REASONS)), separator=st.sampled_from(["_", "-", " ", ""]), data=st.data())
def test_spelling_does_not_matter(reason: str, separator: str, data: st.DataObject) -> None:
    cases = data.draw(st.lists(st.sampled_from([str.upper, str.lower]), min_size=len(reason), max_size=len(reason)))
    spelt = "".join(case(each) for case, each in zip(cases, reason, strict=True)).replace("_", separator)
    assert known_finish(spelt) == known_finish(f"FINISH_REASON_{spelt}") == REASONS[reason]


CALL = CallPart("", "read", '{"path": "a"}')


@pytest.mark.parametrize(
    ("parts", "finish"),
    [((TextPart("so"),), "stop"), ((CALL,), "calls"), ((TextPart("so"), CALL), "calls")],
)
def test_a_stream_that_was_closed_without_a_reason_is_complete_if_its_calls_are(
    parts: tuple[Part, ...], finish: ModelFinish
) -> None:
    assert finish_for("m:m", CLOSED, parts) == finish


@pytest.mark.parametrize("parts", [(), (CallPart("", "read", '{"path": '),), (CALL, CallPart("", "read", ""))])
def test_a_stream_that_was_closed_in_the_middle_of_a_call_is_cut_off(parts: tuple[Part, ...]) -> None:
    with pytest.raises(ProviderFailed, match="ended its response without a reason") as failed:
        finish_for("m:m", CLOSED, parts)
    assert failed.value.fault == "cut"
