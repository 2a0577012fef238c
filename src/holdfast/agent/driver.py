"""The driver: runs the turn table over a store, a model and a toolbox. Journal, then act, then emit.

Two rules. An entry is durable before its effect starts and before anyone is told. A stop is a request, and whatever
ends a turn leaves through `_exit`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from holdfast.agent.calls import Asker, Calls, NobodyToAsk
from holdfast.agent.checks import Checks
from holdfast.agent.events import Event, Fact, NotRecorded
from holdfast.agent.limits import retry_delay
from holdfast.agent.model import Finish, Model
from holdfast.agent.settle import Known, Leave, settle
from holdfast.agent.stop import Left, Stop, to_the_end
from holdfast.agent.stream import Stream
from holdfast.agent.turn import Signal, State, cause_after, step
from holdfast.calls import Mode
from holdfast.config import Limits
from holdfast.errors import AppendConflict, ProviderFailed, StateError, Unsendable, UsageError
from holdfast.session.entries import (
    CallEnded,
    CallPart,
    Entry,
    ModelChanged,
    PromptAccepted,
    Repaired,
    RequestFailed,
    RequestStarted,
    TurnEnded,
)
from holdfast.session.fold import Conversation, Fold, OpenCall
from holdfast.session.store import Store
from holdfast.text import valid_unicode
from holdfast.tools.tool import Toolbox

_CONNECTION_STAYS = frozenset({"finished", "max_steps", "max_tokens", "refusal", "approval"})


class Driver:
    """One session's turns, one at a time, on one event loop.

    `connect` gives the model of a PROVIDER:MODEL name and is called after the prompt is journalled; `emit` must not
    block or raise; without `ask`, a call that needs a person ends the turn. `left` is why a turn that is found open was
    left, a crash if nothing else is known.

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
    ) -> None:
        self._store = store
        self._toolbox = toolbox
        self._connect = connect
        self._mode: Mode = mode
        self._emit = emit
        self._ask = ask
        self._limits = limits or Limits()
        self._checks = Checks(debug=debug, emit=emit)
        self._model: Model | None = None
        self._state = State.IDLE
        self._stop: Stop | None = None
        self._stream: Stream | None = None
        self._calls: Calls | None = None
        self._ended = asyncio.Event()  # of the turn that runs
        self._cut_calls: tuple[str, ...] = ()
        self._abandoned: set[asyncio.Task[None]] = set()
        self._unsettled = left or Leave("crash")  # why a turn that is found open was left, as far as this process knows
        self._unwritten: dict[str, CallEnded] = {}  # outcomes that the journal has not taken yet
        self._reported = ""  # the last thing told that could not be journalled
        self._load()

    def _load(self) -> None:
        reading = self._store.read()
        self._fold = Fold(record.entry for record in reading.records)
        self._length = self._store.length
        told = {
            finding
            for record in reading.records
            if isinstance(record.entry, Repaired)
            for finding in record.entry.findings
        }
        self._untold = tuple(found for found in map(str, reading.findings) if found not in told)
        self._checks.knows(told)
        self._mended = self._checks.found(self.conversation)

    @property
    def conversation(self) -> Conversation:
        """Return the conversation as of now."""
        return self._fold.conversation()

    @property
    def state(self) -> State:
        """Return where the turn is."""
        return self._state

    async def run(self, prompt: str) -> TurnEnded:
        """Run one turn and return how it ended; the prompt is durable before anything of it happens.

        Raises `UsageError` for a blank prompt or while another turn runs, `StorageFailed` or `AppendConflict` if the
        prompt could not be journalled: then nothing happened. An asyncio cancellation, a model that cannot be used and
        an exception of our own settle the turn and then propagate.
        """
        if not prompt.strip():
            raise UsageError("Prompt is blank, some words were expected. Say what you want done.")
        if self._stop is not None:
            raise UsageError("A turn of this session is running, an idle session was expected. Stop it or wait for it.")
        self._stop = Stop()
        self._ended = asyncio.Event()
        try:
            await self.recover()
            self.append(PromptAccepted(turn=self.conversation.turns + 1, text=valid_unicode(prompt)))
            return await self._turn(self._stop)
        finally:
            self._stop = None
            self._ended.set()

    async def recover(self) -> None:
        """Settle what an earlier process left open, having looked, and tell of damage found in the journal."""
        entries: list[Entry] = []
        if self._untold:
            note = "[Note from holdfast: part of this session's record was damaged and could not be read.]"
            entries.append(Repaired(findings=self._untold, note=note))
        if self._mended:
            entries.append(Repaired(findings=self._mended))
        conversation = self.conversation
        if conversation.open_turn is not None or conversation.streaming is not None or conversation.open_calls:
            leave = self._unsettled
            if not await self._toolbox.quiet():
                leave = Leave(leave.cause, "processes that it had started may still be running")
            self.to(Signal.LEAVE)
            entries.extend(settle(conversation, leave, known=self._known(conversation.open_calls)))
            self.to(Signal.SETTLED)
        self.append(*entries)
        self._untold = self._mended = ()

    def stop(self, leave: Leave | None = None) -> None:
        """Ask the running turn to end; the first cause stands. Without a running turn nothing happens."""
        if self._stop is not None:
            self._stop.ask(leave or Leave("user"))
            if self._calls is not None:
                self._calls.stop()

    def use_model(self, name: str) -> None:
        """Send later requests to `name` (PROVIDER:MODEL)."""
        if name != self.conversation.model:
            self.append(ModelChanged(model=name))

    async def close(self) -> None:
        """Stop a turn that runs, end every process of the tools, close the connections and give up the session."""
        if self._stop is not None:
            self.stop(Leave("external", "the session was closed"))
            await self._ended.wait()
        await self._drop_model()
        await self._toolbox.close()
        if self._abandoned:
            await asyncio.wait(self._abandoned, timeout=self._limits.drop_wait)
        self._store.close()

    # --- the turn -----------------------------------------------------------------------------------------------

    async def _turn(self, stop: Stop) -> TurnEnded:
        deadline = None
        if (timeout := self._limits.timeout) is not None:
            late = Leave("timeout", f"{timeout:g} s")
            deadline = asyncio.get_running_loop().call_later(timeout, self.stop, late)
        self._calls = Calls(
            self,
            stop,
            tools=self._toolbox.tools,
            mode=self._mode,
            ask=self._ask,
            emit=self._emit,
            limits=self._limits,
        )
        leave = Leave("bug", "the turn ended without saying why")
        try:
            leave = await self._steps(stop, self._calls)
        except Left:
            leave = stop.leave or leave
        except NobodyToAsk as needed:
            leave = Leave("approval", str(needed))
        except ProviderFailed as failed:
            leave = Leave("provider", str(failed))
        except StateError as failed:  # the journal takes no more: full, closed, or in another's hands
            leave = Leave("storage", str(failed))
        except Unsendable as broken:
            leave = Leave("bug", str(broken))
        except UsageError as error:  # a model that cannot be used
            leave = Leave("provider", str(error))
            raise
        except asyncio.CancelledError:
            leave = stop.leave or Leave("external")
            raise
        except BaseException as error:
            leave = Leave("bug", f"{type(error).__name__}: {error}")
            raise
        finally:
            if deadline is not None:
                deadline.cancel()
            ended = await to_the_end(self._exit(leave, stop, self._calls))
        return ended

    async def _steps(self, stop: Stop, running: Calls) -> Leave:
        """Return why the turn ends by itself; raises for every other ending."""
        while True:
            stop.go_on()
            conversation = self.conversation
            limit = self._limits.max_steps
            if limit is not None and conversation.turn_steps >= limit:
                return Leave("max_steps", f"{limit} requests")
            finish = await self._request(conversation, stop)
            calls = self.conversation.open_calls
            cause = cause_after(finish, calls=len(calls))
            if cause is not None:
                return Leave(cause)
            stop.go_on()
            await running.run(calls)
            self._checks.watch(self._fold.conversation, "After a step")

    async def _request(self, conversation: Conversation, stop: Stop) -> Finish:
        """Send the conversation until a response is journalled; raises `ProviderFailed` when no attempt is left."""
        sent, mended = self._checks.admit(conversation)
        if mended:
            self.append(Repaired(findings=mended))
        number = conversation.steps + 1
        attempt = 0
        while True:
            attempt += 1
            model = await self._connected(conversation.model, stop)
            self.append(RequestStarted(step=number, attempt=attempt, model=model.name))
            self.to(Signal.SEND)
            stream = Stream(number, model, limits=self._limits, append=self.append, emit=self._emit)
            self._stream = stream
            try:
                finished = await stream.run(sent, stop, on_event=lambda: self.to(Signal.EVENT))
            except ProviderFailed as failed:
                delay = retry_delay(failed, attempt, limits=self._limits, shown=stream.shown)
                stream.checkpoint()
                self.append(
                    RequestFailed(
                        step=number,
                        attempt=attempt,
                        fault=failed.fault,
                        message=valid_unicode(str(failed)),
                        status=failed.status,
                        retry_in=delay,
                    )
                )
                if delay is None:
                    raise
                self.to(Signal.FAIL)
                await self._drop_model()
                await stop.race(asyncio.sleep(delay))
                continue
            opened = conversation.opened
            session = opened.session if opened else ""
            ended = stream.ended(finished, session=session, known=self._fold.knows_call)
            self.append(ended)
            self._stream = None
            if ended.cut is not None:
                self._cut_calls = tuple(part.name for part in ended.parts if isinstance(part, CallPart))
            self.to(Signal.RESPONSE)
            return finished.finish

    # --- the one exit -------------------------------------------------------------------------------------------

    async def _exit(self, leave: Leave, stop: Stop, calls: Calls) -> TurnEnded:
        """Settle every open call and the turn, and return how it ended; journalled, unless the disk refuses."""
        stop.ask(leave)  # one that comes from now on is too late to be the cause
        self._unsettled = leave  # until it is journalled
        self.to(Signal.LEAVE)
        try:
            dropped = asyncio.ensure_future(self._drop_model()) if leave.cause not in _CONNECTION_STAYS else None
            for task in await calls.end():
                self._abandon(task)
            if dropped is not None:
                await dropped
            self._unwritten |= calls.unwritten
            return self._settled(leave, calls)
        finally:
            self._stream = None
            self._calls = None
            self._cut_calls = ()
            self.to(Signal.SETTLED)

    def _settled(self, leave: Leave, calls: Calls) -> TurnEnded:
        try:
            if self._stream is not None:
                self._cut_calls = self._stream.begun_calls
                self._stream.checkpoint()
            conversation = self.conversation
            known = self._known(conversation.open_calls, calls.seconds())
            entries = settle(conversation, leave, known=known, cut_calls=self._cut_calls)
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

    def _abandon(self, task: asyncio.Task[None]) -> None:
        """Go on without a call that ignores its cancellation; its outcome, should it come, is journalled as late."""

        def done(task: asyncio.Task[None]) -> None:
            self._abandoned.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                self.not_recorded(error)

        self._abandoned.add(task)
        task.add_done_callback(done)

    def _known(self, calls: tuple[OpenCall, ...], seconds: dict[str, float] | None = None) -> Known:
        """Return what a look at the world tells of the calls that started."""
        started = [call.started for call in calls if call.started is not None]
        return Known(
            looked={entry.call: self._toolbox.look(entry.change) for entry in started if entry.change},
            printed={entry.call: valid_unicode(self._toolbox.printed(entry.spool)) for entry in started if entry.spool},
            seconds=seconds or {},
            ended=self._unwritten,
        )

    # --- what the turn is made of -------------------------------------------------------------------------------

    def append(self, *entries: Entry) -> None:
        """Append durably, fold, then tell: in this order, always here."""
        if not entries:
            return
        self._checks.watch(lambda: self._fold.after(entries), "Before an append")
        try:
            self._length = self._store.append(entries, expected=self._length)
        except AppendConflict:
            self._load()  # somebody else's entries count: the next append goes after them
            raise
        self._reported = ""
        for entry in entries:
            self._fold.add(entry)
        for seq, entry in enumerate(entries, start=self._length - len(entries) + 1):
            self._emit(Fact(seq, entry))

    def is_open(self, call: str) -> bool:
        """Return whether the call still waits for its outcome."""
        return self._fold.is_open(call)

    def not_recorded(self, failed: BaseException) -> None:
        """Tell that something could not be journalled, once for each reason."""
        if str(failed) != self._reported:
            self._reported = str(failed)
            self._emit(NotRecorded(str(failed)))

    def to(self, signal: Signal) -> None:
        """Move along the turn table."""
        self._state = step(self._state, signal)

    async def _connected(self, name: str, stop: Stop) -> Model:
        if self._model is None or self._model.name != name:
            await self._drop_model()
            try:
                self._model = await stop.race(self._connect(name), self._limits.first_event)
            except TimeoutError:
                raise ProviderFailed(
                    f"Model {name!r} was not connected to within {self._limits.first_event:g} s, as was expected. "
                    "Try again, or choose another model.",
                    fault="silent",
                ) from None
        return self._model

    async def _drop_model(self) -> None:
        """Close the connections within a bound: nothing of an interrupted request stays, the next makes its own."""
        model, self._model = self._model, None
        if model is not None:
            closing = asyncio.ensure_future(model.aclose())
            done, late = await asyncio.wait({closing}, timeout=self._limits.drop_wait)
            for task in late:
                task.cancel()
            for task in done:
                task.exception()  # a connection that fails to close is closed
