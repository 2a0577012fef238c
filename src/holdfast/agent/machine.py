"""One turn, run over the turn table: requests, calls, and the one exit that settles whatever is open.

Two rules. An entry is durable before its effect starts and before anyone is told. A stop is a request, and whatever
ends a turn leaves through `_exit`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from holdfast.agent.abandoned import Abandoned
from holdfast.agent.calls import Asker, Calls, NobodyToAsk
from holdfast.agent.checks import Checks
from holdfast.agent.compacting import Compacting
from holdfast.agent.connection import Connection
from holdfast.agent.events import Event, Shortening
from holdfast.agent.leaving import leave_of
from holdfast.agent.limits import Deadline
from holdfast.agent.log import Log
from holdfast.agent.looking import edits, look
from holdfast.agent.model import Model
from holdfast.agent.own import OwnCommands
from holdfast.agent.providers import PROVIDERS, Providers
from holdfast.agent.record import Record
from holdfast.agent.remembered import Project
from holdfast.agent.request import Requests
from holdfast.agent.settle import Known, Leave, settle
from holdfast.agent.stop import Left, Stop
from holdfast.agent.summarize import Summarizer
from holdfast.agent.taking_up import started_only
from holdfast.agent.turn import Signal, State, cause_after, step
from holdfast.agent.waiting import steering
from holdfast.calls import Mode, Pattern
from holdfast.config import Context, Limits
from holdfast.errors import HoldfastError, ProviderFailed, StateError, Unsendable, UsageError
from holdfast.session.conversation import Conversation, OpenCall
from holdfast.session.entries import (
    CallEnded,
    Entry,
    Repaired,
    TurnEnded,
)
from holdfast.session.pruning import pruned
from holdfast.session.store import Reading, Store
from holdfast.tools.approval import Policy
from holdfast.tools.tool import Toolbox

_CONNECTION_STAYS = frozenset({"finished", "max_steps", "max_tokens", "refusal", "approval"})


class Machine(Record):
    """The turns of one session, one at a time: `_claim` one, run it, and it is over.

    `reading` is what the store holds, for whoever has just read it.
    """

    def __init__(  # noqa: PLR0913 - one collaborator per layer it joins
        self,
        *,
        store: Store,
        toolbox: Toolbox,
        connect: Callable[[str], Awaitable[Model]],
        mode: Mode,
        emit: Callable[[Event], None],
        ask: Asker | None = None,
        limits: Limits | None = None,
        project: Project | None = None,
        debug: bool = False,
        log: Log | None = None,
        reading: Reading | None = None,
        providers: Providers = PROVIDERS,
        context: Context | None = None,
        window: Callable[[str], int] | None = None,
    ) -> None:
        if log is not None:
            connect, emit = log.connecting(connect), log.beside(emit)
        self._log = log
        super().__init__(store, checks=Checks(debug=debug, emit=emit, providers=providers), emit=emit, reading=reading)
        self._toolbox = toolbox
        self._own = OwnCommands(self, toolbox, self._emit)
        self._abandoned = Abandoned()
        self._connection = Connection(connect, limits or Limits(), self._abandoned)
        self._compacting = Compacting(
            self,
            summarizer=Summarizer(
                connection=self._connection, abandoned=self._abandoned, limits=limits or Limits(), tell=self._shortening
            ),
            toolbox=toolbox,
            context=context or Context(),
            window=window,
            tell=self._shortening,
        )
        self._mode: Mode = mode
        self._ask = ask
        self._project = project
        self._limits = limits or Limits()
        self._context = context or Context()
        self._state = State.IDLE
        self._stop: Stop | None = None
        self._calls: Calls | None = None
        self._deadline: Deadline  # of the turn that runs, or the last
        self._begun = asyncio.Event()  # what runs can be given messages, or nothing runs
        self._begun.set()
        self._ended = asyncio.Event()  # of the turn that runs
        self._unsettled: Leave | None = None  # why the open turn was left, if it was by this process
        self._unwritten: dict[str, CallEnded] = {}  # outcomes that the journal has not taken yet

    @property
    def state(self) -> State:
        """Return where the turn is."""
        return self._state

    @property
    def _takes_messages(self) -> bool:
        return self._stop is not None and self._begun.is_set()

    def stop(self, leave: Leave | None = None) -> None:
        """Ask the running turn to end; the first cause stands. Without a running turn nothing happens."""
        self._own.stop()
        if self._stop is not None:
            self._stop.ask(leave or Leave("user"))
            if self._calls is not None:
                self._calls.stop()

    def _claim(self) -> Stop:
        """Return the stop of what begins now; raises `UsageError` while something else runs."""
        if self._stop is not None:
            raise UsageError("A turn of this session is running, an idle session was expected. Stop it or wait for it.")
        self._begun, self._ended = asyncio.Event(), asyncio.Event()
        self._stop = Stop(self._abandoned)
        return self._stop

    def _over(self) -> None:
        self._stop = None
        self._begun.set()
        self._ended.set()

    def _recover(self, running: str, *, goes_on: bool = False) -> None:
        entries: list[Entry] = []
        if self._untold:
            note = "[Note from holdfast: part of this session's record was damaged and could not be read.]"
            entries.append(Repaired(findings=self._untold, note=note))
        if self._mended:
            entries.append(Repaired(findings=self._mended))
        left = edits(self.conversation.open_calls)
        if self.conversation.is_open:
            leave = self._unsettled or Leave("crash", running)
            conversation = self.conversation
            self.to(Signal.LEAVE)
            settled = settle(conversation, leave, known=self._known(conversation.open_calls))
            entries.extend(started_only(settled, conversation) if goes_on else settled)
            self.to(Signal.SETTLED)
        self.append(*entries, *self._own.left(self.conversation.open_shells, running, began=self._began))
        self._untold = self._mended = ()
        self._gap = False
        if not self._abandoned and not self._own.any_running:
            self._toolbox.sweep(left)

    def _policy(self) -> Policy:
        project = self._project.patterns if self._project is not None else ()
        return Policy(self._mode, (*project, *self.conversation.allowed))

    def _remember(self, pattern: Pattern) -> None:
        if self._project is not None:
            try:
                self._project.allow(pattern)
            except HoldfastError as failed:
                self.not_recorded(failed)  # it counts in this session: that is journalled

    async def _turn(self, stop: Stop) -> TurnEnded:
        """Run the turn whose prompt is journalled; only a loop that closes cancels this."""
        leave = Leave("bug", "the turn ended without saying why")
        timeout = self._limits.timeout
        self._deadline = Deadline(timeout, lambda: self.stop(Leave("timeout", f"{timeout:g} s")))
        requests = Requests(
            self,
            stop,
            connection=self._connection,
            abandoned=self._abandoned,
            emit=self._emit,
            limits=self._limits,
            can_shorten=self._compacting.is_possible,
            shorten=lambda: self._shortened(stop),
            admitted=self._admitted,
        )
        calls = self._calls = Calls(
            self,
            stop,
            toolbox=self._toolbox,
            policy=self._policy,
            remember=self._remember,
            ask=self._ask,
            emit=self._emit,
            limits=self._limits,
        )
        try:
            leave = await self._steps(stop, requests, calls)
        except Left:
            leave = stop.leave or leave
        except (NobodyToAsk, ProviderFailed, StateError, Unsendable) as ended:
            leave = leave_of(ended)
        except BaseException as error:  # a model that cannot be used, a fault of ours, a loop that closes: it goes on
            leave = stop.leave or leave_of(error)
            raise
        finally:
            self._deadline.pause()
            end = await self._exit(leave, stop, requests, calls)
        return end

    async def _steps(self, stop: Stop, requests: Requests, running: Calls) -> Leave:
        """Return why the turn ends by itself; raises for every other ending."""
        while True:
            stop.go_on()
            if calls := self.conversation.open_calls:
                self.to(Signal.TAKE_UP)
            else:
                leave = await self._request(stop, requests)
                if leave is not None:
                    return leave
                calls = self.conversation.open_calls
            await running.run(calls)
            self._checks.watch(self._fold.conversation, "After a step")

    async def _request(self, stop: Stop, requests: Requests) -> Leave | None:
        """Return why the turn ends with the response to the next request, None if its calls are to run."""
        conversation = self.conversation
        limit = self._limits.max_steps
        if limit is not None and conversation.turn_steps >= limit:
            return Leave("max_steps", f"{limit} request{'s' * (limit > 1)}")
        self.append(*steering(conversation), *pruned(conversation, self._context))
        if await self._compacting.is_due(stop):
            self.to(Signal.COMPACT)
            await self._compacting.shorten(stop, "auto")
            self.to(Signal.COMPACTED)
        finish = await requests.send(self._admitted())
        stop.go_on()  # even behind the last response: what is queued must not be sent after a stop
        cause = cause_after(finish, calls=len(self.conversation.open_calls))
        return None if cause is None else Leave(cause)

    def _admitted(self) -> Conversation:
        """Return what may be sent; raises `Unsendable`."""
        sent, mended = self._checks.admit(self.conversation)
        if mended:
            self.append(Repaired(findings=mended))
        return sent

    async def _shortened(self, stop: Stop) -> Conversation | None:
        """Return what may be sent of a conversation that its provider said is too long, None if nothing can go."""
        self.to(Signal.COMPACT)
        shortened = await self._compacting.shorten(stop, "overflow")
        self.to(Signal.COMPACTED)
        return self._admitted() if shortened else None

    def _shortening(self, message: str) -> None:
        self._emit(Shortening(message))

    # --- the one exit -------------------------------------------------------------------------------------------

    async def _exit(self, leave: Leave, stop: Stop, requests: Requests, calls: Calls) -> TurnEnded:
        """Settle every open call and the turn, and return how it ended; journalled, unless the disk refuses."""
        stop.ask(leave)  # one that comes from now on is too late to be the cause
        self._unsettled = leave  # until it is journalled
        self.to(Signal.LEAVE)
        try:
            await self._wind_down(leave, calls)
        finally:  # whatever became of that, and nothing is waited for from here on
            for task in calls.running():
                self._abandoned.add(task, self.not_recorded)  # its outcome, should it come, is journalled as late
            self._unwritten |= calls.unwritten
            try:
                ended = self._settled(leave, requests, calls)
            finally:
                self._calls = None
                self.to(Signal.SETTLED)
        return ended

    async def _wind_down(self, leave: Leave, calls: Calls) -> None:
        """Give the calls and the connection their time to end."""
        if leave.cause in _CONNECTION_STAYS:
            await calls.end()
        else:
            dropped = asyncio.ensure_future(self._connection.drop())
            await calls.end()
            await dropped

    def _settled(self, leave: Leave, requests: Requests | None = None, calls: Calls | None = None) -> TurnEnded:
        try:
            cut_calls = requests.cut() if requests else ()
            conversation = self.conversation
            known = self._known(conversation.open_calls, calls.seconds() if calls else None)
            entries = settle(conversation, leave, known=known, cut_calls=cut_calls)
            self.append(*entries)
        except StateError as failed:
            # Nothing more can be written: whoever runs this session next finds the turn open and settles it then.
            self._unsettled = Leave("storage", str(failed))
            self.not_recorded(failed)
            turn = self.conversation.open_turn or self.conversation.turns
            return TurnEnded(turn=turn, reason="error", cause="storage", detail=str(failed))
        self._unsettled = None
        self._unwritten.clear()
        ended = entries[-1]
        assert isinstance(ended, TurnEnded)
        return ended

    def _known(self, calls: tuple[OpenCall, ...], seconds: dict[str, float] | None = None) -> Known:
        """Return what a look at the world tells of the calls that started."""
        started = [call.started for call in calls if call.started is not None]
        return look(
            started,
            self._toolbox,
            seconds=seconds or {},
            began=self._began,
            ended=self._unwritten,
            gap=self._gap,
        )

    # --- what the turn is made of -------------------------------------------------------------------------------

    def to(self, signal: Signal) -> None:
        """Move along the turn table; the time in which a person is asked does not count."""
        before, self._state = self._state, step(self._state, signal)
        if self._log is not None:
            self._log.moved(before, signal, self._state)
        match signal:
            case Signal.ASK:
                self._deadline.pause()
            case Signal.ANSWER:
                self._deadline.count()
            case _:
                pass
