"""Maps a provider's errors to `ProviderFailed`: by status, by code, and with the provider's explanation.

Messages are built in full here. They may quote a key, so `providers/http_model.py` passes each through
`redact_failure`, which redacts before it shortens: a key cut in two would not be recognized.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from types import MappingProxyType

import msgspec

from holdfast.errors import ProviderFailed, ProviderFault
from holdfast.providers.credentials.redaction import redact
from holdfast.providers.network.account_faults import account_fault, account_words
from holdfast.providers.network.connection_failures import root_cause
from holdfast.providers.network.wait_words import LONG_WAIT, wait_words

LONGEST_EXPLANATION = 500
"""Characters of a provider's explanation to keep: some quote the whole request, or send a whole web page."""

_LONGEST_PREFIX = 200
"""Characters allowed in a message before the explanation: what failed, for which model."""

_TEMPORARY = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY})

_STATUS_OF: Mapping[str, int] = MappingProxyType(
    {
        # OpenAI and servers that speak its protocols, by platform.openai.com/docs/guides/error-codes
        "rate_limit_exceeded": 429,
        "too_many_requests": 429,
        "insufficient_quota": 429,
        "context_length_exceeded": 400,
        "invalid_api_key": 401,
        "model_not_found": 404,
        "service_unavailable": 503,
        "service_unavailable_error": 503,
        "server_is_overloaded": 503,
        "overloaded": 503,
        "server_error": 500,
        # Anthropic, by docs.anthropic.com/en/api/errors
        "invalid_request_error": 400,
        "authentication_error": 401,
        "billing_error": 402,
        "permission_error": 403,
        "not_found_error": 404,
        "request_too_large": 413,
        "rate_limit_error": 429,
        "api_error": 500,
        "timeout_error": 504,
        "overloaded_error": 529,
        # Google, which uses the codes of gRPC
        "INVALID_ARGUMENT": 400,
        "FAILED_PRECONDITION": 400,
        "UNAUTHENTICATED": 401,
        "PERMISSION_DENIED": 403,
        "NOT_FOUND": 404,
        "RESOURCE_EXHAUSTED": 429,
        "INTERNAL": 500,
        "UNAVAILABLE": 503,
        "DEADLINE_EXCEEDED": 504,
    }
)
"""The status that a provider sends with an error of this code or type, for errors reported without one."""

_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size|limit)|prompt is too long|input is too long|too many (?:input )?tokens"
    r"|(?:input )?token count .*exceeds",
    re.IGNORECASE,
)


def http_failure(name: str, status: int, headers: Mapping[str, str], body: bytes) -> ProviderFailed:
    """Return the failure for a response with an error status; `body` may be truncated."""
    try:
        payload: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        payload = body.decode("utf-8", "replace").strip()
    return _failure(name, status, payload, retry_after=_retry_after(headers, payload))


def stream_failure(name: str, error: object) -> ProviderFailed:
    """Return the failure for an error that model `name` reported inside a stream with status 200."""
    explanation = _explanation(error)
    codes = list(_codes(error))
    status = next((found for code in codes if (found := _status_of(code)) is not None), None)
    if status is not None and "context_length_exceeded" not in codes:
        return _failure(name, status, error, retry_after=_retry_after({}, error))
    if "context_length_exceeded" in codes or _TOO_LONG.search(explanation):
        return ProviderFailed(f"Model {name!r} failed: {_sentence(explanation)}", fault="too_long", status=status)
    if account_fault(None, explanation, frozenset(codes)) is not None:
        return _failure(name, None, error, retry_after=None)
    code = codes[0] if codes else ""
    text = f"{code}: {explanation}" if code and not explanation.startswith(code) else explanation
    return ProviderFailed(f"Model {name!r} reported an error in its response: {_sentence(text)}", fault="cut")


def invalid_response(name: str, error: BaseException) -> ProviderFailed:
    """Return the failure for a response that breaks its protocol."""
    return ProviderFailed(f"Model {name!r} sent an invalid response: {root_cause(error)}.", fault="malformed")


def redact_failure(failed: ProviderFailed, secrets: tuple[str, ...]) -> ProviderFailed:
    """Return the failure with the secrets redacted in its message, and then the message shortened."""
    return ProviderFailed(
        _shorten(redact(str(failed), secrets)),
        fault=failed.fault,
        status=failed.status,
        retry_after=failed.retry_after,
    )


def _shorten(message: str) -> str:
    longest = LONGEST_EXPLANATION + _LONGEST_PREFIX
    return message if len(message) <= longest else f"{message[:longest]} […]."


