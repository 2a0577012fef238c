"""Sessions that another agent hands work to: started, continued, read, stopped and listed, by their IDs.

How it works. The server does no work itself. A turn runs in a separate process (`session_worker`), which goes on when
the connection is lost, the request is cancelled, or the server or its client is killed. What is known is read from the
journal, so any later server tells it by the ID. A turn is bounded by a time limit, because there may be no client left
to stop it.

What is known at each point, with the ID that the client chose or was given:

- Killed before the worker has journalled the prompt: the session does not exist, or is empty. Starting it again with
  the same ID and prompt begins it, once.
- Afterwards: the prompt is durable, and the turn runs, has ended, or was interrupted. Starting it again with the same
  ID and prompt returns it and begins nothing.
- A stop is asked of the worker and waited for. The turn is settled like any other, and its answer so far is kept.

A turn is continued only at the turn that the client has seen, if it says so, so that a repeated request begins nothing.
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
from holdfast.ui.mcp_server.session_report import SessionReport, session_report
from holdfast.ui.mcp_server.session_worker import SessionWorker, start_worker, stop_worker

TIME_LIMIT = 3600.0
"""Seconds that a turn may take, unless the client says another limit."""

LONGEST_WAIT = 600.0
"""Seconds that a request may wait for the end of a turn."""

_BEGINS_WITHIN = 60.0  # seconds that a worker may take to journal its prompt
_STOPS_WITHIN = 10.0  # seconds that a stopped worker may take to settle
_LOOKS = (0.05, 1.0)  # seconds between two looks at a session, at first and at most
_LISTED = 50

Progress = Callable[[int, str], Awaitable[None]]


class HandedOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn runs with. No user can approve a call: what is not allowed is denied."""

    mode: Mode | None = None
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


