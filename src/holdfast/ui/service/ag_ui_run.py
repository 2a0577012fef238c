"""`POST /ag-ui`: accept a prompt or an answer in AG-UI's format, and stream the run that it starts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from holdfast.errors import HoldfastError, SessionUnknown, UsageError
from holdfast.fleet.record import InboxRow
from holdfast.session.session_id import checked_id
from holdfast.system.threads import in_daemon
from holdfast.ui.service.access import Caller
from holdfast.ui.service.api import STREAM_HEADERS, Api, body_of, need
from holdfast.ui.service.dialects.ag_ui import AgUiBegin, AgUiDialect, resume_position, run_started
from holdfast.ui.service.event_stream import STILL_HERE, ServerEvent, event_bytes, event_stream
from holdfast.ui.service.inbox_body import check_body
from holdfast.ui.service.watchers import QUIET_FOR
from holdfast.ui.startup.debug_log_option import debug_log_note

_LOOK = 0.2
"""Seconds between two checks of the row that starts the run."""


class _TextPart(msgspec.Struct, frozen=True):
    type: str
    text: str = ""


class _AgUiMessage(msgspec.Struct, frozen=True):
    role: str
    content: str | list[_TextPart] | msgspec.UnsetType | None = msgspec.UNSET

    @property
    def text(self) -> str:
        """Return its text. Raise `UsageError` for any other part: nothing may be dropped silently."""
        if isinstance(self.content, str):
            return self.content
        parts = self.content or []
        for part in parts:
            if part.type != "text":
                raise UsageError(f"The message has a part of type {part.type!r}: only text is supported. Leave it out.")
        return "\n\n".join(part.text for part in parts)


class _AnswerPayload(msgspec.Struct, frozen=True):
    choice: str = ""
    words: str = ""
    marked: list[str] = msgspec.field(default_factory=list[str])


class _Resume(msgspec.Struct, frozen=True, rename="camel"):
    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: _AnswerPayload | None = None


class _Forwarded(msgspec.Struct, frozen=True):
    model: str = ""
    place: dict[str, object] = msgspec.field(default_factory=dict[str, object])


class _RunInput(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of `RunAgentInput` that are used. The history comes from the journal, not from the client."""

    thread_id: str
    run_id: str
    protocol_version: str | None = None  # clients send it since 1.0
    messages: list[_AgUiMessage] = msgspec.field(default_factory=list[_AgUiMessage])
    resume: list[_Resume] | None = None
    forwarded_props: _Forwarded | None = None


async def run_ag_ui(api: Api, request: Request, caller: Caller) -> Response:
    """Write the client's request into the inbox, durably, and stream its run. A repeated run id writes nothing new."""
    run_input = await body_of(request, _RunInput)
    session = checked_id(run_input.thread_id)
    if run_input.resume:
        need(caller, "answer")
        rows = [await _answer(api, caller, run_input, each) for each in run_input.resume]
    else:
        need(caller, "ask")
        text = run_input.messages[-1].text if run_input.messages and run_input.messages[-1].role == "user" else ""
        check_body("prompt", {"text": text})
        props = run_input.forwarded_props or _Forwarded()
        rows = [await in_daemon(lambda: _prompt(api, caller, run_input, props, text))]
    stream = _run(api, session, rows[-1], run_input)
    return StreamingResponse(stream, media_type="text/event-stream", headers=STREAM_HEADERS)


def _prompt(api: Api, caller: Caller, run_input: _RunInput, props: _Forwarded, text: str) -> InboxRow:
    """Write the prompt, into a new session if the thread is new."""
    session = run_input.thread_id
    try:
        api.record.session(session)
    except SessionUnknown:
        model = props.model or api.default_model
        api.record.create(model=model, place=props.place, sender=caller.name, id=session)
    return api.record.ask(session, "prompt", {"text": text}, key=f"run:{run_input.run_id}", sender=caller.name)


async def _answer(api: Api, caller: Caller, run_input: _RunInput, resume: _Resume) -> InboxRow:
    payload = resume.payload or _AnswerPayload()
    body: dict[str, object] = {
        "question": resume.interrupt_id,
        "choice": payload.choice if resume.status == "resolved" else "",
        "words": payload.words,
        "marked": payload.marked,
    }
    key = f"run:{run_input.run_id}:{resume.interrupt_id}"
    return await in_daemon(lambda: api.record.ask(run_input.thread_id, "answer", body, key=key, sender=caller.name))


async def _run(api: Api, session: str, row: InboxRow, run_input: _RunInput) -> AsyncGenerator[bytes]:
    """Yield the events of the run that the row starts, from the first to the last.

    A client waits for the end of what began, so a run that cannot be read on ends with an error, too.
    """
    dialect: AgUiDialect | None = None
    try:
        async for item in _row_when_done(api, session, row):
            if isinstance(item, bytes):
                yield item
                continue
            row = item
        if row.seq is None:
            why = row.refused or "The server stopped. Send the run again."
            yield _failed(session, run_input, why, code="refused", begun=False)
            return
        dialect, begin = await _dialect(api, session, row, run_input, row.seq)
        async for piece in event_stream(api.watchers.follow(session, begin.after), dialect):
            yield piece
    except (HoldfastError, OSError) as error:
        debug_log_note(f"A run of session {session!r} cannot be read on: {error}")
        why = f"The run cannot be read on: {error} Send the run again to see the rest: nothing is done twice."
        yield _failed(session, run_input, why, code="unavailable", begun=dialect is not None and dialect.is_running)


def _failed(session: str, run_input: _RunInput, why: str, *, code: str, begun: bool) -> bytes:
    """Return the events that end a run, and those that begin it unless it has `begun`."""
    failed: dict[str, object] = {"type": "RUN_ERROR", "message": why, "code": code}
    events = [failed] if begun else [run_started(session, run_input.run_id), failed]
    return b"".join(event_bytes(ServerEvent(msgspec.json.encode(each)), None) for each in events)


async def _dialect(
    api: Api, session: str, row: InboxRow, run_input: _RunInput, seq: int
) -> tuple[AgUiDialect, AgUiBegin]:
    """Return the dialect of the run, and where it begins; `seq` is the position of the row's entry."""
    reading = await in_daemon(lambda: api.record.reading(session))
    begin = resume_position(reading.records, seq - 1)
    known = seq if row.kind == "prompt" else 0
    can_cancel = run_input.protocol_version is not None
    dialect = AgUiDialect(session, begin, run=run_input.run_id, one_run=True, known=known, can_cancel=can_cancel)
    return dialect, begin


async def _row_when_done(api: Api, session: str, row: InboxRow) -> AsyncIterator[bytes | InboxRow]:
    """Yield keep-alives until the row is done, then the row; if the server stops, the row as it is."""
    quiet = 0.0
    while row.done is None and not api.watchers.closed:
        await asyncio.sleep(_LOOK)
        quiet += _LOOK
        if quiet >= QUIET_FOR:
            quiet = 0.0
            yield STILL_HERE
        row_id = row.id
        found = await in_daemon(lambda row_id=row_id: api.record.inbox(session, after=row_id - 1, limit=1))
        if found and found[0].id == row_id:
            row = found[0]
    yield row
