"""A session as AG-UI 1.0 events: runs, messages, tool calls, interrupts.

A run is a turn, or a part of one that ends at a question, because AG-UI has no question within a run. The answer starts
the next run. Between two runs AG-UI allows no events, so events there are held back and sent at the beginning of the
next run.

AG-UI cannot resume a stream: its clients expect `RUN_STARTED` first. So a client that reconnects in the middle of a run
gets that run from its beginning, with the same ids and the same bytes (`resume_position`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from holdfast.agent.events import Event
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.session.journal.store import StoredEntry
from holdfast.session.model_notices import clause_for_user
from holdfast.ui.service.event_stream import ServerEvent

VERSION = "1.0"
"""The version of the protocol, sent in `RUN_STARTED`."""

AgUiEvent = dict[str, object]
"""An event of AG-UI, with its `type`."""


class AgUiBegin(msgspec.Struct, frozen=True):
    """Where a stream begins: after the position `after`, in part `part` of turn `turn`."""

    after: int
    turn: int = 0
    part: int = 0


class AgUiDialect:
    """Translates the entries of one session. Live events have no translation: their text could still be retracted.

    It begins at `begin`. `run` is the id of the first run, instead of one derived from its turn. With `one_run` the
    stream ends with the first run. `known` is the position of a prompt that the client sent and shows already.
    `can_cancel` is False for a client that does not know the outcome `cancelled`.
    """

    def __init__(
        self,
        session: str,
        begin: AgUiBegin,
        *,
        run: str = "",
        one_run: bool = False,
        known: int = 0,
        can_cancel: bool = True,
    ) -> None:
        self._session = session
        self._first = run
        self._one_run = one_run
        self._known = known
        self._cancelled: AgUiEvent | None = {"type": "cancelled"} if can_cancel else None
        self._turn = begin.turn
        self._part = begin.part
        self._run = ""  # of the open run
        self._pending: list[AgUiEvent] = []

    @property
    def is_running(self) -> bool:
        """Return whether a run has begun and not ended."""
        return bool(self._run)

    def of(self, item: StoredEntry | Event) -> Iterable[ServerEvent]:
        """Return the events of an entry."""
        if not isinstance(item, StoredEntry):
            return
        for event in self._translate(item):
            stamped = {**event, "timestamp": round(item.at * 1000)}
            ends = event["type"] in {"RUN_FINISHED", "RUN_ERROR"}
            yield ServerEvent(msgspec.json.encode(stamped), last=ends and self._one_run)

    def _translate(self, record: StoredEntry) -> Iterator[AgUiEvent]:
        match record.entry:
            case e.PromptAccepted(turn=turn):
                if self._run:  # a damaged journal: its turn has no end
                    yield self._finish_run(self._cancelled)
                self._turn, self._part = turn, 0
                yield from self._begin_run()
            case e.ApprovalAnswered() if not self._run:
                yield from self._begin_run()
            case e.TurnEnded(turn=turn) if not self._run:
                self._turn = turn
                yield from self._begin_run()
            case _:
                pass
        events = list(_events(record)) if record.seq != self._known else []
        if self._run:
            yield from events
        else:
            self._pending += events
        match record.entry:
            case e.ApprovalAsked(call=call, question=question, level=level, hosts=hosts) if self._run:
                interrupt: AgUiEvent = {"id": question.id or call, "reason": "tool_approval", "toolCallId": call}
                interrupt["message"] = question.reason
                metadata: AgUiEvent = {"question": msgspec.to_builtins(question)}
                interrupt["metadata"] = {**metadata, "level": level, "hosts": list(hosts)} if level else metadata
                yield self._finish_run({"type": "interrupt", "interrupts": [interrupt]})
            case e.TurnEnded(reason="end_turn" | "cancelled" as reason, cause=cause):
                outcome: AgUiEvent | None = {"type": "success"} if reason == "end_turn" else self._cancelled
                yield self._finish_run(outcome, {"reason": reason, "cause": cause})
            case e.TurnEnded(cause=cause, detail=detail):
                self._run = ""
                yield {"type": "RUN_ERROR", "message": clause_for_user(cause, detail), "code": cause}
            case _:
                pass

    def _begin_run(self) -> Iterator[AgUiEvent]:
        run_id = f"t{self._turn}" if not self._part else f"t{self._turn}.{self._part}"
        parent = "" if not self._part else f"t{self._turn}" if self._part == 1 else f"t{self._turn}.{self._part - 1}"
        self._part += 1
        self._run, self._first = self._first or run_id, ""
        started = run_started(self._session, self._run)
        yield {**started, "parentRunId": parent} if parent else started
        pending, self._pending = self._pending, []
        yield from pending

    def _finish_run(self, outcome: AgUiEvent | None, result: AgUiEvent | None = None) -> AgUiEvent:
        run, self._run = self._run, ""
        ended: AgUiEvent = {"type": "RUN_FINISHED", "threadId": self._session, "runId": run}
        more: AgUiEvent = {"outcome": outcome, "result": result}
        return {**ended, **{name: value for name, value in more.items() if value is not None}}


def run_started(session: str, run: str) -> AgUiEvent:
    """Return the event that begins a run."""
    return {"type": "RUN_STARTED", "threadId": session, "runId": run, "protocolVersion": VERSION}


def _events(record: StoredEntry) -> Iterator[AgUiEvent]:
    """Yield the events of an entry, without the beginning and the end of runs."""
    message_id = f"m{record.seq}"
    match record.entry:
        case e.PromptAccepted(text=text) | e.Steered(text=text):
            yield {"type": "TEXT_MESSAGE_CHUNK", "messageId": message_id, "role": "user", "delta": text}
        case e.ResponseEnded(parts=parts, cut=cut):
            for number, part in enumerate(parts):
                yield from _part(message_id, number, part, cut=cut is not None)
            if cut is not None:
                yield {"type": "CUSTOM", "name": "holdfast.cut", "value": {"messageId": message_id, "cause": cut}}
        case e.CallEnded(call=call, outcome=outcome, text=text):
            result: AgUiEvent = {
                "type": "TOOL_CALL_RESULT",
                "messageId": message_id,
                "toolCallId": call,
                "role": "tool",
            }
            yield {**result, "content": text}
            yield {"type": "CUSTOM", "name": "holdfast.outcome", "value": {"call": call, "outcome": outcome}}
        case e.TurnEnded():
            pass
        case entry:
            body = msgspec.to_builtins(entry)
            yield {"type": "CUSTOM", "name": f"holdfast.{e.kind(entry)}", "value": body}


def _part(message_id: str, number: int, part: e.Part, *, cut: bool) -> Iterator[AgUiEvent]:
    match part:
        case TextPart(text=text):
            if text:
                chunk: AgUiEvent = {
                    "type": "TEXT_MESSAGE_CHUNK",
                    "messageId": f"{message_id}.{number}",
                    "role": "assistant",
                }
                yield {**chunk, "delta": text}
        case ThinkingPart(text=text):
            if text:
                yield {"type": "REASONING_MESSAGE_CHUNK", "messageId": f"{message_id}.{number}", "delta": text}
        case CallPart(id=call, name=name, arguments=arguments):
            if not cut:  # a call of a response that was cut never starts
                begun: AgUiEvent = {"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": name}
                yield {**begun, "parentMessageId": message_id}
                if arguments:
                    yield {"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": arguments}
                yield {"type": "TOOL_CALL_END", "toolCallId": call}


def resume_position(records: Sequence[StoredEntry], after: int) -> AgUiBegin:
    """Return where to begin for a client that has seen everything up to `after`: after the last run that it saw end."""
    found = AgUiBegin(0)
    turn = part = 0
    open_ = False
    for record in records:
        if record.seq > after:
            break
        match record.entry:
            case e.PromptAccepted(turn=turn):
                part, open_ = 1, True
            case e.ApprovalAnswered() if not open_:
                part, open_ = part + 1, True
            case e.ApprovalAsked() if open_:
                found, open_ = AgUiBegin(record.seq, turn, part), False
            case e.TurnEnded(turn=turn):
                found, open_ = AgUiBegin(record.seq, turn, part), False
            case _:
                pass
    return found
