"""The tools of the server: their declarations, and the replies to their calls. Independent of the SDK."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

import msgspec

from holdfast.errors import UsageError
from holdfast.text import printable
from holdfast.tool_calls import Mode
from holdfast.typed_data import convert_value
from holdfast.ui.mcp_server.delegated_sessions import (
    LONGEST_WAIT,
    TIME_LIMIT,
    DelegatedOptions,
    DelegatedSessions,
    ListedSession,
    Progress,
)
from holdfast.ui.mcp_server.session_report import SessionReport, report_text

DEFAULT_WAIT = 30.0
"""Default seconds that a request waits for the end of a turn: clients give up after 60."""

SERVER_INSTRUCTIONS = (
    "holdfast is a coding agent. Hand it a task with start_session; it works in a separate process and keeps working "
    "when this connection ends. Remember the session ID: read_session returns its answer at any later time, also after "
    "a crash. No user can approve its calls: what the mode does not allow is denied, and the answer lists it."
)

_Prompt = Annotated[str, msgspec.Meta(max_length=10_000_000)]
_Name = Annotated[str, msgspec.Meta(max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$")]
_Wait = Annotated[float, msgspec.Meta(ge=0, le=LONGEST_WAIT)]
_Limit = Annotated[float, msgspec.Meta(gt=0, le=86_400)]
_Money = Annotated[float, msgspec.Meta(gt=0)]


class _Turn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of a call that starts a turn."""

    prompt: _Prompt
    wait_seconds: _Wait = DEFAULT_WAIT
    mode: Mode | None = None
    sandbox: Literal["require"] | None = None
    model: _Name = ""
    time_limit_seconds: _Limit = TIME_LIMIT
    max_cost_usd: _Money | None = None

    @property
    def options(self) -> DelegatedOptions:
        return DelegatedOptions(
            mode=self.mode,
            require_sandbox=self.sandbox is not None,
            model=self.model,
            time_limit=self.time_limit_seconds,
            max_cost=self.max_cost_usd,
        )


class _StartArguments(_Turn, frozen=True, kw_only=True, forbid_unknown_fields=True):
    session: _Name = ""
    cwd: str = ""


class _ContinueArguments(_Turn, frozen=True, kw_only=True, forbid_unknown_fields=True):
    session: _Name
    after_turn: int | None = None


class _ReadArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    session: _Name
    wait_seconds: _Wait = 0.0
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0


class _StopArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    session: _Name


class _ListArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class ServedTool(msgspec.Struct, frozen=True, kw_only=True):
    """The declaration of a tool. `read_only` is whether it changes nothing."""

    name: str
    title: str
    description: str
    parameters: dict[str, object]
    read_only: bool = False


class ToolReply(msgspec.Struct, frozen=True):
    """The reply to a call: `text` for a model, `data` for a program."""

    text: str
    data: dict[str, object]


