"""Opens a session: a new one, an existing one, or a copy. The lease is always held."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Container, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from holdfast import __version__
from holdfast.agent.context.system_prompt import folder_facts, system_prompt
from holdfast.agent.recovery.settle import settle, settle_command
from holdfast.agent.recovery.settle_tasks import settle_task
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import StorageFailed, UsageError
from holdfast.session.catalog import Catalog, SessionSummary
from holdfast.session.conversation.fold import fold
from holdfast.session.conversation.fold_state import ResumedReading
from holdfast.session.journal.entries import Entry, ModelSettingsChanged, Moved, MovedBy, SessionOpened, ToolsChanged
from holdfast.session.journal.model_settings import NO_SETTINGS, ModelSettings
from holdfast.session.journal.store import Finding, Reading
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from holdfast.system.git import repository_names
from holdfast.text import valid_unicode
from holdfast.tool_calls import ToolSchema
from holdfast.tools.toolbox import LocalToolbox, is_own


class OpenSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session whose lease this process holds, and the tools that work in its directory.

    `reading` is its journal at that time.
    """

    id: str
    cwd: Path
    store: SqliteStore
    toolbox: LocalToolbox
    reading: Reading


def create(  # noqa: PLR0913 - what a session begins with
    catalog: Catalog,
    *,
    cwd: str | Path,
    model: str,
    settings: ModelSettings = NO_SETTINGS,
    tools: Container[str] | None = None,
    system: str = "",
    instructions: str = "",
    remote: tuple[ToolSchema, ...] = (),
    session_id: str = "",
) -> OpenSession:
    """Return a new session that works in `cwd` with `model` and its `settings`. Its first entries are durable.

    Its id is `session_id`, or a new one. It declares these `tools`, or those that suit the model, and `remote` tools of
    MCP servers and plug-ins. Its system prompt is the user's own `system`, or holdfast's, and ends with their
    `instructions`.
    """
    cwd, session = Path(cwd), session_id or catalog.new_id()
    folder = catalog.folder(session)
    with new_store(folder) as store:
        from holdfast.tools.tool_choice import chosen_tools

        toolbox = LocalToolbox(cwd, folder, declared=chosen_tools(model) if tools is None else tools, remote=remote)
        opened = first_entry(session, cwd=cwd, model=model, toolbox=toolbox, system=system, instructions=instructions)
        chosen = () if settings == NO_SETTINGS else (ModelSettingsChanged(settings=settings),)
        store.append([opened, *chosen], expected=0)
        reading = store.read()
    catalog.note(opened)
    return OpenSession(id=session, cwd=cwd, store=store, toolbox=toolbox, reading=reading)


@contextmanager
def new_store(folder: Path) -> Generator[SqliteStore]:
    """Yield the empty journal of a new session, which stays open. On an exception everything is deleted again."""
    try:
        store = SqliteStore.create(folder)
    except StorageFailed:  # any other failure means that the folder belongs to another session
        _remove(folder)
        raise
    try:
        yield store
    except BaseException:
        store.close()
        _remove(folder)
        raise


def _remove(folder: Path) -> None:
    from holdfast.system.deletion import delete_tree

    with suppress(OSError):
        delete_tree(folder)


def first_entry(
    session: str, *, cwd: Path, model: str, toolbox: LocalToolbox, system: str = "", instructions: str = ""
) -> SessionOpened:
    """Return the first entry of a session in `cwd`; raises `UsageError` if the path is not valid UTF-8.

    `system` is the user's own system prompt, "" for holdfast's; `instructions` are what they append to it.
    """
    if valid_unicode(str(cwd)) != str(cwd):
        raise UsageError(
            f"Folder {str(cwd)!r} cannot be used: its name is not valid UTF-8. Rename it, or work in another directory."
        )
    files = toolbox.instructions()
    return SessionOpened(
        session=session,
        cwd=str(cwd),
        model=model,
        system=valid_unicode(system_prompt(system, appended=instructions)),
        tools=toolbox.schemas,
        version=__version__,
        instructions=tuple(each.snapshot for each in files),
        facts=folder_facts(cwd, today=dt.datetime.now().astimezone().date().isoformat(), instructions=files),
        repository=repository_names(cwd),
    )


