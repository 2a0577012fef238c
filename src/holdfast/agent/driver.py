"""The driver: what a program asks of a session. It begins turns, settles what is open, keeps what people say meanwhile.

Two rules. Journal, then act, then emit. One thing at a time: while something runs, nothing else begins.
"""

from __future__ import annotations

import asyncio

from holdfast.agent.drift import drift, watched
from holdfast.agent.leaving import leave_of
from holdfast.agent.machine import Machine
from holdfast.agent.remains import MAY_RUN, remains
from holdfast.agent.rewinding import rewound
from holdfast.agent.settle import Leave
from holdfast.agent.stop import Left, Stop, to_the_end
from holdfast.agent.taking_up import can_be_taken_up
from holdfast.agent.waiting import following, queued
from holdfast.calls import Image, Mode
from holdfast.errors import StateError, UsageError
from holdfast.session.entries import (
    Compacted,
    FilesChanged,
    PromptAccepted,
    ShellEnded,
    TurnEnded,
    Uncompacted,
    When,
)
from holdfast.text import valid_unicode
from holdfast.tools.thread import in_daemon

QUIET = 2.5
"""Seconds that a look at the world may take: one for processes of an earlier holder to go, one for ending them."""


class Driver(Machine):
    """One session's turns, one at a time, on one event loop.

    `connect` gives the model of a PROVIDER:MODEL name and is called after the prompt is journalled; `emit` must not
    block or raise; without `ask`, a call that needs a person ends the turn. `project` keeps what needs no asking,
    `context` says what of a long conversation is sent.
    `debug` checks the conversation all the time; `log` is told what happens. `providers` say
    by whose rules a conversation is checked.

    Laws (`tests/agent/test_driver_laws.py`): whatever ends a turn, no call is left open and the next prompt works.
    """

    async def run(self, prompt: str, *, images: tuple[Image, ...] = ()) -> TurnEnded:
        """Run one turn, and one for each message queued meanwhile; return how the last ended.

        The `images` are shown before the words, to a model that can see.

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
                changed, raised = await self._compare(stop)
            self._recover(running)
            turn = self.conversation.turns + 1
            self.append(*changed, PromptAccepted(turn=turn, text=valid_unicode(prompt), images=images))
        except BaseException:
            self._over()
            raise
        return await self._begin(stop, raised)

    async def carry_on(self) -> TurnEnded | None:
        """Take up the turn in which a crash left a question without an answer, and return how it ended, as `run` does.

        Calls that had started are settled; the one that was asked about is asked about again, whatever the mode, and
        those behind it follow. Without such a turn, or without somebody to ask, what is open is settled, and None
        returned.
        """
        stop = self._claim()
        waits = can_be_taken_up(self.conversation) and not self._gap  # else it may have been answered, and have run
        goes_on = waits and self._ask is not None and self._unsettled is None
        try:
            changed: tuple[FilesChanged, ...] = ()
            running, raised = await self._look()
            if goes_on and raised is None:
                changed, raised = await self._compare(stop)
            self._recover(running, goes_on=goes_on)
            self.append(*changed)
        except BaseException:
            self._over()
            raise
        if goes_on:
            return await self._begin(stop, raised)
        self._over()
        if raised is not None:
            raise raised
        return None

    async def _begin(self, stop: Stop, raised: BaseException | None) -> TurnEnded:
        self._begun.set()
        turn = asyncio.get_running_loop().create_task(self._turns(stop), name="turn")
        turn.add_done_callback(self._never_begun)
        return await to_the_end(turn, lambda error: self.stop(leave_of(error)), raised)

    def _never_begun(self, turn: asyncio.Task[TurnEnded]) -> None:
        if turn.cancelled() and self._stop is not None:  # by a loop that closed before its first step
            self._settled(Leave("external"))
            self._over()

    async def recover(self) -> None:
        """Settle what an earlier process left open, having looked, and tell of damage found in the journal."""
        running, raised = await self._look()
        self._recover(running)
        if raised is not None:
            raise raised

    async def _look(self) -> tuple[str, BaseException | None]:
        """Return what is to be told of processes that an earlier one had started, and what was raised meanwhile.

        Waits for nothing if nothing was left open by another, and not for long on a stop: recovery goes on without an
        answer.
        """
        conversation = self.conversation
        left = conversation.is_open and self._unsettled is None
        shells = self._own.gone(conversation.open_shells)
        if not left and not shells:
            return "", None
        stop = self._stop or Stop(self._abandoned)
        calls = conversation.open_calls if left else ()
        return await stop.learn(remains(self._toolbox, calls, shells), MAY_RUN, within=QUIET)

    async def _compare(self, stop: Stop) -> tuple[tuple[FilesChanged, ...], BaseException | None]:
        """Return what is to be told of files that changed since the model saw them, and what was raised meanwhile."""
        known = watched(self._fold)
        return await stop.learn(in_daemon(lambda: drift(known, self._toolbox)), (), within=QUIET)

    @property
    def mode(self) -> Mode:
        """Return the approval mode."""
        return self._mode

    def use_mode(self, mode: Mode) -> None:
        """Decide in another approval mode from the next decision on, whatever runs."""
        self._mode = mode

    def queue(self, text: str, when: When, *, images: tuple[Image, ...] = ()) -> str:
        """Keep a message for the turn that runs, durably, and return its id.

        It is sent with the turn's next request, or as the next prompt if there is none any more or `when` is "later";
        not if the turn is stopped or fails: then it waits for a person. Raises `UsageError` if no turn runs, or what
        runs still settles an earlier one (`begun`).
        """
        if not self._takes_messages:
            raise UsageError("No turn of this session is running, one was expected. Give the message as a prompt.")
        message = queued(text, when, own=self.new_id("q"), images=images)
        self.append(message)
        return message.id

    async def shell(self, command: str, *, share: bool) -> ShellEnded:
        """Run a person's own command beside whatever runs, and return how it ended; `stop` ends it.

        The model learns of it only if it is to `share` it: with the next prompt. Raises `UsageError` or `ToolFailed` if
        it cannot be begun.
        """
        return await self._own.run(command, share=share)

    async def begun(self) -> bool:
        """Return whether a turn runs that can be given messages, waiting for one that is to begin."""
        await self._begun.wait()
        return self._takes_messages

    async def rewind(self, turn: int) -> str:
        """Take the conversation back to before the prompt of `turn` and return its words; files stay as they are.

        Raises `UsageError` while a turn runs, or if the conversation has no such prompt (any more).
        """
        self._claim()
        try:
            await self.recover()
            entry, text = rewound(self.conversation, self.entries(), turn)
            self.append(entry)
        finally:
            self._over()
        return text

    async def compact(self, wish: str = "") -> Compacted | None:
        """Sum up the older part of the conversation and return what stands in its place, None after a stop.

        `wish` is what is to be kept of it especially. Raises `UsageError` while a turn runs or if there is too little
        to sum up, `ProviderFailed` if the model does not: then nothing has changed.
        """
        stop = self._claim()
        try:
            await self.recover()
            compacted = await self._compacting.compact(stop, "asked", wish)
        except Left:
            self._shortening("Stopped; nothing was summed up.")
            return None
        finally:
            await self._connection.drop()
            self._over()
        if compacted is None:
            raise UsageError(
                "Conversation is short, or only its newest step is long; something older to sum up was expected. "
                "Go on, or begin a new session with /new."
            )
        return compacted

    async def uncompact(self) -> Compacted:
        """Send again what the last summary stands for, in its place; return what was sent instead.

        Raises `UsageError` while a turn runs, or if nothing is summed up.
        """
        self._claim()
        try:
            await self.recover()
            undone = self.conversation.compacted
            if undone is None:
                raise UsageError("Conversation is not compacted, a summary in it was expected. See /compact.")
            self.append(Uncompacted())
        finally:
            self._over()
        return undone

    async def close(self) -> None:
        """Stop a turn that runs, end every process of the tools, close the connections and give up the session."""
        self.stop(Leave("external", "the session was closed"))
        await to_the_end(asyncio.ensure_future(self._close()))

    async def _close(self) -> None:
        try:
            if self._stop is not None:
                await self._ended.wait()
            await self._own.end(self._limits.stop_grace)
            await self._connection.drop()
            await self._toolbox.close()
            await self._abandoned.end(self._limits.drop_wait)
        finally:
            self._store.close()

    async def _turns(self, stop: Stop) -> TurnEnded:
        """Run the turn whose prompt is journalled, and those of the messages that wait for it to end by itself."""
        try:
            while True:
                ended = await self._turn(stop)
                if stop.again or following(self.conversation) is None:
                    return ended
                stop = self._stop = Stop(self._abandoned)
                changed, raised = await self._compare(stop)
                if raised is not None:
                    raise raised
                prompt = following(self.conversation)  # it may have been taken back meanwhile
                if prompt is None or stop.leave is not None:  # a stop is for what waits too: it waits on
                    return ended
                try:
                    self.append(*changed, prompt)
                except StateError as failed:
                    self.not_recorded(failed)  # the message waits on
                    return ended
        finally:
            self._over()  # in one step with the last look: no message is queued that nobody looks for
