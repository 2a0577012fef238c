"""The desk: the parts of the screen, what is known of the session, and what commands may do with both."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from rich.console import RenderableType
from rich.text import Text
from textual.app import App, ComposeResult
from textual.driver import Driver
from textual.widgets import Static

from holdfast import __version__
from holdfast.agent.events import Fact
from holdfast.agent.opening import create
from holdfast.agent.providers import Provider
from holdfast.calls import Mode
from holdfast.config import Limits
from holdfast.errors import HoldfastError, ModelUnusable, UsageError
from holdfast.session.catalog import Summary
from holdfast.session.entries import PromptAccepted, When
from holdfast.text import literal, printable
from holdfast.tools.thread import in_daemon
from holdfast.ui.faults import keep
from holdfast.ui.table import home
from holdfast.ui.tui.advice import on_screen
from holdfast.ui.tui.agent import Agent
from holdfast.ui.tui.approval import Approval
from holdfast.ui.tui.branch import branch
from holdfast.ui.tui.completion import Completions
from holdfast.ui.tui.composer import Composer
from holdfast.ui.tui.connections import Connections
from holdfast.ui.tui.inbox import Inbox
from holdfast.ui.tui.known import STARTING, STOPPING, Known
from holdfast.ui.tui.pickers import Choice, Page, Picker
from holdfast.ui.tui.start import Start
from holdfast.ui.tui.status import Status, StatusLine
from holdfast.ui.tui.themes import DARK, LIGHT
from holdfast.ui.tui.told import Told
from holdfast.ui.tui.transcript import Transcript
from holdfast.ui.tui.wishes import Wishes
from holdfast.ui.view import View

T = TypeVar("T")

HINTS = """\
What was finished is kept, whatever happens: Esc stops, Esc Esc goes back, holdfast -c goes on.
/help has the keys and the commands, @ names a file.\
"""

READ_ONLY = "This session is in use elsewhere and only shown here. Go on in a copy: /fork."

NO_MODEL = "No model is set up: /setup asks for one. Or /model PROVIDER:MODEL, or /model demo, which needs no key."

CSS = """
Screen { background: $background; }
* { scrollbar-size-vertical: 1; scrollbar-color: $foreground 20%; scrollbar-color-hover: $foreground 40%; }
* { scrollbar-background: $background; scrollbar-background-hover: $background; scrollbar-background-active: $background; }
#welcome { height: auto; margin: 1 3 0 3; }
#transcript { margin: 0 0 0 1; }
#notice { display: none; height: auto; max-height: 8; padding: 0 2; color: $warning; }
#approval { display: none; height: auto; margin: 1 1 0 1; padding: 0 1; border-left: outer $warning; background: $surface; }
#approval #question { height: auto; }
#approval #detail-box { height: auto; margin: 1 0; }
#approval #answers { height: auto; border: none; padding: 0; background: $surface; background-tint: $surface 0%; }
#approval #reason { border: none; height: 1; padding: 0; background: $panel; }
#completions { display: none; height: auto; max-height: 8; margin: 0 1; padding: 0 1; border: none; background: $panel; }
#composer { height: auto; max-height: 12; margin: 1 1 0 1; padding: 0 1; border-left: outer $primary; background: $surface; }
#status { height: 1; color: $foreground; }
"""  # noqa: E501 - a rule a line
"""The style sheet."""


class Desk(App[int]):
    """What the screen is made of. Its session is the agent's: nothing here waits for it."""

    CSS = CSS
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self, start: Start, connections: Connections, limits: Limits, *, keyboard: type[Driver] | None = None
    ) -> None:
        super().__init__(driver_class=keyboard)
        self.catalog = start.catalog
        self.environ = start.environ
        self.arguments = start.arguments
        self.providers = connections.providers
        self.cwd = start.cwd
        """The folder of the session, or of the run while there is none."""
        self.session = ""
        """The id of the session that is open, "" if none is."""
        self.known = Known(Status(mode=start.mode, model=start.model, branch=branch(start.cwd)))
        self.view = View()
        self.completions = Completions(start.cwd)
        self._start = start
        self._connections = connections
        self.may_never_ask = start.mode == "yolo"
        """Whether the person chose, by name, never to be asked: then Shift+Tab comes by that mode too."""
        self.is_open = start.resumed is not None
        """Whether a session is open, or about to be."""
        self.wants_setup = False
        """Whether the screen was left for the set-up, to be shown again after it."""
        self._read = False
        self.given = 0
        """How many prompts and commands the agent has not taken yet."""
        self.stopped = 0
        """How many of these were stopped meanwhile."""
        self.said = ""
        """What is shown above the composer, "" if nothing is."""
        self._inbox: Inbox[Told] = Inbox(self._hear)
        wishes = Wishes(
            catalog=start.catalog,
            environ=connections.environ,
            connect=connections.connect,
            keep=self._keep,
            providers=connections.providers,
            limits=limits,
            context=start.context,
            debug=start.debug,
            pid_namespace=start.pid_namespace,
            addresses=start.addresses,
        )
        self.agent = Agent(wishes, mode=start.mode, tell=self._inbox.put)

    def compose(self) -> ComposeResult:
        """Yield the parts of the screen, from the top."""
        yield Static(id="welcome", markup=False)
        yield Transcript(id="transcript")
        yield Static(id="notice", markup=False)
        yield Approval(id="approval")
        yield self.completions
        yield Composer(self.completions)
        yield StatusLine(id="status")

    def on_mount(self) -> None:
        """Find the parts, and show the prompt before anything takes time."""
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = self._start.theme or DARK.name
        self.transcript = self.query_one(Transcript)
        self.composer = self.query_one(Composer)
        self.approval = self.query_one(Approval)
        self.transcript.load(self.view)
        self.greet()
        self.composer.focus()
        self.tell(self.known.status)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._failed)
        self._inbox.open(loop)

    def greet(self) -> None:
        """Say where one is, while there is nothing else to show."""
        welcome = self.query_one("#welcome", Static)
        welcome.display = not self.view.keys
        if welcome.display:
            said = Text("holdfast", "bold").append(f" {__version__}\n", "not bold dim")
            said.append(f"{literal(home(str(self.cwd)))}\n\n", "not bold dim").append(HINTS, "not bold dim")
            welcome.update(said)

    def _hear(self, told: Told) -> None:
        if self.is_running:  # else the parts of the screen are going, one by one
            self.heard(told)

    def heard(self, told: Told) -> None:
        """Show what the agent told."""
        raise NotImplementedError

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """Leave for what a callback of the loop raised, as for any other fault: nobody else would hear of it."""
        error = context.get("exception")
        if isinstance(error, Exception):
            self._handle_exception(error)
        else:
            loop.default_exception_handler(context)

    def _fatal_error(self) -> None:
        """Leave after a fault of ours, with its traceback; Textual's own shows every local variable, a key perhaps."""
        if self._exit_renderables:  # the first fault is told; those of the leaving say less
            return
        what = "".join(traceback.format_exception(self._exception)) if self._exception else traceback.format_exc()
        trace, where = self._keep(what)
        report = f"Please report it with what follows, which is {where}.\n\n{printable(trace)}"
        said = "This is a bug of holdfast; the session is safe, go on with -c."
        self.panic(Text(f"holdfast: Internal error. {said} {report}"))

    def _keep(self, trace: str) -> tuple[str, str]:
        """Keep a traceback; return it without a key in it, and where it is."""
        return keep(trace, environ=self.environ, secrets=self._connections.secrets)

    @property
    def status(self) -> Status:
        """Return what the line at the foot tells."""
        return self.known.status

    def tell(self, status: Status) -> None:
        """Show `status` at the foot."""
        self.known.status = status
        self.query_one(StatusLine).status = status
        self.composer.heed(queueing=bool(status.doing), asking=status.asking, queued=bool(status.queued))

    def say(self, message: str, *, also: bool = False) -> None:
        """Show a sentence until the next prompt, in place of what was said before or `also`; "" shows none."""
        said = on_screen(message)
        before = self.said if also and said not in self.said else ""
        self.said = f"{before}\n{said}" if before else said
        notice = self.query_one("#notice", Static)
        notice.update(Text(literal(self.said)))
        notice.display = bool(self.said)

    def read(self, text: RenderableType) -> None:
        """Show something to read."""
        self.push_screen(Page(text))

    def pick(
        self,
        title: str,
        choices: Sequence[Choice],
        then: Callable[[str], None],
        *,
        left: Callable[[], None] = lambda: None,
        shown: Callable[[str], None] | None = None,
        remove: tuple[str, Callable[[str], None]] | None = None,
    ) -> None:
        """Let the person choose, and go on with that, or with `left`; what was only shown is undone.

        `remove` is what Ctrl+X does to a choice, in a word or two, and how.
        """
        before = self.theme

        def chosen(value: str | None) -> None:
            self.theme = before
            if value is None:
                left()
            else:
                self.attempt(lambda: then(value))

        also = None
        if remove is not None:
            does, what = remove

            def removed(value: str) -> bool:
                return self.attempt(lambda: what(value))

            also = does, removed
        self.push_screen(Picker(title, choices, shown=shown, remove=also), chosen)

    def begin(self, text: str, when: When) -> None:
        """Begin a turn with `text`, in a new session if none is open; while one runs, `when` says how it gets there.

        Raises `UsageError` if there is nobody to give it to.
        """
        if not self.status.model:
            raise ModelUnusable(NO_MODEL)
        self._connections.check(self.status.model)
        self._have_session()
        self._starts()
        self.agent.prompt(text, when)

    def run_command(self, command: str, *, share: bool) -> None:
        """Run a person's own command; raises `UsageError` if the session is only shown."""
        self._have_session()
        self._starts()
        self.agent.shell(command, share=share)

    def compact(self, wish: str) -> None:
        """Sum up what is older in the session that is open."""
        self._starts()
        self.agent.compact(wish)

    def _starts(self) -> None:
        """Show at once that something was given: from now on it can be stopped, whenever the agent comes to it."""
        self.given += 1
        if not self.status.doing:
            self.tell(replace(self.status, doing=STARTING, seconds=0.0))

    @property
    def starting(self) -> str:
        """Return what is being done about what was given and has not begun, "" if there is nothing of it."""
        return STOPPING if self.stopped else STARTING if self.given else ""

    def _have_session(self) -> None:
        """Have a session opened, if none is."""
        if self._read:
            raise UsageError(READ_ONLY)
        if not self.is_open:
            catalog, cwd, model = self.catalog, self.cwd, self.status.model
            self.is_open = True
            self.agent.open(lambda: create(catalog, cwd=cwd, model=model))

    def show(self, session: str, cwd: Path, *, model: str, facts: Sequence[Fact] = (), read: bool = False) -> None:
        """Show the session that is open now, perhaps only to be read."""
        self._read = read
        self.session, self.cwd = session, cwd
        self.completions.root = cwd
        self.known = Known(Status(mode=self.status.mode, model=model, branch=branch(cwd)))
        self.known.load(facts)
        self.view = View()
        self.view.load(facts)
        self.transcript.load(self.view)
        self.greet()
        self.composer.remember(tuple(fact.entry.text for fact in facts if isinstance(fact.entry, PromptAccepted)))
        self.tell(replace(self.known.status, doing=self.starting))

    def go_on_in_a_copy(self, session: Summary) -> None:
        """Open a copy of a session; words sent from now on are for the copy."""
        self.is_open, self._read = True, False
        self.agent.fork(session)

    def begin_anew(self) -> None:
        """Give up the session, which is shown until it has ended; the next prompt begins one."""
        self.is_open, self._read = False, False
        self.agent.give_up()

    def lacks(self, provider: Provider) -> str:
        """Return what has to be done before the provider can be used, where it is if nothing has to."""
        return self._connections.lacks(provider)

    def has_key(self, provider: Provider) -> bool:
        """Return whether the provider's key is there."""
        return self._connections.has_key(provider)

    def leave_for_setup(self) -> None:
        """Give the terminal to the set-up, after which the screen is shown anew; raises `UsageError` in a turn."""
        if self.status.doing:
            raise UsageError("A turn runs, none was expected. Stop it with Esc, or wait for its end.")
        self.wants_setup = True
        self.exit(0)

    def use_model(self, name: str) -> None:
        """Send later requests to that model; raises `ModelUnusable`."""
        self._connections.check(name)
        if name != self.status.model:
            self.tell(replace(self.status, model=name, window=0))
        if self.is_open:
            self.agent.use_model(name)

    def use_mode(self, mode: Mode) -> None:
        """Decide in another approval mode from now on, whatever runs."""
        self.may_never_ask = self.may_never_ask or mode == "yolo"
        self.agent.use_mode(mode)
        self.tell(replace(self.status, mode=mode))

    def use_theme(self, name: str) -> None:
        """Draw in these colours."""
        self.theme = name

    def meanwhile(self, work: Callable[[], T], then: Callable[[T], None]) -> None:
        """Do `work` beside the screen, then go on with what it gave; what cannot be done is said."""

        async def wait() -> None:
            try:
                done = await in_daemon(work)
            except HoldfastError as error:
                self.say(str(error))
            else:
                self.attempt(lambda: then(done))

        self.run_worker(wait())

    def attempt(self, what: Callable[[], None]) -> bool:
        """Return whether it was done; if not, it is said why."""
        try:
            what()
        except HoldfastError as error:
            self.say(str(error))
            return False
        return True
