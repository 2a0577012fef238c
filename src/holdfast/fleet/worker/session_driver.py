"""One look at a session: drive it until nothing waits, then give it back.

A look may come late, twice, or at two workers at once. It takes the lease or leaves the session, and nothing it does
depends on having been called at the right time. What it drives is an ordinary `Agent`. What a user asks comes as rows
of the inbox (`InboxRequests`). A fleet's worker and the local server drive their sessions by this look; `LookRules` are
what differs.

What a crash left is settled first, by the agent's own recovery. If the turn was lost with its worker, and not ended by
the user or the model, the look then says so in a prompt and continues; the local server leaves that to its user, as the
terminal does. A session in which five workers died is held for a user: one session must not take the fleet along.

A user who thinks must not hold a slot. When a question is open, and nothing runs, the turn is parked and the lease
given back; the row with the answer wakes the session again.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from holdfast.agent.agent import Agent
from holdfast.agent.parked_turn import park
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import HoldfastError, LeaseLost, StateError, StorageFailed
from holdfast.fleet.held_session import HeldSession
from holdfast.fleet.places.place import SessionPlace
from holdfast.fleet.record import InboxRow
from holdfast.fleet.worker.driven_agent import AgentMaker, DrivenAgent
from holdfast.fleet.worker.inbox_asker import InboxAsker
from holdfast.fleet.worker.inbox_requests import InboxRequests
from holdfast.session.journal.entries import PromptAccepted, TurnEnded
from holdfast.system.threads import in_daemon

GO_ON = "[holdfast: the worker that ran this turn was lost. Look at what it left, then continue the task.]"
"""The prompt that continues a turn after its worker died."""

DRAINED = "the worker ends"
LOST = "the worker lost the session"
MOST_TRIES = 5
_TASKS_END = 3.0

LookEnd = Literal["given", "again", "held", "lost"]
"""`again`: another look is needed soon."""


class LookRules(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between those who drive sessions.

    `grace` is how long a running turn may go on in a drain, before it is stopped for the cause `drained`. A question is
    parked after `parks_after` seconds, or never if that is None. `continues` is whether a turn that was lost with its
    process goes on by itself. A session in which nothing waits stays open for `lingers` seconds. With `one_turn` it is
    given back after a turn, though more prompts wait.
    """

    grace: float = 30.0
    drained: StopCause = StopCause("external", DRAINED)
    parks_after: float | None = 2.0
    continues: bool = True
    lingers: float = 0.0
    one_turn: bool = False


