"""The JSON lines of `stream-json`: each event as an object (docs/reference/events.md)."""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec

from holdfast.agent.events import (
    CheckFinding,
    Event,
    Fact,
    LiveCall,
    LiveOutput,
    LivePrompt,
    LiveText,
    LiveThinking,
    NotRecorded,
    Shortening,
    TurnFailed,
)
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, TextPart
from holdfast.session.journal.tasks import TaskEnded, TaskEndSent, TaskStarted
from holdfast.session.model_notices import clause_for_user
from holdfast.ui.headless.output_format import RunEnded, RunOpened
from holdfast.ui.headless.status_lines import last_turn_status


class JsonLines:
    """Writes the events of a session as JSON lines, ASCII only, as they happen: init, message, … result.

    `write` gets each line with its end.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._session = ""

    def begin(self, opened: RunOpened) -> None:
        """Write the init line."""
        self._session = opened.session
        self._line(
            type="init",
            session_id=opened.session,
            model=opened.model,
            effort=opened.settings.effort,
            permission_mode=opened.mode,
            cwd=opened.cwd,
            tools=list(opened.tools),
            resumed=opened.resumed,
            saved=opened.saved,
            last_turn=list(last_turn_status(opened.last_turn)),
            mcp_servers=[
                {"name": name, "status": "failed" if error else "connected", **({"error": error} if error else {})}
                for name, error in opened.servers
            ],
        )

    def event(self, event: Event) -> None:
        """Write the event's line; docs/reference/events.md lists all of them."""
        match event:
            case LiveText(text=text):
                self._line(type="message", role="assistant", content=text, delta=True)
            case LiveThinking(text=text):
                self._line(type="thinking", content=text, delta=True)
            case LiveCall(index=index, name=name, arguments=arguments):
                self._line(type="tool_use", index=index, name=name, arguments=arguments, delta=True)
            case LiveOutput(call=call, text=text):
                self._line(type="tool_output", id=call, content=text, delta=True)
            case Shortening(message=message):
                self._line(type="compacting", message=message)
            case NotRecorded(message=message):
                self._line(type="error", message=message)
            case CheckFinding(message=message):
                self._line(type="finding", message=message)
            case TurnFailed() | LivePrompt():
                pass  # the line of its last request has the fault; a screen shows the other
            case Fact(entry=entry):
                self._fact(entry)

    def end(self, ended: RunEnded) -> None:
        """Write the result line."""
        self._line(**result(self._session, ended))

    def fail(self, ended: RunEnded, message: str) -> None:
        """Write an error line, then the result line."""
        self._line(type="error", message=message)
        self.end(ended)

    def answer(self, request: str, *, error: str = "") -> None:
        """Write the answer to a control request."""
        how = {"subtype": "error", "error": error} if error else {"subtype": "success"}
        self._line(type="control_response", response={**how, "request_id": request})

    def bad_line(self, number: int, message: str) -> None:
        """Write that a line of the input was skipped."""
        self._line(type="error", message=message, line=number)

    def _fact(self, entry: object) -> None:
        match entry:
            case e.PromptAccepted():
                self._line(type="message", role="user", content=entry.text, turn=entry.turn)
            case e.Queued() | e.Recalled() | e.Steered() | e.Rewound() | e.ShellStarted() | e.ShellEnded():
                self._user_action(entry)
            case e.Pruned() | e.Compacted() | e.Uncompacted() | TaskStarted() | TaskEnded() | TaskEndSent():
                self._context_or_task(entry)
            case e.ResponseEnded():
                self._response(entry)
            case e.ApprovalAsked():
                level = {"level": entry.level, "hosts": list(entry.hosts)} if entry.level else {}
                self._line(type="approval", id=entry.call, question=msgspec.to_builtins(entry.question), **level)
            case e.CallStarted():
                wall = {"confined": entry.confined} if entry.confined else {}
                self._line(type="tool_start", id=entry.call, effect=entry.effect, **wall)
            case e.CallEnded():
                self._line(
                    type="tool_result", id=entry.call, outcome=entry.outcome, content=entry.text, seconds=entry.seconds
                )
            case e.CallLate():
                self._line(type="tool_result", id=entry.call, outcome=entry.outcome, content=entry.text, late=True)
            case e.RequestFailed():
                self._line(
                    type="error",
                    message=entry.message,
                    fault=entry.fault,
                    status=entry.status,
                    attempt=entry.attempt,
                    retry_in=entry.retry_in,
                    retry_unstreamed=entry.retry_unstreamed,
                )
            case (
                e.ModelChanged()
                | e.ModelSettingsChanged()
                | e.FilesChanged()
                | e.Repaired()
                | e.ServerFailed()
                | e.RequestsChanged()
            ):
                self._change(entry)
            case e.HookStarted() | e.HookEnded() | e.ResultAmended():
                self._hook(entry)
            case e.TurnEnded(cause="crash"):
                self._line(type="recovered", turn=entry.turn, message=clause_for_user(entry.cause, entry.detail))
            case _:
                self._folder(entry)

    def _response(self, entry: e.ResponseEnded) -> None:
        text = "".join(part.text for part in entry.parts if isinstance(part, TextPart))
        if text:
            self._line(type="message", role="assistant", content=text, delta=False, cut=entry.cut)
        if entry.refusal is not None:
            self._line(type="refusal", **msgspec.structs.asdict(entry.refusal))
        if entry.cut is None:
            for part in entry.parts:
                if isinstance(part, CallPart):
                    self._line(type="tool_use", id=part.id, name=part.name, arguments=part.arguments, delta=False)

    def _change(
        self,
        entry: e.ModelChanged
        | e.ModelSettingsChanged
        | e.FilesChanged
        | e.Repaired
        | e.ServerFailed
        | e.RequestsChanged,
    ) -> None:
        match entry:
            case e.RequestsChanged():
                self._line(type="requests_changed", **msgspec.structs.asdict(entry))
            case e.ModelChanged() | e.ModelSettingsChanged() if not self._session:
                pass  # by an option of the run: `init` has it
            case e.ModelChanged():
                self._line(type="model", model=entry.model, why=entry.why)
            case e.ModelSettingsChanged():
                self._line(type="model_settings", **msgspec.structs.asdict(entry.settings))
            case e.FilesChanged():
                deleted = [file.path for file in entry.files if file.size is None]
                changed = [file.path for file in entry.files if file.size is not None]
                self._line(type="files_changed", changed=changed, gone=deleted)
            case e.Repaired():
                self._line(type="damage", findings=list(entry.findings))
            case e.ServerFailed():
                self._line(type="server_failed", server=entry.server, reason=entry.reason, tools=list(entry.tools))

    def _hook(self, entry: e.HookStarted | e.HookEnded | e.ResultAmended) -> None:
        match entry:
            case e.HookStarted():
                self._line(type="hook_start", id=entry.id, event=entry.event, call=entry.call, command=entry.command)
            case e.HookEnded():
                self._line(
                    type="hook_result",
                    id=entry.id,
                    outcome=entry.outcome,
                    decision=entry.decision,
                    content=entry.text,
                    message=entry.message,
                    seconds=entry.seconds,
                )
            case e.ResultAmended():
                self._line(type="result_amended", id=entry.call, content=entry.text, replaces=entry.replaces)

    def _folder(self, entry: object) -> None:
        match entry:
            case e.Moved(from_=old, to=new, by=by):
                self._line(type="moved", old=old, new=new, by=by)
            case e.FolderGone(folder=folder):
                self._line(type="folder_gone", folder=folder)
            case _:
                pass

    def _task(self, entry: TaskStarted | TaskEnded | TaskEndSent) -> None:
        match entry:
            case TaskStarted():
                self._line(type="task_start", id=entry.id, call=entry.call, command=entry.command, moved=entry.moved)
            case TaskEnded():
                self._line(
                    type="task_result", id=entry.id, outcome=entry.outcome, content=entry.text, seconds=entry.seconds
                )
            case TaskEndSent():
                self._line(type="task_told", id=entry.task)

    def _context_or_task(
        self, entry: e.Pruned | e.Compacted | e.Uncompacted | TaskStarted | TaskEnded | TaskEndSent
    ) -> None:
        if isinstance(entry, e.Pruned | e.Compacted | e.Uncompacted):
            self._context(entry)
        else:
            self._task(entry)

    def _context(self, entry: e.Pruned | e.Compacted | e.Uncompacted) -> None:
        match entry:
            case e.Pruned():
                self._line(type="pruned", calls=list(entry.outputs), saved=entry.saved)
            case e.Compacted():
                self._line(
                    type="compacted",
                    cause=entry.why,
                    model=entry.model,
                    content=entry.note,
                    messages=entry.messages,
                    before=entry.before,
                    after=entry.after,
                )
            case e.Uncompacted():
                self._line(type="uncompacted")

    def _user_action(
        self, entry: e.Queued | e.Recalled | e.Steered | e.Rewound | e.ShellStarted | e.ShellEnded
    ) -> None:
        match entry:
            case e.Queued():
                self._line(type="queued", id=entry.id, content=entry.text, when=entry.when)
            case e.Recalled():
                self._line(type="recalled", id=entry.queued)
            case e.Steered():
                self._line(type="message", role="user", content=entry.text, queued=entry.queued)
            case e.Rewound():
                self._line(type="rewound", turn=entry.turn)
            case e.ShellStarted():
                self._line(type="shell_start", id=entry.id, command=entry.command, shared=entry.shared)
            case e.ShellEnded():
                self._line(
                    type="shell_result", id=entry.id, outcome=entry.outcome, content=entry.text, seconds=entry.seconds
                )

    def _line(self, **fields: object) -> None:
        self._write(json.dumps(fields) + "\n")


def result(session: str, ended: RunEnded) -> dict[str, object]:
    """Return the machine-readable end of a run (docs/reference/events.md)."""
    conversation = ended.conversation
    usage = conversation.usage
    return {
        "type": "result",
        "session_id": session,
        "turn": ended.turn.turn,
        "stop_reason": ended.turn.reason,
        "cause": ended.turn.cause,
        "detail": ended.turn.detail,
        "is_error": ended.exit_code != 0,
        "exit_code": ended.exit_code,
        "result": conversation.answer if conversation.turns == ended.turn.turn else "",
        "denied": [
            {
                "id": each.call.id,
                "name": each.call.name,
                "arguments": each.call.arguments,
                "reason": each.reason,
                "allow_with": each.option or None,
            }
            for each in ended.denied
        ],
        "steps": conversation.turn_steps,
        "calls": ended.calls,
        "tasks_ended": list(ended.tasks),
        "receipt": msgspec.to_builtins(ended.receipt),
        "unmet": list(ended.unmet),
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
            "cost_usd": usage.cost,
        },
    }
