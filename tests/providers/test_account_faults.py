"""Refusals of an account, in the words of providers: no credit, or not served here. Waiting helps with none of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from holdfast.agent.model_request.retry import retry_delay
from holdfast.config.settings import Limits
from holdfast.errors import ProviderFault
from holdfast.providers.error_mapping import http_failure, redact_failure, stream_failure
from holdfast.providers.error_words import wait_words

NAME = "home:m"
NO_CREDIT: list[tuple[int, dict[str, object]]] = [
    (429, {"type": "insufficient_quota", "code": "insufficient_quota",
           "message": "You exceeded your current quota, please check your plan and billing details."}),
    (429, {"code": "billing_not_active", "message": "Your account is not active, please check your billing details."}),
    (400, {"type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API. "
           "Please go to Plans & Billing to upgrade or purchase credits."}),
    (400, {"type": "invalid_request_error", "message": "You have reached your specified API usage limits. You will "
           "regain access on 2027-01-01 at 00:00 UTC."}),
    (402, {"code": 402, "message": "Insufficient credits. Add more using https://openrouter.ai/settings/credits"}),
    (402, {"code": 402, "message": "This request requires more credits, or fewer max_tokens."}),
    (402, {"type": "unknown_error", "message": "Insufficient Balance"}),
    (403, {"message": "Your team t1 has used all available credits or reached its monthly spending limit."}),
    (403, {"message": "Your newly created team doesn't have any credits or licenses yet."}),
    (402, {"message": "You have exceeded your monthly included credits for Inference Providers."}),
    (429, {"type": "exceeded_current_quota_error", "message": "Your account is suspended, please check your plan"}),
    (429, {"code": "1113", "message": "Insufficient balance or no resource package. Please recharge."}),
    (429, {"status": "RESOURCE_EXHAUSTED", "code": 429, "message": "Your prepayment credits are depleted."}),
    (403, {"status": "PERMISSION_DENIED", "message": "This API method requires billing to be enabled.",
           "details": [{"reason": "BILLING_DISABLED"}]}),
    (400, {"code": "Arrearage", "message": "Access denied, please make sure your account is in good standing."}),
    (400, {"code": "billing_hard_limit_reached", "message": "Billing hard limit has been reached"}),
    (403, {"message": "You have run out of credits or need a Grok subscription. Add credits at https://grok.com"}),
    (429, {"message": "Your team t1 has either used all available credits or reached its monthly spending limit."}),
    (400, {"message": "This request requires more credits, or fewer max_tokens."}),
    (402, {}),
]  # fmt: skip
NOT_AVAILABLE: list[tuple[int, dict[str, object]]] = [
    (403, {"code": "unsupported_country_region_territory", "type": "request_forbidden",
           "message": "Country, region, or territory not supported"}),
    (403, {"message": "Country, region, or territory not supported"}),
    (400, {"code": 400, "status": "FAILED_PRECONDITION", "message": "User location is not supported for the API use."}),
    (403, {"code": 403, "message": "This model is not available in your region."}),
    (403, {"message": "Access to these models is not allowed from unsupported countries, regions, or territories."}),
    (403, {"message": "Your organization must be verified to use the model `gpt-9`."}),
    (401, {"message": "Your account has been deactivated."}),
]  # fmt: skip
OTHERS: list[tuple[int, dict[str, object], ProviderFault]] = [
    (429, {"status": "RESOURCE_EXHAUSTED", "code": 429, "message": "You exceeded your current quota, please check your "
           "plan and billing details.", "details": [{"retryDelay": "14s"}]}, "rate_limited"),
    (429, {"type": "usage_limit_reached", "message": "The usage limit has been reached"}, "rate_limited"),
    (403, {"message": "The caller does not have permission."}, "credentials"),
    (401, {"message": "Incorrect API key provided."}, "credentials"),
    (400, {"message": "The region of this image is not a rectangle."}, "rejected"),
    (503, {"message": "This model is not available in your region right now."}, "overloaded"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "error"), NO_CREDIT)
def test_no_credit_is_that_and_not_sent_again(status: int, error: dict[str, object]) -> None:
    expect(status, error, "no_credit", "the account at 'home' has no credit left")


@pytest.mark.parametrize(("status", "error"), NOT_AVAILABLE)
def test_an_account_or_region_that_is_not_served_is_that(status: int, error: dict[str, object]) -> None:
    expect(status, error, "not_available", "'home' does not serve this account, or not in this region")


def expect(status: int, error: dict[str, object], fault: ProviderFault, words: str) -> None:
    failed = http_failure(NAME, status, {"retry-after": "1"}, json.dumps({"error": error}).encode())
    assert (failed.fault, failed.retryable) == (fault, False)
    assert retry_delay(failed, 1, limits=Limits(), shown=False) is None
    assert words in str(failed)
    assert str(error.get("message", "")) in str(failed)
    if error.get("message"):
        within = stream_failure(NAME, error)
        assert (within.fault, within.retryable) == (fault, False)


@pytest.mark.parametrize(("status", "error", "fault"), OTHERS)
def test_what_only_sounds_like_it_is_something_else(
    status: int, error: dict[str, object], fault: ProviderFault
) -> None:
    assert http_failure(NAME, status, {}, json.dumps({"error": error}).encode()).fault == fault


# --- a long wait -----------------------------------------------------------------------------------------------------

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (60, "in 1 min, at 12:01"),
        (3000, "in 50 min, at 12:50"),
        (18_000, "in 5 h, at 17:00"),
        (18_120, "in 5 h 2 min, at 17:02"),
        (43_200, "in 12 h, at 2026-03-02 00:00"),
        (529_498, "in 6 days, at 2026-03-07 15:04"),
        (1e300, "in 366 days, at 2027-03-02 12:00"),
    ],
)
def test_a_wait_is_said_as_a_time(seconds: float, words: str) -> None:
    assert wait_words(seconds, now=NOON) == words


IN_5_HOURS = object()


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ({"retry-after": "18000"}, {"message": "usage limit"}),
        ({}, {"message": "usage limit", "resets_in_seconds": 18_000}),
        ({}, {"message": "usage limit", "resets_at": IN_5_HOURS}),
    ],
)
def test_a_long_wait_stands_in_the_message_whatever_the_length_of_the_rest(
    headers: dict[str, str], error: dict[str, object]
) -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=18_030)).timestamp()
    error = {name: soon if value is IN_5_HOURS else value for name, value in error.items()}
    error["message"] = "usage limit " * 1_000
    failed = redact_failure(http_failure(NAME, 429, headers, json.dumps({"error": error}).encode()), ())
    assert "failed with status 429 (try again in 5 h, at " in str(failed)
    assert failed.fault == "rate_limited"
    assert failed.retry_after is not None
    assert 17_990 <= failed.retry_after <= 18_040


@pytest.mark.parametrize("reset", [True, -1, 1e300, "soon", None, [1]])
def test_a_reset_that_is_no_time_is_left_out(reset: object) -> None:
    raw = json.dumps({"error": {"message": "usage limit", "resets_at": reset, "resets_in_seconds": reset}}).encode()
    assert http_failure(NAME, 429, {}, raw).retry_after is None


def test_a_short_wait_needs_no_words() -> None:
    assert (
        str(http_failure(NAME, 429, {"retry-after": "7"}, b"Slower."))
        == "Model 'home:m' failed with status 429: Slower."
    )
