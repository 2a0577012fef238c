"""Drives one session until nothing waits in it, then releases it.

A worker may be told to drive a session late, twice, or at the same time as another worker. The one that gets the lease
drives it, and nothing here depends on being called at the right time. The driver is a client of an ordinary
`SessionHost`; requests of users arrive as rows of the inbox and become its commands (`InboxCommands`). A fleet's worker
and the local server use the same driver; `DriveRules` holds the differences.

The agent's own recovery first settles what a crash left open. If the turn was lost with its worker, and not ended by
the user or the model, the driver continues it with a prompt that says so. The local server leaves that to its user, as
the terminal does. A session in which five workers died is held for a user, so that it cannot take down the fleet.

A user who is thinking must not occupy a slot. When a question is open and nothing runs, the driver parks the turn and
releases the lease. The row with the answer wakes the session again.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Literal, Protocol

import msgspec

from holdfast.agent.agent import Agent
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import LeaseLost, StateError, StorageFailed
from holdfast.fleet.held_session import HeldSession
from holdfast.fleet.places.place import SessionPlace
from holdfast.fleet.record import InboxRow
from holdfast.fleet.worker.inbox_commands import InboxCommands
from holdfast.host import commands as c
from holdfast.host.events import AskClosed, Asked, Busy, HostEvent, Idle, Warned
from holdfast.host.session_host import SessionHost
from holdfast.session.journal.entries import PromptAccepted
from holdfast.system.threads import in_daemon

GO_ON = "[holdfast: the worker that ran this turn was lost. Look at what it left, then continue the task.]"
"""The prompt that continues a turn after its worker died."""

DRAINED = "the worker ends"
LOST = "the worker lost the session"
MOST_TRIES = 5
_TASKS_END = 3.0
_TASKS_LOOK = 0.5
"""Seconds between two looks at the background tasks that keep an idle session open."""

DriveEnd = Literal["released", "requeue", "held", "lost"]
"""`requeue`: the session must be driven again soon."""


class HostMaker(Protocol):
    """Makes the host of a session in its place."""

    def __call__(self, held_session: HeldSession, place: SessionPlace) -> SessionHost:
        """Return the host. A session without entries gets its first ones."""
        ...


class DriveRules(msgspec.Struct, frozen=True, kw_only=True):
    """The differences between a fleet's worker and the local server.

    In a drain, a running turn gets `grace` seconds and is then stopped with `drain_cause`. A question is parked after
    `park_after` seconds, never if that is None. With `continue_lost_turns`, a turn that was lost with its process
    continues without a user. A session in which nothing waits stays open for `linger` seconds. With `one_turn` the
    session is released after one turn, even if more prompts wait.
    """

    grace: float = 30.0
    drain_cause: StopCause = StopCause("external", DRAINED)
    park_after: float | None = 2.0
    continue_lost_turns: bool = True
    linger: float = 0.0
    one_turn: bool = False


class SessionDriver:
    """Drives one session whose lease is held, on one event loop. `notify` gets a message for the user about a bug.

    `slot_wanted` returns whether another session waits for this one's slot. It is called while nothing waits here.
    """

    def __init__(
        self,
        session: HeldSession,
        *,
        make: HostMaker,
        open_place: Callable[[str, Mapping[str, object]], SessionPlace],
        rules: DriveRules,
        notify: Callable[[str], object] = lambda _: None,
        slot_wanted: Callable[[], bool] = lambda: False,
    ) -> None:
        self._session = session
        self._slot_wanted = slot_wanted
        self._make = make
        self._open_place = open_place
        self._rules = rules
        self._notify = notify
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._question_since: float | None = None
        self._turn: c.Submission | None = None  # the last command that began a turn, until its end was seen
        self._turns = 0
        self._draining = self._lost = False
        self._host_or_none: SessionHost | None = None
        self._settled = False

    # --- for other threads --------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Return whether a turn runs, or is about to."""
        host = self._host_or_none
        return host is not None and (host.busy or (self._turn is not None and not self._turn.ended.done()))

    @property
    def open_questions(self) -> tuple[str, ...]:
        """Return the ids of the questions that wait for an answer."""
        question = None if self._host_or_none is None else self._host_or_none.open_question
        return () if question is None else (question.id,)

    @property
    def mode(self) -> str:
        """Return the approval mode, "" before the session has its host."""
        return "" if self._host_or_none is None else self._agent.mode

    def drain(self) -> None:
        """Begin no more turns, and stop the running one after the grace period. From any thread."""
        self._call_soon(self._begin_drain)

    def lose(self) -> None:
        """Stop the turn at once: another worker has the session, or soon will. From any thread."""
        self._call_soon(self._begin_loss)

    # --- one run ------------------------------------------------------------------------------------------------

    async def run(self) -> DriveEnd:
        """Drive the session until nothing waits, and release it. Raises errors that the session did not cause."""
        place = await in_daemon(lambda: self._open_place(self._session.id, self._session.place))
        self._session.put_place(place.values())
        host = self._host_or_none = self._make(self._session, place)
        host.listen(self._hear)
        commands = InboxCommands(self._session, host, changed=self._changed.set, bug=self._bug)
        parked = was_lost = False
        try:
            self._session.watch(lambda: self._call_soon(self._changed.set))
            if self._agent.conversation.is_open and self._agent.recovery.can_resume:
                self._settled = True
                self._turn = host.submit(c.Continue())
            parked = await self._drive(commands)
            was_lost = not self._lost and self._was_lost()
            if not parked:
                await host.end_tasks(_TASKS_END, "the session is given back")
        finally:
            if self.running:
                self._stop(self._rules.drain_cause)
            await host.close()
        if self._lost:
            return "lost"
        return self._release(await self._save_place(place), parked=parked, was_lost=was_lost)

    def _hear(self, event: HostEvent) -> None:
        """Look again at what may have changed for the driver."""
        if isinstance(event, Busy | Idle | Asked | AskClosed):
            self._changed.set()
        elif isinstance(event, Warned):
            self._notify(f"Session {self._session.id!r}: {event.message}")

    async def _save_place(self, place: SessionPlace) -> dict[str, object]:
        """Save the place and return its values. They report a failed save, which is tried again next time."""
        turn = self._agent.conversation.turns
        try:
            return await in_daemon(lambda: place.save(turn))
        except StateError as error:
            return {**place.values(), "unsaved": str(error)}

    @property
    def _host(self) -> SessionHost:
        assert self._host_or_none is not None
        return self._host_or_none

    @property
    def _agent(self) -> Agent:
        return self._host.agent

    def _release(self, values: dict[str, object], *, parked: bool, was_lost: bool) -> DriveEnd:
        tries = self._session.tries
        if tries >= MOST_TRIES and was_lost:
            reason = f"{tries} workers died in it. See its last calls, then send a message to go on."
            self._session.release(values, hold_reason=reason)
            return "held"
        if self._draining and (was_lost or self._agent.conversation.is_open or self._session.waiting_rows()):
            self._session.release(values, requeue=True)
            return "requeue"
        if self._session.release(values, parked=parked):
            return "released"
        self._session.release(values, requeue=True)
        return "requeue"

    # --- the loop -----------------------------------------------------------------------------------------------

    async def _drive(self, commands: InboxCommands) -> bool:
        """Serve the inbox until nothing waits, and return whether the turn was parked."""
        while True:
            self._changed.clear()
            if self._turn is not None and not self.running:
                self._finish()
            if self._lost:
                return False
            if not self.running and not self._settled:
                await self._host.submit(c.Continue()).ended  # settles what is open
                self._settled = True
            prompt = commands.serve(running=self.running)
            if not self.running:
                if self._draining:
                    return False
                if not self._begin(commands, prompt):
                    if not commands.is_served:
                        await self._wait()
                    elif not await self._linger():
                        return False
                    continue
            if await self._park_if_due(commands):
                return True
            await self._wait()

    async def _wait(self) -> None:
        """Wait until a row arrives, the turn ends, a question opens or is due to be parked, or the worker ends."""
        timeout = None
        if self.open_questions and self._rules.park_after is not None:
            self._question_since = self._question_since or time.monotonic()
            timeout = max(0.0, self._question_since + self._rules.park_after - time.monotonic())
        else:
            self._question_since = None
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait({changed}, timeout=timeout)
        finally:
            changed.cancel()

    async def _linger(self) -> bool:
        """Wait for a row while nothing runs. Return false if the session need not stay open."""
        tasks = self._host.needs_time if self._rules.linger else self._host.writes_title
        if not (self._rules.linger or tasks):
            return False
        if not tasks and self._slot_wanted():
            return False
        try:
            await asyncio.wait_for(self._changed.wait(), _TASKS_LOOK if tasks else self._rules.linger)
        except TimeoutError:
            return bool(tasks or self._session.waiting_rows())
        return True

    async def _park_if_due(self, commands: InboxCommands) -> bool:
        after = self._rules.park_after
        if after is None or self._question_since is None or not self.open_questions:
            return False
        if not self._draining and time.monotonic() < self._question_since + after:
            return False
        return commands.is_served and await self._host.park()

    def _begin(self, commands: InboxCommands, prompt: InboxRow | None) -> bool:
        """Begin the next turn, and return whether there is one."""
        was_lost = self._was_lost()
        if was_lost and self._session.tries < MOST_TRIES and not self._is_stopped():
            self._turn = self._host.submit(c.Prompt(GO_ON, mentions=False))
            return True
        if prompt is None or (was_lost and self._session.tries >= MOST_TRIES) or (self._rules.one_turn and self._turns):
            return False
        self._turn = commands.submit(prompt)
        return True

    def _finish(self) -> None:
        """Handle the end of a turn, whatever it raised."""
        turn, self._turn = self._turn, None
        self._turns += 1
        self._settled = False  # if the record was unreachable, the turn is still open there and must be settled first
        assert turn is not None
        error = turn.ended.exception()
        if isinstance(error, LeaseLost):
            self._lost = True
        elif isinstance(error, StorageFailed):  # the record was unreachable for longer than the patience: start over
            raise error

    def _bug(self, error: Exception) -> str:
        """Report an internal error, and return why its message was refused."""
        self._notify(f"Session {self._session.id!r}: internal error.\n{''.join(traceback.format_exception(error))}")
        return f"Internal error: {type(error).__name__}. See the log of the process."

    # --- how the last turn ended ---------------------------------------------------------------------------------

    def _was_lost(self) -> bool:
        """Return whether the last turn ended only because its worker did, so that it should be continued."""
        ended = self._agent.conversation.last_end
        if not self._rules.continue_lost_turns or ended is None or self._agent.conversation.is_open:
            return False
        if ended.cause == "crash":  # does not count if it happened before the session was pushed
            began = (
                seq
                for seq, entry in enumerate(self._agent.journal.entries(), start=1)
                if isinstance(entry, PromptAccepted) and entry.turn == ended.turn
            )
            pushed = self._session.place.get("pushed", 0)
            return isinstance(pushed, int) and next(began, 0) > pushed
        if ended.cause == "storage":  # the record was unreachable for longer than the patience
            return True
        return ended.cause == "external" and ended.detail in (DRAINED, LOST)

    def _is_stopped(self) -> bool:
        return any(row.kind == "stop" for row in self._session.waiting_rows())

    # --- the worker's end ---------------------------------------------------------------------------------------

    def _begin_drain(self) -> None:
        if not self._draining:
            self._draining = True
            self._loop.call_later(self._rules.grace, lambda: self._stop(self._rules.drain_cause))
            self._changed.set()

    def _begin_loss(self) -> None:
        self._lost = True
        self._stop(StopCause("external", LOST))
        self._changed.set()

    def _stop(self, cause: StopCause) -> None:
        if self._host_or_none is not None:
            self._host.submit(c.Stop(cause.cause, cause.detail))

    def _call_soon(self, work: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(work)
        except RuntimeError:  # the loop has closed: the run is over
            return