class HandedSessions:
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
        """Use the sessions of a catalog. `options` are those of every run, `yolo` is whether that mode is offered."""
        self._catalog = catalog
        self._folders = tuple(folders)
        self._environ = environ
        self._options = tuple(options)
        self._yolo = yolo
        self._beginning: dict[str, asyncio.Lock] = {}
        self._workers: dict[str, SessionWorker] = {}

    # --- what a client asks -------------------------------------------------------------------------------------

    async def start(self, prompt: str, *, session: str = "", cwd: str = "", options: HandedOptions) -> SessionReport:
        """Begin a session with its first prompt, which is durable then. One that has begun so is returned as it is.

        Raise `UsageError` for what cannot be begun, and if the ID has another prompt.
        """
        if not prompt.strip():
            raise UsageError("The prompt is empty. Say what you want done.")
        folder = self._folder(cwd)
        own = session or self._catalog.new_id()
        until = time.monotonic() + _BEGINS_WITHIN
        async with self._beginning.setdefault(own, asyncio.Lock()):
            while True:
                known = await self._known(own)
                if known is not None and known.turn:
                    if known.first_prompt.strip() == prompt.strip():
                        return known
                    raise UsageError(f"Session {own!r} exists with another prompt. Choose another ID, or continue it.")
                if known is not None and known.cwd and Path(known.cwd) != folder:
                    raise UsageError(f"Session {own!r} exists in another folder, {known.cwd!r}. Choose another ID.")
                words = ("-r" if known is not None else "--session-id", own)
                try:
                    return await self._begin(own, (*words, "-C", str(folder)), prompt, options, folder, after=0)
                except UsageError:
                    # The worker of an earlier server may be beginning the same work: its session is new, or held by it.
                    came = known is None and await self._known(own) is not None
                    held = came or bool(await in_daemon(lambda: self._holder(own)))
                    if not held or time.monotonic() > until:
                        raise
                await asyncio.sleep(_LOOKS[0])

    async def go_on(
        self, session: str, prompt: str, *, after_turn: int | None = None, options: HandedOptions
    ) -> SessionReport:
        """Begin the next turn of a session with a prompt, which is durable then.

        With `after_turn`, only if that is its last turn; otherwise it is returned as it is. Raise `UsageError` if it
        runs, or if another program has it open.
        """
        if not prompt.strip():
            raise UsageError("The prompt is empty. Say what you want done.")
        async with self._beginning.setdefault(session, asyncio.Lock()):
            known = await self.read(session)
            if after_turn is not None and known.turn != after_turn:
                return known
            if known.state == "running":
                raise UsageError(f"Session {session!r} runs. Wait for it with read_session, or stop it first.")
            await self._released(session)
            return await self._begin(session, ("-r", session), prompt, options, Path(known.cwd), after=known.turn)

    async def read(self, session: str) -> SessionReport:
        """Return what is known of a session. Raise `SessionUnknown` if it is none of these folders."""
        known = await self._known(session)
        if known is None:
            raise SessionUnknown(
                f"Session {session!r} does not exist. If it was just started, start it again with the same ID and "
                "prompt: that is safe. list_sessions shows all of them."
            )
        return known

    async def wait(self, session: str, seconds: float, progress: Progress) -> SessionReport:
        """Return the session when its turn has ended, or after so many seconds. `progress` is called when it grows."""
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
        """Stop the turn of a session and return it settled. Raise `UsageError` if another program has it open."""
        known = await self.read(session)
        if known.state != "running":
            return known
        holder, worker = await in_daemon(lambda: self._holder(session)), self._workers.get(session)
        if holder and not (worker is not None and worker.stop()) and not await in_daemon(lambda: stop_worker(holder)):
            raise UsageError(
                f"Session {session!r} was not stopped: another program has it open ({holder}). Stop it there."
            )
        return await self.wait(session, _STOPS_WITHIN, _unseen)

    async def listed(self) -> tuple[ListedSession, ...]:
        """Return the sessions of the folders, the last used first."""
        return await in_daemon(self._listed)

    def close(self) -> None:
        """Forget the workers. Those that run go on."""
        for worker in self._workers.values():
            worker.forget()
        self._workers.clear()

    # --- the worker ---------------------------------------------------------------------------------------------

    async def _begin(
        self, session: str, which: Sequence[str], prompt: str, options: HandedOptions, folder: Path, *, after: int
    ) -> SessionReport:
        """Start a worker and return the session once its prompt is durable."""
        words = (*self._options, *which, *self._words(options), "--on-approval", "deny")
        worker = await in_daemon(lambda: start_worker(words, prompt, cwd=folder, environ=self._environ))
        if (former := self._workers.pop(session, None)) is not None:
            await in_daemon(former.wait)
            former.forget()
        self._workers[session] = worker
        until = time.monotonic() + _BEGINS_WITHIN
        while True:
            ended = worker.has_ended  # before the journal is read: what it wrote is in it then
            # Looking for the holder would take its lease for a moment, which the worker needs now.
            known = await self._known(session, held=not ended)
            if known is not None and known.turn > after:
                return known
            if ended:
                raise UsageError(f"The work was not begun. Fix this, then send it again: {worker.reason}")
            if time.monotonic() > until:
                raise StateError(f"Session {session!r} has not begun after {_BEGINS_WITHIN:g} s. Read it later.")
            await asyncio.sleep(_LOOKS[0])

    def _words(self, options: HandedOptions) -> tuple[str, ...]:
        """Return the options of the command line. Raise `UsageError` for a mode that is not offered."""
        if options.mode == "yolo" and not self._yolo:
            raise UsageError("Mode 'yolo' is not offered. The user can offer it: holdfast mcp serve --allow-yolo.")
        mode = () if options.mode is None else ("--permission-mode", options.mode)
        model = ("-m", options.model) if options.model else ()
        cost = () if options.max_cost is None else ("--max-cost", str(options.max_cost))
        return (*mode, *model, *cost, "--timeout", str(options.time_limit))

    async def _released(self, session: str) -> None:
        """Wait until the worker of the turn before has ended, which takes a moment after its last entry."""
        until = time.monotonic() + _STOPS_WITHIN
        while True:
            holder = await in_daemon(lambda: self._holder(session))
            if not holder:
                return
            if time.monotonic() > until:
                raise UsageError(f"Session {session!r} is open in another program ({holder}). Close it there first.")
            await asyncio.sleep(_LOOKS[0])

    # --- the journal --------------------------------------------------------------------------------------------

    async def _known(self, session: str, *, held: bool | None = None) -> SessionReport | None:
        """Return what is known of a session, None if it does not exist. Raise `SessionUnknown` if it is elsewhere."""
        report = await in_daemon(lambda: self._report(session, held=held))
        if report is not None and report.cwd and not self._is_offered(Path(report.cwd)):
            raise SessionUnknown(
                f"Session {session!r} is in another folder, which is not offered here. "
                "The user can offer it: holdfast mcp serve --folder DIR."
            )
        return report

    def _report(self, session: str, *, held: bool | None) -> SessionReport | None:
        folder = self._catalog.folder(session)
        if held is None:
            held = bool(self._holder(session))  # before the journal is read: what it wrote is in it then
        try:
            reading = read_copy(folder)
        except SessionUnknown:
            return None
        return session_report(session, [record.entry for record in reading.records], held=held)

    def _holder(self, session: str) -> str:
        """Return which process holds a session, "" if none does."""
        try:
            raise_if_busy(self._catalog.folder(session))
        except SessionBusy as busy:
            return busy.holder or "unknown"
        return ""

    def _listed(self) -> tuple[ListedSession, ...]:
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
        folder = Path(cwd).resolve() if cwd else self._folders[0]
        if not folder.is_dir():
            raise UsageError(f"{cwd!r} is not a folder. Pass an existing one.")
        if not self._is_offered(folder):
            offered = ", ".join(map(repr, map(str, self._folders)))
            raise UsageError(
                f"Folder {str(folder)!r} is not offered (expected one below {offered}). "
                "The user can offer it: holdfast mcp serve --folder DIR."
            )
        return folder


async def _unseen(entries: int, doing: str) -> None:
    """Take no notice of progress."""
    del entries, doing
