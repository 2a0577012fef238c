"""Shared parts of the routes: the server's state, rights, request bodies, and errors as JSON."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from holdfast.errors import (
    ConfigInvalid,
    HoldfastError,
    ModelUnusable,
    SessionBusy,
    SessionUnknown,
    StorageFailed,
    UsageError,
)
from holdfast.fleet.record import FleetRecord
from holdfast.typed_data import decode_json
from holdfast.ui.service.access import Caller, Right, TokenFile

if TYPE_CHECKING:
    from holdfast.ui.service.metrics import RequestCounts
    from holdfast.ui.service.page import ServedPage
    from holdfast.ui.service.watchers import Watchers

STREAM_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
"""Headers of an event stream, so that no proxy caches or buffers it."""
LONGEST_BODY = 32 * 1024 * 1024
"""Maximum bytes of a request's body."""
LONGEST_LOGIN = 64 * 1024
"""Maximum bytes of a body that comes without a token."""
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")  # PostgreSQL keeps no text with one; not an escaped backslash before it
LOGIN_BODY_WITHIN = 10.0
"""Seconds that the body of a request without a token may take."""
STALLED = 60.0
"""Seconds after which the next bytes of a body must have arrived."""

_LONGEST_NUMBER = 18

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """The parts of one server."""

    record: FleetRecord
    tokens: TokenFile
    watchers: Watchers
    counts: RequestCounts
    page: ServedPage
    default_model: str = ""
    own_tests: tuple[str, ...] = ()
    since: float = field(default_factory=time.time)


class ApiError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def json_response(value: object, status: int = 200) -> Response:
    """Return the value as JSON."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def error_response(status: int, message: str) -> Response:
    """Return an error as JSON."""
    return json_response({"error": message}, status)


def status_of(error: HoldfastError) -> int:
    """Return the HTTP status for an error."""
    match error:
        case SessionUnknown():
            return 404
        case SessionBusy():
            return 409
        case StorageFailed() | ConfigInvalid():
            return 503
        case ModelUnusable() | UsageError():
            return 400
        case _:
            return 500


def need(caller: Caller, right: Right) -> None:
    """Raise `ApiError` unless the caller has the right."""
    if right not in caller.rights:
        raise ApiError(403, f"Token {caller.name!r} has no right to {right}. Use a token that has it.")


def offered_word(offered: Iterable[T], value: object) -> T | None:
    """Return the offered word that equals `value`, None if there is none."""
    return next((each for each in offered if str(each) == value), None)


async def login_of(request: Request, kind: type[T]) -> T:
    """Return the body of a request without a token. Raise `ApiError` if it is too long, late or invalid."""
    try:
        async with asyncio.timeout(LOGIN_BODY_WITHIN):
            return await body_of(request, kind, most=LONGEST_LOGIN)
    except TimeoutError as error:
        raise ApiError(408, f"The body is incomplete after {LOGIN_BODY_WITHIN:g} s. Send it again.") from error


async def body_of(request: Request, kind: type[T], *, most: int = LONGEST_BODY) -> T:
    """Return the body of a request. Raise `ApiError` if it is too long, stalled or invalid."""
    too_long = ApiError(413, f"The body is longer than {most // 1024:,} KB. Send less.")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and (len(announced) > _LONGEST_NUMBER or int(announced) > most):
        raise too_long
    data = bytearray()
    chunks = aiter(request.stream())
    while True:
        try:
            chunk = await asyncio.wait_for(anext(chunks, None), STALLED)
        except TimeoutError as error:
            raise ApiError(408, f"Nothing of the body arrived for {STALLED:g} s. Send it again.") from error
        if chunk is None:
            break
        data += chunk
        if len(data) > most:
            raise too_long
    if _NUL.search(data):
        raise ApiError(400, r"The body is not valid: a text in it has a NUL (\u0000). Send it without.")
    try:
        return decode_json(bytes(data), kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(400, f"The body is invalid: {error}.") from error