def _failure(name: str, status: int | None, payload: object, *, retry_after: float | None) -> ProviderFailed:
    explanation = _sentence(_explanation(payload))
    fault = _fault(status, explanation, frozenset(_codes(payload)))
    if fault == "no_credit" or fault == "not_available":  # noqa: PLR1714 - narrows the type
        explanation = f"{account_words(fault, name.partition(':')[0])}. It says: {explanation}"
    wait = f" (try again {wait_words(retry_after)})" if retry_after is not None and retry_after >= LONG_WAIT else ""
    return ProviderFailed(
        f"Model {name!r} failed{'' if status is None else f' with status {status}'}{wait}: {explanation}",
        fault=fault,
        status=status,
        retry_after=retry_after,
    )


_FAULTS: Mapping[int, ProviderFault] = MappingProxyType({407: "proxy_password", 429: "rate_limited"})


def _fault(status: int | None, explanation: str, codes: frozenset[str]) -> ProviderFault:  # noqa: PLR0911 - a table of rules
    if (account := account_fault(status, explanation, codes)) is not None:
        return account
    if status is None:
        return "rejected"
    refused = status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or "context_length_exceeded" in codes:
        return "too_long"
    if refused and _TOO_LONG.search(explanation):
        return "too_long"
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) or codes & {"API_KEY_INVALID", "invalid_api_key"}:
        return "credentials"
    if status in _FAULTS:
        return _FAULTS[status]
    if status in _TEMPORARY or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "overloaded"
    return "rejected"


def _status_of(code: str) -> int | None:
    if code in _STATUS_OF:
        return _STATUS_OF[code]
    if code.isascii() and code.isdigit() and HTTPStatus.BAD_REQUEST <= int(code) < _NO_STATUS:
        return int(code)  # gateways send the status itself as the code
    return None


_NO_STATUS = 600


def _error_object(payload: object) -> dict[str, object] | None:
    """Return the innermost error object: bodies are `{"error": {…}}`, `[{"error": {…}}]`, or the object itself."""
    if isinstance(payload, list) and payload:
        return _error_object(payload[0])  # pyright: ignore[reportUnknownArgumentType] - JSON from outside
    if not isinstance(payload, dict):
        return None
    found: dict[str, object] = payload  # pyright: ignore[reportUnknownVariableType] - JSON from outside
    inner = found.get("error")
    return found if inner is None or isinstance(inner, str) else _error_object(inner) or found


def _codes(payload: object) -> Iterator[str]:
    """Yield the error's code, type and status as texts, and the reasons of Google's details."""
    error = _error_object(payload)
    if error is None:
        return
    for name in ("code", "type", "status"):
        code = error.get(name)
        if isinstance(code, str | int) and not isinstance(code, bool) and code not in ("", "error"):
            yield str(code)
    for detail in _details(error):
        if isinstance(reason := detail.get("reason"), str):
            yield reason


def _details(error: dict[str, object]) -> Iterator[dict[str, object]]:
    details = error.get("details")
    if isinstance(details, list):
        for each in details:  # pyright: ignore[reportUnknownVariableType] - JSON from outside
            if isinstance(each, dict):
                yield each


def _explanation(payload: object) -> str:
    """Return the provider's explanation, "" if there is none."""
    error = _error_object(payload)
    if error is None:
        return str(payload).strip() if payload else ""
    explanation = error.get("error") or error.get("message") or error.get("detail")
    return str(explanation or error).strip() if error else ""


def _sentence(explanation: str) -> str:
    if not explanation:
        return "no reason given."
    return explanation if explanation.endswith((".", "!", "?")) else f"{explanation}."


def _retry_after(headers: Mapping[str, str], payload: object) -> float | None:
    """Return the seconds to wait: `retry-after-ms`, `retry-after` in seconds or as a date, or what the body says.

    Bodies have Google's RetryInfo, or `resets_in_seconds` or `resets_at` (router-for-me/CLIProxyAPI#1666).
    """
    if (ms := _seconds(headers.get("retry-after-ms", ""))) is not None:
        return ms / 1000
    after = headers.get("retry-after", "")
    if (seconds := _seconds(after)) is not None:
        return seconds
    try:
        return max((parsedate_to_datetime(after) - datetime.now(UTC)).total_seconds(), 0.0)
    except (TypeError, ValueError):  # no date, or one without a zone
        return _reset(_error_object(payload) or {})


def _reset(error: dict[str, object]) -> float | None:
    """Return the seconds after which an error's limit ends."""
    if (seconds := _number(error.get("resets_in_seconds"))) is not None:
        return seconds
    if (at := _number(error.get("resets_at"))) is not None:
        return max(at - datetime.now(UTC).timestamp(), 0.0)
    for detail in _details(error):
        delay = detail.get("retryDelay")
        if isinstance(delay, str) and delay.endswith("s") and (seconds := _seconds(delay[:-1])) is not None:
            return seconds
    return None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < _LATEST else None


_LATEST = 1e11  # seconds since 1970, about 5,000 years


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
