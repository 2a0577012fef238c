"""Opens the sessions that a client requests, with the same options and tools as on every other surface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from holdfast.agent.sessions import OpenSession, create, resume
from holdfast.config.settings import read_config
from holdfast.errors import SessionUnknown, UsageError
from holdfast.providers.credentials.process_environment import remove_keys
from holdfast.session.catalog import Catalog, SessionSummary
from holdfast.system.user_directories import homes
from holdfast.ui.acp.client_folders import client_folder, folder_instructions, further_folders, reading_rules
from holdfast.ui.json_rpc.messages import AUTH_REQUIRED, INVALID_PARAMS, RpcError
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.cost_limit import refuse_unpriced
from holdfast.ui.startup.debug_log_option import debug_log, debug_log_note
from holdfast.ui.startup.project_trust import judge_project
from holdfast.ui.startup.run_options import DEMO, RunOptions, run_options
from holdfast.ui.startup.server_lists import ServerLists

if TYPE_CHECKING:
    from holdfast.agent.debug_log.log import Log
    from holdfast.tools.mcp.server_definition import McpServer


class ClientOffer(msgspec.Struct, frozen=True):
    """The client's additions to a session: MCP servers, and further folders that may be read."""

    servers: tuple[McpServer, ...] = ()
    folders: tuple[Path, ...] = ()


def client_offer(servers: Sequence[object] | None, folders: Sequence[str] | None) -> ClientOffer:
    """Return the client's additions. Raise `RpcError` for one that cannot be used."""
    further = further_folders(folders or ())
    if not servers:
        return ClientOffer(folders=further)
    from holdfast.ui.acp.client_servers import client_servers

    return ClientOffer(client_servers(servers), further)


class StartedSession(msgspec.Struct, frozen=True):
    """An open session with its options. `closing` closes its debug log; `lists` asks new servers for their tools."""

    session: OpenSession
    options: RunOptions
    log: Log | None
    closing: ExitStack
    lists: ServerLists | None = None


async def new_session(arguments: Arguments, environ: Mapping[str, str], cwd: str, offer: ClientOffer) -> StartedSession:
    """Open a new session in a folder. Its first entry is durable before its id is known.

    It waits shortly for new MCP servers: the session declares the tools that are known when it begins.
    """
    folder = _folder(cwd)
    options = _options(arguments, environ, folder, None, offer)
    lists = ServerLists(options)
    await lists.begin()
    try:
        await lists.wait()
        started = _create_session(options, folder, offer)
    except BaseException:
        await lists.close(leaving=True)
        raise
    return msgspec.structs.replace(started, lists=lists)


def _create_session(options: RunOptions, folder: Path, offer: ClientOffer) -> StartedSession:
    instructions = "\n\n".join(filter(None, (options.instructions, folder_instructions(offer.folders))))
    return _start_session(
        create(
            options.catalog,
            cwd=folder,
            model=options.model,
            settings=options.settings_of(options.model),
            tools=options.tools_of(options.model),
            remote=options.remote_schemas(),
            system=options.system,
            instructions=instructions,
        ),
        options,
    )


def existing_session(
    arguments: Arguments, environ: Mapping[str, str], session_id: str, cwd: str, offer: ClientOffer
) -> StartedSession:
    """Open an existing session. Raise `SessionBusy` if another process has it open, or `SessionUnknown`."""
    folder = _folder(cwd)
    summary = find_exact(Catalog(homes(environ).sessions), session_id)
    if summary.cwd and Path(summary.cwd) != folder and not Path(summary.cwd).is_dir():
        summary = msgspec.structs.replace(summary, cwd=str(folder), moved_by="editor")
    elif summary.cwd and Path(summary.cwd) != folder:
        raise RpcError(
            INVALID_PARAMS,
            f"Session {session_id!r} works in {summary.cwd!r}, not in {str(folder)!r}. "
            "Open that folder, or a new session.",
        )
    if not summary.cwd:  # its entry may be damaged
        summary = msgspec.structs.replace(summary, cwd=str(folder))
    options = _options(arguments, environ, folder, summary, offer)
    return _start_session(resume(options.catalog, summary), options)


def find_exact(catalog: Catalog, session_id: str) -> SessionSummary:
    """Return the session with exactly this ID. Only people who type an ID may shorten it."""
    summary = catalog.find(session_id, free=True)
    if summary.id != session_id:
        message = f"Session {session_id!r} does not exist (expected a full ID). Similar: {summary.id}."
        raise SessionUnknown(message, fault="no_session")
    return summary


def _folder(cwd: str) -> Path:
    try:
        return client_folder(cwd)
    except UsageError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from error


def _options(
    arguments: Arguments,
    environ: Mapping[str, str],
    folder: Path,
    resumed: SessionSummary | None,
    offer: ClientOffer,
) -> RunOptions:
    if offer.folders:
        arguments = copy(arguments)
        arguments.allow = [*(arguments.allow or ()), *reading_rules(offer.folders)]
    judge_project(environ, folder, trusted=arguments.trust_project)
    user_config = read_config(homes(environ).config)
    options = run_options(arguments, environ, user_config=user_config, cwd=folder, resumed=resumed)
    if not options.model:
        raise RpcError(AUTH_REQUIRED, "No model configured. Run `holdfast setup` in a terminal, then try again.")
    if options.model == DEMO:
        raise UsageError(f"Model {DEMO!r} is available only in the full-screen UI. Choose another one.")
    refuse_unpriced(options)
    remove_keys(options.providers)
    for notice in filter(None, (*options.notices, options.unread)):
        debug_log_note(notice)
    return _with_servers(options, offer) if offer.servers else options


def _with_servers(options: RunOptions, offer: ClientOffer) -> RunOptions:
    from holdfast.ui.startup.mcp_servers import with_client_servers

    settings = with_client_servers(options.mcp, offer.servers, environ=options.environ)
    return msgspec.structs.replace(options, mcp=settings)


def _start_session(session: OpenSession, options: RunOptions) -> StartedSession:
    closing = ExitStack()
    try:
        options.prepare(session.toolbox)
        log = closing.enter_context(debug_log(options, session.id, notify=debug_log_note))
    except BaseException:
        session.store.close()
        raise
    return StartedSession(session, options, log, closing)
