"""Opens a local session for the server, with the same options and tools as on every other surface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from holdfast.agent.sessions import OpenSession, create, resume
from holdfast.config.settings import read_config
from holdfast.errors import ModelUnusable, SessionUnknown, UsageError
from holdfast.providers.credentials.process_environment import remove_keys
from holdfast.providers.registry import split
from holdfast.session.catalog import Catalog, SessionSummary
from holdfast.system.user_directories import homes
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.cost_limit import refuse_unpriced
from holdfast.ui.startup.debug_log_option import debug_log, debug_log_note
from holdfast.ui.startup.project_trust import judge_project
from holdfast.ui.startup.run_options import DEMO, RunOptions, run_options

if TYPE_CHECKING:
    from holdfast.agent.debug_log.log import Log


class ServedSession(msgspec.Struct, frozen=True):
    """An open session with its options. `closing` closes its debug log."""

    session: OpenSession
    options: RunOptions
    log: Log | None
    closing: ExitStack


def exact_summary(catalog: Catalog, session_id: str) -> SessionSummary:
    """Return the session with exactly this ID; it must not be shortened."""
    found = catalog.find(session_id)
    if found.id != session_id:
        raise SessionUnknown(f"Session {session_id!r} does not exist (expected a full ID).", fault="no_session")
    return found


def folder_of(path: str, cwd: Path, roots: tuple[Path, ...]) -> Path:
    """Return the folder of a new session: `path`, relative to `cwd`. Raise `UsageError` if outside the `roots`."""
    try:
        folder = (cwd / path).resolve(strict=True)
    except (OSError, ValueError, RuntimeError) as error:  # the last for links that lead in a circle
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"Folder {path!r} cannot be used: {why}. Pass an existing one.") from error
    if not folder.is_dir():
        raise UsageError(f"{path!r} is not a folder. Pass an existing one.")
    if not any(folder.is_relative_to(root) for root in roots):
        served = ", ".join(map(str, roots))
        raise UsageError(
            f"Folder {str(folder)!r} is not served (expected one in {served}). Start `holdfast serve` with --root."
        )
    return folder


def create_session(
    arguments: Arguments, environ: Mapping[str, str], folder: Path, *, model: str, session_id: str
) -> str:
    """Create a session, durable on return, and return its id. If `session_id` exists, change nothing."""
    if session_id and Catalog(homes(environ).sessions).has_session(session_id):
        return session_id
    options = _options(arguments, environ, folder, None)
    name = model or options.model
    if not name:
        raise ModelUnusable("No model configured. Run `holdfast setup`, or name a model.")
    if name == DEMO:
        raise UsageError(f"Model {DEMO!r} is available only in the full-screen UI. Choose another one.")
    split(name, options.providers)
    session = create(
        options.catalog,
        cwd=folder,
        model=name,
        settings=options.settings_of(name),
        tools=options.tools_of(name),
        remote=options.remote_schemas(),
        system=options.system,
        instructions=options.instructions,
        session_id=session_id,
    )
    session.store.close()
    return session.id


def open_served_session(
    arguments: Arguments, environ: Mapping[str, str], session_id: str, *, notify: Callable[[str], None] = debug_log_note
) -> ServedSession:
    """Open an existing session. Raise `SessionBusy` if another process has it open."""
    catalog = Catalog(homes(environ).sessions)
    summary = exact_summary(catalog, session_id)
    options = _options(arguments, environ, Path(summary.cwd or "."), summary)
    for notice in filter(None, (*options.notices, options.unread)):
        notify(notice)
    session = resume(catalog, summary)
    closing = ExitStack()
    try:
        options.prepare(session.toolbox)
        log = closing.enter_context(debug_log(options, session.id, notify=notify))
    except BaseException:
        try:
            closing.close()
        finally:
            session.store.close()
        raise
    return ServedSession(session, options, log, closing)


def _options(
    arguments: Arguments, environ: Mapping[str, str], folder: Path, resumed: SessionSummary | None
) -> RunOptions:
    judge_project(environ, folder, trusted=arguments.trust_project)
    user_config = read_config(homes(environ).config)
    options = run_options(arguments, environ, user_config=user_config, cwd=folder, resumed=resumed)
    refuse_unpriced(options)
    remove_keys(options.providers)
    return options
