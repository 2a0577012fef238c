"""Sessions to which another agent delegates work: it starts, continues, reads, stops and lists them by their IDs.

How it works. The server does no work itself. A turn runs in a separate process (`session_worker`), which continues if
the connection is lost, the request is cancelled, or the server or its client is killed. The state of a session is read
from its journal, so any later server can report it by the ID. A turn has a time limit, because there may be no client
left to stop it.

What a client knows at each point, with the ID that it chose or received:

- Killed before the worker has journalled the prompt: the session does not exist, or is empty. Starting it again with
  the same ID and prompt begins it, once.
- Killed afterwards: the prompt is durable, and the turn runs, has ended, or was interrupted. Starting it again with the
  same ID and prompt returns its report and starts nothing.
- Stopped: the server signals the worker and waits for it. The turn is settled like any other, and its answer so far is
  kept.

A client can name the last turn that it has seen (`after_turn`), so that a repeated request starts nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from holdfast.errors import SessionBusy, SessionUnknown, StateError, UsageError
from holdfast.session.catalog import Catalog
from holdfast.session.storage.lease import raise_if_busy
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.system.threads import in_daemon
from holdfast.tool_calls import Mode
from holdfast.ui.acp.client_folders import client_folder
from holdfast.ui.mcp_server.session_report import SessionReport, session_report
from holdfast.ui.mcp_server.session_worker import SessionWorker, start_worker, stop_worker

TIME_LIMIT = 3600.0
"""Default time limit of a turn, in seconds."""

LONGEST_WAIT = 600.0
"""Maximum seconds that a request waits for the end of a turn."""

_BEGINS_WITHIN = 60.0  # seconds that a worker may take to journal its prompt
_STOPS_WITHIN = 10.0  # seconds that a stopped worker may take to settle
_LOOKS = (0.05, 1.0)  # seconds between two looks at a session, at first and at most
_LISTED = 50

Progress = Callable[[int, str], Awaitable[None]]


class DelegatedOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a turn. No user can approve a call: what is not allowed is denied.

    With `require_sandbox`, no command runs without one. A client cannot ask for less than the user configured.
    """

    mode: Mode | None = None
    require_sandbox: bool = False
    model: str = ""
    time_limit: float = TIME_LIMIT
    max_cost: float | None = None


class ListedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session in a list. `open` is whether a process has it open now."""

    session: str
    title: str
    cwd: str
    modified: float
    open: bool


class DelegatedSessions:
    """The sessions in some folders, and below them. Use it from one event loop."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        folders: Sequence[Path],
        environ: Mapping[str, str],
        options: Sequence[str] = (),
        yolo: bool = False,
    ) -> None:
        """Use the sessions of a catalog. `options` are passed to every run; `yolo` is whether that mode is offered."""
        self._catalog = catalog
        self._folders = tuple(folders)
        self._environ = environ
        self._options = tuple(options)
        self._yolo = yolo
        self._beginning: dict[str, asyncio.Lock] = {}
        self._workers: dict[str, SessionWorker] = {}

    # --- requests of a client -----------------------------------------------------------------------------------

    async def start(self, prompt: str, *, session: str = "", cwd: str = "", options: DelegatedOptions) -> SessionReport:
        """Start a session with its first prompt, durable on return. If it has that prompt already, just report it.

        Raise `UsageError` if it cannot start, or if the ID has another prompt.
        """
        if not prompt.strip():
            raise UsageError("The prompt is empty. Say what you want done.")
        folder = self._folder(cwd)
        session_id = session or self._catalog.new_id()
        until = time.monotonic() + _BEGINS_WITHIN
        async with self._beginning.setdefault(session_id, asyncio.Lock()):
            while True:
                known = await self._find(session_id)
                if known is not None and known.turn:
                    if known.first_prompt.strip() == prompt.strip():
                        return known
                    raise UsageError(
                        f"Session {session_id!r} exists with another prompt. Choose another ID, or continue it."
                    )
                if known is not None and known.cwd and Path(known.cwd) != folder:
                    raise UsageError(
                        f"Session {session_id!r} exists in another folder, {known.cwd!r}. Choose another ID."
                    )
                words = ("-r" if known is not None else "--session-id", session_id)
                try:
                    return await self._begin(session_id, (*words, "-C", str(folder)), prompt, options, folder, after=0)
                except UsageError:
                    # The worker of an earlier server may be starting the same work: it has just created or opened the
                    # session.
                    appeared = known is None and await self._find(session_id) is not None
                    is_open = appeared or bool(await in_daemon(lambda: self._holder(session_id)))
                    if not is_open or time.monotonic() > until:
                        raise
                await asyncio.sleep(_LOOKS[0])

    async def continue_session(
        self, session: str, prompt: str, *, after_turn: int | None = None, options: DelegatedOptions
    ) -> SessionReport:
        """Start the next turn of a session with a prompt, durable on return.

        With `after_turn`, only if that is its last turn; otherwise just report it. Raise `UsageError` if a turn is
        running, or if another program has the session open.
        """
        if not prompt.strip():
            raise UsageError("The prompt is empty. Say what you want done.")
        until = time.monotonic() + _BEGINS_WITHIN
        async with self._beginning.setdefault(session, asyncio.Lock()):
            while True:
                known = await self.read(session)
                if after_turn is not None and known.turn != after_turn:
                    return known
                if known.state == "running":
                    raise UsageError(
                        f"Session {session!r} is running. Wait for it with read_session, or stop it first."
                    )
                await self._wait_released(session)
                try:
                    return await self._begin(
                        session, ("-r", session), prompt, options, Path(known.cwd), after=known.turn
                    )
                except UsageError:
                    # The worker of an earlier server may be starting the same turn: it has just opened the session.
                    # Without `after_turn` the prompt might be carried out twice.
                    overtaken = bool(await in_daemon(lambda: self._holder(session)))
                    overtaken = overtaken or (await self.read(session)).turn != known.turn
                    if after_turn is None or not overtaken or time.monotonic() > until:
                        raise
                await asyncio.sleep(_LOOKS[0])

    async def read(self, session: str) -> SessionReport:
        """Return the report on a session. Raise `SessionUnknown` if it is not in the offered folders."""
        known = await self._find(session)
        if known is None:
            raise SessionUnknown(
                f"Session {session!r} does not exist. If it was just started, start it again with the same ID and "
                "prompt: that is safe. list_sessions shows all of them."
            )
        return known

    async def wait(self, session: str, seconds: float, progress: Progress) -> SessionReport:
        """Return the report when the turn has ended, or after `seconds`. Call `progress` when the journal grows."""
        until = time.monotonic() + min(seconds, LONGEST_WAIT)
        every, seen = _LOOKS[0], -1
        while True:
            known = await self.read(session)
            left = until - time.monotonic()
            if known.is_over or left <= 0:
                return known
            if known.entries != seen:
                seen = known.entries
                await progress(known.entries, known.doing)
            await asyncio.sleep(min(every, left))
            every = min(every * 1.5, _LOOKS[1])

    async def stop(self, session: str) -> SessionReport:
        """Stop and settle the turn of a session, and report it. Raise `UsageError` if another program has it open."""
        known = await self.read(session)
        if known.state != "running":
            return known
        holder, worker = await in_daemon(lambda: self._holder(session)), self._workers.get(session)
        if holder and not (worker is not None and worker.stop()) and not await in_daemon(lambda: stop_worker(holder)):
            raise UsageError(
                f"Session {session!r} was not stopped: another program has it open ({holder}). Stop it there."
            )
        return await self.wait(session, _STOPS_WITHIN, _ignore_progress)

    async def list_sessions(self) -> tuple[ListedSession, ...]:
        """Return the sessions of the folders, most recently used first."""
        return await in_daemon(self._list_sessions)

    def close(self) -> None:
        """Forget the workers. Running ones continue."""
        for worker in self._workers.values():
            worker.forget()
        self._workers.clear()

    # --- the worker ---------------------------------------------------------------------------------------------

    async def _begin(
        self,
        session: str,
        session_words: Sequence[str],
        prompt: str,
        options: DelegatedOptions,
        folder: Path,
        *,
        after: int,
    ) -> SessionReport:
        """Start a worker and return the report once its prompt is durable."""
        words = (*self._options, *session_words, *self._words(options), "--on-approval", "deny")
        worker = await in_daemon(lambda: start_worker(words, prompt, cwd=folder, environ=self._environ))
        if (former := self._workers.pop(session, None)) is not None:
            await in_daemon(former.wait)
            former.forget()
        self._workers[session] = worker
        until = time.monotonic() + _BEGINS_WITHIN
        while True:
            ended = worker.has_ended  # checked before reading the journal, which then has everything it wrote
            # Looking for the holder would take the lease for a moment, but the worker needs it now.
            known = await self._find(session, is_open=not ended)
            if known is not None and known.turn > after:
                return known
            if ended:
                raise UsageError(f"The work was not started. Fix this, then send it again: {worker.reason}")
            if time.monotonic() > until:
                raise StateError(f"Session {session!r} has not started after {_BEGINS_WITHIN:g} s. Read it later.")
            await asyncio.sleep(_LOOKS[0])

    def _words(self, options: DelegatedOptions) -> tuple[str, ...]:
        """Return the command-line options. Raise `UsageError` for a mode that is not offered."""
        if options.mode == "yolo" and not self._yolo:
            raise UsageError("Mode 'yolo' is not offered. The user can offer it: holdfast mcp serve --allow-yolo.")
        mode = () if options.mode is None else ("--permission-mode", options.mode)
        model = ("-m", options.model) if options.model else ()
        cost = () if options.max_cost is None else ("--max-cost", str(options.max_cost))
        sandbox = ("--sandbox", "require") if options.require_sandbox else ()
        return (*mode, *sandbox, *model, *cost, "--timeout", str(options.time_limit))

    async def _wait_released(self, session: str) -> None:
        """Wait until the worker of the previous turn has exited, a moment after its last entry."""
        until = time.monotonic() + _STOPS_WITHIN
        while True:
            holder = await in_daemon(lambda: self._holder(session))
            if not holder:
                return
            if time.monotonic() > until:
                raise UsageError(f"Session {session!r} is open in another program ({holder}). Close it there first.")
            await asyncio.sleep(_LOOKS[0])

    # --- the journal --------------------------------------------------------------------------------------------

    async def _find(self, session: str, *, is_open: bool | None = None) -> SessionReport | None:
        """Return the report on a session, None if it does not exist. Raise `SessionUnknown` for another folder."""
        report = await in_daemon(lambda: self._report(session, is_open=is_open))
        if report is not None and report.cwd and not self._is_offered(Path(report.cwd)):
            raise SessionUnknown(
                f"Session {session!r} is in another folder, which is not offered here. "
                "The user can offer it: holdfast mcp serve --folder DIR."
            )
        return report

    def _report(self, session: str, *, is_open: bool | None) -> SessionReport | None:
        folder = self._catalog.folder(session)
        if is_open is None:
            is_open = bool(
                self._holder(session)
            )  # checked before reading the journal, which then has everything it wrote
        try:
            reading = read_copy(folder)
        except SessionUnknown:
            return None
        return session_report(session, [record.entry for record in reading.records], is_open=is_open)

    def _holder(self, session: str) -> str:
        """Return the process that has a session open, "" if none has."""
        try:
            raise_if_busy(self._catalog.folder(session))
        except SessionBusy as busy:
            return busy.holder or "unknown"
        return ""

    def _list_sessions(self) -> tuple[ListedSession, ...]:
        found = (each for each in self._catalog.all() if each.cwd and self._is_offered(Path(each.cwd)))
        return tuple(
            ListedSession(
                session=each.id,
                title=each.title or each.damage,
                cwd=each.cwd,
                modified=each.modified,
                open=bool(self._holder(each.id)),
            )
            for each, _ in zip(found, range(_LISTED), strict=False)
        )

    def _is_offered(self, folder: Path) -> bool:
        return any(folder.is_relative_to(each) for each in self._folders)

    def _folder(self, cwd: str) -> Path:
        """Return the folder of a new session. Raise `UsageError` if it is not offered."""
        folder = client_folder(cwd or str(self._folders[0]))
        if not self._is_offered(folder):
            offered = ", ".join(map(repr, map(str, self._folders)))
            raise UsageError(
                f"Folder {str(folder)!r} is not offered (expected one below {offered}). "
                "The user can offer it: holdfast mcp serve --folder DIR."
            )
        return folder


async def _ignore_progress(entries: int, doing: str) -> None:
    """Ignore progress."""
    del entries, doing
