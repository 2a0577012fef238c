"""Opens the sessions that a client asks for: options, folder and tools, as every other surface reads them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from holdfast.agent.sessions import OpenSession, create, resume
from holdfast.config.settings import read_config
from holdfast.errors import SessionUnknown, UsageError
from holdfast.providers.credentials.process_environment import remove_keys
from holdfast.session.catalog import Catalog, SessionSummary
from holdfast.system.user_directories import homes
from holdfast.ui.acp.json_rpc import AUTH_REQUIRED, INVALID_PARAMS, RpcError
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.cost_limit import refuse_unpriced
from holdfast.ui.startup.debug_log_option import debug_log, debug_log_note
from holdfast.ui.startup.project_trust import judge_project
from holdfast.ui.startup.run_options import DEMO, RunOptions, run_options

if TYPE_CHECKING:
    from holdfast.agent.debug_log.log import Log


class StartedSession(msgspec.Struct, frozen=True):
    """An open session with its options. `closing` ends what was opened beside it."""

    session: OpenSession
    options: RunOptions
    log: Log | None
    closing: ExitStack


def new_session(arguments: Arguments, environ: Mapping[str, str], cwd: str) -> StartedSession:
    """Open a new session in a folder. Its first entry is durable before its id is known."""
    folder = _folder(cwd)
    options = _options(arguments, environ, folder, None)
    return _started(
        create(
            options.catalog,
            cwd=folder,
            model=options.model,
            settings=options.settings_of(options.model),
            tools=options.tools_of(options.model),
            remote=options.remote_schemas(),
            instructions=options.instructions,
        ),
        options,
    )


def existing_session(arguments: Arguments, environ: Mapping[str, str], own: str, cwd: str) -> StartedSession:
    """Open an existing session. Raise `SessionBusy` if another process holds it; none is created."""
    folder = _folder(cwd)
    summary = exact(Catalog(homes(environ).sessions), own)
    if summary.cwd and Path(summary.cwd) != folder:
        raise RpcError(
            INVALID_PARAMS,
            f"Session {own!r} works in {summary.cwd!r}, not in {str(folder)!r}. Open that folder, or a new session.",
        )
    if not summary.cwd:  # its entry may be damaged
        summary = msgspec.structs.replace(summary, cwd=str(folder))
    options = _options(arguments, environ, folder, summary)
    return _started(resume(options.catalog, summary), options)


def exact(catalog: Catalog, own: str) -> SessionSummary:
    """Return the session with exactly this id. A beginning of an id is for people who type it."""
    summary = catalog.find(own, free=True)
    if summary.id != own:
        said = f"Session {own!r} does not exist (expected a whole ID). Similar: {summary.id}."
        raise SessionUnknown(said, fault="no_session")
    return summary


def _folder(cwd: str) -> Path:
    path = Path(cwd)
    if not path.is_absolute():
        raise RpcError(INVALID_PARAMS, f"Folder {cwd!r} is not absolute. Pass the whole path.")
    try:
        resolved = path.resolve(strict=True)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise RpcError(INVALID_PARAMS, f"Folder {cwd!r} cannot be used: {why}. Pass an existing one.") from error
    if not resolved.is_dir():
        raise RpcError(INVALID_PARAMS, f"{cwd!r} is not a folder. Pass an existing one.")
    return resolved


def _options(
    arguments: Arguments, environ: Mapping[str, str], folder: Path, resumed: SessionSummary | None
) -> RunOptions:
    judge_project(environ, folder, trusted=arguments.trust_project)
    own = read_config(homes(environ).config)
    options = run_options(arguments, environ, own=own, cwd=folder, resumed=resumed)
    if not options.model:
        raise RpcError(AUTH_REQUIRED, "No model configured. Run `holdfast setup` in a terminal, then try again.")
    if options.model == DEMO:
        raise UsageError(f"Model {DEMO!r} is available only in the full-screen UI. Choose another one.")
    refuse_unpriced(options)
    remove_keys(options.providers)
    for notice in filter(None, (*options.notices, options.unread)):
        debug_log_note(notice)
    return options


def _started(session: OpenSession, options: RunOptions) -> StartedSession:
    closing = ExitStack()
    try:
        options.prepare(session.toolbox)
        log = closing.enter_context(debug_log(options, session.id, say=debug_log_note))
    except BaseException:
        session.store.close()
        raise
    return StartedSession(session, options, log, closing)
