"""Opening a session: a new one, the same again, or a copy of it; always with its lease held."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holdfast import __version__
from holdfast.agent.prompts import system_prompt
from holdfast.agent.settle import Leave, settle, settle_command
from holdfast.errors import DamageError, StorageFailed, UsageError
from holdfast.session.catalog import Catalog, Summary
from holdfast.session.entries import Entry, SessionOpened
from holdfast.session.fold import fold
from holdfast.session.sqlite import SqliteStore, read_copy
from holdfast.session.store import Reading
from holdfast.text import valid_unicode
from holdfast.tools.toolbox import LocalToolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSession:
    """A session whose lease this process holds, and the tools that work in its folder.

    `reading` is its journal as of then.
    """

    id: str
    cwd: Path
    store: SqliteStore
    toolbox: LocalToolbox
    reading: Reading


def create(catalog: Catalog, *, cwd: Path, model: str) -> OpenSession:
    """Return a new session that works in `cwd` with `model`; its first entry is durable."""
    session = catalog.new_id()
    folder = catalog.folder(session)
    with new_store(folder) as store:
        toolbox = LocalToolbox(cwd, folder)
        opened = first_entry(session, cwd=cwd, model=model, toolbox=toolbox)
        store.append([opened], expected=0)
        reading = store.read()
    catalog.note(opened)
    return OpenSession(id=session, cwd=cwd, store=store, toolbox=toolbox, reading=reading)


@contextmanager
def new_store(folder: Path) -> Generator[SqliteStore]:
    """Give the empty journal of a new session, which stays open; if its beginning fails, nothing of it is left."""
    try:
        store = SqliteStore.create(folder)
    except StorageFailed:  # every other failure means that the folder is another session's
        shutil.rmtree(folder, ignore_errors=True)
        raise
    try:
        yield store
    except BaseException:
        store.close()
        shutil.rmtree(folder, ignore_errors=True)
        raise


def first_entry(session: str, *, cwd: Path, model: str, toolbox: LocalToolbox) -> SessionOpened:
    """Return what every session that works in `cwd` from today begins with; raises `UsageError` for an odd `cwd`."""
    if valid_unicode(str(cwd)) != str(cwd):
        raise UsageError(
            f"Folder {str(cwd)!r} has a name that is not UTF-8, one that can be written down was expected. Rename it, "
            "or work in another."
        )
    held = toolbox.instructions()
    return SessionOpened(
        session=session,
        cwd=str(cwd),
        model=model,
        system=system_prompt(cwd, today=dt.datetime.now().astimezone().date().isoformat(), instructions=held),
        tools=toolbox.schemas,
        version=__version__,
        instructions=tuple(each.seen for each in held),
    )


def resume(catalog: Catalog, summary: Summary) -> OpenSession:
    """Return an existing session; raises `SessionBusy` if another process holds it."""
    folder = catalog.folder(summary.id)
    store = SqliteStore.open(folder)
    try:
        reading = store.read()
        opened = _opened(summary.id, (record.entry for record in reading.records))
        cwd = _existing(opened.cwd, summary.id)
        declared = {tool.name for tool in opened.tools}
    except BaseException:
        store.close()
        raise
    toolbox = LocalToolbox(cwd, folder, declared=declared)
    return OpenSession(id=summary.id, cwd=cwd, store=store, toolbox=toolbox, reading=reading)


def _opened(session: str, entries: Iterable[Entry]) -> SessionOpened:
    """Return the entry that says where the session works and with what; raises `DamageError` if it is lost."""
    opened = next((entry for entry in entries if isinstance(entry, SessionOpened)), None)
    if opened is None:
        raise DamageError(
            f"Session {session!r} has lost its first entry, which says where it works and with what. It "
            "cannot go on; to go on in a new one, give what `holdfast sessions export "
            f"{session}` prints to `holdfast sessions import -`."
        )
    return opened


def _existing(folder: str, session: str) -> Path:
    """Return the folder of a session; raises `UsageError` if it is gone."""
    if not Path(folder).is_dir():
        raise UsageError(
            f"Folder {folder!r} of session {session!r} does not exist, the folder it works in was expected. "
            "Bring it back, or begin a new session."
        )
    return Path(folder)


def fork(catalog: Catalog, summary: Summary) -> OpenSession:
    """Return a copy of a session as of now, under an id of its own; works while another process holds the original.

    Nothing is open in it: what the original runs, or asks about, is the original's, whatever becomes of the copy.
    """
    from holdfast.session.transfer import fork_entries  # noqa: PLC0415 - only a fork needs it

    if summary.cwd:
        _existing(summary.cwd, summary.id)  # said of the original, before there is a copy
    session = catalog.new_id()
    entries = fork_entries(read_copy(catalog.folder(summary.id)), session)
    with new_store(catalog.folder(session)) as store:
        copied, leave = fold(entries), Leave("fork")
        commands = (settle_command(shell.started, leave) for shell in copied.open_shells)
        store.append((*entries, *settle(copied, leave), *commands), expected=0)
    store.close()
    return resume(catalog, catalog.find(session))
