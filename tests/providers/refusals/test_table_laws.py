"""Laws of the table of refusals: each row's example is that row, however it is wrapped, and its recovery is applied."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import pytest

from holdfast.providers.error_mapping import http_failure, stream_failure
from holdfast.providers.refusals import ROWS, RefusalRow, find_refusal, refusal_named


def status_of(row: RefusalRow) -> int:
    return next(each for each in (400, 500, 429, 413) if each in row.statuses)


SPOKEN = [row for row in ROWS if row.example]


def test_ids_are_unique_and_every_row_says_who_and_where_from() -> None:
    assert len({row.id for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert re.fullmatch(r"[a-z-]+", row.id)
        assert row.speaker
        assert row.source
        assert refusal_named(row.id) is row
        assert row.words or row.codes or row.bare or row.any_words


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_an_example_is_its_own_row(row: RefusalRow) -> None:
    assert find_refusal((), row.example, status_of(row)) is row


@pytest.mark.parametrize("code", sorted({code for row in ROWS for code in row.codes}))
def test_a_code_is_enough(code: str) -> None:
    (row,) = (row for row in ROWS if code in row.codes)
    assert find_refusal((code,), "It fell over.", status_of(row)) is row


@pytest.mark.parametrize("row", SPOKEN, ids=lambda row: row.id)
def test_what_a_gateway_quotes_is_known(row: RefusalRow) -> None:
    """OpenRouter puts the provider's error as a text into its own, LiteLLM and others the words behind their own."""
    inner = json.dumps({"error": {"message": row.example}})
    quoted = {"error": {"message": "Provider returned error", "metadata": {"raw": inner, "provider_name": "A"}}}
    failed = http_failure("openrouter:x/y", status_of(row), {}, json.dumps(quoted).encode())
    assert failed.refusal == row.id
    assert row.example.rstrip(".!") in str(failed)
    assert f"status {status_of(row)}: Provider returned error (A): " in str(failed)


@pytest.mark.parametrize("row", [row for row in SPOKEN if row.often_unstated], ids=lambda row: row.id)
def test_an_error_inside_a_stream_is_known(row: RefusalRow) -> None:
    assert stream_failure("m", {"error": {"message": row.example}}).refusal == row.id


@dataclass(frozen=True)
class Said:
    text: str
    fault: str
    status: int = 400
    code: str | None = None


OVERFLOWS = (
    "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Your request exceeded model token limit: 262144 (requested: 270011)",
    "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 258048]",
    "The input (40000 tokens) is longer than the model's context length (32768 tokens).",
    "Requested token count exceeds the model's maximum context length of 32768 tokens.",
    "Input validation error: `inputs` must have less than 4095 tokens. Given: 4556",
    "the request exceeds the available context size, try increasing it",
    "The number of tokens to keep from the initial prompt is greater than the context length.",
    "prompt too long; exceeded max context length by 1200 tokens",
    "the input length exceeds the context length",
    "Requested tokens (5120) exceed context window of 4096",
    "prompt token count of 140000 exceeds the limit of 128000",
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "invalid params, context window exceeds limit (2013)",
    "Total tokens of image and text exceed max message tokens.",
    "the length of messages must be less than or equal to 512000 chars",
    "The total tokens 70000 exceeds the model max length 65536",
    "max_seq_len exceeded: 131072",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "The prompt is too long: 140000, model maximum context length: 131071",
    "too many tokens: size limit exceeded by 2000 tokens. Try using shorter or fewer inputs",
    "Prompt tokens limit exceeded.",
    "input is too long for requested model",
)


@pytest.mark.parametrize("text", OVERFLOWS)
@pytest.mark.parametrize("status", [400, 413, 422, 500])
def test_an_overflow_is_too_long_whatever_its_status(text: str, status: int) -> None:
    failed = http_failure("m", status, {}, json.dumps({"error": {"message": text}}).encode())
    assert (failed.fault, failed.retryable) == ("too_long", False)


@pytest.mark.parametrize(
    "said",
    [
        Said("Too many tokens, please wait before trying again.", "rate_limited"),
        Said("Too many tokens, please wait before trying again.", "rate_limited", 429),
        Said("Rate limit exceeded: too many tokens per minute", "rate_limited"),
        Said("Too many requests, please wait before trying again.", "rate_limited"),
        Said("The service may be temporarily overloaded, please try again later", "overloaded", code="1305"),
        Said("Rate limit reached for requests", "rate_limited", code="1302"),
        Said("max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens", "rejected"),
        Said("max_tokens is too large: 200000. This model supports at most 64000 completion tokens", "rejected"),
        Said("tools.0.context_length: Extra inputs are not permitted", "rejected"),
        Said("messages.3.content.0.image: context_window_label invalid", "rejected"),
        Said("temperature must be at most 1", "rejected"),
        Said("You exceeded your current quota", "no_credit", 429, "insufficient_quota"),
        Said("Invalid API key", "credentials", 401),
        Said("It fell over.", "overloaded", 500),
    ],
    ids=lambda said: said.text[:30],
)
def test_what_sounds_like_an_overflow_is_none(said: Said) -> None:
    error = {"error": {"message": said.text, "code": said.code}}
    assert http_failure("m", said.status, {}, json.dumps(error).encode()).fault == said.fault


def test_an_error_without_a_reason_may_be_an_overflow() -> None:
    assert http_failure("m", 400, {}, b"").refusal == "no-reason"
    assert http_failure("m", 413, {}, b"").fault == "too_long"
    assert http_failure("m", 500, {}, b"").fault == "overloaded"
    assert find_refusal((), "", None) is None


def test_a_name_of_a_model_is_no_reason() -> None:
    error = json.dumps({"error": {"message": "No such model: acme/vision-context-window-exceeded-image"}}).encode()
    failed = http_failure("openrouter:acme/vision-context-window-exceeded-image", 404, {}, error)
    assert (failed.fault, failed.refusal) == ("rejected", "")


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("reasoning-field", "messages.2.assistant.reasoning_content: property 'reasoning_content' is unsupported"),
        ("reasoning-field", "messages[3].reasoning: reasoning is not supported with this model"),
        ("reasoning-required", "Missing `reasoning_content` field in the assistant message at message index 2."),
        ("reasoning-required", "The `reasoning_content` in the thinking mode must be passed back to the API."),
        ("thought-signature", "Function call is missing a thought_signature in functionCall parts."),
        ("throttled", "Too many tokens per day, please wait before trying again."),
        (
            "tool-schema",
            "Malformed input request: #/toolConfig/tools/2/toolSpec/inputSchema/json: extraneous key [definitions]",
        ),
    ],
)
def test_other_words_that_were_seen_are_known(row: str, text: str) -> None:
    found = find_refusal((), text, 400)
    assert found is not None
    assert found.id == row