def _object(required: tuple[str, ...], **properties: dict[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


_SESSION: dict[str, object] = {"type": "string", "description": "The session's ID."}
_WAIT: dict[str, object] = {
    "type": "number",
    "minimum": 0,
    "maximum": LONGEST_WAIT,
    "description": f"How long to wait for the end of the turn (default {DEFAULT_WAIT:g}). It keeps running after that.",
}
_OPTIONS: dict[str, dict[str, object]] = {
    "mode": {
        "type": "string",
        "enum": ["ask", "accept-edits", "plan", "yolo"],
        "description": "What may run. ask: calls that only read; accept-edits: edits in the folder too; plan: only "
        "reading, with a plan as the answer; yolo: everything, if the user offers it. The rest is denied.",
    },
    "sandbox": {
        "type": "string",
        "enum": ["require"],
        "description": "require: run no command without a sandbox around it. Default: as the user configured it.",
    },
    "model": {"type": "string", "description": "PROVIDER:MODEL. Default: the user's."},
    "time_limit_seconds": {
        "type": "number",
        "exclusiveMinimum": 0,
        "description": f"End the turn after this time (default {TIME_LIMIT:g}).",
    },
    "max_cost_usd": {"type": "number", "exclusiveMinimum": 0, "description": "End the turn at this cost."},
}

TOOLS = (
    ServedTool(
        name="start_session",
        title="Start a session",
        description="Hand a task to holdfast. It reads, edits and runs commands in a folder, and answers with a text. "
        "Returns the session's ID with the answer, or without it if the work takes longer. Choose an ID to be able to "
        "repeat a call whose answer was lost: the same ID and prompt never start the work twice.",
        parameters=_object(
            ("prompt",),
            prompt={"type": "string", "description": "The task, with everything that holdfast needs to know."},
            cwd={"type": "string", "description": "The folder to work in, absolute. Default: the server's."},
            session={"type": "string", "description": "An ID for it: letters, digits and hyphens. Default: a new one."},
            wait_seconds=_WAIT,
            **_OPTIONS,
        ),
    ),
    ServedTool(
        name="continue_session",
        title="Continue a session",
        description="Send the next prompt to a session that is not running. It remembers its whole conversation.",
        parameters=_object(
            ("session", "prompt"),
            session=_SESSION,
            prompt={"type": "string", "description": "The next task or question."},
            after_turn={
                "type": "integer",
                "description": "The last turn you know. If the session has a later one, that is returned and nothing "
                "starts: so a repeated call is safe.",
            },
            wait_seconds=_WAIT,
            **_OPTIONS,
        ),
    ),
    ServedTool(
        name="read_session",
        title="Read a session",
        description="Return the state of a session, and its answer or its text so far.",
        parameters=_object(
            ("session",),
            session=_SESSION,
            wait_seconds={**_WAIT, "description": "How long to wait for the end of a running turn (default 0)."},
            offset={"type": "integer", "minimum": 0, "description": "Where to start in a long answer."},
        ),
        read_only=True,
    ),
    ServedTool(
        name="stop_session",
        title="Stop a session",
        description="Stop the running turn of a session. Its finished work and its text so far are kept.",
        parameters=_object(("session",), session=_SESSION),
    ),
    ServedTool(
        name="list_sessions",
        title="List sessions",
        description="List the sessions of the offered folders, most recently used first.",
        parameters=_object(()),
        read_only=True,
    ),
)

T = TypeVar("T")


async def call_tool(
    name: str, arguments: Mapping[str, object], *, sessions: DelegatedSessions, progress: Progress
) -> ToolReply:
    """Return the reply to a call. Raise `HoldfastError` if the call fails."""
    match name:
        case "start_session":
            start = _arguments(arguments, _StartArguments)
            begun = await sessions.start(start.prompt, session=start.session, cwd=start.cwd, options=start.options)
            return _reply(await sessions.wait(begun.session, start.wait_seconds, progress))
        case "continue_session":
            more = _arguments(arguments, _ContinueArguments)
            begun = await sessions.continue_session(
                more.session, more.prompt, after_turn=more.after_turn, options=more.options
            )
            return _reply(await sessions.wait(begun.session, more.wait_seconds, progress))
        case "read_session":
            read = _arguments(arguments, _ReadArguments)
            return _reply(await sessions.wait(read.session, read.wait_seconds, progress), read.offset)
        case "stop_session":
            return _reply(await sessions.stop(_arguments(arguments, _StopArguments).session))
        case "list_sessions":
            _arguments(arguments, _ListArguments)
            return _list_reply(await sessions.list_sessions())
        case _:
            raise UsageError(f"Unknown tool {name!r} (expected one of {', '.join(each.name for each in TOOLS)}).")


def _arguments(values: Mapping[str, object], kind: type[T]) -> T:
    try:
        return convert_value(values, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"The arguments are invalid: {error}. Nothing was done.") from error


def _reply(report: SessionReport, offset: int = 0) -> ToolReply:
    data: dict[str, object] = msgspec.to_builtins(report)
    del data["first_prompt"]
    data["answer"] = report.answer[offset : offset + len(report_text(report, offset))]
    return ToolReply(report_text(report, offset), data)


def _list_reply(found: tuple[ListedSession, ...]) -> ToolReply:
    lines = [
        f"{each.session}  {dt.datetime.fromtimestamp(each.modified, dt.UTC):%Y-%m-%d %H:%M} UTC  "
        f"{'open  ' if each.open else ''}{printable(each.title) or '(no prompt)'}  {each.cwd}"
        for each in found
    ]
    text = "\n".join(lines) or "There are no sessions in the offered folders."
    return ToolReply(text, {"sessions": msgspec.to_builtins(found)})
