"""The routes of the server, each with the right it needs, and the checks that every request must pass."""

from __future__ import annotations

import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import AsyncContentStream, Response, StreamingResponse
from starlette.routing import Route

from holdfast import __version__
from holdfast.errors import HoldfastError
from holdfast.system.threads import in_daemon
from holdfast.ui.service import session_routes
from holdfast.ui.service.access import COOKIE, RIGHTS, Caller, Right, host_refusal, origin_refusal
from holdfast.ui.service.ag_ui_run import run_ag_ui
from holdfast.ui.service.api import Api, ApiError, error_response, json_response, login_of, need, status_of
from holdfast.ui.service.connections import KNOWN_CALLER
from holdfast.ui.service.metrics import CONTENT_TYPE, metrics_text
from holdfast.ui.service.page import SAFE_HEADERS
from holdfast.ui.startup.debug_log_option import debug_log_note

_BODY_DECIDES = (session_routes.ask_session, run_ag_ui)
"""Functions that check the rights themselves, because the required right depends on the body."""
_COOKIE_AGE = 30 * 24 * 3600
_ANONYMOUS = Caller("", frozenset())

RouteFunction = Callable[[Api, Request, Caller], Awaitable[Response]]


class ServedRoute(NamedTuple):
    """One route. `right` is the right that its caller needs, None if it needs no token."""

    method: str
    path: str
    right: Right | None
    function: RouteFunction


class _Login(msgspec.Struct, frozen=True):
    token: str


async def show_page(api: Api, request: Request, caller: Caller) -> Response:
    """Answer with the page, which has no data until the user logs in with a token."""
    del request, caller
    return Response(api.page.html, media_type="text/html", headers=api.page.headers)


async def log_in(api: Api, request: Request, caller: Caller) -> Response:
    """Exchange a token for the page's cookie, which scripts cannot read and other sites cannot send."""
    del caller
    token = (await login_of(request, _Login)).token.strip()
    known = await in_daemon(lambda: api.tokens.bearer(token))
    if known is None:
        raise ApiError(401, "Unknown token. Copy it again from the terminal or the token file.")
    response = _caller_response(known)
    response.set_cookie(
        COOKIE,
        await in_daemon(lambda: api.tokens.cookie_of(known)),
        max_age=_COOKIE_AGE,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path="/",
    )
    return response


async def log_out(api: Api, request: Request, caller: Caller) -> Response:
    """Delete the page's cookie."""
    del api, request, caller
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return response


async def show_caller(api: Api, request: Request, caller: Caller) -> Response:
    """Answer with the caller's name and rights."""
    del api, request
    return _caller_response(caller)


def _caller_response(caller: Caller) -> Response:
    rights = [each for each in RIGHTS if each in caller.rights]
    return json_response({"name": caller.name, "rights": rights, "version": __version__})


async def show_health(api: Api, request: Request, caller: Caller) -> Response:
    """Answer whether the sessions can be reached, and no more, because no token is needed."""
    del request, caller
    try:
        await in_daemon(lambda: api.record.lengths(()))
    except HoldfastError:
        return error_response(503, "The sessions cannot be reached.")
    return json_response({"status": "ok"})


async def show_metrics(api: Api, request: Request, caller: Caller) -> Response:
    """Answer with the metrics."""
    del request, caller
    status = await in_daemon(api.record.status)
    text = metrics_text(status, api.counts.all(), watchers=api.watchers.count, since=api.since)
    return Response(text, headers={"content-type": CONTENT_TYPE})


async def show_status(api: Api, request: Request, caller: Caller) -> Response:
    """Answer with the workers, and the sessions by state."""
    del request, caller
    return json_response(await in_daemon(api.record.status))


ROUTES: tuple[ServedRoute, ...] = (
    ServedRoute("GET", "/", None, show_page),
    ServedRoute("POST", "/login", None, log_in),
    ServedRoute("POST", "/logout", None, log_out),
    ServedRoute("GET", "/healthz", None, show_health),
    ServedRoute("GET", "/me", "read", show_caller),
    ServedRoute("GET", "/metrics", "read", show_metrics),
    ServedRoute("GET", "/status", "read", show_status),
    ServedRoute("GET", "/sessions", "read", session_routes.list_sessions),
    ServedRoute("POST", "/sessions", "ask", session_routes.begin_session),
    ServedRoute("GET", "/sessions/{session}", "read", session_routes.show_session),
    ServedRoute("GET", "/sessions/{session}/inbox", "read", session_routes.list_inbox),
    ServedRoute("POST", "/sessions/{session}/inbox", "ask", session_routes.ask_session),
    ServedRoute("GET", "/sessions/{session}/events", "read", session_routes.stream_events),
    ServedRoute("GET", "/sessions/{session}/receipt", "read", session_routes.show_receipt),
    ServedRoute("GET", "/sessions/{session}/export", "read", session_routes.export_session),
    ServedRoute("POST", "/ag-ui", "ask", run_ag_ui),
)
"""All routes. An `answer` or a `mode` in an inbox, and an answer in AG-UI, need the right `answer` instead."""


