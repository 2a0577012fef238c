"""What providers report as errors, by status, code and words."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from holdfast.errors import ProviderFault
from holdfast.providers.error_mapping import http_failure, redact_failure, stream_failure

NAME = "home:m"


def body(**error: object) -> bytes:
    return json.dumps({"error": error}).encode()


@pytest.mark.parametrize(
    ("status", "raw", "fault"),
    [
        (400, body(message="No such field."), "rejected"),
        (400, body(message="prompt is too long: 5 tokens"), "too_long"),
        (400, body(message="This model's maximum context length is 5 tokens."), "too_long"),
        (422, body(message="The input token count 9 exceeds the maximum"), "too_long"),
        (400, body(message="It is.", code="context_length_exceeded"), "too_long"),
        (404, body(message="context window"), "rejected"),
        (413, b"", "too_long"),
        (401, b"", "credentials"),
        (403, b"<html>Forbidden</html>", "credentials"),
        (400, body(message="Bad key.", details=[{"reason": "API_KEY_INVALID"}]), "credentials"),
        (400, b'[{"error": {"message": "Bad key.", "details": [{"reason": "API_KEY_INVALID"}]}}]', "credentials"),
        (429, body(message="Slower."), "rate_limited"),
        (408, b"", "overloaded"),
        (409, b"", "overloaded"),
        (500, b"", "overloaded"),
        (529, body(type="overloaded_error", message="Overloaded"), "overloaded"),
        (404, body(message="No such model."), "rejected"),
    ],
)
def test_the_status_and_the_words_say_what_it_is(status: int, raw: bytes, fault: ProviderFault) -> None:
    failed = http_failure(NAME, status, {}, raw)
    assert (failed.fault, failed.status) == (fault, status)


@pytest.mark.parametrize(
    ("raw", "quoted"),
    [
        (b"", "no reason given."),
        (b"<html>Bad gateway</html>", "a web page came in its place (Bad gateway)."),
        (body(message="Slower!"), "Slower!"),
        (b'{"message": "of a gateway"}', "of a gateway."),
        (b'{"detail": "of a server"}', "of a server."),
        (b'{"error": "one text"}', "one text."),
        (b'{"error": {"error": {"message": "deep"}}}', "deep."),
        (b'[{"error": {"message": "in a list"}}]', "in a list."),
        (b'"a text"', "a text."),
        (b"[" * 100_000, f"{'[' * 100_000}."),
        (b"\xff\xfe", "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}."),
        (b'{"error": {"message": "cut', '{"error": {"message": "cut.'),
    ],
)
def test_the_providers_words_are_quoted(raw: bytes, quoted: str) -> None:
    assert str(http_failure(NAME, 500, {}, raw)) == f"Model 'home:m' failed with status 500: {quoted}"


@pytest.mark.parametrize(
    ("headers", "raw", "least", "most"),
    [
        ({"retry-after": "7"}, b"", 7, 7),
        ({"retry-after": "0.5"}, b"", 0.5, 0.5),
        ({"retry-after": "1m30s"}, b"", 90, 90),
        ({"retry-after": "250ms"}, b"", 0.25, 0.25),
        ({}, b'{"error": {"message": "Rate limit reached. Please try again in 20s."}}', 20, 20),
        ({}, b'{"error": {"message": "Please try again in 6m0s. Visit example.org"}}', 360, 360),
        ({}, b'{"error": {"type": "usage_limit_reached", "resets_in_seconds": 3600, "message": "x"}}', 3600, 3600),
        ({"retry-after-ms": "1500", "retry-after": "7"}, b"", 1.5, 1.5),
        ({"retry-after": "Mon, 01 Jan 2024 00:00:00 GMT"}, b"", 0, 0),
        ({}, body(details=[{"retryDelay": "14s"}]), 14, 14),
        ({"retry-after": "3"}, body(details=[{"retryDelay": "14s"}]), 3, 3),
    ],
)
def test_how_long_to_wait_is_read_in_seconds(headers: dict[str, str], raw: bytes, least: float, most: float) -> None:
    after = http_failure(NAME, 429, headers, raw).retry_after
    assert after is not None
    assert least <= after <= most


def test_a_date_to_wait_for_becomes_seconds() -> None:
    in_an_hour = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    after = http_failure(NAME, 429, {"retry-after": in_an_hour}, b"").retry_after
    assert after is not None
    assert 3000 <= after <= 3600


@pytest.mark.parametrize("after", ["", "soon", "-1", "nan", "inf", "1e999"])
def test_a_wait_that_is_none_is_not_waited(after: str) -> None:
    assert http_failure(NAME, 429, {"retry-after": after, "retry-after-ms": after}, b"").retry_after is None


@pytest.mark.parametrize(
    ("error", "fault", "status", "message"),
    [
        ({"code": "rate_limit_exceeded", "message": "Slower."}, "rate_limited", 429, "failed with status 429: Slower."),
        ({"type": "overloaded_error", "message": "Later."}, "overloaded", 529, "failed with status 529: Later."),
        ({"status": "UNAVAILABLE", "message": "Later."}, "overloaded", 503, "failed with status 503: Later."),
        ({"code": 502, "message": "Bad gateway"}, "overloaded", 502, "failed with status 502: Bad gateway."),
        ({"code": "504", "message": "Late"}, "overloaded", 504, "failed with status 504: Late."),
        ({"code": "invalid_api_key", "message": "No."}, "credentials", 401, "failed with status 401: No."),
        ({"code": "context_length_exceeded", "message": "It is."}, "too_long", None, "failed: It is."),
        ({"message": "prompt is too long"}, "too_long", None, "failed: prompt is too long."),
        ({"code": "odd", "message": "It fell."}, "cut", None, "reported an error in its response: odd: It fell."),
        ({"message": "It fell."}, "cut", None, "reported an error in its response: It fell."),
        ("It fell", "cut", None, "reported an error in its response: It fell."),
        ({"code": True, "message": "It fell."}, "cut", None, "reported an error in its response: It fell."),
        ({"code": 99999, "message": "It fell."}, "cut", None, "in its response: 99999: It fell."),
    ],
)
def test_an_error_in_a_stream_is_what_it_would_have_been_before_it(
    error: object, fault: ProviderFault, status: int | None, message: str
) -> None:
    failed = stream_failure(NAME, error)
    assert failed.fault == fault
    if fault != "too_long":
        assert failed.status == status
    assert str(failed).endswith(message)


def test_a_secret_is_hidden_before_the_message_is_shortened() -> None:
    key = "a-key-that-nobody-may-see"
    failed = http_failure(NAME, 500, {}, ("x" * 640 + key + "y" * 1000).encode())
    shown = str(redact_failure(failed, (key,)))
    assert "a-key" not in shown
    assert shown.endswith(" […].")
    assert len(shown) < 720


@pytest.mark.parametrize(
    ("code", "fault", "retried"), [("usage_limit_reached", "rate_limited", True), ("cyber_policy", "rejected", False)]
)
def test_a_code_inside_a_stream_is_read_as_its_status(code: str, fault: str, *, retried: bool) -> None:
    failed = stream_failure("m", {"error": {"type": code, "message": "stopped"}, "resets_in_seconds": 5})
    assert (failed.fault, failed.retryable) == (fault, retried)


@pytest.mark.parametrize("text", ["try again later", "try again in 20 seconds", "in 20s", "try again in 5"])
def test_a_sentence_without_an_exact_length_is_no_wait(text: str) -> None:
    assert http_failure("m", 429, {}, json.dumps({"error": {"message": text}}).encode()).retry_after is None