def resume(
    catalog: Catalog,
    summary: SessionSummary,
    *,
    tools: Callable[[], Container[str]] | None = None,
    from_checkpoint: bool = False,
) -> OpenSession:
    """Return an existing session; raises `SessionBusy` if another process holds it.

    With `summary.moved_by`, it continues in the folder `summary.cwd`: the move is its next entry. If its first entry is
    lost, a new one is appended: directory and model come from the summary, the system prompt and the tools are today's:
    those that `tools` returns, or the default ones. A finding reports it.

    With `from_checkpoint`, the journal is read from its last checkpoint on, if it has one.
    """
    folder = catalog.folder(summary.id)
    store, reading = _opened(folder, from_checkpoint=from_checkpoint and summary.moved_by is None)
    try:
        if reading is None:
            reading = store.read()
        first = _find_first(reading)
        if first is not None and (moved := _move(reading, summary)):
            store.append(moved, expected=store.length)
            reading = store.read()
        cwd = _existing_directory((session_folder(reading) if first else "") or _directory_of(summary), summary.id)
        schemas = tools_declared_now(reading, first.entry.tools) if first else ()
        declared = {tool.name for tool in schemas} if first else tools() if tools is not None else None
        remote = tuple(tool for tool in schemas if not is_own(tool.name))
        toolbox = LocalToolbox(cwd, folder, declared=declared, remote=remote)
        if first is None:
            again = first_entry(summary.id, cwd=cwd, model=summary.model, toolbox=toolbox)
            store.append([again], expected=store.length)
            reading = _with_finding(store.read(), _first_entry_finding(again))
        elif first.seq > 1:  # written by a process that may have ended before it reported this
            reading = _with_finding(reading, _first_entry_finding(first.entry))
        if summary.moved_by is not None:
            catalog.find(summary.id)  # writes its summary, so that its new folder finds it
    except BaseException:
        store.close()
        raise
    return OpenSession(id=summary.id, cwd=cwd, store=store, toolbox=toolbox, reading=reading)


def _opened(folder: Path, *, from_checkpoint: bool) -> tuple[SqliteStore, Reading | None]:
    """Return the store of an existing session, with what was read of it from its last checkpoint on, if it has one."""
    if from_checkpoint:
        from holdfast.agent.last_checkpoint import resumed_reading
        from holdfast.session.conversation.checkpoint import fold_version

        store = SqliteStore.open(folder, fold_version=fold_version())
        if store.saved_fold is None:
            return store, None
        try:
            if (resumed := resumed_reading(store)) is not None:
                return store, resumed
            store.drop_fold()
        except BaseException:
            store.close()
            raise
        store.close()  # it was opened without a look at every page
    return SqliteStore.open(folder), None


def session_folder(reading: Reading) -> str:
    """Return the folder that the session works in now, "" if the entry that names it is lost."""
    for record in reversed(reading.records):
        match record.entry:
            case Moved(to=folder) | SessionOpened(cwd=folder):
                return folder
            case _:
                pass
    return reading.opened.cwd if isinstance(reading, ResumedReading) and reading.opened is not None else ""


def move_session(catalog: Catalog, summary: SessionSummary, to: Path, by: MovedBy) -> tuple[Moved, ...]:
    """Journal that a session continues in the folder `to`, and return the entry, none if it is there already.

    Raises `SessionBusy` if another process holds it, `UsageError` if one of its tasks runs or its folder is unknown.
    """
    from holdfast.agent.moved_session import moved_summary

    store = SqliteStore.open(catalog.folder(summary.id))
    try:
        reading = store.read()
        if not session_folder(reading):
            raise UsageError(
                f"Session {summary.id!r} cannot be moved: the entry that names its folder is lost. "
                f"Resume it in its new folder with holdfast -r {summary.id}."
            )
        moved = _move(reading, moved_summary(summary, to, by))
        store.append(moved, expected=store.length)
    finally:
        store.close()
    catalog.find(summary.id)  # writes its summary
    return moved


