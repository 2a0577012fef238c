"""Opens a local session for the server: options, folder and tools, as every other surface reads them."""

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
    """An open session with its options. `closing` ends what was opened beside it."""

    session: OpenSession
    options: RunOptions
    log: Log | None
    closing: ExitStack


def exact_summary(catalog: Catalog, own: str) -> SessionSummary:
    """Return the session with exactly this id; the beginning of one will not do."""
    found = catalog.find(own)
    if found.id != own:
        raise SessionUnknown(f"Session {own!r} does not exist (expected a whole ID).", fault="no_session")
    return found


def folder_of(wanted: str, cwd: Path, roots: tuple[Path, ...]) -> Path:
    """Return the folder for a new session: `wanted`, or `cwd`. Raise `UsageError` unless it is within the `roots`."""
    try:
        folder = (cwd / wanted).resolve(strict=True)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"Folder {wanted!r} cannot be used: {why}. Name an existing one.") from error
    if not folder.is_dir():
        raise UsageError(f"{wanted!r} is not a folder. Name an existing one.")
    if not any(folder.is_relative_to(root) for root in roots):
        served = ", ".join(map(str, roots))
        raise UsageError(
            f"Folder {str(folder)!r} is not served (expected one in {served}). Start `holdfast serve` with --root."
        )
    return folder


def create_session(arguments: Arguments, environ: Mapping[str, str], folder: Path, *, model: str, own: str) -> str:
    """Create a session, durable on return, and return its id. With an id `own` that exists, nothing is changed."""
    if own and (Catalog(homes(environ).sessions).folder(own) / "session.db").exists():
        return own
    options = _options(arguments, environ, folder, None)
    name = model or options.model
    if not name:
        raise ModelUnusable("No model configured. Run `holdfast setup`, or name one.")
    if name == DEMO:
        raise UsageError(f"Model {DEMO!r} is available only in the full-screen UI. Choose another one.")
    split(name, options.providers)
    made = create(
        options.catalog,
        cwd=folder,
        model=name,
        settings=options.settings_of(name),
        tools=options.tools_of(name),
        remote=options.remote_schemas(),
        instructions=options.instructions,
        session_id=own,
    )
    made.store.close()
    return made.id


def open_session(
    arguments: Arguments, environ: Mapping[str, str], own: str, *, say: Callable[[str], None] = debug_log_note
) -> ServedSession:
    """Open an existing session. Raise `SessionBusy` if another process holds it."""
    catalog = Catalog(homes(environ).sessions)
    summary = exact_summary(catalog, own)
    options = _options(arguments, environ, Path(summary.cwd or "."), summary)
    for notice in filter(None, (*options.notices, options.unread)):
        say(notice)
    session = resume(catalog, summary)
    closing = ExitStack()
    try:
        options.prepare(session.toolbox)
        log = closing.enter_context(debug_log(options, session.id, say=say))
    except BaseException:
        session.store.close()
        raise
    return ServedSession(session, options, log, closing)


def _options(
    arguments: Arguments, environ: Mapping[str, str], folder: Path, resumed: SessionSummary | None
) -> RunOptions:
    judge_project(environ, folder, trusted=arguments.trust_project)
    own = read_config(homes(environ).config)
    options = run_options(arguments, environ, own=own, cwd=folder, resumed=resumed)
    refuse_unpriced(options)
    remove_keys(options.providers)
    return options
