"""The agent's side of the screen: a thread with an event loop, which alone owns store, tools and driver.

Two rules. Commands go in and immutable messages come out; neither side ever waits for the other. Whatever a command
raises is told in words, and the next command is served.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

from holdfast.agent.calls import Answer
from holdfast.agent.driver import Driver
from holdfast.agent.events import Fact
from holdfast.agent.log import Log
from holdfast.agent.model import Model
from holdfast.agent.opening import OpenSession, fork, resume
from holdfast.agent.remembered import Project
from holdfast.agent.settle import Leave
from holdfast.agent.windows import window_of
from holdfast.calls import Mode, Pattern
from holdfast.errors import HoldfastError, SessionBusy, UsageError
from holdfast.session.catalog import Summary
from holdfast.session.entries import CallPart, TurnEnded, When
from holdfast.session.sqlite import read_copy
from holdfast.tools.thread import in_daemon
from holdfast.tools.tool import Plan
from holdfast.ui.attaching import attached
from holdfast.ui.choosing import project_of
from holdfast.ui.debug import debug_log
from holdfast.ui.tui.serving import Serving
from holdfast.ui.tui.told import (
    Asked,
    AskedNoMore,
    Busy,
    GaveUp,
    GivenBack,
    Idle,
    InUse,
    Opened,
    Refused,
    Told,
    Trouble,
    Window,
)
from holdfast.ui.tui.wishes import Wishes

Begin = Callable[[], OpenSession]
"""Opens a session, new or old; raises `HoldfastError`."""


class Agent(Serving):
    """One session at a time, on a thread of its own. Its methods may be called from any thread, and never wait."""

    def __init__(self, wishes: Wishes, *, mode: Mode, tell: Callable[[Told], None]) -> None:
        """Serve nobody yet; `tell` is called on the agent's thread and must neither block nor raise."""
        super().__init__(tell, wishes.keep)
        self._wishes = wishes
        self._mode: Mode = mode
        self._driver: Driver | None = None
        self._project: Project | None = None
        self._sizing: asyncio.Task[None] | None = None
        self._unopened = ""  # why the session that was last to be opened was not
        self._leaving = False
        self._shells: set[asyncio.Task[None]] = set()
        self._closing = ExitStack()  # what is closed with the session
        self._asked: tuple[str, asyncio.Future[Answer]] | None = None
        self._turn: asyncio.Task[None] | None = None

    # --- commands -----------------------------------------------------------------------------------------------

    def open(self, begin: Begin, model: str = "") -> None:
        """Open a session in place of the present one, and use `model` in it if one is named."""
        self._do(lambda: self._open(begin, model))

    def resume(self, session: Summary, model: str = "") -> None:
        """Open an existing session; one that another process holds is told as `InUse`."""

        async def open_it() -> None:
            try:
                await self._open(lambda: resume(self._wishes.catalog, session), model)
            except SessionBusy as busy:
                self._tell(InUse(session, busy.holder))

        self._do(open_it)

    def fork(self, session: Summary) -> None:
        """Open a copy of a session, which may be in use."""
        self.open(lambda: fork(self._wishes.catalog, session))

    def read(self, session: Summary) -> None:
        """Show a session as it is now, without opening it."""

        async def show() -> None:
            reading = read_copy(self._wishes.catalog.folder(session.id))
            await self._give_up()
            facts = tuple(Fact(record.seq, record.entry) for record in reading.records)
            self._tell(Opened(session=session.id, cwd=session.cwd, model=session.model, facts=facts, read=True))

        self._do(show)

    def give_up(self) -> None:
        """Give the session up, its turn stopped; told as `GaveUp` when nothing more will come of it."""

        async def end() -> None:
            try:
                await self._give_up()
            finally:
                self._tell(GaveUp())

        self.stop()
        self._do(end)

    def prompt(self, text: str, when: When = "steer") -> None:
        """Run a turn; while one runs, keep the words for it or for the next.

        Words that cannot be accepted come back as `Refused`; those that a stopped turn did not come to as `GivenBack`.
        """
        self._give(lambda: self._take(text, when))

    def shell(self, command: str, *, share: bool) -> None:
        """Run a person's own command, beside a turn if one runs; the model learns of it only if it is to `share` it."""

        async def begin() -> None:
            driver = self._session()
            task = asyncio.create_task(self._own(driver, command, share=share), name="shell")
            self._shells.add(task)
            task.add_done_callback(self._shells.discard)
            await asyncio.sleep(0)  # it has begun before it can be stopped

        self._give(begin)

    def recall(self) -> None:
        """Take back everything that waits to be sent, as `GivenBack`."""
        self._do(lambda: self._give_back(self._session()))

    def rewind(self, turn: int) -> None:
        """Go back to before the prompt of `turn`, whose words come as `GivenBack`."""

        async def go_back() -> None:
            self._tell(GivenBack(await self._session().rewind(turn)))

        self._do(go_back)

    def compact(self, wish: str) -> None:
        """Sum up what is older in the conversation, keeping `wish` of it especially; `stop` leaves it as it is."""

        async def begin() -> None:
            driver = self._session()
            if await driver.begun():
                raise UsageError("A turn of this session is running, an idle session was expected. Wait for it.")
            await self._begin(driver, lambda: driver.compact(wish))

        self._give(begin)

    def uncompact(self) -> None:
        """Send again what was last summed up."""

        async def undo() -> None:
            await self._session().uncompact()

        self._do(undo)

    def leave(self, leave: Leave) -> None:
        """Stop the turn that runs, for good: what waits to be sent waits on, for the next who opens the session."""
        self._leaving = True
        self.stop(leave)

    def answer(self, call: str, answer: Answer) -> None:
        """Answer the question about `call`, if it is still asked."""

        def give() -> None:
            if self._asked is not None and self._asked[0] == call and not self._asked[1].done():
                self._asked[1].set_result(answer)

        self._now(give)

    def rename(self, title: str) -> None:
        """Call the session `title`."""

        async def call() -> None:
            self._session().rename(title)

        self._do(call)

    def use_mode(self, mode: Mode) -> None:
        """Decide in another approval mode from the next decision on."""

        def use() -> None:
            self._mode = mode
            if self._driver is not None:
                self._driver.use_mode(mode)

        self._now(use)

    def forbid(self, pattern: Pattern) -> None:
        """Ask again about what was allowed for good in this folder."""

        async def ask_again() -> None:
            if self._project is not None:
                self._project.forbid(pattern)

        self._do(ask_again)

    def use_model(self, name: str) -> None:
        """Send later requests to `name` (PROVIDER:MODEL)."""

        async def use() -> None:
            self._session().use_model(name)

        self._do(use)

    def close(self, within: float) -> bool:
        """End everything and return whether that was done within so many seconds; nothing is served after it."""
        self.leave(Leave("user", "holdfast was closed"))
        return super().close(within)

    # --- the thread ---------------------------------------------------------------------------------------------

    def _stop_running(self, leave: Leave | None) -> None:
        if self._driver is not None:
            self._driver.stop(leave)

    def _session(self) -> Driver:
        if self._driver is None:
            raise UsageError(self._unopened or "No session is open, one was expected. Type a prompt, or /resume one.")
        return self._driver

    async def _open(self, begin: Begin, model: str) -> None:
        try:
            session = begin()  # first: if it cannot be opened, the present one stays
            await self._safely(self._give_up)
            driver = self._driver = self._drive(session)
        except HoldfastError as error:
            self._unopened = str(error)
            raise
        facts = tuple(Fact(record.seq, record.entry) for record in session.reading.records)
        self._tell(Opened(session=session.id, cwd=str(session.cwd), model=driver.conversation.model, facts=facts))
        if model:
            driver.use_model(model)
        await self._begin(driver, driver.carry_on)

    def _drive(self, session: OpenSession) -> Driver:
        """Return a driver of the session; if there can be none, it is closed."""
        try:
            return self._driver_of(session)
        except BaseException:
            self._closing.close()
            session.store.close()
            self._tell(GaveUp())
            raise

    def _driver_of(self, session: OpenSession) -> Driver:
        wishes = self._wishes
        log = self._closing.enter_context(
            debug_log(
                wishes.catalog.folder(session.id),
                session=session.id,
                environ=wishes.environ,
                providers=wishes.providers,
                wanted=wishes.debug,
                say=lambda text: self._tell(Trouble(text)),
            )
        )
        if wishes.pid_namespace:
            session.toolbox.contain()
        session.toolbox.may_fetch(wishes.addresses)
        project = self._project = project_of(wishes.environ, session.cwd)
        return Driver(
            store=session.store,
            toolbox=session.toolbox,
            connect=lambda name: self._connect(name, log),
            mode=self._mode,
            emit=self._tell,
            ask=self._ask,
            limits=wishes.limits,
            context=wishes.context,
            window=window_of,
            project=project,
            debug=wishes.debug,
            log=log,
            reading=session.reading,
            providers=wishes.providers,
        )

    async def _connect(self, name: str, log: Log | None) -> Model:
        model = await self._wishes.connect(name, log)
        self._sizing = asyncio.create_task(self._size(name))
        return model

    async def _size(self, name: str) -> None:
        self._tell(Window(name, await in_daemon(lambda: window_of(name)) or self._wishes.context.window))

    async def _own(self, driver: Driver, command: str, *, share: bool) -> None:
        async def run() -> None:
            await driver.shell(command, share=share)

        if not self._turn_runs:
            self._tell(Busy())
        await self._safely(run)
        if not self._turn_runs and not self._others_run:
            self._tell(Idle(None))

    @property
    def _turn_runs(self) -> bool:
        return self._turn is not None and not self._turn.done()

    @property
    def _others_run(self) -> bool:
        """Return whether a command of the person runs, apart from the one that asks."""
        return any(not task.done() for task in self._shells if task is not asyncio.current_task())

    async def _take(self, text: str, when: When) -> None:
        """Give the words to the turn that runs, else begin one; commands are served meanwhile."""
        try:
            driver = self._session()
            if await driver.begun():
                driver.queue(text, when, images=attached(driver, text, lambda why: self._tell(Trouble(why))))
                return
        except HoldfastError as error:
            self._tell(Refused(text, str(error)))
            return
        await self._begin(driver, lambda: self._prompt(driver, text))

    async def _begin(self, driver: Driver, turn: Callable[[], Awaitable[object]]) -> None:
        if self._turn is not None:
            await self._turn  # it has ended: its last words
        self._turn = asyncio.create_task(self._run(driver, turn), name="turn")
        await asyncio.sleep(0)  # it has the session before the next command is served

    async def _give_back(self, driver: Driver) -> None:
        waiting = [each.message for each in driver.conversation.queued if driver is self._driver]  # else it waits on
        if words := [driver.recall(message.id) for message in waiting]:
            self._tell(GivenBack("\n\n".join(words)))

    async def _run(self, driver: Driver, turn: Callable[[], Awaitable[object]]) -> None:
        """Run a turn, or a summary, tell when it begins and ends, and give back what it did not come to."""
        ended: TurnEnded | None = None
        self._tell(Busy())

        async def run() -> None:
            nonlocal ended
            found = await turn()
            ended = found if isinstance(found, TurnEnded) else None

        try:
            if (not await self._safely(run) or ended is not None) and not self._leaving:
                await self._safely(lambda: self._give_back(driver))
        finally:
            self._tell(Idle(ended))
            if self._others_run:
                self._tell(Busy())

    async def _prompt(self, driver: Driver, text: str) -> TurnEnded | None:
        before = driver.conversation.turns
        try:
            return await driver.run(text, images=attached(driver, text, lambda why: self._tell(Trouble(why))))
        except HoldfastError as error:
            if driver.conversation.turns > before:
                raise
            self._tell(Refused(text, str(error)))
            return None

    async def _ask(self, call: CallPart, plan: Plan, why: str) -> Answer:
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asked = call.id, answered
        self._tell(Asked(call, plan, why))
        try:
            return await answered
        finally:
            self._asked = None
            self._tell(AskedNoMore())

    async def _give_up(self) -> None:
        driver, self._driver = self._driver, None
        try:
            if driver is not None:
                await driver.close()
        finally:
            self._closing.close()
            if self._shells:
                await asyncio.wait(self._shells)
            if self._turn is not None:
                await self._turn
                self._turn = None