class SessionLook:
    """One look at one held session, on one event loop. `said` gets what a user should see of a bug."""

    def __init__(
        self,
        held: HeldSession,
        *,
        make: AgentMaker,
        open_place: Callable[[str, Mapping[str, object]], SessionPlace],
        rules: LookRules,
        said: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._held = held
        self._make = make
        self._open_place = open_place
        self._rules = rules
        self._said = said
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._asker = InboxAsker(
            self._changed.set, lambda plan, why: self._driven.offers(plan, self._driven.agent.mode, why)
        )
        self._asked_since: float | None = None
        self._turn: asyncio.Task[TurnEnded | None] | None = None
        self._turns = 0
        self._draining = self._lost = False
        self._driven_or_none: DrivenAgent | None = None
        self._settled = False

    # --- what others see ----------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Return whether a turn runs."""
        return self._turn is not None and not self._turn.done()

    @property
    def asking(self) -> tuple[str, ...]:
        """Return the calls whose question waits for an answer."""
        return self._asker.asking

    @property
    def mode(self) -> str:
        """Return the approval mode, "" before the session has its agent."""
        return "" if self._driven_or_none is None else self._agent.mode

    def drain(self) -> None:
        """Begin no more turns, let the running one go on for the grace, then stop it. From any thread."""
        self._call_soon(self._begin_drain)

    def lose(self) -> None:
        """Stop the turn at once: the session is, or will soon be, another worker's. From any thread."""
        self._call_soon(self._begin_loss)

    # --- the look -----------------------------------------------------------------------------------------------

    async def run(self) -> LookEnd:
        """Drive the session until nothing waits, and give it back; raises what is no fault of the session."""
        place = await in_daemon(lambda: self._open_place(self._held.id, self._held.place))
        self._held.put_place(place.values())
        driven = self._driven_or_none = self._make(self._held, place, self._asker)
        requests = InboxRequests(self._held, driven, self._asker, changed=self._changed.set)
        parked = was_lost = False
        try:
            self._held.watch(lambda: self._call_soon(self._changed.set))
            self._take_up()
            await asyncio.sleep(0)  # the turn has begun, so that a stop that waits already reaches it
            parked = await self._drive(requests)
            was_lost = not self._lost and self._was_lost()
            await self._agent.tasks.end(_TASKS_END, "the session is given back")
        finally:
            if self.running:
                self._agent.stop(self._rules.drained)
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
    def _driven(self) -> DrivenAgent:
        assert self._driven_or_none is not None
        return self._driven_or_none

    @property
    def _agent(self) -> Agent:
        return self._driven.agent

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

    async def _drive(self, requests: InboxRequests) -> bool:
        """Serve the inbox until nothing waits; return whether the turn was parked."""
        while True:
            self._changed.clear()
            if self._turn is not None and self._turn.done():
                await self._finish(requests)
            if self._lost:
                return False
            if self._turn is None and not self._settled:
                await self._agent.recover()
                self._settled = True
            waits = requests.serve(running=self.running)
            if self._turn is None:
                if self._draining:
                    return False
                if not self._begin(requests, waits):
                    if not await self._lingers():
                        return False
                    continue
            if await self._parks():
                return True
            await self._wait()

    async def _wait(self) -> None:
        """Wait until a row arrives, the turn ends, a question opens or is to be parked, or the worker ends."""
        timeout = None
        if self._asker.asking and self._rules.parks_after is not None:
            self._asked_since = self._asked_since or time.monotonic()
            timeout = max(0.0, self._asked_since + self._rules.parks_after - time.monotonic())
        else:
            self._asked_since = None
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            waiting = {changed, *([self._turn] if self._turn is not None else [])}
            await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()

    async def _lingers(self) -> bool:
        """Wait for something to do while nothing runs. Return false if the session need not stay open."""
        if not self._rules.lingers:
            return False
        tasks = self._agent.conversation.open_tasks
        try:
            await asyncio.wait_for(self._changed.wait(), None if tasks else self._rules.lingers)
        except TimeoutError:
            return bool(self._held.waiting())
        return True

    async def _parks(self) -> bool:
        after = self._rules.parks_after
        if after is None or self._asked_since is None or not self._asker.asking:
            return False
        if not self._draining and time.monotonic() < self._asked_since + after:
            return False
        return await park(self._agent)

    def _take_up(self) -> None:
        """Ask again what was asked when the holder before parked the turn or died."""
        if self._agent.conversation.is_open and self._agent.recovery.can_resume:
            self._settled = True
            self._turn = asyncio.ensure_future(self._agent.resume_turn())

    def _begin(self, requests: InboxRequests, waits: InboxRow | None) -> bool:
        """Begin the next turn, and return whether there is one."""
        was_lost = self._was_lost()
        if was_lost and self._held.tries < MOST_TRIES and not self._is_stopped():
            self._turn = asyncio.ensure_future(self._agent.run(GO_ON))
            return True
        if waits is None or (was_lost and self._held.tries >= MOST_TRIES) or (self._rules.one_turn and self._turns):
            return False
        self._turn = asyncio.ensure_future(requests.begin(waits))
        return True

    async def _finish(self, requests: InboxRequests) -> None:
        """Take note of a turn that has ended, whatever it raised."""
        turn, self._turn = self._turn, None
        self._turns += 1
        requests.turn_ended()
        self._settled = False  # what the record did not take, because it was away, is settled before anything else
        assert turn is not None
        try:
            await turn
        except LeaseLost:
            self._lost = True
        except StorageFailed:  # the record was away longer than the patience: look again from the start
            raise
        except HoldfastError as error:  # an unknown model stands in the journal, a prompt that cannot be run is refused
            requests.refuse_begun(str(error))
        except Exception as error:  # noqa: BLE001 - the top of a driven session: the turn is settled, the row says it
            self._said(f"Session {self._held.id!r}: internal error.\n{''.join(traceback.format_exception(error))}")
            requests.refuse_begun(f"Internal error: {type(error).__name__}. See the log of the process.")

    # --- what the journal says of the end before -----------------------------------------------------------------

    def _was_lost(self) -> bool:
        """Return whether the last turn ended with its worker, by no other's will or fault, and is to be continued."""
        ended = self._agent.conversation.last_end
        if not self._rules.continues or ended is None or self._agent.conversation.is_open:
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

    def _is_stopped(self) -> bool:
        return any(row.kind == "stop" for row in self._held.waiting())

    # --- the worker's end ---------------------------------------------------------------------------------------

    def _begin_drain(self) -> None:
        if not self._draining:
            self._draining = True
            self._loop.call_later(self._rules.grace, lambda: self._stop(self._rules.drained))
            self._changed.set()

    def _begin_loss(self) -> None:
        self._lost = True
        self._stop(StopCause("external", LOST))
        self._changed.set()

    def _stop(self, cause: StopCause) -> None:
        if self._driven_or_none is not None:
            self._agent.stop(cause)

    def _call_soon(self, work: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(work)
        except RuntimeError:  # the loop has closed: the look is over
            return
