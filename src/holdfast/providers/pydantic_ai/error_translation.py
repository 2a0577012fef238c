"""What a provider's library raises, as `ProviderFailed` or `ModelUnusable`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from http import HTTPStatus

os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # read at import; the banner would garble the output

from pydantic_ai import exceptions as pai_errors

from holdfast.errors import ProviderFailed, ProviderFault
from holdfast.providers.credentials.redaction import redact
from holdfast.providers.error_mapping import LONGEST_EXPLANATION


def provider_failure(error: Exception, name: str, secrets: tuple[str, ...] = ()) -> ProviderFailed:
    """Translate a provider SDK's exception; keep the provider's explanation, without any of the secrets."""
    error = next((cause for cause in _causes(error) if isinstance(cause, ProviderFailed)), error)
    said = redact(_explanation(error), secrets)
    match error:
        case ProviderFailed() as ours:  # raised by the HTTP client (an SDK wraps it as a broken connection) or here
            return ProviderFailed(said, fault=ours.fault, status=ours.status, retry_after=ours.retry_after)
        case pai_errors.ModelHTTPError() as error:
            return ProviderFailed(
                f"Model {name!r} failed with status {error.status_code}: {_short(said) or 'no reason given.'}",
                fault="too_long" if _is_too_long(error) else _fault(error),
                status=error.status_code,
                retry_after=error.retry_after,
            )
        case pai_errors.ModelContextWindowExceededError():  # reported in a stream
            return ProviderFailed(f"Model {name!r} failed: {_short(said)}", fault="too_long")
        case pai_errors.ModelConnectionError():
            return ProviderFailed(f"Connection to model {name!r} failed: {said}.", fault="unreachable")
        case pai_errors.ModelAPIError() as error if error.in_stream:
            said = _short(said) or "no reason given."
            return ProviderFailed(f"Model {name!r} reported an error in its response: {said}", fault="cut")
        case _:
            return ProviderFailed(f"Model {name!r} sent an invalid response: {said}.", fault="malformed")


def _explanation(error: Exception) -> str:
    """Return the whole explanation, with any secrets in it."""
    match error:
        case pai_errors.ModelHTTPError():
            return _said(error.body)
        case ProviderFailed() | pai_errors.ModelContextWindowExceededError():
            return _written(error)
        case pai_errors.ModelAPIError(in_stream=True) if not isinstance(error, pai_errors.ModelConnectionError):
            return _said(_written(error))
        case _:
            return _root(error)


_TEMPORARY = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY})


def _fault(error: pai_errors.ModelHTTPError) -> ProviderFault:
    status = error.status_code
    if isinstance(error, pai_errors.ModelAuthenticationError) or status in (
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
    ):
        return "credentials"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return "rate_limited"
    if status in _TEMPORARY or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "overloaded"
    return "rejected"


_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size|limit)|prompt is too long|input is too long|too many (?:input )?tokens"
    r"|(?:input )?token count .*exceeds",
    re.IGNORECASE,
)


def _is_too_long(error: pai_errors.ModelHTTPError) -> bool:
    if isinstance(error, pai_errors.ModelContextWindowExceededError):
        return True
    if error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return True
    refused = error.status_code in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
    return refused and _TOO_LONG.search(_said(error.body)) is not None


def _said(body: object) -> str:
    """Return the whole explanation from a provider's error body."""
    said: object = body
    while isinstance(said, dict):
        inner: dict[str, object] = said  # pyright: ignore[reportUnknownVariableType] - JSON from outside
        said = inner.get("error") or inner.get("message", str(inner))
    return str(said).strip() if said else ""


def _short(text: str) -> str:
    """Return an explanation as a sentence of limited length. Call it after redaction, so that no key is cut in two."""
    text = text if len(text) <= LONGEST_EXPLANATION else f"{text[:LONGEST_EXPLANATION]} […]."
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _root(error: BaseException) -> str:
    """Return the innermost exception's text: SDKs wrap the one that helps."""
    *_, error = _causes(error)
    return f"{type(error).__name__}: {_written(error)}".rstrip(": .")


def _written(error: BaseException) -> str:
    """Return the error's text, "" if there is none: some SDK errors hold a body in place of a text."""
    try:
        return str(error)
    except TypeError:
        return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__
