"""Serves the methods of the protocol for all sessions of one client.

Requests that only register something, such as a prompt, are served when they are read, so in the order of the lines.
Slow ones have their own task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from holdfast import __version__
from holdfast.agent.stop_cause import StopCause
from holdfast.session.catalog import Catalog
from holdfast.system.threads import in_daemon
from holdfast.system.user_directories import homes
from holdfast.ui.acp.method_params import (
    CancelParams,
    ExistingParams,
    InitializeParams,
    ListParams,
    ModeParams,
    NewParams,
    OptionParams,
    PromptParams,
    SessionParams,
    method_params,
)
from holdfast.ui.acp.prompt_content import prompt_content
from holdfast.ui.acp.protocol.client_abilities import NO_ABILITIES, ClientAbilities, client_abilities
from holdfast.ui.acp.protocol.connection import EditorConnection
from holdfast.ui.acp.protocol.json_rpc import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    NOT_FOUND,
    REQUEST_CANCELLED,
    RequestId,
    RpcError,
    RpcNotification,
    RpcRequest,
)
from holdfast.ui.acp.protocol.refusals import Refusals
from holdfast.ui.acp.session_pages import session_page
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.debug_log_option import debug_log_note

if TYPE_CHECKING:
    from holdfast.ui.acp.editor_session import EditorSession
    from holdfast.ui.acp.session_start import StartedSession

PROTOCOL_VERSION = 1
SESSION_METHODS = ("list", "resume", "close", "delete", "additionalDirectories")


class EditorArguments(Arguments):
    """The command line of `holdfast acp`."""

    allow_yolo: bool = False


class EditorMethods:
    """Serves one client: its requests, and the sessions that it has opened."""

    def __init__(self, connection: EditorConnection, arguments: EditorArguments, environ: Mapping[str, str]) -> None:
        self._connection = connection
        self._arguments = arguments
        self._environ = environ
        self._sessions: dict[str, EditorSession] = {}
        self._opening: set[str] = set()
        self._serving: dict[asyncio.Task[None], RequestId] = {}
        self._withdrawn: set[RequestId] = set()
        self._abilities = NO_ABILITIES
        self._refusals = Refusals(environ)

    async def serve(self) -> None:
        """Serve the client until it closes its end."""
        async for message in self._connection.messages():
            match message:
                case RpcNotification():
                    self._handle_notification(message)
                case RpcRequest():
                    self._handle_request(message)

    def stop(self, cause: StopCause) -> None:
        """Stop the running turns of every session."""
        for session in self._sessions.values():
            session.stop(cause)

    async def close(self) -> None:
        """End every session. No process is left running."""
        self.stop(StopCause("output", "the editor has closed the connection"))
        if self._serving:
            await asyncio.wait(self._serving)
        sessions, self._sessions = self._sessions, {}
        await asyncio.gather(*(self._end(each) for each in sessions.values()))

    async def _end(self, session: EditorSession) -> None:
        """Close a session. If that fails, the others are closed anyway."""
        with self._refusals.to(lambda error: debug_log_note(str(error))):
            await session.close()

    # --- messages -----------------------------------------------------------------------------------------------

    def _handle_notification(self, message: RpcNotification) -> None:
        try:
            match message.method:
                case "session/cancel":
                    if (
                        session := self._sessions.get(method_params(message.params, SessionParams).session_id)
                    ) is not None:
                        session.stop()
                case "$/cancel_request":
                    self._withdraw(method_params(message.params, CancelParams).request_id)
                case _:
                    pass  # a notification that is not known must be ignored
        except RpcError as error:
            debug_log_note(f"Notification {message.method!r} of the editor was ignored: {error}")

    def _handle_request(self, message: RpcRequest) -> None:
        params = message.params
        match message.method:
            case "initialize":
                self._answer_now(message.id, lambda: self._initialize(method_params(params, InitializeParams)))
            case "authenticate":
                self._answer_now(message.id, dict)  # keys come from `holdfast setup`; the next prompt uses them
            case "session/new":
                self._serve_in_task(message.id, lambda: self._new(message.id, method_params(params, NewParams)))
            case "session/load":
                self._serve_in_task(
                    message.id, lambda: self._load(message.id, method_params(params, ExistingParams), replayed=True)
                )
            case "session/resume":
                self._serve_in_task(
                    message.id, lambda: self._load(message.id, method_params(params, ExistingParams), replayed=False)
                )
            case "session/list":
                self._serve_in_task(message.id, lambda: self._list(message.id, method_params(params or {}, ListParams)))
            case "session/delete":
                self._serve_in_task(message.id, lambda: self._delete(message.id, method_params(params, SessionParams)))
            case "session/close":
                self._serve_in_task(message.id, lambda: self._close(message.id, method_params(params, SessionParams)))
            case "session/prompt":
                self._prompt(message.id, params)
            case "session/set_mode":
                with self._refusing(message.id):
                    mode = method_params(params, ModeParams)
                    self._choose(message.id, mode.session_id, "mode", mode.mode_id, lists=False)
            case "session/set_config_option":
                with self._refusing(message.id):
                    option = method_params(params, OptionParams)
                    self._choose(message.id, option.session_id, option.config_id, option.value)
            case other:
                self._connection.refuse(message.id, RpcError(METHOD_NOT_FOUND, f"Method {other!r} is not known."))

    def _initialize(self, params: InitializeParams) -> dict[str, object]:
        self._abilities = client_abilities(params.client_capabilities)
        every: dict[str, object] = {}
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentInfo": {"name": "holdfast", "title": "holdfast", "version": __version__},
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "embeddedContext": True, "audio": False},
                "mcpCapabilities": {"http": True, "sse": False},
                "sessionCapabilities": dict.fromkeys(SESSION_METHODS, every),
            },
            "authMethods": _auth_methods(self._abilities),
        }

    def _answer_now(self, request: RequestId, work: Callable[[], object]) -> None:
        """Answer a request with what `work` returns."""
        with self._refusing(request):
            self._connection.answer(request, work())

    def _serve_in_task(self, request: RequestId, work: Callable[[], Awaitable[None]]) -> None:
        """Serve a request in a task. `work` answers it, unless it raises."""

        async def serve() -> None:
            with self._refusing(request):
                await work()

        task = asyncio.create_task(serve(), name="request")
        self._serving[task] = request
        task.add_done_callback(self._finish_request)

    def _finish_request(self, task: asyncio.Task[None]) -> None:
        self._withdrawn.discard(self._serving.pop(task))

    def _withdraw(self, request: RequestId) -> None:
        """Stop the prompt with this id, or cancel another request at the next point where it can end."""
        if request in self._serving.values():
            self._withdrawn.add(request)
        for session in self._sessions.values():
            session.cancel_request(request)

    def _end_if_withdrawn(self, request: RequestId) -> None:
        if request in self._withdrawn:
            raise RpcError(REQUEST_CANCELLED, "The request was cancelled.")

    def _refusing(self, request: RequestId) -> AbstractContextManager[None]:
        """Return a context in which an exception becomes the answer to the request."""
        return self._refusals.to(lambda error: self._connection.refuse(request, error))

    # --- sessions -----------------------------------------------------------------------------------------------

    async def _new(self, request: RequestId, params: NewParams) -> None:
        from holdfast.ui.acp.session_start import client_offer, new_session

        offer = client_offer(params.mcp_servers, params.additional_directories)
        session = self._add_session(await new_session(self._arguments, self._environ, params.cwd, offer))
        self._connection.answer(request, {"sessionId": session.id, **session.described()})
        session.welcome()

    async def _load(self, request: RequestId, params: ExistingParams, *, replayed: bool) -> None:
        session_id = params.session_id
        self._refuse_busy(session_id)
        self._opening.add(session_id)
        try:
            session = self._sessions.get(session_id) or await self._open_existing(params)
            if request in self._withdrawn:
                del self._sessions[session_id]
                await session.close()
                self._end_if_withdrawn(request)
            if replayed:
                session.replay()
            session.welcome()
        finally:
            self._opening.discard(session_id)
        self._connection.answer(request, session.described())

    def _refuse_busy(self, session_id: str) -> None:
        if session_id in self._opening or ((known := self._sessions.get(session_id)) is not None and known.busy):
            message = f"Session {session_id!r} is busy here: a turn is running. Stop it first."
            raise RpcError(INTERNAL_ERROR, message, data={"busy": True})

    async def _open_existing(self, params: ExistingParams) -> EditorSession:
        from holdfast.ui.acp.session_start import client_offer, existing_session

        offer = client_offer(params.mcp_servers, params.additional_directories)
        started = existing_session(self._arguments, self._environ, params.session_id, params.cwd, offer)
        session = self._add_session(started)
        await session.recover()
        return session

    def _add_session(self, started: StartedSession) -> EditorSession:
        from holdfast.ui.acp.editor_session import EditorSession

        try:
            session = EditorSession(
                started,
                self._connection,
                abilities=self._abilities,
                yolo=self._arguments.allow_yolo or started.options.mode == "yolo",
                refusals=self._refusals,
            )
        except BaseException:
            started.closing.close()
            started.session.store.close()
            raise
        self._sessions[session.id] = session
        return session

    async def _close(self, request: RequestId, params: SessionParams) -> None:
        session = self._open_session(params.session_id)
        session.stop()
        del self._sessions[session.id]
        await session.close()
        self._connection.answer(request, {})

    async def _delete(self, request: RequestId, params: SessionParams) -> None:
        """Move a session to the trash. If it is open here, it is stopped and closed first."""
        from holdfast.ui.acp.session_start import find_exact

        session_id, catalog = params.session_id, Catalog(homes(self._environ).sessions)
        if session_id in self._opening:
            self._refuse_busy(session_id)
        if (session := self._sessions.pop(session_id, None)) is not None:
            session.stop()
            await session.close()
        await in_daemon(lambda: catalog.trash(find_exact(catalog, session_id).id))
        self._connection.answer(request, {})

    async def _list(self, request: RequestId, params: ListParams) -> None:
        catalog = Catalog(homes(self._environ).sessions)
        found = await in_daemon(catalog.all)
        self._end_if_withdrawn(request)
        self._connection.answer(request, session_page(found, cwd=params.cwd, cursor=params.cursor))

    def _open_session(self, session_id: str) -> EditorSession:
        session = self._sessions.get(session_id)
        if session is None:
            raise RpcError(NOT_FOUND, f"Session {session_id!r} is not open here. Load it first.")
        return session

    # --- prompts and choices ------------------------------------------------------------------------------------

    def _prompt(self, request: RequestId, params: object) -> None:
        """Register a prompt, which the session answers."""
        with self._refusing(request):
            prompt = method_params(params, PromptParams)
            session = self._open_session(prompt.session_id)
            session.submit(request, prompt_content(prompt.prompt, session.root))

    def _choose(self, request: RequestId, session_id: str, option: str, value: object, *, lists: bool = True) -> None:
        """Make a choice before any later message is read, and answer once it holds; with `lists`, with all choices."""
        session = self._open_session(session_id)
        choosing = session.choose(option, value)

        async def answer() -> None:
            await choosing.accepted
            options = {"configOptions": session.choices().config_options()} if lists else {}
            self._connection.answer(request, options)

        self._serve_in_task(request, answer)


def _auth_methods(abilities: ClientAbilities) -> list[dict[str, object]]:
    """Return the way to store a key: `holdfast setup` in a terminal, if the client can open one."""
    description = "Choose a provider and a model, and store the key"
    method: dict[str, object] = {
        "type": "terminal",
        "id": "setup",
        "name": "holdfast setup",
        "description": description,
    }
    return [{**method, "args": ["setup"]}] if abilities.terminal else []
