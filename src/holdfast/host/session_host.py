"""Drives one session for every surface: commands go in, events come out.

How it works. `submit` numbers a command and returns at once. Commands are served one after another: the next may be
served when the one before has its effect. A prompt has its effect when its entry is durable, and its turn goes on
beside the commands that follow. `Stop`, `Answer` and `UseMode` overtake them all, because a user who stops must not
wait for what they stop.

A stop has a number like any command. It reaches the commands with a smaller number, also those that were not served
yet: what has not begun, begins, so that its prompt is in the journal, and is stopped at once.

The host journals nothing. What is durable, and in which order, is the agent's; a crash of the host leaves what a crash
of the agent leaves. The surfaces differ in `HostRules` and in nothing else.

Example: a prompt, a stop and a second prompt are submitted in one step of the loop. The first prompt is journalled, its
turn ends before its first request. The second one begins the next turn, which no stop has reached.

Laws (`tests/host/test_host_laws.py`): facts come once, in order and after their append; each submission is accepted or
refused, once, and refused only if it has no entry; `Busy` and `Idle` alternate; nothing comes after `Closed`; a client
that comes late hears the same session.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from holdfast.agent.agent import Agent
from holdfast.agent.cancellation import wait_shielded
from holdfast.agent.events import CheckFinding, Event, Fact
from holdfast.agent.seam import AfterTurn, ExpandPrompt, prompt_after_turn
from holdfast.agent.stop_cause import StopCause
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.agent.turn.parked_turn import park
from holdfast.errors import HoldfastError, UsageError
from holdfast.host import commands as c
from holdfast.host import events as h
from holdfast.host.changes_at_once import change_at_once
from holdfast.host.hosted_session import LAST_CAUSES, HostedSession, HostRules
from holdfast.host.open_question import OpenQuestion
from holdfast.host.prompt_expansion import PromptExpansion
from holdfast.host.queued_messages import QueuedMessages
from holdfast.host.sent_messages import RepeatedMessages, SentMessage, last_prompt
from holdfast.questions import Question
from holdfast.session.conversation.fold_state import ResumedReading
from holdfast.session.journal import entries as e
from holdfast.tool_calls import Image
from holdfast.tools.workspace.images import named_images

if TYPE_CHECKING:
    from holdfast.agent.generated_title import GeneratedTitle
    from holdfast.host.offered_commands import OfferedCommand


_EFFECTS = e.PromptAccepted | e.Rewound | e.Uncompacted | e.Compacted | e.RestoreStarted


class SessionHost:
    """The host of one open session. Everything is called on its loop; `submit` never waits and never raises."""

    def __init__(
        self,
        session: HostedSession,
        rules: HostRules,
        *,
        new_agent: Callable[[Callable[[Event], None], ApprovalPrompt | None], Agent],
        title: GeneratedTitle | None = None,
        after_turn: tuple[AfterTurn, ...] = (),
        expand_prompt: tuple[ExpandPrompt, ...] = (),
    ) -> None:
        """Create it. `new_agent` gets `emit` and `ask`; `title` was made before the agent.

        The first of `after_turn` that has a prompt when nothing runs begins the next turn, the first of `expand_prompt`
        that knows a text makes the prompt of it.
        """
        self.session = session
        self.rules = rules
        self._clients: list[Callable[[h.HostEvent], None]] = []
        self._early: list[h.HostEvent] = []  # what came before the first client, but no facts
        self._waiting: deque[c.Submission] = deque()
        self._pump: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[c.CommandResult]] = set()
        self._submitted = 0
        self._last_stop: tuple[int, StopCause] = 0, StopCause("user")  # which commands it reaches, and its cause
        self._running: list[c.Submission] = []
        self._turn: c.Submission | None = None  # the one of them that has the session
        self._starting: c.Submission | None = None  # a command of the user, until its entry
        self._last_end: e.TurnEnded | None = None
        self._repeated = RepeatedMessages(lambda: self.agent.journal.entries())  # noqa: PLW0108 - there is no agent yet
        self._question = OpenQuestion(self._send, self._accept_asking_turn)
        records = session.reading.records
        self._seq = records[-1].seq if records else 0
        self._closing: asyncio.Task[None] | None = None
        self._is_over = False
        self._title = title
        self._after_turn = after_turn
        self._expansion = PromptExpansion(expand_prompt, session.toolbox, session.submit_prompt)
        emit = self._on_event if title is None else title.wrap_emit(self._on_event)
        self.agent = new_agent(emit, self._question.ask if rules.asks_user else None)
        """The agent, to be read: only the host drives it."""
        self._queued = QueuedMessages(self.agent, self._send)
        self._resumed = self.agent.conversation.turns > 0

    # --- clients ------------------------------------------------------------------------------------------------

    def listen(self, emit: Callable[[h.HostEvent], None]) -> None:
        """Send the client everything from now on, first what it has missed. `emit` must not block or raise."""
        emit(self.opened())
        early, self._early = self._early, []
        for event in early:
            emit(event)
        if self._running:
            emit(h.Busy())
        if self._question.shown is not None:
            emit(self._question.shown)
        self._clients.append(emit)

    def opened(self) -> h.Opened:
        """Return the session as it is now."""
        records = self.session.reading.records
        if self._seq > (records[-1].seq if records else 0):
            resumed = isinstance(self.session.reading, ResumedReading) and records
            records = self.agent.journal.stored_after(records[0].seq - 1 if resumed else 0)
        conversation = self.agent.conversation
        return h.Opened(
            session=self.session.id,
            cwd=self.session.cwd,
            model=conversation.chosen_model,
            mode=self.agent.mode,
            settings=conversation.settings,
            tools=self.session.tools,
            resumed=self._resumed,
            facts=tuple(Fact(each.seq, each.entry) for each in records if each.seq <= self._seq),
            conversation=conversation,
        )

    @property
    def busy(self) -> bool:
        """Return whether something runs that `Stop` ends."""
        return bool(self._running)

    @property
    def open_question(self) -> Question | None:
        """Return the question that waits for an answer, None if there is none."""
        return self._question.waiting

    @property
    def needs_time(self) -> bool:
        """Return whether an idle session has work that its end would lose: a background task, or the title."""
        return self.agent.conversation.open_tasks != () or self.writes_title

    @property
    def writes_title(self) -> bool:
        """Return whether the title of the session is being written."""
        return self._title is not None and self._title.running

    def slash_commands(self) -> tuple[OfferedCommand, ...]:
        """Return the slash commands that a `Typed` line may be now, and the prompts of servers."""
        from holdfast.host.slash_commands import offered_commands

        return offered_commands(self.agent, self.session, self.rules)

    def _send(self, event: h.HostEvent) -> None:
        if not self._clients and not self._is_over and not isinstance(event, Fact):
            self._early.append(event)
        for emit in tuple(self._clients):
            emit(event)

    def _on_event(self, event: Event) -> None:
        """Pass on an event of the agent, then what follows from it."""
        if isinstance(event, Fact):
            self._repeated.hear(event.entry)
            self._seq = event.seq
        self._send(event)
        turn = self._turn
        match event:
            case Fact(entry=e.ShellStarted()) if self._starting is not None:
                self._accept(self._starting)
                self._starting = None
            case Fact(entry=entry) if turn is not None and isinstance(entry, _EFFECTS):
                self._accept(turn)
            case _:
                pass
        if isinstance(event, Fact):
            heard = [step.hear(event.entry) for step in self._after_turn]  # each of them hears it
            if any(heard):
                self._begin_due()

    def _begin_due(self) -> None:
        """Begin the turn that a step of `after_turn` wants, unless one runs: then this is called behind it."""
        if self._closing is None and any(step.due for step in self._after_turn):
            self._take(c.Prompt("", "later", mentions=False), by_host=True)

    # --- submissions ----------------------------------------------------------------------------------------------

    def submit(self, command: c.Command) -> c.Submission:
        """Take a command, checked, and serve it after those before it; `Stop`, `Answer` and `UseMode` at once."""
        try:
            command = c.checked_command(command)
        except UsageError as error:
            submission = self._numbered(command)
            self._refuse(submission, error)
            return submission
        return self._take(command)

    def _numbered(self, command: c.Command, *, by_host: bool = False) -> c.Submission:
        self._submitted += 1
        return c.Submission(self._submitted, command, by_host=by_host)

    def _take(self, command: c.Command, *, by_host: bool = False) -> c.Submission:
        submission = self._numbered(command, by_host=by_host)
        if self._closing is not None:
            self._refuse(submission, _closed())
            return submission
        match command:
            case c.Stop(cause=cause, detail=detail):
                self._stop_until(submission.number, StopCause(cause, detail))
                self._done(submission)
            case c.Answer():
                self._answer(submission, command)
            case c.UseMode():
                try:
                    change_at_once(self.agent, command, usable=self.session.usable, send=self._send)
                except UsageError as error:
                    self._refuse(submission, error)
                else:
                    self._done(submission)
            case _:
                if isinstance(command, c.Prompt | c.Typed) and self.rules.second == "stop" and not by_host:
                    self._stop_until(submission.number - 1, StopCause("user"))
                self._waiting.append(submission)
                if self._pump is None:
                    self._pump = asyncio.get_running_loop().create_task(self._serve(), name="host")
        return submission

    async def _serve(self) -> None:
        """Serve the waiting commands, each once the one before it has its effect."""
        while self._waiting:
            submission = self._waiting.popleft()
            task = asyncio.get_running_loop().create_task(self._act(submission, submission.command), name="command")
            self._tasks.add(task)
            task.add_done_callback(lambda task, of=submission: self._settle(of, task))
            await asyncio.wait({task, submission.served}, return_when=asyncio.FIRST_COMPLETED)
        self._pump = None

    def _settle(self, submission: c.Submission, task: asyncio.Task[c.CommandResult]) -> None:
        """Tell how a command's work ended, then that nothing runs any more, if that is so."""
        self._tasks.discard(task)
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        result = None if error is not None else task.result()
        if error is not None:
            self._refuse(submission, error)
        elif submission not in self._queued and submission not in self._repeated:
            self._done(submission, result)
        if self._turn is submission:
            self._turn = None
            self._queued.end_others(result, sent_later=self.rules.held_messages == "send")
            if isinstance(result, e.TurnEnded) and result.cause == "finished":
                self._begin_due()
        if submission in self._running:
            self._running.remove(submission)
            if not self._running:
                ended, self._last_end = self._last_end, None
                self._send(h.Idle(ended))

    def _accept(self, submission: c.Submission, message: str = "") -> None:
        if submission.accept(message) and not submission.by_host:
            self._send(h.Accepted(submission.number, message))

    def _done(self, submission: c.Submission, result: c.CommandResult = None) -> None:
        self._accept(submission)
        submission.end(result)

    def _refuse(self, submission: c.Submission, error: BaseException) -> None:
        """Tell that a command failed: that it had no effect, or that its work failed later."""
        refused = submission.fail(error)
        message = str(error) if isinstance(error, HoldfastError) else self.session.describe_bug(error)
        fault = error.fault if isinstance(error, HoldfastError) else "bug"
        if submission.by_host or not refused:
            self._send(h.Warned(message, fault))
            return
        self._send(h.Refused(submission.number, message, fault, c.typed_text(submission.command)))

    # --- stopping and answering -----------------------------------------------------------------------------------

    def _stop_until(self, number: int, cause: StopCause) -> None:
        """Stop what was submitted up to `number`."""
        self._last_stop = number, cause
        self._expansion.stop()
        self.agent.stop(cause)

    def _answer(self, submission: c.Submission, command: c.Answer) -> None:
        try:
            self._question.answer(command)
        except UsageError as error:
            self._refuse(submission, error)
        else:
            self._done(submission)

    def _accept_asking_turn(self) -> None:
        if self._turn is not None:
            self._accept(self._turn)  # a question that is asked again has no new entry

    # --- the work of a command ------------------------------------------------------------------------------------

    async def _act(self, submission: c.Submission, command: c.Command) -> c.CommandResult:
        """Do what the command says, and return what it has to say."""
        if self._closing is not None:
            raise _closed()
        agent = self.agent
        result: c.CommandResult = None
        if isinstance(command, c.Prompt | c.Typed) and self.rules.second == "stop" and not submission.by_host:
            while self._turn is not None:  # it was stopped
                await agent.wait_for_end()
                await asyncio.sleep(0)
        match command:
            case c.Prompt():
                result = await self._prompt(submission, command)
            case c.Typed() | c.Slash():
                result = await self._interpret(submission, command)
            case c.Shell():
                result = await self._shell(submission, command)
            case c.Continue(ask_again=True):
                result = await self._with_session(submission, agent.resume_turn, served=True)
            case c.Continue():
                result = await self._with_session(submission, lambda: agent.recover(keep_question=True))
            case c.Compact(wish=wish):
                result = await self._with_session(submission, lambda: agent.compact(wish), served=True)
            case c.Uncompact():
                result = await self._with_session(submission, agent.uncompact)
            case c.Rewind(turn=turn, what="conversation"):
                result = await self._with_session(submission, lambda: agent.rewind(turn))
            case c.Rewind(turn=turn, what=what):
                undo = self.session.needs_undo()
                result = await self._with_session(submission, lambda: undo.rewind(agent, turn, what))
            case c.Redo():
                undo = self.session.needs_undo()
                result = await self._with_session(submission, lambda: undo.redo(agent))
            case c.Recall(message=message):
                self._queued.recall(message, lambda: self._accept(submission))
            case c.ShowServers(server=server, restart=restart):
                await self._show_servers(server, restart=restart)
            case _:
                change_at_once(self.agent, command, usable=self.session.usable, send=self._send)
        return result

    async def _prompt(self, submission: c.Submission, prompt: c.Prompt) -> c.CommandResult:
        """Queue the prompt for the turn that runs, or begin one.

        Except for a text that is expanded, nothing is awaited before the journal, so that a reader that left stops the
        turn before its first request.
        """
        agent = self.agent
        if self._asks_again(prompt):
            return await self._with_session(submission, agent.resume_turn, served=True)
        earlier = self._repeated.earlier(prompt.id)
        if earlier is not None and self._repeated.follow(submission, prompt, earlier):
            self._accept(submission, prompt.id)
            return None
        stopped, is_new = self._is_stopped(submission), earlier is None
        expanded = await self._expansion.expanded(prompt.text, stopped=stopped, is_new=is_new)
        written, cause, images = expanded.text, expanded.cause, (*prompt.images, *expanded.images)
        if earlier is not None and earlier.was_sent_as(prompt, written):
            return await self._outcome(submission, earlier)
        self._repeated.begin(submission, prompt.id)
        if prompt.mentions:
            mentioned, wrong = named_images(prompt.text, self.session.cwd)
            images += mentioned
            for why in wrong:
                self._send(CheckFinding(why))
        while True:
            takes_messages = await agent.wait_for_turn()
            if self._closing is not None:
                raise _closed()
            if submission.by_host:
                following = None if takes_messages else prompt_after_turn(self._after_turn, self.agent.conversation)
                if following is None:
                    return None
                written, cause = following.text, following.cause
            if self._turn is None:
                break
            after_stop = agent.stopping and not self._is_stopped(submission)
            if self.rules.second == "stop" or after_stop:
                await agent.wait_for_end()  # a stop reaches nothing that was submitted after it
            elif takes_messages:
                self._accept(submission, self._queued.queue(submission, prompt, written, images))
                return None
            await asyncio.sleep(0)  # it is about to begin, or to end
        return await self._with_session(submission, lambda: self._run_turns(prompt, written, images, cause))

    async def _outcome(self, submission: c.Submission, earlier: SentMessage) -> c.CommandResult:
        """Return how the turn of a message ended that an earlier process sent. One that is open is continued."""
        while earlier.ended is None and self._turn is not None:
            await self.agent.wait_for_end()
            await asyncio.sleep(0)
        self._accept(submission)
        if earlier.ended is None:
            await self._with_session(submission, self.agent.resume_turn, served=True)
        return earlier.ended

    def _asks_again(self, prompt: c.Prompt) -> bool:
        """Return whether this is the prompt of the turn whose question is open, sent again to be asked again."""
        can_ask = self.rules.repeats and self._turn is None and self.agent.recovery.can_resume
        return can_ask and last_prompt(self.agent.journal.entries()) == prompt.text

    async def _run_turns(self, prompt: c.Prompt, text: str, images: tuple[Image, ...], cause: str) -> e.TurnEnded:
        """Run a turn, and if the surface wants that one for each message of this host that it did not reach."""
        ended = await self.agent.run(text, images=images, cause=cause, queued=prompt.id, typed=prompt.text)
        while self.rules.held_messages == "send" and not {ended.cause, self._last_stop[1].cause} & LAST_CAUSES:
            message = self._queued.next_own()
            if message is None or self._closing is not None:
                break
            self._last_end = ended
            ended = await self.agent.run(message.text, images=message.images, queued=message.id, typed=message.typed)
        return ended

    async def _with_session(
        self, submission: c.Submission, act: Callable[[], Awaitable[c.CommandResult]], *, served: bool = False
    ) -> c.CommandResult:
        """Do something that nothing else may run beside; with `served`, the next command is served beside it."""
        while self._turn is not None:
            if self.agent.busy:
                raise UsageError("Session is busy: a turn is running. Stop it, or wait for it to finish.")
            await asyncio.sleep(0)  # it ends
        self._turn = submission
        self._begin(submission)
        if served:
            submission.serve()
        try:
            result = await act()
            if isinstance(result, e.TurnEnded):
                self._last_end = result
            elif isinstance(result, str):
                self._send(h.Returned(result))
        finally:
            if self.rules.held_messages == "return" and submission.accepted.done() and self._closing is None:
                self._queued.recall_held()
        return result

    def _begin(self, submission: c.Submission) -> None:
        """Tell that something runs. If it was stopped before it began, it is stopped behind its first step."""
        self._running.append(submission)
        if len(self._running) == 1:
            self._send(h.Busy())
        if self._is_stopped(submission):
            asyncio.get_running_loop().call_soon(self.agent.stop, self._last_stop[1])

    def _is_stopped(self, submission: c.Submission) -> bool:
        return submission.number <= self._last_stop[0]

    def keep_messages(self) -> None:
        """Leave messages queued that a stopped turn does not reach from now on: the user leaves."""
        self.rules = msgspec.structs.replace(self.rules, held_messages="keep")

    async def _shell(self, submission: c.Submission, shell: c.Shell) -> c.CommandResult:
        self._begin(submission)
        self._starting = submission
        try:
            return await self.agent.shell(shell.command, share=shell.share)
        finally:
            if self._starting is submission:
                self._starting = None

    async def _interpret(self, submission: c.Submission, typed: c.Typed | c.Slash) -> c.CommandResult:
        """Do what a typed line says, and tell its answer once that is done."""
        if self.rules.interprets == "nothing":
            raise UsageError("This surface reads no commands. Send the text as a prompt.")
        from holdfast.host.slash_commands import is_known, reply_to

        command: c.Command = typed
        if isinstance(typed, c.Typed):
            command = c.interpreted(typed, with_shell=self.rules.interprets != "slash")
            if (
                self.rules.interprets == "known"
                and isinstance(command, c.Slash)
                and not is_known(command, self.session)
            ):
                command = c.Prompt(typed.text, typed.when)
        if not isinstance(command, c.Slash):
            return await self._act(submission, command)
        reply = await reply_to(self.agent, self.session, command, self.rules)
        if reply.leave is not None:
            self._accept(submission)
            self._send(reply.leave)
        result = None if reply.command is None else await self._act(submission, reply.command)
        stopped = isinstance(reply.command, c.Compact) and result is None
        if reply.lines and not stopped:
            self._accept(submission)
            self._send(h.Lines(submission.number, reply.lines))
        return result

    async def _show_servers(self, server: str, *, restart: bool) -> None:
        if restart:
            await self.session.toolbox.restart_server(server)
        self._send(h.ServersShown(await self.session.toolbox.server_states(), {}, server))

    async def end_tasks(self, within: float, by: str) -> tuple[str, ...]:
        """End the background tasks within twice so many seconds, and return their ids; `by` says why."""
        return await self.agent.tasks.end(within, by)

    # --- the end ----------------------------------------------------------------------------------------------------

    async def park(self) -> bool:
        """Close the session if its turn only waits for the user, and return whether it did. Nothing is settled.

        Another process asks again with `Continue`. Nothing happens while commands wait, or while anything else runs.
        """
        if self._waiting or self._closing is not None or self.open_question is None or not park(self.agent):
            return False
        await self.close()
        return True

    async def close(self) -> None:
        """Stop everything, end the tools' processes, release the session. What still waits is refused."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close(), name="host closes")
        await wait_shielded(self._closing)

    async def _close(self) -> None:
        self._expansion.stop()
        try:
            try:
                if self._title is not None:
                    await self._title.end()
            finally:
                await self.agent.close()
        finally:
            if self._pump is not None:
                await asyncio.wait({self._pump})  # what still waits is refused, in order
            if self._tasks:
                await asyncio.wait(self._tasks)
            self._queued.end_all()
            self._is_over = True
            self._send(h.Closed())
            self._clients.clear()


def _closed() -> UsageError:
    return UsageError("The session was closed before this was done. Open it again, and send it again.")
