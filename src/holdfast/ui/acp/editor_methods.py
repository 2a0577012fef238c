"""The methods of the protocol: which of them are served, with which parameters, for all sessions of one client.

Requests that only register something, such as a prompt, are served when they are read, so that their order is that of
the lines. What takes time has its own task.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from holdfast import __version__
from holdfast.agent.stop_cause import StopCause
from holdfast.session.catalog import Catalog, SessionSummary
from holdfast.system.threads import in_daemon
from holdfast.system.user_directories import homes
from holdfast.ui.acp.connection import EditorConnection
from holdfast.ui.acp.json_rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    NOT_FOUND,
    RequestId,
    RpcError,
    RpcNotification,
    RpcRequest,
)
from holdfast.ui.acp.prompt_content import PromptBlock, prompt_content
from holdfast.ui.acp.refusals import Refusals
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.debug_log_option import debug_log_note

if TYPE_CHECKING:
    from holdfast.ui.acp.editor_session import EditorSession
    from holdfast.ui.acp.session_start import StartedSession

PROTOCOL_VERSION = 1
PAGE_LENGTH = 50
"""Sessions in one answer of `session/list`."""


class EditorArguments(Arguments):
    """The command line of `holdfast acp`."""

    allow_yolo: bool = False


class _Initialize(msgspec.Struct, frozen=True, rename="camel"):
    protocol_version: int
    client_capabilities: dict[str, object] | None = None


class _New(msgspec.Struct, frozen=True, rename="camel"):
    cwd: str
    mcp_servers: list[object] | None = None


class _Existing(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str
    cwd: str
    mcp_servers: list[object] | None = None


class _Listed(msgspec.Struct, frozen=True):
    cwd: str | None = None
    cursor: str | None = None


class _Named(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str


class _Prompted(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str
    prompt: tuple[PromptBlock, ...]


class _ModeSet(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str
    mode_id: str


class _OptionSet(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str
    config_id: str
    value: object


class _Withdrawn(msgspec.Struct, frozen=True, rename="camel"):
    request_id: str | int | None


T = TypeVar("T")


class EditorMethods:
    """Serves one client: its requests, and the sessions that it has opened."""

    def __init__(self, connection: EditorConnection, arguments: EditorArguments, environ: Mapping[str, str]) -> None:
        self._connection = connection
        self._arguments = arguments
        self._environ = environ
        self._sessions: dict[str, EditorSession] = {}
        self._opening: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._refusals = Refusals(environ)

    async def serve(self) -> None:
        """Serve the client until it closes its end."""
        async for message in self._connection.messages():
            match message:
                case RpcNotification():
                    self._notified(message)
                case RpcRequest():
                    self._requested(message)

    def stop(self, cause: StopCause) -> None:
        """Stop what runs in every session."""
        for session in self._sessions.values():
            session.stop(cause)

    async def close(self) -> None:
        """End every session. Nothing of it is left running."""
        self.stop(StopCause("output", "the editor has closed the connection"))
        if self._tasks:
            await asyncio.wait(self._tasks)
        sessions, self._sessions = self._sessions, {}
        await asyncio.gather(*(self._end(each) for each in sessions.values()))

    async def _end(self, session: EditorSession) -> None:
        """Close a session. If that fails, the others are closed anyway."""
        with self._refusals.to(lambda error: debug_log_note(str(error))):
            await session.close()

    # --- messages -----------------------------------------------------------------------------------------------

    def _notified(self, message: RpcNotification) -> None:
        try:
            match message.method:
                case "session/cancel":
                    if (session := self._sessions.get(_params(message.params, _Named).session_id)) is not None:
                        session.stop()
                case "$/cancel_request":
                    withdrawn = _params(message.params, _Withdrawn).request_id
                    for session in self._sessions.values():
                        session.cancel_request(withdrawn)
                case _:
                    pass  # a notification that is not known must be ignored
        except RpcError as error:
            debug_log_note(f"Notification {message.method!r} of the editor was ignored: {error}")

    def _requested(self, message: RpcRequest) -> None:
        params = message.params
        match message.method:
            case "initialize":
                self._at_once(message.id, lambda: _initialized(_params(params, _Initialize)))
            case "authenticate":
                self._at_once(message.id, dict)  # keys come from `holdfast setup`; the next prompt uses them
            case "session/new":
                self._soon(message.id, lambda: self._new(message.id, _params(params, _New)))
            case "session/load":
                self._soon(message.id, lambda: self._load(message.id, _params(params, _Existing), replayed=True))
            case "session/resume":
                self._soon(message.id, lambda: self._load(message.id, _params(params, _Existing), replayed=False))
            case "session/list":
                self._soon(message.id, lambda: self._list(message.id, _params(params or {}, _Listed)))
            case "session/close":
                self._soon(message.id, lambda: self._close(message.id, _params(params, _Named)))
            case "session/prompt":
                self._prompt(message.id, params)
            case "session/set_mode":
                self._at_once(message.id, lambda: self._set_mode(_params(params, _ModeSet)))
            case "session/set_config_option":
                self._at_once(message.id, lambda: self._set_option(_params(params, _OptionSet)))
            case other:
                self._connection.refuse(message.id, RpcError(METHOD_NOT_FOUND, f"Method {other!r} is not known."))

    def _at_once(self, request: RequestId, work: Callable[[], object]) -> None:
        """Answer a request with what `work` returns."""
        with self._refused(request):
            self._connection.answer(request, work())

    def _soon(self, request: RequestId, work: Callable[[], Awaitable[None]]) -> None:
        """Serve a request in a task. `work` answers it, unless it raises."""

        async def serve() -> None:
            with self._refused(request):
                await work()

        task = asyncio.create_task(serve(), name="request")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _refused(self, request: RequestId) -> AbstractContextManager[None]:
        """Return a context in which an exception becomes the answer to the request."""
        return self._refusals.to(lambda error: self._connection.refuse(request, error))

    # --- sessions -----------------------------------------------------------------------------------------------

    async def _new(self, request: RequestId, params: _New) -> None:
        from holdfast.ui.acp.session_start import new_session  # noqa: PLC0415 - `initialize` is answered before

        self._tell_servers(params.mcp_servers)
        session = self._taken(new_session(self._arguments, self._environ, params.cwd))
        self._connection.answer(request, {"sessionId": session.id, **session.described()})
        session.welcome()

    async def _load(self, request: RequestId, params: _Existing, *, replayed: bool) -> None:
        self._tell_servers(params.mcp_servers)
        own = params.session_id
        if own in self._opening or ((known := self._sessions.get(own)) is not None and known.busy):
            raise RpcError(
                INTERNAL_ERROR, f"Session {own!r} is busy here: a turn is running. Stop it first.", data={"busy": True}
            )
        self._opening.add(own)
        try:
            session = self._sessions.get(own) or await self._opened(params)
            if replayed:
                session.replay()
            session.welcome()
        finally:
            self._opening.discard(own)
        self._connection.answer(request, session.described())

    async def _opened(self, params: _Existing) -> EditorSession:
        from holdfast.ui.acp.session_start import existing_session  # noqa: PLC0415 - as above

        started = existing_session(self._arguments, self._environ, params.session_id, params.cwd)
        session = self._taken(started)
        await session.recover()
        return session

    def _taken(self, started: StartedSession) -> EditorSession:
        from holdfast.ui.acp.editor_session import EditorSession  # noqa: PLC0415 - as above

        try:
            session = EditorSession(
                started,
                self._connection,
                yolo=self._arguments.allow_yolo or started.options.mode == "yolo",
                refusals=self._refusals,
            )
        except BaseException:
            started.closing.close()
            started.session.store.close()
            raise
        self._sessions[session.id] = session
        return session

    async def _close(self, request: RequestId, params: _Named) -> None:
        session = self._known(params.session_id)
        session.stop()
        del self._sessions[session.id]
        await session.close()
        self._connection.answer(request, {})

    async def _list(self, request: RequestId, params: _Listed) -> None:
        catalog = Catalog(homes(self._environ).sessions)
        found = await in_daemon(catalog.all)
        self._connection.answer(request, session_page(found, cwd=params.cwd, cursor=params.cursor))

    def _known(self, own: str) -> EditorSession:
        session = self._sessions.get(own)
        if session is None:
            raise RpcError(NOT_FOUND, f"Session {own!r} is not open here. Load it first.")
        return session

    def _tell_servers(self, servers: list[object] | None) -> None:
        if servers:
            debug_log_note("The editor offers MCP servers; holdfast does not use them.")

    # --- prompts and choices ------------------------------------------------------------------------------------

    def _prompt(self, request: RequestId, params: object) -> None:
        """Register a prompt, which the session answers."""
        with self._refused(request):
            said = _params(params, _Prompted)
            session = self._known(said.session_id)
            session.submit(request, prompt_content(said.prompt, session.root))

    def _set_mode(self, params: _ModeSet) -> dict[str, object]:
        self._known(params.session_id).choose("mode", params.mode_id)
        return {}

    def _set_option(self, params: _OptionSet) -> dict[str, object]:
        session = self._known(params.session_id)
        session.choose(params.config_id, params.value)
        return {"configOptions": session.choices().config_options()}


def session_page(found: tuple[SessionSummary, ...], *, cwd: str | None, cursor: str | None) -> dict[str, object]:
    """Return one page of the sessions, the newest first; `cursor` is the last id of the page before."""
    here = None if cwd is None else str(Path(cwd).resolve())
    rest = [each for each in found if here is None or each.cwd == here]
    if cursor is not None:
        ids = [each.id for each in rest]
        rest = rest[ids.index(cursor) + 1 :] if cursor in ids else []
    page = rest[:PAGE_LENGTH]
    listed = [
        {
            "sessionId": each.id,
            "cwd": each.cwd or "/",
            "title": each.title or each.damage or None,
            "updatedAt": dt.datetime.fromtimestamp(each.modified, dt.UTC).isoformat(timespec="seconds"),
        }
        for each in page
    ]
    more = {"nextCursor": page[-1].id} if len(rest) > len(page) else {}
    return {"sessions": listed, **more}


def _initialized(params: _Initialize) -> dict[str, object]:
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentInfo": {"name": "holdfast", "title": "holdfast", "version": __version__},
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "embeddedContext": True, "audio": False},
            "mcpCapabilities": {"http": False, "sse": False},
            "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
        },
        "authMethods": _auth_methods(params.client_capabilities),
    }


class _Auth(msgspec.Struct, frozen=True):
    terminal: bool = False


class _Capabilities(msgspec.Struct, frozen=True):
    auth: _Auth = msgspec.field(default_factory=_Auth)


def _auth_methods(capabilities: dict[str, object] | None) -> list[dict[str, object]]:
    """Return how a user gives holdfast a key: in a terminal, if the client can open one."""
    try:
        able = msgspec.convert(capabilities or {}, _Capabilities).auth.terminal
    except msgspec.ValidationError:
        able = False
    says = "Choose a provider and a model, and store the key"
    method: dict[str, object] = {"type": "terminal", "id": "setup", "name": "holdfast setup", "description": says}
    return [{**method, "args": ["setup"]}] if able else []


def _params(params: object, kind: type[T]) -> T:
    """Return the parameters of a method. Raise `RpcError` if they are not."""
    try:
        return msgspec.convert(params, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise RpcError(INVALID_PARAMS, f"The parameters are invalid: {error}.") from error
