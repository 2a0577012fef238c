"""Opening a session: a new one, the same again, or a copy of it; always with its lease held."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from holdfast import __version__
from holdfast.agent.prompts import system_prompt
from holdfast.agent.settle import Leave, settle, settle_command
from holdfast.errors import StorageFailed, UsageError
from holdfast.session.catalog import Catalog, Summary
from holdfast.session.entries import SessionOpened
from holdfast.session.fold import fold
from holdfast.session.sqlite import SqliteStore, read_copy
from holdfast.session.store import Finding, Reading
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
    """Return an existing session; raises `SessionBusy` if another process holds it.

    Where its first entry is lost, which says where the session works and with what, another is appended: folder and
    model are those of the summary, the system prompt and the tools those of today. A finding says so.
    """
    folder = catalog.folder(summary.id)
    store = SqliteStore.open(folder)
    try:
        reading = store.read()
        first = _opened(reading)
        cwd = _existing(first.entry.cwd if first else _working(summary), summary.id)
        declared = {tool.name for tool in first.entry.tools} if first else None
        toolbox = LocalToolbox(cwd, folder, declared=declared)
        if first is None:
            again = first_entry(summary.id, cwd=cwd, model=summary.model, toolbox=toolbox)
            store.append([again], expected=store.length)
            reading = _with(store.read(), _made_again(again))
        elif first.seq > 1:  # by a process that may have ended before it said so
            reading = _with(reading, _made_again(first.entry))
    except BaseException:
        store.close()
        raise
    return OpenSession(id=summary.id, cwd=cwd, store=store, toolbox=toolbox, reading=reading)


class _First(msgspec.Struct, frozen=True):
    """The entry that says where a session works and with what, and its place in the journal."""

    seq: int
    entry: SessionOpened


def _opened(reading: Reading) -> _First | None:
    """Return the entry that says where the session works and with what, None if it is lost."""
    for record in reading.records:
        if isinstance(record.entry, SessionOpened):
            return _First(record.seq, record.entry)
    return None


def _working(summary: Summary) -> str:
    """Return the folder that the session works in; if that is lost too, the one that it is opened in."""
    return summary.cwd or str(Path.cwd())


def _made_again(opened: SessionOpened) -> Finding:
    """Return the same finding for the same entry, so that it is reported once."""
    model = f" with {opened.model}" if opened.model else ""
    what = (
        f"The session's first entry was made again: it works in {opened.cwd!r}{model}, its system prompt and its tools "
        "are the present ones."
    )
    return Finding(seq=1, what=what)


def _with(reading: Reading, finding: Finding) -> Reading:
    return msgspec.structs.replace(reading, findings=(*reading.findings, finding))


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

    cwd = _existing(_working(summary), summary.id)  # said of the original, before there is a copy
    session = catalog.new_id()
    reading = read_copy(catalog.folder(summary.id))
    with new_store(catalog.folder(session)) as store:
        again = None
        if _opened(reading) is None:
            toolbox = LocalToolbox(cwd, catalog.folder(session))
            again = first_entry(summary.id, cwd=cwd, model=summary.model, toolbox=toolbox)
            reading = _with(reading, _made_again(again))
        entries = fork_entries(reading, session, opened=again)
        copied, leave = fold(entries), Leave("fork")
        commands = (settle_command(shell.started, leave) for shell in copied.open_shells)
        store.append((*entries, *settle(copied, leave), *commands), expected=0)
    store.close()
    return resume(catalog, catalog.find(session))