def application(api: Api, *, hosts: frozenset[str]) -> Starlette:
    """Return the application. It answers requests for these `hosts` only."""

    def starlette_route(route: ServedRoute) -> Route:
        async def serve(request: Request) -> Response:
            response = await _safe_answer(api, request, route, hosts)
            if isinstance(response, StreamingResponse):
                response.body_iterator = _safe_stream(response.body_iterator, route)
            for name, value in SAFE_HEADERS.items():
                response.headers.setdefault(name, value)
            api.counts.add(route.method, route.path, response.status_code)
            return response

        return Route(route.path, serve, methods=[route.method])

    return Starlette(routes=[starlette_route(each) for each in ROUTES], exception_handlers={HTTPException: _unknown})


async def _safe_answer(api: Api, request: Request, route: ServedRoute, hosts: frozenset[str]) -> Response:
    """Return the answer, also if it is an error: each has the safe headers, and none is a traceback to the caller."""
    try:
        return await _answer(api, request, route, hosts)
    except ClientDisconnect:  # in the middle of its body: there is no one to read an answer
        return error_response(400, "The connection was closed before the end of the body.")
    except Exception as error:  # noqa: BLE001 - the top of a request: a bug must not end the answer without its headers
        _note_bug(route, error)
        return error_response(500, f"Internal error: {type(error).__name__}. See the server's log.")


async def _safe_stream(stream: AsyncContentStream, route: ServedRoute) -> AsyncGenerator[str | bytes | memoryview]:
    """Yield the pieces of a stream. It ends early if the sessions cannot be read: its client connects again."""
    try:
        async for piece in stream:
            yield piece
    except (HoldfastError, OSError) as error:
        debug_log_note(f"{route.method} {route.path}: the stream ended early. {error}")
    except Exception as error:  # noqa: BLE001 - the top of a stream, likewise
        _note_bug(route, error)


def _note_bug(route: ServedRoute, error: Exception) -> None:
    debug_log_note(f"{route.method} {route.path}: internal error.\n{''.join(traceback.format_exception(error))}")


async def _answer(api: Api, request: Request, route: ServedRoute, hosts: frozenset[str]) -> Response:
    host = request.headers.get("host", "")
    if why := host_refusal(host, hosts):
        return error_response(421, why)
    is_data = route.right is not None or route.method != "GET"  # a link elsewhere may lead to the page itself
    if is_data and (why := origin_refusal(host, request.headers.get("origin"), request.headers.get("sec-fetch-site"))):
        return error_response(403, why)
    try:
        caller = _ANONYMOUS
        if route.right is not None:
            caller = await in_daemon(lambda: _caller(api, request))
            sufficient = {route.right, "answer"} if route.function in _BODY_DECIDES else {route.right}
            if not sufficient & caller.rights:
                need(caller, route.right)
            caller_is_known = request.scope.get("state", {}).get(KNOWN_CALLER)
            if caller_is_known is not None:
                caller_is_known()
        return await route.function(api, request, caller)
    except ApiError as error:
        response = error_response(error.status, str(error))
        if error.status == 401:  # noqa: PLR2004 - HTTP's number for a caller without a token
            response.headers["www-authenticate"] = "Bearer"
        return response
    except HoldfastError as error:
        return error_response(status_of(error), str(error))
    except OSError as error:
        return error_response(503, f"A file of the session cannot be read: {error.strerror or error}.")


def _caller(api: Api, request: Request) -> Caller:
    """Return the caller of a request by its token or cookie. Raise `ApiError` if it has none."""
    authorization = request.headers.get("authorization")
    if authorization is not None:
        scheme, _, token = authorization.partition(" ")
        known = api.tokens.bearer(token.strip()) if scheme.lower() == "bearer" else None
    else:
        cookie = request.cookies.get(COOKIE)
        known = None if cookie is None else api.tokens.cookie(cookie)
    if known is None:
        raise ApiError(401, "No valid token (expected Authorization: Bearer TOKEN).")
    return known


async def _unknown(request: Request, error: Exception) -> Response:
    """Answer a request that no route serves."""
    assert isinstance(error, HTTPException)
    what = "exists" if error.status_code == 404 else f"takes {request.method}"  # noqa: PLR2004 - HTTP's number
    response = error_response(
        error.status_code, f"No route {request.url.path!r} {what}. See docs/reference/http-api.md."
    )
    response.headers.update({**dict(error.headers or {}), **SAFE_HEADERS})
    return response
