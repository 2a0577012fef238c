"""`POST /ag-ui`: take a prompt or an answer in the words of AG-UI, and stream the run that it begins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from holdfast.errors import SessionUnknown, UsageError
from holdfast.fleet.record import InboxRow
from holdfast.system.threads import in_daemon
from holdfast.ui.service.access import Caller
from holdfast.ui.service.api import STREAM_HEADERS, Api, body_of, need
from holdfast.ui.service.dialects.ag_ui import AgUiDialect, resume_position, run_started
from holdfast.ui.service.event_stream import STILL_HERE, ServerEvent, event_bytes, event_stream
from holdfast.ui.service.inbox_body import check_body
from holdfast.ui.service.watchers import QUIET_FOR

_LOOK = 0.2
"""Seconds between two looks at the row that begins the run."""


class _TextPart(msgspec.Struct, frozen=True):
    type: str
    text: str = ""


class _AgUiMessage(msgspec.Struct, frozen=True):
    role: str
    content: str | list[_TextPart] | msgspec.UnsetType | None = msgspec.UNSET

    @property
    def text(self) -> str:
        """Its text. Raise `UsageError` for a part that is something else: nothing may get lost unsaid."""
        if isinstance(self.content, str):
            return self.content
        parts = self.content or []
        for part in parts:
            if part.type != "text":
                raise UsageError(f"The message has a part of type {part.type!r}: only text is taken. Leave it out.")
        return "\n\n".join(part.text for part in parts)


class _AnswerPayload(msgspec.Struct, frozen=True):
    allowed: bool = False
    words: str = ""
    remember: str = ""
    chosen: list[str] = msgspec.field(default_factory=list[str])


class _Resume(msgspec.Struct, frozen=True, rename="camel"):
    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: _AnswerPayload | None = None


class _Forwarded(msgspec.Struct, frozen=True):
    model: str = ""
    place: dict[str, object] = msgspec.field(default_factory=dict[str, object])


class _RunInput(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of `RunAgentInput` that are used. The history is the journal's, not the client's."""

    thread_id: str
    run_id: str
    protocol_version: str | None = None  # clients say it since 1.0
    messages: list[_AgUiMessage] = msgspec.field(default_factory=list[_AgUiMessage])
    resume: list[_Resume] | None = None
    forwarded_props: _Forwarded | None = None


async def run_ag_ui(api: Api, request: Request, caller: Caller) -> Response:
    """Write what the client wants into the inbox, durably, and stream its run. The same run id asks once."""
    wanted = await body_of(request, _RunInput)
    own = wanted.thread_id
    if wanted.resume:
        need(caller, "answer")
        rows = [await _answer(api, caller, wanted, each) for each in wanted.resume]
    else:
        need(caller, "ask")
        text = wanted.messages[-1].text if wanted.messages and wanted.messages[-1].role == "user" else ""
        check_body("prompt", {"text": text})
        props = wanted.forwarded_props or _Forwarded()
        rows = [await in_daemon(lambda: _prompt(api, caller, wanted, props, text))]
    stream = _run(api, own, rows[-1], wanted)
    return StreamingResponse(stream, media_type="text/event-stream", headers=STREAM_HEADERS)


def _prompt(api: Api, caller: Caller, wanted: _RunInput, props: _Forwarded, text: str) -> InboxRow:
    """Write the prompt, into a new session if the thread is new."""
    own = wanted.thread_id
    try:
        api.record.session(own)
    except SessionUnknown:
        model = props.model or api.default_model
        api.record.create(model=model, place=props.place, sender=caller.name, id=own)
    return api.record.ask(own, "prompt", {"text": text}, key=f"run:{wanted.run_id}", sender=caller.name)


async def _answer(api: Api, caller: Caller, wanted: _RunInput, resume: _Resume) -> InboxRow:
    payload = resume.payload or _AnswerPayload()
    body: dict[str, object] = {
        "call": resume.interrupt_id,
        "allowed": payload.allowed and resume.status == "resolved",
        "words": payload.words,
        "remember": payload.remember,
        "chosen": payload.chosen,
    }
    key = f"run:{wanted.run_id}:{resume.interrupt_id}"
    return await in_daemon(lambda: api.record.ask(wanted.thread_id, "answer", body, key=key, sender=caller.name))


async def _run(api: Api, session: str, row: InboxRow, wanted: _RunInput) -> AsyncGenerator[bytes]:
    """Yield the events of the run that the row begins, from its first to its last."""
    async for still in _waited(api, session, row):
        if isinstance(still, bytes):
            yield still
            continue
        row = still
    if row.seq is None:
        why = row.refused or "The server stopped. Send the run again."
        for event in (
            run_started(session, wanted.run_id),
            {"type": "RUN_ERROR", "message": why, "code": "refused"},
        ):
            yield event_bytes(ServerEvent(msgspec.json.encode(event)), None)
        return
    seq = row.seq
    reading = await in_daemon(lambda: api.record.reading(session))
    begin = resume_position(reading.records, seq - 1)
    known = seq if row.kind == "prompt" else 0
    can_cancel = wanted.protocol_version is not None
    dialect = AgUiDialect(session, begin, run=wanted.run_id, one_run=True, known=known, can_cancel=can_cancel)
    async for piece in event_stream(api.watchers.follow(session, begin.after), dialect):
        yield piece


async def _waited(api: Api, session: str, row: InboxRow) -> AsyncIterator[bytes | InboxRow]:
    """Yield the row once it is done, and signs of life until then. Without one the server stops."""
    quiet = 0.0
    while row.done is None and not api.watchers.closed:
        await asyncio.sleep(_LOOK)
        quiet += _LOOK
        if quiet >= QUIET_FOR:
            quiet = 0.0
            yield STILL_HERE
        own = row.id
        found = await in_daemon(lambda own=own: api.record.inbox(session, after=own - 1, limit=1))
        if found and found[0].id == own:
            row = found[0]
    yield row