def _move(reading: Reading, summary: SessionSummary) -> tuple[Moved, ...]:
    """Return the entry of the move that `summary` asks for, if it does."""
    if summary.moved_by is None:
        return ()
    from holdfast.agent.moved_session import move_entry

    moved = move_entry(reading, summary, old=session_folder(reading))
    return () if moved is None else (moved,)


class _First(msgspec.Struct, frozen=True):
    """The entry that names the session's directory and tools, and its position in the journal."""

    seq: int
    entry: SessionOpened


def _find_first(reading: Reading) -> _First | None:
    """Return the entry that names the session's directory and tools, None if it is lost."""
    if isinstance(reading, ResumedReading) and reading.opened is not None:
        return _First(1, reading.opened)
    for record in reading.records:
        if isinstance(record.entry, SessionOpened):
            return _First(record.seq, record.entry)
    return None


def tools_declared_now(reading: Reading, first: tuple[ToolSchema, ...]) -> tuple[ToolSchema, ...]:
    """Return the tools that the session declares now."""
    changes = (record.entry.tools for record in reversed(reading.records) if isinstance(record.entry, ToolsChanged))
    return next(changes, first)


def _directory_of(summary: SessionSummary) -> str:
    """Return the session's directory, or the current one if it is lost."""
    return summary.cwd or str(Path.cwd())


def _first_entry_finding(opened: SessionOpened) -> Finding:
    """Return the finding for a replaced first entry. It is always the same, so it is reported once."""
    model = f" with {opened.model}" if opened.model else ""
    what = (
        f"The session's first entry was made again: it works in {opened.cwd!r}{model}, its system prompt and its tools "
        "are the present ones."
    )
    return Finding(seq=1, what=what)


def _with_finding(reading: Reading, finding: Finding) -> Reading:
    return msgspec.structs.replace(reading, findings=(*reading.findings, finding))


def _existing_directory(folder: str, session: str) -> Path:
    """Return the session's directory; raises `UsageError` if it does not exist."""
    if not Path(folder).is_dir():
        raise UsageError(
            f"Session {session!r} cannot be opened: its directory {folder!r} does not exist. "
            f"Restore the directory, or continue in another one with holdfast -r {session} -C DIR."
        )
    return Path(folder)


def settled(entries: tuple[Entry, ...], cause: StopCause) -> tuple[Entry, ...]:
    """Return the entries of a copy with an end for everything that is open in them: that runs elsewhere, or nowhere."""
    copied = fold(entries)
    commands = (settle_command(shell.started, cause, program=copied.program) for shell in copied.open_shells)
    tasks = (settle_task(task.started, cause, program=copied.program) for task in copied.open_tasks)
    return (*entries, *settle(copied, cause), *commands, *tasks)


def fork(
    catalog: Catalog,
    summary: SessionSummary,
    *,
    until: int | None = None,
    tools: Callable[[], Container[str]] | None = None,
) -> OpenSession:
    """Return a copy of a session with a new id: of all its entries, or of those up to and including `until`.

    Works while another process holds the original. Nothing is open in the copy: running calls and pending questions
    stay with the original. All entries of the copy are written in one append: before it there is no session.
    """
    from holdfast.session.copies import fork_entries  # only a fork needs it

    cwd = _existing_directory(_directory_of(summary), summary.id)  # check this before there is a copy
    session = catalog.new_id()
    reading = read_copy(catalog.folder(summary.id))
    with new_store(catalog.folder(session)) as store:
        again = None
        if _find_first(reading) is None:
            toolbox = LocalToolbox(cwd, catalog.folder(session), declared=None if tools is None else tools())
            again = first_entry(summary.id, cwd=cwd, model=summary.model, toolbox=toolbox)
            reading = _with_finding(reading, _first_entry_finding(again))
        entries = settled(fork_entries(reading, session, opened=again, until=until), StopCause("fork"))
        moved = _move(reading, summary) if again is None else ()
        store.append((*entries, *moved), expected=0)
    store.close()
    return resume(catalog, catalog.find(session))
