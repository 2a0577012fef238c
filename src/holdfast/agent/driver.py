"""The driver: runs the turn table over a store, a model and a toolbox. Journal, then act, then emit.

Two rules. An entry is durable before its effect starts and before anyone is told. A stop is a request, and whatever
ends a turn leaves through `_exit`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from holdfast.agent.abandoned import Abandoned
from holdfast.agent.calls import Asker, Calls, NobodyToAsk
from holdfast.agent.checks import Checks
from holdfast.agent.connection import Connection
from holdfast.agent.drift import drift, watched
from holdfast.agent.events import Event
from holdfast.agent.leaving import leave_of
from holdfast.agent.limits import Deadline
from holdfast.agent.log import Log
from holdfast.agent.looking import edits, look
from holdfast.agent.model import Model
from holdfast.agent.record import Record
from holdfast.agent.remains import MAY_RUN, remains
from holdfast.agent.request import Requests
from holdfast.agent.rewinding import rewound
from holdfast.agent.settle import Known, Leave, settle
from holdfast.agent.stop import Left, Stop, to_the_end
from holdfast.agent.turn import Signal, State, cause_after, step
from holdfast.agent.waiting import following, queued, steering
from holdfast.calls import Mode
from holdfast.config import Limits
from holdfast.errors import ProviderFailed, StateError, Unsendable, UsageError
from holdfast.session.entries import (
    CallEnded,
    Entry,
    FilesChanged,
    PromptAccepted,
    Repaired,
    TurnEnded,
    When,
)
from holdfast.session.fold import OpenCall
from holdfast.session.store import Store
from holdfast.text import valid_unicode
from holdfast.tools.thread import in_daemon
from holdfast.tools.tool import Toolbox

QUIET = 2.5
"""Seconds that a look at the world may take: one for processes of an earlier holder to go, one for ending them."""

T = TypeVar("T")

_CONNECTION_STAYS = frozenset({"finished", "max_steps", "max_tokens", "refusal", "approval"})


class Driver(Record):
    """One session's turns, one at a time, on one event loop.

    `connect` gives the model of a PROVIDER:MODEL name and is called after the prompt is journalled; `emit` must not
    block or raise; without `ask`, a call that needs a person ends the turn. `left` is why a turn that is found open was
    left, a crash if nothing else is known. `debug` checks the conversation all the time; `log` is told what happens.

    Laws (`tests/agent/test_driver_laws.py`): whatever ends a turn, no call is left open and the next prompt works.
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
        left: Leave | None = None,
        debug: bool = False,
        log: Log | None = None,
    ) -> None:
        if log is not None:
            connect, emit = log.connecting(connect), log.beside(emit)
        self._log = log
        super().__init__(store, checks=Checks(debug=debug, emit=emit), emit=emit)
        self._toolbox = toolbox
        self._abandoned = Abandoned()
        self._connection = Connection(connect, limits or Limits(), self._abandoned)
        self._mode: Mode = mode
        self._ask = ask
        self._limits = limits or Limits()
        self._state = State.IDLE
        self._stop: Stop | None = None
        self._calls: Calls | None = None
        self._deadline: Deadline  # of the turn that runs, or the last
        self._ended = asyncio.Event()  # of the turn that runs
        self._unsettled = left or Leave("crash")  # why a turn that is found open was left, as far as this process knows
        self._unwritten: dict[str, CallEnded] = {}  # outcomes that the journal has not taken yet

    @property
    def state(self) -> State:
        """Return where the turn is."""
        return self._state

    async def run(self, prompt: str) -> TurnEnded:
        """Run one turn, and one for each message queued meanwhile; return how the last ended.

        The prompt is durable before anything of it happens. Raises `UsageError` for a blank prompt or while another
        turn runs, `StorageFailed` or `AppendConflict` if the prompt could not be journalled: then nothing happened. A
        cancellation, a model that cannot be used and an exception of our own settle the turn and then propagate.
        """
        if not prompt.strip():
            raise UsageError("Prompt is blank, some words were expected. Say what you want done.")
        stop = self._claim()
        changed: tuple[FilesChanged, ...] = ()
        try:
            running, raised = await self._look()
            if raised is None:
                changed, raised = await self._compare()
            self._recover(running)
            self.append(*changed, PromptAccepted(turn=self.conversation.turns + 1, text=valid_unicode(prompt)))
            turn = asyncio.get_running_loop().create_task(self._turns(stop), name="turn")
        except BaseException:
            self._over()
            raise
        turn.add_done_callback(self._never_begun)
        return await to_the_end(turn, lambda error: self.stop(leave_of(error)), raised)

    def _claim(self) -> Stop:
        """Return the stop of what begins now; raises `UsageError` while something else runs."""
        if self._stop is not None:
            raise UsageError("A turn of this session is running, an idle session was expected. Stop it or wait for it.")
        self._ended = asyncio.Event()
        self._stop = Stop(self._abandoned)
        return self._stop

    def _never_begun(self, turn: asyncio.Task[TurnEnded]) -> None:
        if turn.cancelled() and self._stop is not None:  # by a loop that closed before its first step
            self._settled(Leave("external"))
            self._over()

    def _over(self) -> None:
        self._stop = None
        self._ended.set()

    @property
    def _is_open(self) -> bool:
        conversation = self.conversation
        return conversation.open_turn is not None or conversation.streaming is not None or bool(conversation.open_calls)

    async def recover(self) -> None:
        """Settle what an earlier process left open, having looked, and tell of damage found in the journal."""
        running, raised = await self._look()
        self._recover(running)
        if raised is not None:
            raise raised

    async def _look(self) -> tuple[str, BaseException | None]:
        """Return what is to be told of processes that an earlier one had started, and what was raised meanwhile.

        Waits for nothing if nothing was left open, and not for long on a stop: recovery goes on without an answer.
        """
        if not self._is_open or self._unsettled.cause == "fork":  # then they are the original's
            return "", None
        return await self._learn(remains(self._toolbox, self.conversation.open_calls), unknown=MAY_RUN)

    async def _compare(self) -> tuple[tuple[FilesChanged, ...], BaseException | None]:
        """Return what is to be told of files that changed since the model saw them, and what was raised meanwhile."""
        known = watched(self._fold)
        return await self._learn(in_daemon(lambda: drift(known, self._toolbox)), ()) if known else ((), None)

    async def _learn(self, look: Awaitable[T], unknown: T) -> tuple[T, BaseException | None]:
        try:
            return await (self._stop or Stop(self._abandoned)).race(look, QUIET), None
        except (Left, TimeoutError):
            return unknown, None
        except BaseException as error:  # noqa: BLE001 - what is in the journal comes first, then it is raised
            return unknown, error

    def _recover(self, running: str) -> None:
        entries: list[Entry] = []
        if self._untold:
            note = "[Note from holdfast: part of this session's record was damaged and could not be read.]"
            entries.append(Repaired(findings=self._untold, note=note))
        if self._mended:
            entries.append(Repaired(findings=self._mended))
        leave = self._unsettled
        left = edits(self.conversation.open_calls)
        if self._is_open:
            leave = Leave(leave.cause, running) if running else leave
            conversation = self.conversation
            self.to(Signal.LEAVE)
            entries.extend(settle(conversation, leave, known=self._known(conversation.open_calls)))
            self.to(Signal.SETTLED)
        self.append(*entries)
        self._untold = self._mended = ()
        if not self._abandoned:  # nothing of this process runs; the open calls of a copy are still the original's
            self._toolbox.sweep({} if leave.cause == "fork" else left)

    def queue(self, text: str, when: When) -> str:
        """Keep a message for the turn that runs, durably, and return its id.

        It is sent with the turn's next request, or as the next prompt if there is none any more or `when` is "later";
        not if the turn is stopped or fails: then it waits for a person. Raises `UsageError` if no turn runs.
        """
        if self._stop is None:
            raise UsageError("No turn of this session is running, one was expected. Give the message as a prompt.")
        message = queued(text, when, seq=self._length + 1)
        self.append(message)
        return message.id

    async def rewind(self, turn: int) -> str:
        """Take the conversation back to before the prompt of `turn` and return its words; files stay as they are.

        Raises `UsageError` while a turn runs, or if the conversation has no such prompt (any more).
        """
        self._claim()
        try:
            await self.recover()
            journal = (record.entry for record in self._store.read().records)
            entry, text = rewound(self.conversation, journal, turn)
            self.append(entry)
        finally:
            self._over()
        return text

    def stop(self, leave: Leave | None = None) -> None:
        """Ask the running turn to end; the first cause stands. Without a running turn nothing happens."""
        if self._stop is not None:
            self._stop.ask(leave or Leave("user"))
            if self._calls is not None:
                self._calls.stop()

    async def close(self) -> None:
        """Stop a turn that runs, end every process of the tools, close the connections and give up the session."""
        self.stop(Leave("external", "the session was closed"))
        await to_the_end(asyncio.ensure_future(self._close()))

    async def _close(self) -> None:
        try:
            if self._stop is not None:
                await self._ended.wait()
            await self._connection.drop()
            await self._toolbox.close()
            await self._abandoned.end(self._limits.drop_wait)
        finally:
            self._store.close()

    # --- the turn -----------------------------------------------------------------------------------------------

    async def _turns(self, stop: Stop) -> TurnEnded:
        """Run the turn whose prompt is journalled, and those of the messages that wait for it to end by itself."""
        try:
            while True:
                ended = await self._turn(stop)
                if ended.cause != "finished" or following(self.conversation) is None:
                    return ended
                stop = self._stop = Stop(self._abandoned)
                changed, raised = await self._compare()
                prompt = following(self.conversation)  # it may have been taken back meanwhile
                if raised is not None:
                    raise raised
                if prompt is None or stop.leave is not None:
                    return ended
                try:
                    self.append(*changed, prompt)
                except StateError as failed:
                    self.not_recorded(failed)  # the message waits on
                    return ended
        finally:
            self._over()  # in one step with the last look: no message is queued that nobody looks for

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
        )
        calls = self._calls = Calls(
            self,
            stop,
            toolbox=self._toolbox,
            mode=self._mode,
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
            conversation = self.conversation
            limit = self._limits.max_steps
            if limit is not None and conversation.turn_steps >= limit:
                return Leave("max_steps", f"{limit} requests")
            self.append(*steering(conversation))
            sent, mended = self._checks.admit(self.conversation)
            if mended:
                self.append(Repaired(findings=mended))
            finish = await requests.send(sent)
            stop.go_on()  # even behind the last response: what is queued must not be sent after a stop
            calls = self.conversation.open_calls
            cause = cause_after(finish, calls=len(calls))
            if cause is not None:
                return Leave(cause)
            await running.run(calls)
            self._checks.watch(self._fold.conversation, "After a step")

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
        self._unsettled = Leave("crash")
        self._unwritten.clear()
        ended = entries[-1]
        assert isinstance(ended, TurnEnded)
        return ended

    def _known(self, calls: tuple[OpenCall, ...], seconds: dict[str, float] | None = None) -> Known:
        """Return what a look at the world tells of the calls that started."""
        started = [call.started for call in calls if call.started is not None]
        return look(started, self._toolbox, seconds=seconds or {}, began=self._began, ended=self._unwritten)

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
