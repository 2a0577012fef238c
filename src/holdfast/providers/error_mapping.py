"""Maps a provider's errors to `ProviderFailed`: by status, by code, and with the provider's explanation.

Messages are built in full here. They may quote a key, so `providers/http_model.py` passes each through
`redact_failure`, which redacts before it shortens: a key cut in two would not be recognized.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import ProviderFailed, ProviderFault
from holdfast.providers.connection_failures import root_cause
from holdfast.providers.credentials.redaction import redact
from holdfast.providers.error_words import LONG_WAIT, account_fault, account_words, read_wait, stated_wait, wait_words

if TYPE_CHECKING:
    from holdfast.providers.refusals import RefusalRow

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
        "usage_limit_reached": 429,  # earendil-works/pi#4172
        "context_length_exceeded": 400,
        "cyber_policy": 400,
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


def http_failure(name: str, status: int, headers: Mapping[str, str], body: bytes) -> ProviderFailed:
    """Return the failure for a response with an error status; `body` may be truncated."""
    try:
        payload: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        payload = body.decode("utf-8", "replace").strip()
    return _failure(name, status, payload, retry_after=_retry_after(headers, payload))


def stream_failure(name: str, error: object) -> ProviderFailed:
    """Return the failure for an error that model `name` reported inside a stream with status 200."""
    explanation = explanation_of(error)
    codes = list(_codes(error))
    status = next((found for code in codes if (found := _status_of(code)) is not None), None)
    row = find_row(codes, unnamed(explanation, name), status)
    if status is not None and (row is None or row.recovery != "shorten"):
        return _failure(name, status, error, retry_after=_retry_after({}, error))
    if row is not None and row.recovery == "shorten":
        message = f"Model {name!r} failed: {as_sentence(explanation)}"
        return ProviderFailed(message, fault="too_long", status=status, refusal=row.id)
    if account_fault(None, explanation, frozenset(codes)) is not None:
        return _failure(name, None, error, retry_after=None)
    code = codes[0] if codes else ""
    text = f"{code}: {explanation}" if code and not explanation.startswith(code) else explanation
    return ProviderFailed(
        f"Model {name!r} reported an error in its response: {as_sentence(text)}",
        fault="cut" if row is None else row_fault(row) or "rejected",
        refusal="" if row is None else row.id,
        param=_param(error),
    )


def invalid_response(name: str, error: BaseException) -> ProviderFailed:
    """Return the failure for a response that breaks its protocol."""
    return ProviderFailed(f"Model {name!r} sent an invalid response: {root_cause(error)}.", fault="malformed")


def redact_failure(failed: ProviderFailed, secrets: tuple[str, ...]) -> ProviderFailed:
    """Return the failure with the secrets redacted in its message, and then the message shortened."""
    return failed.worded(_shorten(redact(str(failed), secrets)))


def _shorten(message: str) -> str:
    longest = LONGEST_EXPLANATION + _LONGEST_PREFIX
    return message if len(message) <= longest else f"{message[:longest]} […]."


def _failure(name: str, status: int | None, payload: object, *, retry_after: float | None) -> ProviderFailed:
    explanation, codes = explanation_of(payload), frozenset(_codes(payload))
    account = account_fault(status, explanation, codes)
    row = find_row(codes, unnamed(explanation, name), status) if account is None else None
    text = as_sentence(explanation)
    if account is not None:
        text = f"{account_words(account, name.partition(':')[0])}. It says: {text}"
    wait = f" (try again {wait_words(retry_after)})" if retry_after is not None and retry_after >= LONG_WAIT else ""
    return ProviderFailed(
        f"Model {name!r} failed{'' if status is None else f' with status {status}'}{wait}: {text}",
        fault=account or (None if row is None else row_fault(row)) or _fault(status, codes),
        status=status,
        retry_after=retry_after,
        refusal="" if row is None else row.id,
        param=_param(payload),
    )


def find_row(codes: Collection[str], text: str, status: int | None) -> RefusalRow | None:
    """Return the row of the table of refusals that knows an error, None if none does."""
    from holdfast.providers.refusals import find_refusal  # its patterns take 10 ms, for an error

    return find_refusal(codes, text, status)


def row_fault(row: RefusalRow) -> ProviderFault | None:
    """Return the fault of an error that the row knows, None if its status decides."""
    match row.recovery:
        case "shorten":
            return "too_long"
        case "wait":
            return "rate_limited" if row.id == "throttled" else "overloaded"
        case _:
            return None


_LEAST_NAME = 8
"""Characters of a model's name that is removed from a text: a shorter one could be a word of it."""


def unnamed(explanation: str, name: str) -> str:
    """Return the explanation without the model's name, which may contain any words."""
    for each in (name, name.partition(":")[2]):
        explanation = explanation.replace(each, "") if len(each) >= _LEAST_NAME else explanation
    return explanation


