"""The routes of sessions: list, begin, ask, inbox, events, export. Slow work runs on a thread."""

from __future__ import annotations

from hashlib import sha256
from typing import Literal, get_args

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from holdfast.agent.receipt.receipt import Receipt
from holdfast.errors import SessionUnknown
from holdfast.fleet.record import FLEET_STATES, FleetSession, InboxKind, InboxRow
from holdfast.session.journal.entries import PromptAccepted
from holdfast.system.threads import in_daemon
from holdfast.ui.service.access import Caller
from holdfast.ui.service.api import STREAM_HEADERS, Api, ApiError, body_of, json_response, need, offered_word
from holdfast.ui.service.event_stream import Dialect, HoldfastDialect, event_bytes, event_stream
from holdfast.ui.service.inbox_body import check_body
from holdfast.ui.service.watchers import LiveSource

_DialectName = Literal["holdfast", "stream-json", "ag-ui", "page"]
_DIALECTS: tuple[_DialectName, ...] = get_args(_DialectName)
_KINDS: tuple[InboxKind, ...] = get_args(InboxKind)
LONGEST_KEY = 200
SESSIONS_LISTED = 200
MOST_SESSIONS_LISTED = 1000
_MOST_DIGITS = 12
_LAST_TURN = 10**_MOST_DIGITS


