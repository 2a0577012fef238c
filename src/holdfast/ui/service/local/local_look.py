"""Drives one local session: takes its inbox rows in order, as long as something waits or runs.

The rules are those of a fleet's worker, so the API means the same here and there. One turn at a time. A `prompt` waits
for the turn before it. A `steer` joins the running turn, or becomes a prompt. A `stop` is not an edge but a level: it
ends the running turn and refuses what waited before it, and with nothing running it is done at once. An `answer`
reaches the question that its call asks, and no other.

What a crash leaves: the rows that wait, and an open turn in the journal. The next server opens the session again. A
question that was open is asked again, and an answer that waits for it is given. Any other open turn is settled as a
crash and not continued: the user decides, as in the terminal.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Coroutine
from typing import TypeVar

import msgspec

from holdfast.agent.agent import Agent
from holdfast.agent.events import Event, Fact
from holdfast.agent.stop_cause import StopCause
from holdfast.agent.turn.asker import ApprovalAnswer
from holdfast.errors import HoldfastError, StorageFailed, UsageError
from holdfast.fleet.record import InboxRow
from holdfast.providers.connect import connect
from holdfast.providers.model import Model
from holdfast.providers.model_table import window_of
from holdfast.providers.registry import split
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.session.journal.store import StoredEntry
from holdfast.system.threads import in_daemon
from holdfast.tool_calls import Mode, Remember
from holdfast.tools.tool import Plan
from holdfast.typed_data import convert_value
from holdfast.ui.headless.attachments import attached
from holdfast.ui.service.local.inbox_file import InboxFile, NamedRow
from holdfast.ui.service.local.served_session import ServedSession
from holdfast.ui.startup.debug_log_option import debug_log_note
from holdfast.ui.view.question import Question, question_of

LINGER = 10.0
"""Seconds that an idle session stays open, so that what follows soon need not open it again."""
_RETRY = 2.0
"""Seconds between attempts to journal a prompt on a full disk."""

T = TypeVar("T")


class AnswerBody(msgspec.Struct, frozen=True):
    """The body of an `answer`."""

    call: str
    allowed: bool
    words: str = ""
    chosen: tuple[str, ...] = ()
    remember: Remember = ""
    mode: Mode | None = None


class _Asked(msgspec.Struct, frozen=True):
    """An open question, and the answer as soon as there is one."""

    call: str
    question: Question
    answer: asyncio.Future[ApprovalAnswer]


class LocalLook:
    """The look at one open session. Everything runs on one event loop; `wake` may be called from any thread."""

    def __init__(
        self,
        served: ServedSession,
        inbox: InboxFile,
        *,
        publish: Callable[[StoredEntry | Event], None],
        yolo: bool = False,
        linger: float = LINGER,
    ) -> None:
        """`publish` gets each entry once it is durable, and live events, in order; it must not block."""
        self.id = served.session.id
        self._served = served
        self._inbox = inbox
        self._publish = publish
        self._yolo = yolo
        self._linger = linger
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()
        self._turn: asyncio.Task[None] | None = None
        self._begun: NamedRow | None = None  # the row whose prompt is being journalled
        self._asked: _Asked | None = None
        self._answers: dict[str, int] = {}  # by call, the row that answers it
        self._names: dict[str, int] = {}  # by name, the row that becomes an entry
        self._leaving = False
        self._not_before = 0.0
        self._agent = self._new_agent()

    # --- what others see ----------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Return whether a turn runs."""
        return self._turn is not None and not self._turn.done()

    @property
    def asking(self) -> tuple[str, ...]:
        """Return the calls whose question waits for an answer."""
        asked = self._asked
        return () if asked is None else (asked.call,)

    @property
    def mode(self) -> Mode:
        """Return the approval mode."""
        return self._agent.mode

    @property
    def model(self) -> str:
        """Return the model that the user chose."""
        return self._agent.conversation.chosen_model

    def wake(self) -> None:
        """Look at the inbox again; from any thread."""
        try:
            self._loop.call_soon_threadsafe(self._woken.set)
        except RuntimeError:  # the loop has closed: the owner of the look checks the inbox again
            debug_log_note(f"Session {self.id!r} was closed when a message came; it is opened again.")

    def leave(self) -> None:
        """End soon, with what runs stopped; from any thread."""

        def leave() -> None:
            self._leaving = True
            self._agent.stop(StopCause("signal", "the server stopped"))
            self._woken.set()

        self._loop.call_soon_threadsafe(leave)

    # --- the look -----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Serve the inbox until nothing waits and nothing runs, then close the session."""
        try:
            self._reconcile()
            if self._agent.recovery.can_resume:
                self._begin(self._agent.resume_turn())
            else:
                await self._agent.recover()
            while not self._leaving:
                self._woken.clear()
                self._take()
                await asyncio.sleep(0)  # a turn has the session before a stop can reach it
                if not await self._more():
                    break
            if self._turn is not None:
                await asyncio.wait({self._turn})
        finally:
            try:
                await self._agent.close()
            finally:
                self._served.closing.close()

    async def _more(self) -> bool:
        """Wait until there may be something to do. Return false if nothing came while the session was idle."""
        tasks = self._agent.conversation.open_tasks
        waits = self.running or bool(tasks) or bool(self._inbox.waiting(self.id))
        try:
            await asyncio.wait_for(self._woken.wait(), None if waits else self._linger)
        except TimeoutError:
            return bool(self._inbox.waiting(self.id))
        return True

    def _reconcile(self) -> None:
        """Mark the rows whose entry is in the journal: the process before died between entry and mark."""
        found: dict[str, int] = {}
        answered: dict[str, int] = {}
        for record in self._served.session.reading.records:
            match record.entry:
                case e.PromptAccepted(queued=name) | e.Queued(id=name) if name:
                    found.setdefault(name, record.seq)
                case e.ApprovalAnswered(call=call):
                    answered[call] = record.seq
                case _:
                    pass
        for each in self._inbox.waiting(self.id):
            seq = found.get(each.name)
            if each.row.kind == "answer":
                seq = answered.get(str(each.row.body.get("call")))
            if seq is not None:
                self._inbox.done(each.row.id, seq=seq)

    def _take(self) -> None:
        """Do what can be done of the waiting rows."""
        rows = self._inbox.waiting(self.id)
        last_stop = max((each.row.id for each in rows if each.row.kind == "stop"), default=0)
        if last_stop:
            self._agent.stop()
            for each in rows:
                if each.row.id <= last_stop and each != self._begun and each.row.kind != "recall":
                    stopped = each.row.kind in {"prompt", "steer", "later"}
                    self._inbox.done(each.row.id, refused="Stopped before it began." if stopped else "")
            rows = tuple(each for each in rows if each.row.id > last_stop)
        prompted = False
        for each in rows:
            if each == self._begun:
                continue
            if each.row.kind in {"prompt", "steer", "later"}:
                prompted = not self._message(each, behind=prompted) or prompted
                continue
            try:
                self._act(each.row)
            except HoldfastError as error:
                self._inbox.done(each.row.id, refused=str(error))

    def _message(self, each: NamedRow, *, behind: bool) -> bool:
        """Begin a turn with the row's text, or queue it for the running one. Return whether that was possible now."""
        text = str(each.row.body.get("text", ""))
        if self.running:
            if each.row.kind == "prompt" or self._agent.turn is None:
                return False
            self._names[each.name] = each.row.id
            try:
                images = attached(self._agent, text, debug_log_note)
                self._agent.queue(text, "steer" if each.row.kind == "steer" else "later", images=images, own=each.name)
            except StorageFailed:
                return self._later()
            except HoldfastError as error:
                self._inbox.done(each.row.id, refused=str(error))
            return True
        if behind or self._loop.time() < self._not_before:
            return False
        self._names[each.name] = each.row.id
        self._begun = each
        images = attached(self._agent, text, debug_log_note)
        self._begin(self._agent.run(text, images=images, queued=each.name))
        return True

    def _later(self) -> bool:
        self._not_before = self._loop.time() + _RETRY
        self._loop.call_later(_RETRY, self._woken.set)
        return False

    def _act(self, row: InboxRow) -> None:
        """Do what a row that is no message asks for. Raise `HoldfastError` to refuse it."""
        match row.kind:
            case "answer":
                self._answer(row)
                return
            case "model":
                name = str(row.body.get("model", ""))
                split(name, self._served.options.providers)
                self._agent.use_model(name)
            case "mode":
                self._agent.mode = self._offered_mode(row.body.get("mode"))
            case "rename":
                self._agent.rename(str(row.body.get("title", "")))
            case "recall":
                self._recall(row)
            case _:
                pass
        self._inbox.done(row.id, seq=self._served.session.store.length)

    def _offered_mode(self, mode: object) -> Mode:
        offered: tuple[Mode, ...] = ("ask", "accept-edits", "plan", *(("yolo",) if self._yolo else ()))
        for each in offered:
            if mode == each:
                return each
        raise UsageError(f"Mode {mode!r} is not offered (expected one of {', '.join(offered)}).")

    def _recall(self, row: InboxRow) -> None:
        wanted = row.body.get("id")
        for each in self._inbox.waiting(self.id):
            if each.row.id == wanted and each.row.kind in {"prompt", "steer", "later"} and each != self._begun:
                self._inbox.done(each.row.id, refused="Recalled.")
                return
        self._agent.recall(str(wanted))

    def _answer(self, row: InboxRow) -> None:
        """Give an answer to its open question; it waits if the question is about to be asked again."""
        body = _converted(row.body, AnswerBody)
        asked = self._asked
        if asked is None or asked.call != body.call:
            if any(each.part.id == body.call and each.asked for each in self._agent.conversation.open_calls):
                return
            raise UsageError(
                f"Call {body.call!r} has no open question: it was answered, or its turn has ended. Look at the session."
            )
        if asked.answer.done():
            raise UsageError(f"Call {body.call!r} was answered already. Look at the session.")
        choices = asked.question.choices
        if body.remember and body.remember not in {each.remember for each in choices}:
            raise UsageError(
                f"Answer cannot be remembered as {body.remember!r}: this call does not offer it. Leave it out."
            )
        if body.mode is not None and body.mode not in {each.mode for each in choices}:
            raise UsageError(f"Answer cannot set the mode {body.mode!r}: this call does not offer it. Leave it out.")
        self._answers[body.call] = row.id
        answer = ApprovalAnswer(body.allowed, body.words, body.remember, body.mode, body.chosen)
        asked.answer.set_result(answer)

    # --- turns --------------------------------------------------------------------------------------------------

    def _begin(self, turn: Coroutine[object, object, e.TurnEnded | None]) -> None:
        self._turn = self._loop.create_task(self._run(turn), name="turn")

    async def _run(self, turn: Coroutine[object, object, e.TurnEnded | None]) -> None:
        """Run a turn to its end. A prompt that was not journalled waits on a full disk, and is refused otherwise."""
        row = self._begun
        try:
            await turn
        except StorageFailed as error:
            debug_log_note(f"Session {self.id!r}: {error}")
            self._later()
        except HoldfastError as error:
            if row is not None:
                self._inbox.done(row.row.id, refused=str(error))  # nothing, if its prompt is in the journal
        except Exception as error:  # noqa: BLE001 - the top of a served session: the turn is settled, the row says it
            debug_log_note(f"Session {self.id!r}: internal error.\n{''.join(traceback.format_exception(error))}")
            if row is not None:
                self._inbox.done(row.row.id, refused=f"Internal error: {type(error).__name__}. See the server's log.")
        finally:
            self._begun = None
            self._woken.set()

    def _emit(self, event: Event) -> None:
        """Publish an event, and mark the row that became this entry."""
        if not isinstance(event, Fact):
            self._publish(event)
            return
        seq, entry = event.seq, event.entry
        row: int | None = None
        match entry:
            case e.PromptAccepted(queued=name) | e.Queued(id=name):
                row = self._names.pop(name, None)
                self._woken.set()
            case e.ApprovalAnswered(call=call):
                row = self._answers.pop(call, None)
            case _:
                pass
        self._publish(StoredEntry(seq, self._served.session.store.appended_at, entry))
        if row is not None:
            self._inbox.done(row, seq=seq)

    async def _ask(self, call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        question = question_of(plan, mode=self._agent.mode, why=why)
        self._asked = _Asked(call.id, question, self._loop.create_future())
        self._woken.set()
        try:
            return await self._asked.answer
        finally:
            self._asked = None

    async def _connect(self, name: str) -> Model:
        options = self._served.options
        aim = await in_daemon(lambda: options.endpoint(name))  # the keyring may be slow
        return await connect(aim, options.limits.of(name), log=self._served.log)

    def _new_agent(self) -> Agent:
        options, session = self._served.options, self._served.session
        agent = Agent(
            store=session.store,
            toolbox=session.toolbox,
            connect=self._connect,
            mode=options.mode,
            emit=self._emit,
            ask=self._ask,
            limits=options.limits,
            context=options.config.context,
            window=lambda name: window_of(name, options.config.models),
            project=options.project_of(session.cwd),
            debug=options.arguments.debug,
            log=self._served.log,
            reading=session.reading,
            providers=options.providers,
            defaults=options.settings_of,
            fallback=options.fallback,
        )
        agent.permissions.resume(chosen=options.mode_chosen)
        if not agent.conversation.chosen_model and options.model:
            agent.use_model(options.model)
        return agent


def _converted(body: object, kind: type[T]) -> T:
    try:
        return convert_value(body, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"Body is invalid: {error}. Fix it.") from error