_FAULTS: Mapping[int, ProviderFault] = MappingProxyType({407: "proxy_password", 429: "rate_limited"})


def _fault(status: int | None, codes: frozenset[str]) -> ProviderFault:
    if status is None:
        return "rejected"
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
    """Yield the error's code, type and status as texts, Google's reasons, and those of an error that it quotes."""
    error = _error_object(payload)
    if error is None:
        return
    if (quoted := _quoted_error(error)) is not None:
        yield from _codes(quoted)
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


def explanation_of(payload: object) -> str:
    """Return the provider's explanation, "" if there is none. Of a web page it is the title."""
    error = _error_object(payload)
    if error is None:
        text = _in_words(payload)
        if not text.startswith("<"):
            return text
        from holdfast.providers.error_words import is_web_page, page_title

        return page_title(text) if is_web_page(text) else text
    explanation = _in_words(error)
    if (quoted := _quoted_error(error)) is not None and (inner := explanation_of(quoted)):
        by = _text_at(error, "metadata", "provider_name")
        return inner if inner in explanation else f"{explanation.rstrip('.')}{f' ({by})' if by else ''}: {inner}"
    return explanation


_TEXT_FIELDS = ("error", "message", "detail", "msg", "errors", "title", "reason")
"""Fields in which servers explain an error, the best one first."""

_MOST_WORDS = 8
"""Explanations of one list to keep."""


def _in_words(value: object, depth: int = 4) -> str:
    """Return what a value of an error says: a text, the texts in it, or what is left of it as JSON."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list) and depth:
        listed: list[object] = value[:_MOST_WORDS]  # pyright: ignore[reportUnknownVariableType] - JSON from outside
        return "; ".join(text for each in listed if (text := _in_words(each, depth - 1)))
    if isinstance(value, dict) and depth:
        fields: dict[str, object] = value  # pyright: ignore[reportUnknownVariableType] - JSON from outside
        texts = (_in_words(fields.get(name), depth - 1) for name in _TEXT_FIELDS)
        if text := next((each for each in texts if each), ""):
            return f"{place}: {text}" if (place := _place(fields.get("loc"))) else text
        value = {name: each for name, each in fields.items() if each not in (None, "", [], {})}
    return msgspec.json.encode(value).decode() if value else ""


def _place(loc: object) -> str:
    """Return the place in the request that FastAPI names as a list, "" if it names none."""
    if not isinstance(loc, list):
        return ""
    steps: list[object] = loc  # pyright: ignore[reportUnknownVariableType] - JSON from outside
    return ".".join(str(each) for each in steps if isinstance(each, str | int))


def _quoted_error(error: dict[str, object]) -> object:
    """Return the error of another server that this one quotes, as OpenRouter does; None if it quotes none."""
    raw = _value_at(error, "metadata", "raw")
    if not isinstance(raw, str):
        return raw if isinstance(raw, dict) and raw else None  # pyright: ignore[reportUnknownVariableType] - JSON from outside
    try:
        quoted: object = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        quoted = raw.strip()
    return None if quoted == error else quoted or None


def _value_at(error: dict[str, object], *path: str) -> object:
    value: object = error
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] - JSON from outside
    return value  # pyright: ignore[reportUnknownVariableType] - JSON from outside


def _text_at(error: dict[str, object], *path: str) -> str:
    value = _value_at(error, *path)
    return value if isinstance(value, str) else ""


def _param(payload: object) -> str:
    """Return the place in the request that the error names, "" if it names none."""
    error = _error_object(payload)
    return "" if error is None else _text_at(error, "param")[:_LONGEST_PREFIX]


def as_sentence(explanation: str) -> str:
    """Return an explanation with a full stop, "no reason given." if there is none."""
    if not explanation:
        return "no reason given."
    return explanation if explanation.endswith((".", "!", "?")) else f"{explanation}."


def _retry_after(headers: Mapping[str, str], payload: object) -> float | None:
    """Return the seconds to wait: `retry-after-ms`, `retry-after` in seconds, as a date or as a length, or by the body.

    Bodies have Google's RetryInfo, `resets_in_seconds` or `resets_at` (router-for-me/CLIProxyAPI#1666), or a sentence.
    """
    if (ms := _seconds(headers.get("retry-after-ms", ""))) is not None:
        return ms / 1000
    after = headers.get("retry-after", "")
    if (seconds := _seconds(after)) is not None or (seconds := read_wait(after)) is not None:
        return seconds
    try:
        return max((parsedate_to_datetime(after) - datetime.now(UTC)).total_seconds(), 0.0)
    except (TypeError, ValueError):  # no date, or one without a zone
        reset = _reset(_error_object(payload) or {})
        return stated_wait(explanation_of(payload)) if reset is None else reset


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
