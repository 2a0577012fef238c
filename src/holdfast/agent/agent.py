"""The API of a session: begins turns, recovers what a crash left open, and queues messages during a turn.

Journal, then act, then emit. Only one thing runs at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import msgspec

from holdfast.agent.background_tasks import BackgroundTasks
from holdfast.agent.cancellation import (
    DetachedTasks,
    StopSignal,
    TurnStopped,
    stop_cause_of,
    wait_shielded,
)
from holdfast.agent.context.compaction import Compactor
from holdfast.agent.context.drift import Drift
from holdfast.agent.context.summary_request import Summarizer
from holdfast.agent.conversation_checks import Checks
from holdfast.agent.debug_log.log import Log
from holdfast.agent.events import Event, Shortening
from holdfast.agent.journal_writer import JournalWriter
from holdfast.agent.model_request.connection import Connection
from holdfast.agent.operation import Operation
from holdfast.agent.permissions import Permissions
from holdfast.agent.recovery.recovery import Recovery
from holdfast.agent.recovery.rewind import rewind_entry
from holdfast.agent.seam import NO_SEAM, RecoveryStep, Seam
from holdfast.agent.stop_cause import StopCause
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.agent.turn.budget import Budget
from holdfast.agent.turn.fallback import back_to_chosen
from holdfast.agent.turn.message_queue import next_prompt, queue_entry, recall_entry
from holdfast.agent.turn.turn import Turn
from holdfast.agent.turn.turn_context import TurnContext
from holdfast.agent.user_commands import PlannedCommand, UserCommands
from holdfast.config.project_decisions import Project
from holdfast.config.settings import Limits
from holdfast.errors import StateError, UsageError
from holdfast.providers.model import Model
from holdfast.providers.registry import PROVIDERS, Providers
from holdfast.questions import ALL_ANSWERS, QuestionRules
from holdfast.session.conversation.context_settings import ContextSettings
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.fold_state import ResumedReading
from holdfast.session.journal import entries as e
from holdfast.session.journal.model_settings import NO_SETTINGS, ModelSettings
from holdfast.session.journal.store import FoldStore, Reading, Store
from holdfast.text import valid_unicode
from holdfast.tool_calls import Confined, Image, Mode, OnApproval
from holdfast.tools.tool import Toolbox

if TYPE_CHECKING:
    from holdfast.agent.background_verification import BackgroundVerification

T = TypeVar("T")


class Agent:
    """One session's turns, one at a time, on one event loop.

    It has the `journal`, its `recovery`, the `permissions` of its calls, and the running `turn`, None between turns.

    `connect` returns the model for a PROVIDER:MODEL name and is called after the prompt is journalled. `emit` must not
    block. If it raises, the event loop's exception handler gets the first exception and the turn goes on; with
    `ends_with_listener`, for a program that is nothing without its screen, `run` raises it. Without `ask`, a call that
    needs approval ends the turn; with `on_approval="deny"` it is denied and the turn continues. `offered` says which
    answers a question may offer, `project` has the patterns that run unasked. `context` configures pruning and
    compaction. `debug` checks the conversation after every step. `log` records events. `providers` selects the current
    model's validation profile, `defaults` returns a model's default settings. A turn whose model does not answer
    continues with the model `fallback`. `reading` is the store's content, if known. `seam` is what takes part in turns
    besides the agent's own parts.

    Laws (`tests/agent/test_agent_laws.py`): whatever ends a turn, no call is left open and the next prompt works.
    """

    def __init__(  # noqa: PLR0913 - one collaborator per layer
        self,
        *,
        store: Store,
        toolbox: Toolbox,
        connect: Callable[[str], Awaitable[Model]],
        mode: Mode,
        emit: Callable[[Event], None],
        ask: ApprovalPrompt | None = None,
        offered: QuestionRules = ALL_ANSWERS,
        on_approval: OnApproval = "stop",
        limits: Limits | None = None,
        project: Project | None = None,
        debug: bool = False,
        log: Log | None = None,
        reading: Reading | None = None,
        providers: Providers = PROVIDERS,
        context: ContextSettings | None = None,
        window: Callable[[str], int] | None = None,
        defaults: Callable[[str], ModelSettings] = lambda _: NO_SETTINGS,
        fallback: str = "",
        seam: Seam = NO_SEAM,
        ends_with_listener: bool = False,
    ) -> None:
        if not ends_with_listener:
            from holdfast.agent.listener import heard_by  # a program of holdfast never needs it

            emit = heard_by(emit)
        if log is not None:
            connect, emit = log.wrap_connect(connect), log.wrap_emit(emit)
        emit = (budget := Budget(None if limits is None else limits.max_cost)).wrap_emit(emit)
        limits, context, reading = limits or Limits(), context or ContextSettings(), reading or store.read()
        checks = Checks(debug=debug, emit=emit, providers=providers)
        self.journal = JournalWriter(
            store,
            reading,
            checks=checks,
            emit=emit,
            reread=self._reread,
        )
        self.verification: BackgroundVerification | None = None
        """The verification of what a checkpoint stood for, None if every entry was read."""
        if isinstance(reading, ResumedReading) and isinstance(store, FoldStore):
            from holdfast.agent.background_verification import BackgroundVerification

            self.verification = BackgroundVerification(
                store,
                reading,
                checkpoints=self.journal.checkpoints,
                report=lambda found: self.recovery.add_damage(found),  # noqa: PLW0108 - there is no recovery yet
            )
        self._store = store
        self._toolbox = toolbox
        self._emit = emit
        self._defaults = defaults
        self._commands = UserCommands(self.journal, toolbox, emit)
        self.tasks = BackgroundTasks(self.journal, toolbox)
        self._steps: tuple[RecoveryStep, ...] = (self._commands, self.tasks, *seam.recovery)
        instructions = (toolbox.instructions, *seam.instructions)
        drift = Drift(self.journal, toolbox, instructions)
        self._detached = DetachedTasks()
        self.recovery = Recovery(
            self.journal,
            reading,
            toolbox=toolbox,
            drift=drift,
            steps=self._steps,
            looks=seam.look,
            checks=checks,
            detached=self._detached,
        )
        self._connection = Connection(connect, limits, self._detached)
        self._compactor = Compactor(
            self.journal,
            summarizer=Summarizer(
                connection=self._connection, detached=self._detached, limits=limits, notify=self._emit_progress
            ),
            toolbox=toolbox,
            instructions=instructions,
            context=context,
            window=window,
            before_compact=(seam.before_compact, seam.more_time),
            notify=self._emit_progress,
        )
        self.permissions = Permissions(mode, self.journal, project=project, offered=offered)
        seam = msgspec.structs.replace(
            seam,
            before_call=(*seam.before_call, self.permissions.judge),
            after_call=(
                drift.servers_after_call,
                drift.folder_after_call,
                drift.nested_after_call,
                *seam.after_call,
            ),
            instructions=instructions,
            recovery=self._steps,
        )
        self._context = TurnContext(
            seam=seam,
            journal=self.journal,
            recovery=self.recovery,
            checks=checks,
            connection=self._connection,
            compactor=self._compactor,
            toolbox=toolbox,
            tasks=self.tasks,
            detached=self._detached,
            emit=emit,
            permissions=self.permissions,
            ask=ask,
            on_approval=on_approval,
            limits=limits,
            budget=budget,
            settings=context,
            fallback=fallback,
            log=log,
        )
        self.turn: Turn | None = None
        self._operation: Operation | None = None

    def _reread(self, reading: Reading) -> None:
        self.verification = None  # every entry was read
        self.recovery.load(reading)

    @property
    def mode(self) -> Mode:
        """Return the approval mode."""
        return self.permissions.mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self.permissions.use(mode)

    @property
    def busy(self) -> bool:
        """Return whether a turn, a compaction or a rewind runs."""
        return self._operation is not None

    @property
    def conversation(self) -> Conversation:
        """Return the current conversation."""
        return self.journal.conversation

    async def run(
        self,
        prompt: str,
        *,
        images: tuple[Image, ...] = (),
        queued: str = "",
        cause: str = "",
        typed: str = "",
    ) -> e.TurnEnded:
        """Run one turn, and one for each message queued during it; return how the last one ended.

        The `images` come before the text. If the prompt was a held message, `queued` is its id. `cause` is what sent
        it, "" for the user, and `typed` what they typed if the text was made from it.

        The prompt is durable before anything happens. Raises `UsageError` for a blank prompt or while another turn
        runs, `StorageFailed` or `AppendConflict` if the prompt could not be journalled: then nothing has happened. A
        cancellation, an unusable model and an internal error settle the turn first and then propagate.
        """
        if not prompt.strip():
            raise UsageError("Prompt is empty. Say what you want done.")
        if cause not in e.PROMPT_CAUSES and not cause.startswith("session:"):
            known = ", ".join(e.PROMPT_CAUSES[1:])
            raise UsageError(
                f"Cause {cause!r} of a prompt is unknown (expected one of {known}, or `session:` and an id)."
            )
        with self._begin_operation() as operation:
            found = await self.recovery.inspect(operation.stop)
            self.recovery.recover(found.processes, observations=found.observations)
            turn = self.conversation.turns + 1
            text, typed = valid_unicode(prompt), valid_unicode(typed)
            accepted = e.PromptAccepted(
                turn=turn, text=text, queued=queued, images=images, cause=cause, typed="" if typed == text else typed
            )
            self.journal.append(*found.files, *found.tools, *back_to_chosen(self.conversation), accepted)
            return await self._begin(operation, found.raised)

    async def resume_turn(self) -> e.TurnEnded | None:
        """Resume the turn in which a crash interrupted a question to the user, and return how it ended, as `run` does.

        Calls that had started are settled. The user is asked the open question again, whatever the mode, and later
        calls follow. If there is no such turn, or no `ask`, open calls are settled and None is returned.
        """
        with self._begin_operation() as operation:
            resuming = self._context.ask is not None and self.recovery.can_resume
            found = await self.recovery.inspect(operation.stop, files=resuming)
            self.recovery.recover(found.processes, observations=found.observations, resuming=resuming)
            self.journal.append(*found.files)
            if resuming:
                return await self._begin(operation, found.raised)
            if found.raised is not None:
                raise found.raised
            return None

    async def recover(self, *, keep_question: bool = False) -> None:
        """Settle what an earlier process left open, and report damage in the journal.

        With `keep_question`, a question to the user stays open.
        """
        with self._begin_operation() as operation:
            await self._recover(operation, resuming=keep_question and self.recovery.can_resume)

    async def _recover(self, operation: Operation, *, resuming: bool = False) -> None:
        found = await self.recovery.inspect(operation.stop, files=False)
        self.recovery.recover(found.processes, observations=found.observations, resuming=resuming)
        if found.raised is not None:
            raise found.raised

    def stop(self, cause: StopCause | None = None) -> None:
        """Ask the running turn to end, from any thread. The first cause wins. Does nothing if no turn runs."""
        self._commands.stop()
        if (running := self.turn or self._operation) is not None:
            running.stop.set(cause or StopCause("user"))

    def use_model(self, name: str) -> None:
        """Send later requests to the model `name` (PROVIDER:MODEL), with its default settings.

        Settings that differ from the old model's defaults are the user's choice and stay.
        """
        now = self.conversation
        if not name == now.model == now.chosen_model:
            settings = now.settings.moved(self._defaults(now.chosen_model), self._defaults(name))
            changed = () if settings == now.settings else (e.ModelSettingsChanged(settings=settings),)
            self.journal.append(e.ModelChanged(model=name), *changed)

    def use_settings(self, settings: ModelSettings) -> None:
        """Send later requests with these settings; a running turn uses them from its next request on."""
        if settings != self.conversation.settings:
            self.journal.append(e.ModelSettingsChanged(settings=settings))

    def rename(self, title: str) -> None:
        """Set the session's title; "" means the first line of its first prompt again."""
        self.journal.append(e.title_entry(title))

    def queue(
        self, text: str, when: e.When, *, images: tuple[Image, ...] = (), message_id: str = "", typed: str = ""
    ) -> str:
        """Queue a message for the running turn, durably, and return its id: `message_id`, or a new one.

        `typed` is what the user typed, if the text was made from it.

        It is sent with the turn's next request, or as the next prompt if no request follows or `when` is "later". If
        the turn is stopped or fails, it stays queued for the user. Raises `UsageError` if no turn runs, or while an
        earlier one is still being settled (`wait_for_turn`).
        """
        if self.turn is None:
            raise UsageError("Message was not queued: no turn is running. Send it as a prompt.")
        message_id = message_id or self.journal.new_id("q")
        message = queue_entry(text, when, message_id=message_id, images=images, typed=typed)
        self.journal.append(message)
        return message.id

    def recall(self, message: str) -> str:
        """Take a queued message back and return its text; raises `UsageError` if it is no longer queued."""
        entry, text = recall_entry(self.conversation, message)
        self.journal.append(entry)
        return text

    async def wait_for_turn(self) -> bool:
        """Wait for a turn that is about to begin, and return whether a running turn takes messages."""
        if self._operation is not None:
            await self._operation.begun.wait()
        return self.turn is not None

    @property
    def stopping(self) -> bool:
        """Return whether the running turn was asked to end."""
        return self.turn is not None and self.turn.stop.cause is not None

    async def wait_for_end(self) -> None:
        """Wait until the turn, the compaction or the rewind that runs has ended."""
        if self._operation is not None:
            await self._operation.over.wait()

    def plan_shell(self, command: str) -> PlannedCommand:
        """Return the plan of a command that runs outside a turn, to be judged. Raises as `shell`; nothing happens."""
        return self._commands.plan(command)

    async def shell(
        self,
        command: str,
        *,
        share: bool,
        planned: PlannedCommand | None = None,
        confined: Confined = "",
        by_user: bool = False,
    ) -> e.ShellEnded:
        """Run the user's own command, also during a turn, and return how it ended. `stop` ends it.

        The model reads it with the next prompt, but only if `share` is set. One that was `planned` and judged runs as
        it was allowed. Raises `UsageError` or `ToolFailed` if the command cannot be started.
        """
        return await self._commands.run(command, share=share, planned=planned, confined=confined, by_user=by_user)

    async def rewind(self, turn: int) -> str:
        """Rewind the conversation to before the prompt of `turn` and return the prompt's text. Files are not changed.

        Raises `UsageError` while a turn runs, or if the conversation has no such prompt.
        """
        with self._begin_operation() as operation:
            await self._recover(operation)
            entry, text = rewind_entry(self.conversation, self.journal.entries(), turn)
            self.journal.append(entry)
            return text

    async def exclusively(self, act: Callable[[], Awaitable[T]]) -> T:
        """Do something between turns that nothing may run beside, behind recovery; return what it returns.

        Raises `UsageError` while a turn runs.
        """
        with self._begin_operation() as operation:
            await self._recover(operation)
            return await act()

    async def compact(self, wish: str = "") -> e.Compacted | None:
        """Summarize the older part of the conversation and return the entry, None after a stop.

        `wish` names what the summary should keep. Raises `UsageError` while a turn runs or if there is too little to
        compact, `ProviderFailed` if the model fails: then nothing has changed.
        """
        with self._begin_operation() as operation:
            try:
                await self._recover(operation)
                self.journal.append(*back_to_chosen(self.conversation))
                compacted = await self._compactor.compact(operation.stop, "asked", wish)
            except TurnStopped:
                self._emit_progress("Stopped. Nothing was compacted.")
                return None
            finally:
                await self._connection.drop()
        if compacted is None:
            raise UsageError(
                "Nothing to compact: the conversation has no older messages (recent steps are kept).",
                fault="nothing_to_compact",
            )
        return compacted

    async def uncompact(self) -> e.Compacted:
        """Undo the last compaction: send its messages again. Return the entry that was undone.

        Raises `UsageError` while a turn runs, or if no compaction is active.
        """
        with self._begin_operation() as operation:
            await self._recover(operation)
            undone = self.conversation.compacted
            if undone is None:
                raise UsageError("Nothing to undo: the conversation is not compacted. Every message is sent.")
            self.journal.append(e.Uncompacted())
            return undone

    async def close(self) -> None:
        """Stop a running turn, end all tool processes, close the connections and release the session."""
        self.stop(StopCause("external", "the session was closed"))
        await wait_shielded(asyncio.ensure_future(self._close()))

    async def _close(self) -> None:
        limits = self._context.limits
        try:
            if self._operation is not None:
                await self._operation.over.wait()
            if self.verification is not None:
                await self.verification.end()
            await asyncio.gather(*(step.end(limits.stop_grace) for step in self._steps))
            await self._connection.drop()
            await self._toolbox.close()
            await self._detached.end(limits.drop_wait)
        finally:
            self._store.close()

    # --- the operation and the turns --------------------------------------------------------------------------------

    @contextmanager
    def _begin_operation(self) -> Generator[Operation]:
        """Begin an operation; raises `UsageError` while one runs. A turn that has begun ends its operation itself."""
        if self._operation is not None:
            raise UsageError("Session is busy: a turn is running. Stop it, or wait for it to finish.")
        operation = self._operation = Operation(StopSignal(self._detached))
        try:
            yield operation
        finally:
            if self.turn is None:
                self._release(operation)

    def _release(self, operation: Operation) -> None:
        if self._operation is operation:
            self._operation = self.turn = None
        operation.begun.set()
        operation.over.set()

    async def _begin(self, operation: Operation, raised: BaseException | None) -> e.TurnEnded:
        """Run the turn in its own task, its prompt is journalled: a cancelled caller only requests a stop."""
        turn = self._next_turn(operation.stop)
        operation.begun.set()
        task = asyncio.get_running_loop().create_task(self._turns(operation, turn), name="turn")
        task.add_done_callback(lambda task: self._settle_unstarted(operation, task))
        return await wait_shielded(task, lambda error: self.stop(stop_cause_of(error)), raised)

    def _next_turn(self, stop: StopSignal) -> Turn:
        turn = self.turn = Turn(self._context, stop)
        return turn

    async def _turns(self, operation: Operation, turn: Turn) -> e.TurnEnded:
        """Run the turn, then one for each message that waited for its end. Each prompt is journalled first."""
        try:
            while True:
                if self.verification is not None:
                    self.verification.begin()
                ended = await turn.run()
                if turn.stop.stopped_twice or next_prompt(self.conversation) is None:
                    return ended
                turn = self._next_turn(StopSignal(self._detached))
                found = await self.recovery.inspect(turn.stop)
                if found.raised is not None:
                    raise found.raised
                prompt = next_prompt(self.conversation)  # the user may have taken it back in the meantime
                if prompt is None or turn.stop.cause is not None:  # a stop holds back queued messages too
                    return ended
                try:
                    self.journal.append(
                        *found.observations, *found.files, *found.tools, *back_to_chosen(self.conversation), prompt
                    )
                except StateError as failed:
                    self.journal.not_recorded(failed)  # the message stays queued
                    return ended
        finally:
            self.journal.write_checkpoint()
            self._release(operation)  # in one step with the check above, so that no message can be queued in between

    def _settle_unstarted(self, operation: Operation, task: asyncio.Task[e.TurnEnded]) -> None:
        if task.cancelled() and self._operation is operation:  # the event loop closed before the task's first step
            self.recovery.settle_turn(StopCause("external"))
            self._release(operation)

    def _emit_progress(self, message: str) -> None:
        self._emit(Shortening(message))