class _NewSession(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of `POST /sessions`."""

    model: str = ""
    place: dict[str, object] = msgspec.field(default_factory=dict[str, object])
    title: str = ""
    prompt: str = ""


async def list_sessions(api: Api, request: Request, caller: Caller) -> Response:
    """Answer with the sessions, most recently used first; with no body if they are those that the client has."""
    del caller
    requested = request.query_params.get("state")
    state = offered_word(FLEET_STATES, requested)
    if requested is not None and state is None:
        raise ApiError(400, f"Unknown state {requested!r} (expected one of {', '.join(FLEET_STATES)}).")
    limit = _number(request, "limit", SESSIONS_LISTED, most=MOST_SESSIONS_LISTED)
    after = request.query_params.get("after", "")
    found = await in_daemon(lambda: api.record.sessions(state, limit=limit, after=after))
    response = json_response({"sessions": found})
    tag = f'"{sha256(response.body).hexdigest()[:32]}"'
    headers = {"etag": tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    response.headers.update(headers)
    return response


async def begin_session(api: Api, request: Request, caller: Caller) -> Response:
    """Begin a session, with an optional first prompt. The same `Idempotency-Key` never begins a second session."""
    body = await body_of(request, _NewSession)
    key = _key(request)
    if body.prompt:
        check_body("prompt", {"text": body.prompt})
    session_id = session_id_of(caller.name, key) if key else ""
    model = body.model or api.default_model

    def create() -> tuple[str, bool]:
        created = api.record.create(model=model, place=body.place, sender=caller.name, title=body.title, id=session_id)
        if not body.prompt:
            return created, True
        prompt = {"text": body.prompt}
        return created, api.record.ask(created, "prompt", prompt, key=key and f"first:{key}", sender=caller.name).new

    session, is_new = await in_daemon(create)
    response = json_response({"id": session, "new": is_new}, 201)
    response.headers["location"] = f"/sessions/{session}"
    return response


def session_id_of(sender: str, key: str) -> str:
    """Return the id for a session that this sender begins with this key: always the same."""
    return f"k-{sha256(f'{sender}/{key}'.encode()).hexdigest()[:20]}"


async def show_session(api: Api, request: Request, caller: Caller) -> Response:
    """Answer with one session."""
    del caller
    return json_response(await _session(api, request))


async def ask_session(api: Api, request: Request, caller: Caller) -> Response:
    """Write a row into the inbox of a session. It is durable when the answer is sent."""
    body = await body_of(request, dict[str, object])
    requested = body.pop("kind", None)
    kind = offered_word(_KINDS, requested)
    if kind is None:
        raise ApiError(400, f"Unknown kind {requested!r} (expected one of {', '.join(_KINDS)}).")
    need(caller, "answer" if kind in {"answer", "mode"} else "ask")
    check_body(kind, body)
    key, session = _key(request), request.path_params["session"]
    row = await in_daemon(lambda: api.record.ask(session, kind, body, key=key, sender=caller.name))
    return json_response(row, 202)


async def list_inbox(api: Api, request: Request, caller: Caller) -> Response:
    """Answer with the rows of a session's inbox, and the result of each."""
    del caller
    session, after = request.path_params["session"], _number(request, "after", 0)
    rows: tuple[InboxRow, ...] = await in_daemon(lambda: api.record.inbox(session, after=after))
    return json_response({"inbox": rows})


async def stream_events(api: Api, request: Request, caller: Caller) -> Response:
    """Stream the events of a session after the position `after`, or after the last event that the client has seen."""
    del caller
    requested = request.query_params.get("as", "holdfast")
    name = offered_word(_DIALECTS, requested)
    if name is None:
        raise ApiError(400, f"Unknown dialect {requested!r} (expected one of {', '.join(_DIALECTS)}).")
    seen = request.headers.get("last-event-id")
    after = _position(seen) if seen is not None else _number(request, "after", 0)
    session = await _session(api, request)
    dialect, begin, first = await in_daemon(lambda: _dialect(api, name, session, after))
    stream = event_stream(api.watchers.follow(session.id, begin), dialect, first=first)
    return StreamingResponse(stream, media_type="text/event-stream", headers=STREAM_HEADERS)


async def show_receipt(api: Api, request: Request, caller: Caller) -> Response:
    """Answer with what really happened in a turn: the one of the query, 0 for all of them, by default the last."""
    del caller
    from holdfast.agent.receipt.folded_receipt import receipt

    session = await _session(api, request)
    number = _number(request, "turn", _LAST_TURN)

    def found() -> Receipt:
        entries = [record.entry for record in api.record.reading(session.id).records]
        last = next((each.turn for each in reversed(entries) if isinstance(each, PromptAccepted)), 0)
        return receipt(entries, turn=last if number == _LAST_TURN else number, tests=api.own_tests, only=bool(number))

    return json_response(await in_daemon(found))


async def export_session(api: Api, request: Request, caller: Caller) -> Response:
    """Answer with the session as a document, in a format of `holdfast sessions export`."""
    del caller
    from holdfast.ui.export.export import FORMS, document_of, export_text

    requested = request.query_params.get("form", "pydantic-ai")
    form = offered_word(FORMS, requested)
    if form is None:
        raise ApiError(400, f"Unknown form {requested!r} (expected one of {', '.join(FORMS)}).")
    session = await _session(api, request)
    text = await in_daemon(
        lambda: export_text(document_of(api.record.reading(session.id), session.id, form), ascii_only=False)
    )
    kinds = {"markdown": "text/markdown", "html": "text/html"}
    headers = {"content-disposition": f'attachment; filename="{session.id}{FORMS[form][0]}"'}
    return Response(text.encode(), media_type=kinds.get(form, "application/json"), headers=headers)


def _dialect(api: Api, name: _DialectName, session: FleetSession, after: int) -> tuple[Dialect, int, bytes]:
    """Return the dialect, the position after which it begins, and its first bytes."""
    match name:
        case "holdfast":
            return HoldfastDialect(), after, b""
        case "stream-json":
            from holdfast.ui.service.dialects.stream_json import StreamJsonDialect

            before = [each for each in api.record.reading(session.id).records if each.seq <= after]
            lines = StreamJsonDialect(session.id, before)
            return lines, after, b"".join(event_bytes(each, None) for each in lines.first)
        case "ag-ui":
            from holdfast.ui.service.dialects.ag_ui import AgUiDialect, resume_position

            begin = resume_position(api.record.reading(session.id).records, after)
            return AgUiDialect(session.id, begin), begin.after, b""
        case "page":
            from holdfast.ui.service.dialects.page_blocks import PageDialect

            records = api.record.reading(session.id).records
            page = PageDialect(records, seen=after, project=isinstance(api.record, LiveSource))
            end = records[-1].seq if records else after
            numbered = [(each, end if at == len(page.first) else None) for at, each in enumerate(page.first, 1)]
            return page, end, b"".join(event_bytes(each, position or None) for each, position in numbered)


async def _session(api: Api, request: Request) -> FleetSession:
    session = request.path_params["session"]
    try:
        return await in_daemon(lambda: api.record.session(session))
    except SessionUnknown as error:
        raise ApiError(404, str(error)) from error


def _key(request: Request) -> str:
    key = request.headers.get("idempotency-key", "")
    if len(key) > LONGEST_KEY or not key.isprintable():
        raise ApiError(400, f"Idempotency-Key is invalid (expected at most {LONGEST_KEY} printable characters).")
    return key


def _number(request: Request, name: str, default: int, *, most: int = 2**31 - 1) -> int:
    value = request.query_params.get(name)
    if value is None:
        return default
    number = _whole_number(value)
    if number is None or number > most:
        raise ApiError(400, f"{name} {value[:LONGEST_KEY]!r} is invalid (expected a number from 0 to {most}).")
    return number


def _position(seen: str) -> int:
    number = _whole_number(seen)
    if number is None or number >= 2**31:
        raise ApiError(400, f"Last-Event-ID {seen[:LONGEST_KEY]!r} is invalid (expected the id of an event).")
    return number


def _whole_number(value: str) -> int | None:
    """Return the number, None for anything but a few digits: Python refuses to read thousands of them."""
    return int(value) if value.isascii() and value.isdecimal() and len(value) <= _MOST_DIGITS else None
