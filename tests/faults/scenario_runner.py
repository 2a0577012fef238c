"""A scenario played once, with something happening to it, and everything that must hold afterwards."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Protocol

from msgspec.structs import replace
from scenarios import Ledger, Scenario, temporary, truth_of_files
from users import User, truth_of_plans, truth_of_questions
from verdicts import verdict

from holdfast.agent.agent import Agent
from holdfast.agent.events import Event, Fact
from holdfast.agent.turn.budget import Budget
from holdfast.errors import UsageError
from holdfast.providers.model import Model
from holdfast.session.conversation.conversation import Conversation, UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    CallEnded,
    CallLate,
    Entry,
    PromptAccepted,
    ResponseEnded,
    SessionOpened,
    Steered,
    TurnEnded,
    When,
)
from holdfast.session.journal.parts import CallPart
from holdfast.session.journal.store import MemoryStore, Store
from holdfast.session.journal.tasks import TaskEnded, TaskStarted
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from holdfast.testing.script import Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.virtual_loop import Hang, VirtualLoop
from witness import Witness

PROMPT = "do it"
AFTERWARDS = "go on"
STILL_HERE = "still here"

IDLE_WITHIN = 1.0
"""Virtual seconds in which a turn must be over after it was asked to end: `stop_grace` and `drop_wait`, and little."""


class Subject(Protocol):
    """What is interrupted: an agent, or something worse that has the same two doors."""

    async def run(self, prompt: str) -> object:
        """Run one turn."""
        ...

    def stop(self) -> None:
        """Ask the turn to end."""
        ...


Making = Callable[["Play"], Subject]
Around = Callable[[Coroutine[Any, Any, None]], Awaitable[None]]


class Play:
    """One run of a scenario on its own loop; `around` is what the program that runs the turn puts around it."""

    def __init__(
        self, scenario: Scenario, *, making: Making | None = None, seed: int | None = None, watch: bool = False
    ) -> None:
        self.scenario = scenario
        self.loop = VirtualLoop(seed=seed, watch=watch)
        self.ledger = Ledger()
        self.events: list[Event] = []
        self.script = list(scenario.script)
        self.models: list[ScriptedModel] = []
        self.users: list[User] = []
        self.limits = scenario.limits
        self.around: Around = _nothing
        self.struck: list[str] = []
        """Where things happened."""
        self.struck_at: float | None = None
        self.raised: BaseException | None = None
        self.entered: list[str] = []
        """The prompts that the subject was given."""
        self.began = False
        self.played = False
        self.queued: list[str] = []
        """The messages that were queued."""
        self.complaints: list[str] = []
        self.patience = IDLE_WITHIN
        self.took = 0.0
        """How long the turn went on after it was struck."""
        self.closed = False
        """Whether the loop was."""
        self.over = False
        """Whether the session was closed."""
        self._closes: asyncio.Task[None] | None = None
        self.ended: list[float] = []
        """When each turn was over."""
        self.making = making or Play.agent
        self._threads = threading.active_count()
        self._closing = ExitStack()
        self._closing.callback(self.loop.close)
        self.loop.set_exception_handler(self._unhandled)

    # --- the world ----------------------------------------------------------------------------------------------

    def agent(self) -> Agent:
        """Return an agent, as a process would make it from the journal as it is."""
        if self.scenario.ask is not None:
            self.users.append(self.scenario.ask())
        return Agent(
            store=self.witness,
            toolbox=self.toolbox,
            connect=self.connect,
            mode=self.scenario.mode,
            emit=self.witness.told,
            ends_with_listener=True,
            ask=self.users[-1] if self.users else None,
            on_approval=self.scenario.on_approval,
            limits=self.limits,
            context=self.scenario.context,
            fallback=self.scenario.fallback,
        )

    async def connect(self, name: str) -> Model:
        """Return a new connection, which continues the script where the one before left it."""
        await asyncio.sleep(self.scenario.connecting)
        model = ScriptedModel(name=name)
        model._steps = self.script  # pyright: ignore[reportAttributeAccessIssue] - a reply is a step
        self.models.append(model)
        return model

    @property
    def entries(self) -> list[Entry]:
        """Return what the journal holds."""
        if self.folder is not None and self.over and isinstance(self.store, SqliteStore):
            reading = read_copy(self.folder / "session")  # it was closed
        else:
            reading = self.store.read()
        return [record.entry for record in reading.records]

    def strike(self, number: int, action: Callable[[], object]) -> None:
        """Do something right before callback `number`, and remember where that was.

        Another order of callbacks may have fewer of them: what would strike behind the last is left out.
        """

        def act() -> None:
            if not self.played:
                self.strikes()
                action()

        self.loop.at(number, act)

    def strikes(self, *, timer: bool = False) -> None:
        """Remember that something happens now: before a callback, or as a timer's."""
        self.struck.append(self.loop.waiting() if timer else self.loop.where())
        if self.struck_at is None and self.began:  # before, there is nothing that could end
            self.struck_at = self.loop.time()

    def close_loop(self) -> None:
        """Cancel everything, as `asyncio.run` does when what it runs has ended."""
        self.closed = True
        for task in asyncio.all_tasks(self.loop):
            task.cancel()

    def close_session(self) -> None:
        """Close the session, as a program does that has been told to end."""
        if self.began and not self.task.done() and isinstance(self.subject, Agent):
            self.over = True
            self._closes = self.loop.create_task(self.subject.close())

    # --- the run ------------------------------------------------------------------------------------------------

    def run(self, strike: Callable[[], None] | None = None) -> None:
        """Play the scenario with `strike` armed, then the next prompt; what is not as it must be is a complaint."""
        with self._closing:
            self.folder = Path(self._closing.enter_context(temporary())) if self.scenario.files else None
            self.store: Store = self.scenario.store(self.folder)
            self.witness = Witness(self.store, self.events.append)
            self.ledger.acts = self.witness.acts
            self._closing.callback(self.store.close)
            self.toolbox = self.scenario.toolbox(self.ledger, self.folder)
            tools = tuple(tool.schema for tool in self.toolbox.tools.values())
            model = self.scenario.model
            opened = SessionOpened(session="s", cwd="/", model=model, system="SYSTEM", tools=tools, version="0")
            self.before = self.store.append([opened, *self.scenario.before], expected=0)
            if strike is not None:
                strike()
            self.subject = self.making(self)
            try:
                self._play()
                self.complaints += self._after()
            except Hang as hang:
                self.complaints.append(f"hangs: {hang}")

    def _play(self) -> None:
        task = self.task = self.loop.create_task(self._prompts(), name="turn")
        if self.scenario.stops is not None:
            self.loop.call_later(self.scenario.stops, self.subject.stop)
        for seconds, when, text in self.scenario.messages:
            self.loop.call_later(seconds, self._queue, text, when)
        for seconds in self.scenario.moves:
            self.loop.call_later(seconds, self._move)
        try:
            self.loop.run_until_complete(task)
        except (KeyboardInterrupt, SystemExit) as error:  # out of the loop: now `asyncio.run` would tidy up
            self.raised = error
            self.close_loop()
            if left := asyncio.all_tasks(self.loop):
                self.loop.run_until_complete(asyncio.wait(left))
            if task.done() and not task.cancelled():
                task.exception()
        except asyncio.CancelledError as error:
            self.raised = error
        except Exception as error:  # noqa: BLE001 - what was thrown in may come out
            self.raised = error
        if self._closes is not None and not self.loop.is_closed():  # a task's end is journalled one callback after it
            self.loop.run_until_complete(asyncio.wait({self._closes}))
        self.played = True
        self.callbacks, self.resumptions = self.loop.callbacks, self.loop.resumptions
        self.rounds = [*self.loop.rounds]
        self.ends = [entry for entry in self.entries[self.before :] if isinstance(entry, TurnEnded)]
        self.finished = dict(self.ledger.finished)

    def _queue(self, text: str, when: When) -> None:
        if isinstance(self.subject, Agent):
            with suppress(UsageError):  # no turn runs (any more)
                self.subject.queue(text, when)
                self.queued.append(text)

    def _move(self) -> None:
        if isinstance(self.subject, Agent):
            self.subject.tasks.move()

    async def _carry_on(self) -> None:
        assert isinstance(self.subject, Agent)
        self.began = True
        try:
            await self.subject.resume_turn()
        finally:
            self.ended.append(self.loop.time())

    async def _prompts(self) -> None:
        if self.scenario.carries_on and isinstance(self.subject, Agent):
            await self.around(self._carry_on())
        for prompt in (PROMPT, *self.scenario.then):
            if self.over:
                return
            await self.around(self._prompt(prompt))

    async def _prompt(self, prompt: str) -> None:
        self.began = True
        self.entered.append(prompt)
        try:
            await self.subject.run(prompt)
        finally:
            self.ended.append(self.loop.time())

    # --- what must hold -----------------------------------------------------------------------------------------

    def _after(self) -> Iterator[str]:
        yield from self._journal()
        leaks = self.loop.run_until_complete(self._leaks())
        yield from leaks
        yield from self._next_prompt()

    def _journal(self) -> Iterator[str]:
        """Yield what is wrong with the journal, as a reader who knows nothing of the agent sees it."""
        entries = self.entries
        if not self.began:  # ended before it began
            return
        struck = self.struck_at
        took = 0.0 if struck is None else min((at - struck for at in self.ended if at >= struck), default=0.0)
        self.took = took
        if took > self.patience + (self.scenario.stops or 0 if self.patience > IDLE_WITHIN else 0):
            yield f"it took {took:.3f} s to end"
        new_entries = entries[self.before :]
        prompts = [entry.text for entry in new_entries if isinstance(entry, PromptAccepted) and not entry.queued]
        sent = [
            entry.text
            for entry in new_entries
            if isinstance(entry, Steered) or (isinstance(entry, PromptAccepted) and entry.queued)
        ]
        waits = [waiting.message.text for waiting in fold(entries).queued]
        if sorted(sent + waits) != sorted(self.queued):
            yield f"messages {self.queued} were queued, {sent} were sent and {waits} wait"
        if prompts != self.entered:
            yield f"prompts {self.entered} were given, {prompts} are in the journal"
        called = Counter(
            part.id
            for entry in entries
            if isinstance(entry, ResponseEnded) and entry.cut is None
            for part in entry.parts
            if isinstance(part, CallPart)
        )
        ended = Counter(entry.call for entry in entries if isinstance(entry, CallEnded))
        if called != ended:
            yield f"calls {dict(called)} have outcomes {dict(ended)}"
        turns = Counter(entry.turn for entry in entries if isinstance(entry, PromptAccepted))
        if turns != Counter(entry.turn for entry in entries if isinstance(entry, TurnEnded)):
            yield "not every turn has one end"
        results = [
            result
            for message in fold(entries).messages
            if isinstance(message, UserMessage)
            for result in message.results
        ]
        late = [entry.text for entry in entries if isinstance(entry, CallLate | TaskEnded)]
        begun = Counter(entry.id for entry in entries if isinstance(entry, TaskStarted))
        if Counter(entry.id for entry in entries if isinstance(entry, TaskEnded)) - begun:
            yield "a task has more than one end"
        for key, output in self.finished.items():
            outcome = "interrupted" if output.interrupted else "ok" if output.ok else "failed"
            reported = any(output.text in result.text and result.outcome == outcome for result in results)
            if not reported and not any(output.text in text for text in late):
                yield f"{key!r} finished, and its result is not in the journal"
        again = self.scenario.repeats
        twice = [key for key, times in Counter(self.ledger.begun).items() if times > 1 and key not in again]
        if twice:
            yield f"{twice} ran twice"
        yield from truth_of_plans(entries, self.witness.appends)
        gave = [answer for user in self.users for answer in user.gave]
        yield from truth_of_questions(entries, self.witness.appends, gave)
        yield from self.witness.complaints
        facts = [event for event in self.events if isinstance(event, Fact)]
        if any(entries[fact.seq - 1] != fact.entry for fact in facts):
            yield "what was told is not what is in the journal"
        if self.folder is not None:
            yield from truth_of_files(entries, self.folder)

    async def _leaks(self) -> list[str]:
        """Return what is still there that should not be."""
        runs_on = any(does.deaf or does.background for does in self.scenario.tools) or self.scenario.moves
        await asyncio.sleep(60 if runs_on else TICKS)
        found: list[str] = []
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        if threading.active_count() > self._threads:
            found.append(f"threads are left: {threading.enumerate()}")
        if left:
            found.append(f"tasks are left: {self.loop.waiting()}")
        if any(model.open_streams for model in self.models):
            found.append("a request is still open")
        if isinstance(self.subject, Agent):
            found += _state(self.subject)
            current = self.subject._connection._model
            if not self.closed and any(not model.closed for model in self.models if model is not current):
                found.append("a connection was never closed")
            if fold(self.entries) != self.subject.conversation:
                found.append("the agent's conversation is not the journal's")
        return found

    def _next_prompt(self) -> Iterator[str]:
        """Yield what goes wrong with the next prompt, given to the same agent; what is sent is judged from outside."""
        subject = self.subject
        self.script[:] = [[Say(STILL_HERE)]]
        self.events.clear()
        if self.over:  # as another process finds it
            entries = self.entries
            self.store = MemoryStore()
            self.store.append(entries, expected=0)
            self.witness = Witness(self.store, self.events.append)
            subject = self.agent()
        if isinstance(subject, Agent):
            context = subject._context
            subject._context = replace(context, limits=self.scenario.limits, budget=Budget(None))  # it is in no hurry
        try:
            self.loop.run_until_complete(self.loop.create_task(self._afterwards(subject)))
        except Exception as error:  # noqa: BLE001 - whatever it is, the prompt did not work
            yield f"the next prompt raised {type(error).__name__}: {error}"
            return
        entries = self.entries
        if isinstance(subject, Agent):
            self.loop.run_until_complete(subject.close())
        answer = fold(entries).answer
        if answer != STILL_HERE:
            yield f"the next prompt was answered with {answer!r}: {entries[-1]}"
        last = max(index for index, entry in enumerate(entries) if isinstance(entry, PromptAccepted))
        sent = fold(entries[: last + 1])
        yield from judged(sent, self.entered)

    async def _afterwards(self, subject: Subject) -> None:
        await asyncio.wait_for(subject.run(AFTERWARDS), 600)

    def _unhandled(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        del loop
        self.complaints.append(f"the loop was told: {context['message']}: {context.get('exception')!r}")


TICKS = 0.001
"""Long enough for what was cancelled to end."""


async def _nothing(work: Coroutine[Any, Any, None]) -> None:
    await work


def _state(agent: Agent) -> Iterator[str]:
    """Yield what an agent without a turn still holds of one."""
    released = {
        "everything": agent.turn is None,
        "the claim": agent._operation is None,
        "detached tasks": not agent._detached,
        "unwritten outcomes": not agent.recovery._unwritten,
    }
    for what, is_released in released.items():
        if not is_released:
            yield f"the agent still has {what} of the turn"


def judged(sent: Conversation, prompts: list[str]) -> Iterator[str]:
    """Yield what is wrong with the request that the next prompt made."""
    texts = [text for message in sent.messages if isinstance(message, UserMessage) for text in message.texts]
    reports = Counter(text for text in texts if "background task" in text and " has ended (" in text)
    if any(times > 1 for times in reports.values()):
        yield f"the end of a task is told more than once: {reports}"
    if sent.open_tasks or sent.unreported_tasks:
        yield f"tasks are open {sent.open_tasks} or not told {sent.unreported_tasks}"
    if [text for text in texts if text in prompts] != prompts:
        yield f"prompts {prompts} were given, the next request says {texts}"
    if texts[-1] != AFTERWARDS:
        yield f"the next request ends with {texts[-1]!r}"
    yield from verdict(sent)
