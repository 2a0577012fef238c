"""One look at a session: drive it until nothing waits, then give it back.

A look may come late, twice, or at two workers at once. It takes the lease or leaves the session, and nothing it does
depends on having been called at the right time. What it drives is an ordinary `Agent`. What a user asks comes as rows
of the inbox, in order: a prompt waits for the turn before, all else is done when it is seen.

What a crash left is settled first, by the agent's own recovery. If the turn was lost with its worker, and not ended by
the user or the model, the look then says so in a prompt and continues. A session in which five workers died is
held for a user: one session must not take the fleet along.

A user who thinks must not hold a slot. When a question is open, and nothing runs, the turn is parked and the lease
given back; the row with the answer wakes the session again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Literal, Protocol, cast, get_args

from holdfast.agent.agent import Agent
from holdfast.agent.parked_turn import park
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import HoldfastError, LeaseLost, StateError, StorageFailed, UsageError
from holdfast.fleet.held_session import HeldSession
from holdfast.fleet.places.place import SessionPlace
from holdfast.fleet.record import InboxRow
from holdfast.fleet.worker.inbox_asker import InboxAsker
from holdfast.session.journal.entries import PromptAccepted, TurnEnded
from holdfast.system.threads import in_daemon
from holdfast.tool_calls import Mode

GO_ON = "[holdfast: the worker that ran this turn was lost. Look at what it left, then continue the task.]"
"""The prompt that continues a turn after its worker died."""

DRAINED = "the worker ends"
LOST = "the worker lost the session"
MOST_TRIES = 5
_PARK_AFTER = 2.0
_TASKS_END = 3.0

LookEnd = Literal["given", "again", "held", "lost"]
"""`again`: another look is needed soon."""


class AgentMaker(Protocol):
    """Makes the agent of a session in its place."""

    def __call__(self, held: HeldSession, place: SessionPlace, ask: InboxAsker) -> Agent:
        """Return the agent. A session without entries gets its first ones."""
        ...


class SessionLook:
    """One look at one held session, on one event loop."""

    def __init__(
        self,
        held: HeldSession,
        *,
        make: AgentMaker,
        open_place: Callable[[str, Mapping[str, object]], SessionPlace],
        grace: float = 30.0,
        park_after: float = _PARK_AFTER,
    ) -> None:
        self._held = held
        self._make = make
        self._open_place = open_place
        self._grace = grace
        self._park_after = park_after
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._asker = InboxAsker(self._changed.set)
        self._asked_since: float | None = None
        self._seen: set[int] = set()
        self._begun = 0  # the row of the last prompt that was begun
        self._turn: asyncio.Task[TurnEnded | None] | None = None
        self._draining = self._lost = False
        self._agent_or_none: Agent | None = None
        self._settled = False

    def drain(self) -> None:
        """Begin no more turns, let the running one go on for the grace, then stop it. From any thread."""
        self._call_soon(self._begin_drain)

    def lose(self) -> None:
        """Stop the turn at once: the session is, or will soon be, another worker's. From any thread."""
        self._call_soon(self._begin_loss)

    async def run(self) -> LookEnd:
        """Drive the session until nothing waits, and give it back; raises what is no fault of the session."""
        place = await in_daemon(lambda: self._open_place(self._held.id, self._held.place))
        self._held.put_place(place.values())
        self._agent_or_none = self._make(self._held, place, self._asker)
        parked = was_lost = False
        try:
            self._held.watch(lambda: self._call_soon(self._changed.set))
            self._take_up()
            await asyncio.sleep(0)  # the turn has begun, so that a stop that waits already reaches it
            parked = await self._drive()
            was_lost = not self._lost and self._was_lost()
            await self._agent.tasks.end(_TASKS_END, "the session is given back")
        finally:
            if self._turn is not None and not self._turn.done():
                self._agent.stop(StopCause("external", DRAINED))
            await self._agent.close()
        if self._lost:
            return "lost"
        return self._give(await self._saved(place), parked=parked, was_lost=was_lost)

    async def _saved(self, place: SessionPlace) -> dict[str, object]:
        """Save the place and return its values; they name a save that failed, which is tried again next time."""
        turn = self._agent.conversation.turns
        try:
            return await in_daemon(lambda: place.save(turn))
        except StateError as error:
            return {**place.values(), "unsaved": str(error)}

    @property
    def _agent(self) -> Agent:
        assert self._agent_or_none is not None
        return self._agent_or_none

    def _give(self, values: dict[str, object], *, parked: bool, was_lost: bool) -> LookEnd:
        if self._held.tries >= MOST_TRIES and was_lost:
            self._held.give(
                values,
                why_held=f"{self._held.tries} workers died in it. See its last calls, then send a message to go on.",
            )
            return "held"
        if self._draining and (was_lost or self._agent.conversation.is_open or self._held.waiting()):
            self._held.give(values, again=True)
            return "again"
        if self._held.give(values, parked=parked):
            return "given"
        self._held.give(values, again=True)
        return "again"

    # --- the loop -----------------------------------------------------------------------------------------------

    async def _drive(self) -> bool:
        """Serve the inbox until nothing waits; return whether the turn was parked."""
        while True:
            self._changed.clear()
            if self._turn is not None and self._turn.done():
                await self._finish()
            if self._lost:
                return False
            if self._turn is None and not self._settled:
                await self._agent.recover()
                self._settled = True
            waits = self._serve()
            if self._turn is None and (self._draining or not self._begin(waits)):
                return False
            if await self._parks():
                return True
            await self._wait()

    async def _wait(self) -> None:
        """Wait until a row arrives, the turn ends, a question opens or is to be parked, or the worker ends."""
        timeout = None
        if self._asker.asking:
            self._asked_since = self._asked_since or time.monotonic()
            timeout = max(0.0, self._asked_since + self._park_after - time.monotonic())
        else:
            self._asked_since = None
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            waiting = {changed, *([self._turn] if self._turn is not None else [])}
            await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()

    async def _parks(self) -> bool:
        if self._asked_since is None or not self._asker.asking:
            return False
        if not self._draining and time.monotonic() < self._asked_since + self._park_after:
            return False
        return await park(self._agent)

    def _take_up(self) -> None:
        """Ask again what was asked when the holder before parked the turn or died."""
        if self._agent.conversation.is_open and self._agent.recovery.can_resume:
            self._settled = True
            self._turn = asyncio.ensure_future(self._agent.resume_turn())

    def _begin(self, waits: InboxRow | None) -> bool:
        """Begin the next turn, and return whether there is one."""
        if self._was_lost() and self._held.tries < MOST_TRIES and not self._went_on():
            self._turn = asyncio.ensure_future(self._agent.run(GO_ON))
            return True
        if waits is None or (self._was_lost() and self._held.tries >= MOST_TRIES):
            return False
        self._held.expect(waits)
        self._begun = waits.id
        self._turn = asyncio.ensure_future(self._agent.run(str(waits.body["text"])))
        return True

    async def _finish(self) -> None:
        """Take note of a turn that has ended, whatever it raised."""
        turn, self._turn = self._turn, None
        self._seen.clear()
        self._settled = False  # what the record did not take, because it was away, is settled before anything else
        assert turn is not None
        try:
            await turn
        except LeaseLost:
            self._lost = True
        except StorageFailed:  # the record was away longer than the patience: look again from the start
            raise
        except HoldfastError as error:  # a prompt that cannot be run, a model that is unknown: told in the journal
            for row in self._held.waiting():
                if row.kind == "prompt":
                    self._held.close_row(row, str(error))
                    break

    # --- the inbox ----------------------------------------------------------------------------------------------

    def _serve(self) -> InboxRow | None:
        """Do what the rows ask for, in order, and return the first prompt that waits for its turn."""
        first: InboxRow | None = None
        rows = self._held.waiting()
        stopped = max((row.id for row in rows if row.kind == "stop"), default=0)
        for row in rows:
            if row.kind in ("prompt", "steer", "later") and self._begun < row.id < stopped:
                continue  # the stop closes it
            if row.kind in ("steer", "later") and self._agent.turn is None and not self._runs:
                first = first or row  # without a turn to join it is a prompt
            elif row.kind == "prompt":
                first = first or row
            elif row.id not in self._seen and not (first is not None and row.kind in ("model", "mode")):
                try:
                    self._do(row, rows)
                except UsageError as error:
                    self._held.close_row(row, str(error))
        return first

    @property
    def _runs(self) -> bool:
        return self._turn is not None and not self._turn.done()

    def _do(self, row: InboxRow, rows: tuple[InboxRow, ...]) -> None:
        agent, held, body = self._agent, self._held, row.body
        match row.kind:
            case "stop":
                for each in rows:
                    if each.kind in ("prompt", "steer", "later") and self._begun < each.id < row.id:
                        held.close_row(each, "It was stopped before its turn.")
                if self._runs:
                    held.expect(row)
                    self._seen.add(row.id)
                    agent.stop(StopCause("user"))
                else:
                    held.close_row(row)
            case "answer":
                if self._asker.answer(row):
                    held.expect(row)
                    self._seen.add(row.id)
                elif not self._runs or not any(
                    each.part.id == body["call"] and not each.answered for each in agent.conversation.open_calls
                ):
                    held.close_row(row, "The question is no longer open.")
            case "steer" | "later" if agent.turn is not None:
                held.expect(row)
                agent.queue(str(body["text"]), row.kind)
            case "model":
                held.expect(row)
                agent.use_model(str(body["model"]))
                self._close_if_waiting(row)
            case "mode":
                held.expect(row)
                agent.mode = _mode(body)
                self._close_if_waiting(row)
            case "rename":
                held.expect(row)
                agent.rename(str(body["title"]))
            case "recall":
                self._recall(row, rows)
            case _:  # a steer for a turn that is about to begin: seen again when it has
                self._loop.call_later(0.02, self._changed.set)

    def _recall(self, row: InboxRow, rows: tuple[InboxRow, ...]) -> None:
        for each in rows:
            if str(each.id) == row.body["id"] and each.id != row.id and each.id not in self._seen:
                self._held.close_row(each, "It was recalled.")
                self._held.close_row(row)
                return
        self._held.expect(row)
        self._agent.recall(str(row.body["id"]))

    def _close_if_waiting(self, row: InboxRow) -> None:
        """Close a row that changed nothing: it became no entry."""
        if any(each.id == row.id for each in self._held.waiting()):
            self._held.close_row(row)

    # --- what the journal says of the end before -----------------------------------------------------------------

    def _was_lost(self) -> bool:
        """Return whether the last turn ended with its worker, and not by the model, the user or a failure."""
        ended = self._agent.conversation.last_end
        if ended is None or self._agent.conversation.is_open:
            return False
        if ended.cause == "crash":  # not one that was there when the session was pushed
            began = (
                seq
                for seq, entry in enumerate(self._agent.journal.entries(), start=1)
                if isinstance(entry, PromptAccepted) and entry.turn == ended.turn
            )
            pushed = self._held.place.get("pushed", 0)
            return isinstance(pushed, int) and next(began, 0) > pushed
        if ended.cause == "storage":  # the record was away for longer than the patience
            return True
        return ended.cause == "external" and ended.detail in (DRAINED, LOST)

    def _went_on(self) -> bool:
        return any(row.kind == "stop" for row in self._held.waiting())

    # --- the worker's end ---------------------------------------------------------------------------------------

    def _begin_drain(self) -> None:
        if not self._draining:
            self._draining = True
            self._loop.call_later(self._grace, lambda: self._stop(DRAINED))
            self._changed.set()

    def _begin_loss(self) -> None:
        self._lost = True
        self._stop(LOST)
        self._changed.set()

    def _stop(self, why: str) -> None:
        if self._agent_or_none is not None:
            self._agent_or_none.stop(StopCause("external", why))

    def _call_soon(self, work: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(work)
        except RuntimeError:  # the loop has closed: the look is over
            return


def _mode(body: Mapping[str, object]) -> Mode:
    mode = body["mode"]
    if mode not in get_args(Mode):
        raise UsageError(f"Unknown mode {mode!r} (expected one of {', '.join(get_args(Mode))}).")
    return cast("Mode", mode)
