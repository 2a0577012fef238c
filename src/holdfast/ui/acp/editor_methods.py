"""The methods of the protocol: which of them are served, with which parameters, for all sessions of one client.

Requests that only register something, such as a prompt, are served when they are read, so that their order is that of
the lines. What takes time has its own task.
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
        if self._serving:
            await asyncio.wait(self._serving)
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

    def _requested(self, message: RpcRequest) -> None:
        params = message.params
        match message.method:
            case "initialize":
                self._at_once(message.id, lambda: self._initialized(method_params(params, InitializeParams)))
            case "authenticate":
                self._at_once(message.id, dict)  # keys come from `holdfast setup`; the next prompt uses them
            case "session/new":
                self._soon(message.id, lambda: self._new(message.id, method_params(params, NewParams)))
            case "session/load":
                self._soon(
                    message.id, lambda: self._load(message.id, method_params(params, ExistingParams), replayed=True)
                )
            case "session/resume":
                self._soon(
                    message.id, lambda: self._load(message.id, method_params(params, ExistingParams), replayed=False)
                )
            case "session/list":
                self._soon(message.id, lambda: self._list(message.id, method_params(params or {}, ListParams)))
            case "session/delete":
                self._soon(message.id, lambda: self._delete(message.id, method_params(params, SessionParams)))
            case "session/close":
                self._soon(message.id, lambda: self._close(message.id, method_params(params, SessionParams)))
            case "session/prompt":
                self._prompt(message.id, params)
            case "session/set_mode":
                self._at_once(message.id, lambda: self._set_mode(method_params(params, ModeParams)))
            case "session/set_config_option":
                self._at_once(message.id, lambda: self._set_option(method_params(params, OptionParams)))
            case other:
                self._connection.refuse(message.id, RpcError(METHOD_NOT_FOUND, f"Method {other!r} is not known."))

    def _initialized(self, params: InitializeParams) -> dict[str, object]:
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
        self._serving[task] = request
        task.add_done_callback(self._served)

    def _served(self, task: asyncio.Task[None]) -> None:
        self._withdrawn.discard(self._serving.pop(task))

    def _withdraw(self, request: RequestId) -> None:
        """Stop the prompt with this id, or end what is served by it at the next point where it can end."""
        if request in self._serving.values():
            self._withdrawn.add(request)
        for session in self._sessions.values():
            session.cancel_request(request)

    def _end_if_withdrawn(self, request: RequestId) -> None:
        if request in self._withdrawn:
            raise RpcError(REQUEST_CANCELLED, "The request was cancelled.")

    def _refused(self, request: RequestId) -> AbstractContextManager[None]:
        """Return a context in which an exception becomes the answer to the request."""
        return self._refusals.to(lambda error: self._connection.refuse(request, error))

    # --- sessions -----------------------------------------------------------------------------------------------

    async def _new(self, request: RequestId, params: NewParams) -> None:
        from holdfast.ui.acp.session_start import client_offer, new_session  # noqa: PLC0415 - `initialize` is answered before

        offer = client_offer(params.mcp_servers, params.additional_directories)
        session = self._taken(await new_session(self._arguments, self._environ, params.cwd, offer))
        self._connection.answer(request, {"sessionId": session.id, **session.described()})
        session.welcome()

    async def _load(self, request: RequestId, params: ExistingParams, *, replayed: bool) -> None:
        own = params.session_id
        self._refuse_busy(own)
        self._opening.add(own)
        try:
            session = self._sessions.get(own) or await self._opened(params)
            if request in self._withdrawn:
                del self._sessions[own]
                await session.close()
                self._end_if_withdrawn(request)
            if replayed:
                session.replay()
            session.welcome()
        finally:
            self._opening.discard(own)
        self._connection.answer(request, session.described())

    def _refuse_busy(self, own: str) -> None:
        if own in self._opening or ((known := self._sessions.get(own)) is not None and known.busy):
            said = f"Session {own!r} is busy here: a turn is running. Stop it first."
            raise RpcError(INTERNAL_ERROR, said, data={"busy": True})

    async def _opened(self, params: ExistingParams) -> EditorSession:
        from holdfast.ui.acp.session_start import client_offer, existing_session  # noqa: PLC0415 - as above

        offer = client_offer(params.mcp_servers, params.additional_directories)
        started = existing_session(self._arguments, self._environ, params.session_id, params.cwd, offer)
        session = self._taken(started)
        await session.recover()
        return session

    def _taken(self, started: StartedSession) -> EditorSession:
        from holdfast.ui.acp.editor_session import EditorSession  # noqa: PLC0415 - as above

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
        session = self._known(params.session_id)
        session.stop()
        del self._sessions[session.id]
        await session.close()
        self._connection.answer(request, {})

    async def _delete(self, request: RequestId, params: SessionParams) -> None:
        """Move a session to the trash; one that is open here is stopped and closed first."""
        from holdfast.ui.acp.session_start import exact  # noqa: PLC0415 - as above

        own, catalog = params.session_id, Catalog(homes(self._environ).sessions)
        if own in self._opening:
            self._refuse_busy(own)
        if (session := self._sessions.pop(own, None)) is not None:
            session.stop()
            await session.close()
        await in_daemon(lambda: catalog.trash(exact(catalog, own).id))
        self._connection.answer(request, {})

    async def _list(self, request: RequestId, params: ListParams) -> None:
        catalog = Catalog(homes(self._environ).sessions)
        found = await in_daemon(catalog.all)
        self._end_if_withdrawn(request)
        self._connection.answer(request, session_page(found, cwd=params.cwd, cursor=params.cursor))

    def _known(self, own: str) -> EditorSession:
        session = self._sessions.get(own)
        if session is None:
            raise RpcError(NOT_FOUND, f"Session {own!r} is not open here. Load it first.")
        return session

    # --- prompts and choices ------------------------------------------------------------------------------------

    def _prompt(self, request: RequestId, params: object) -> None:
        """Register a prompt, which the session answers."""
        with self._refused(request):
            said = method_params(params, PromptParams)
            session = self._known(said.session_id)
            session.submit(request, prompt_content(said.prompt, session.root))

    def _set_mode(self, params: ModeParams) -> dict[str, object]:
        self._known(params.session_id).choose("mode", params.mode_id)
        return {}

    def _set_option(self, params: OptionParams) -> dict[str, object]:
        session = self._known(params.session_id)
        session.choose(params.config_id, params.value)
        return {"configOptions": session.choices().config_options()}


def _auth_methods(abilities: ClientAbilities) -> list[dict[str, object]]:
    """Return how a user gives holdfast a key: in a terminal, if the client can open one."""
    says = "Choose a provider and a model, and store the key"
    method: dict[str, object] = {"type": "terminal", "id": "setup", "name": "holdfast setup", "description": says}
    return [{**method, "args": ["setup"]}] if abilities.terminal else []
