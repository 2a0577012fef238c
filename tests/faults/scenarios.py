"""The turns that are interrupted everywhere: what the model says, what its tools do, what the journal holds before.

Two rules. What a tool did is kept in a ledger outside the program under test. Times are those of people and servers,
hours among them: the clock is virtual.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from left_behind import MODEL, left_asking, left_consulting, left_open, left_with_tasks, long_history
from msgspec.structs import replace
from users import WORDS, User, answers, decisions, nobody_answers

from holdfast.config.settings import Limits
from holdfast.questions import ApprovalAnswer
from holdfast.session.conversation import context_settings
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import CallStarted, Entry, When
from holdfast.session.journal.store import Finding, MemoryStore, Reading, Store
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.testing.script import Call, Cut, Fail, Hold, Reset, Say, Think, Wait
from holdfast.testing.scripted_model import Step
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tool_calls import Effect, Mode, OnApproval, ProcessId, ToolSchema
from holdfast.tools.background.task_tools import StopTaskTool, TaskTool
from holdfast.tools.builtin.ask_user import AskUserTool
from holdfast.tools.builtin.present_plan import PresentPlanTool
from holdfast.tools.tool import Plan, Tool, Toolbox, ToolContext, ToolOutput
from holdfast.tools.tool_choice import ALL_TOOLS
from holdfast.tools.toolbox import LocalToolbox

TOO_LONG = "This model's maximum context length is 8192 tokens."
IMPATIENT = Limits(first_event=6, idle_event=4)  # a wait wakes twice a second, and each time is a separate point


@dataclass(slots=True)
class Ledger:
    """What the tools did: each call that began, and the result of each that finished, by what it was called with.

    `acts` is called with the id of each call that does something.
    """

    acts: Callable[[str], None] = lambda _: None
    begun: list[str] = field(default_factory=list[str])
    finished: dict[str, ToolOutput] = field(default_factory=dict[str, ToolOutput])


@dataclass(frozen=True, slots=True)
class Does:
    """What a tool of a scenario does: tell something, wait `seconds`, look for a stop, so many `times`.

    In the `background` it is a task. `deaf` is what it does not hear, `raises` that it ends with an exception.
    """

    name: str
    effect: Effect = "read"
    times: int = 2
    seconds: float = 0.1
    ok: bool = True
    raises: bool = False
    deaf: Literal["", "to stops", "to cancellations"] = ""
    background: bool = False

    def tool(self, ledger: Ledger) -> Tool:
        """Return the tool, which writes what it does into the ledger."""

        async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
            key = f"{self.name} {arguments.get('of', '')}"
            ledger.begun.append(key)
            ledger.acts(context.call)
            output = ToolOutput(text=f"{key} is done", ok=self.ok)
            for time in range(self.times):
                if context.stop.is_set() and not self.deaf:
                    output = ToolOutput(text=f"{key} had come to {time}", interrupted=True)
                    break
                context.emit(f"{key}: {time}\n")
                await self._pause(context)
            if self.raises:
                raise LookupError(key)
            ledger.finished[key] = output  # nothing is awaited after this: it is finished
            return output

        return FunctionTool(self.name, self.effect, run, background=self.background)

    async def _pause(self, context: ToolContext) -> None:
        clock = asyncio.get_running_loop().time
        until = clock() + self.seconds
        while (left := until - clock()) > 0:
            try:
                if self.deaf:
                    await asyncio.sleep(left)
                else:
                    async with asyncio.timeout(left):  # no separate task, which an error thrown here would leave
                        await context.stop.wait()
                    return
            except TimeoutError:
                return
            except asyncio.CancelledError:
                if self.deaf != "to cancellations":
                    raise


@dataclass(frozen=True, slots=True)
class Moves(Does):
    """A command that the user can move to the background while it runs."""

    def tool(self, ledger: Ledger) -> Tool:
        """Return the tool."""
        return MovableTool(super(Moves, self).tool(ledger))


@dataclass(frozen=True, slots=True)
class MovableTool:
    """A tool whose call a turn can let go of."""

    inner: Tool

    @property
    def schema(self) -> ToolSchema:
        """Return the schema of the tool."""
        return self.inner.schema

    @property
    def effect(self) -> Effect:
        """Return the effect of the tool."""
        return self.inner.effect

    def plan(self, call: str, arguments: str) -> Plan:
        """Return the plan of the tool, whose time limit can be lifted: it has none."""
        return replace(self.inner.plan(call, arguments), release=lambda: None)


@dataclass(frozen=True, slots=True)
class Real(Does):
    """A tool of holdfast itself, which does nothing outside the agent."""

    create: Callable[[], Tool] = PresentPlanTool

    def tool(self, ledger: Ledger) -> Tool:
        """Return the tool."""
        del ledger
        return self.create()


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """A turn, as the world around the agent has it. `then` are further prompts, each given when the one before ended.

    `carries_on` is whether the turn that `before` left open is taken up first; `messages` are what the user says, when,
    and whether for the next request or for later, if a turn runs then; `moves` is when the user moves what runs to the
    background, `stops` when they stop it, if the turn has no other end; `connecting` and `lingers` are how long it
    takes to connect, and for processes of an earlier run to go. `fallback` is the model that stands in for one that
    does not answer, `model` the one that the session has; `repeats` are the calls that it makes more than once.
    """

    name: str
    script: Sequence[Step]
    tools: Sequence[Does] = ()
    before: Sequence[Entry] = ()
    damage: Sequence[Finding] = ()
    mode: Mode = "yolo"
    ask: Callable[[], User] | None = None
    connecting: float = 0.0
    lingers: float = 0.0
    model: str = MODEL
    repeats: Sequence[str] = ()
    fallback: str = ""
    stops: float | None = None
    carries_on: bool = False
    messages: Sequence[tuple[float, When, str]] = ()
    moves: Sequence[float] = ()
    then: Sequence[str] = ()
    files: dict[str, str] = field(default_factory=dict[str, str])
    on_approval: OnApproval = "stop"
    limits: Limits = Limits()  # noqa: RUF009 - frozen
    context: context_settings.ContextSettings = context_settings.ContextSettings()  # noqa: RUF009 - frozen

    def toolbox(self, ledger: Ledger, folder: Path | None) -> Toolbox:
        """Return the tools: the real ones where the scenario has files, which are in `folder`."""
        if folder is None:
            return Lingering([does.tool(ledger) for does in self.tools], lingers=self.lingers)
        workspace = folder / "workspace"
        workspace.mkdir()
        for name, text in self.files.items():
            (workspace / name).write_text(text)
        return LocalToolbox(workspace, folder / "session", declared=ALL_TOOLS - {"search"})

    def store(self, folder: Path | None) -> Store:
        """Return an empty journal: a real one where the scenario has files."""
        if folder is not None:
            return SqliteStore.create(folder / "session")
        return Damaged(self.damage) if self.damage else MemoryStore()


@dataclass(slots=True)
class Lingering(FunctionToolbox):
    """A toolbox whose earlier processes take so many seconds to go."""

    lingers: float = 0.0

    async def wait_for_exit(self, commands: Mapping[str, ProcessId | None]) -> bool:
        """Return True, after a while."""
        del commands
        await asyncio.sleep(self.lingers)
        return True


class Damaged(MemoryStore):
    """A journal of which something could not be read."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__()
        self._findings = tuple(findings)

    def read(self) -> Reading:
        """Return what is readable, and what is not."""
        return Reading(super().read().records, self._findings)


def calls(name: str, *of: str, id: str | None = None) -> list[Call]:  # noqa: A002 - the wire's word
    """Return calls of a tool that can be told apart."""
    return [Call(name, {"of": each}, id=id) for each in of]


PATCH = """*** Begin Patch
*** Update File: a.txt
@@
-one
+two
*** Delete File: b.txt
*** Add File: c.txt
+new
*** End Patch"""

PLAN: dict[str, object] = {"plan": "1. All of it"}
QUESTION: dict[str, object] = {
    "question": "Where to?",
    "several": True,
    "options": [{"label": "staging"}, {"label": "production"}, {"label": "nowhere"}],
}

LOOK, ACT = Does("look"), Does("act", "execute")
ASK_USER = Real("ask_user", create=AskUserTool)

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("plain answer", [[Think("hm, hm"), Say("hello there, how are you?", chunk=4, delay=0.5)]]),
        Scenario("one tool", [[Say("I look."), *calls("look", "a")], [Say("seen")]], [LOOK]),
        Scenario(
            "three parallel tools",
            [calls("look", "a", "b") + calls("slow", "c"), [Say("seen")]],
            [LOOK, Does("slow", times=5, seconds=2)],
        ),
        Scenario(
            "reads and writes in turn",
            [calls("look", "a") + calls("act", "b") + calls("look", "c", "d"), [Say("done")]],
            [LOOK, ACT],
        ),
        Scenario(
            "tool error",
            [[*calls("fails", "a"), *calls("breaks", "b"), Call("nothing", {}), Call("look", "[1]")], [Say("I see")]],
            [Does("fails", ok=False), Does("breaks", raises=True), LOOK],
        ),
        Scenario(
            "a person who answers",
            [calls("look", "a") + calls("act", "b", "c"), [Say("as you wish")]],
            [LOOK, ACT],
            mode="ask",
            ask=answers([True, False], after=600),
        ),
        Scenario(
            "a person who never answers",
            [calls("look", "a") + calls("act", "b")],
            [LOOK, ACT],
            mode="ask",
            ask=nobody_answers,
            stops=86_400,
        ),
        Scenario(
            "nobody to ask, so it is denied",
            [calls("look", "a") + calls("act", "b"), calls("act", "c"), [Say("done without it")]],
            [LOOK, ACT],
            mode="ask",
            on_approval="deny",
        ),
        Scenario(
            "a bound on the cost",  # each response costs a cent: the second prompt of the two finds nothing left
            [calls("look", "a") + calls("act", "b"), calls("act", "c"), calls("act", "d")],  # the third after a stop
            [LOOK, ACT],
            limits=Limits(max_cost=0.02),
            then=["and then"],
        ),
        Scenario("nobody to ask", [calls("look", "a") + calls("act", "b")], [LOOK, ACT], mode="ask"),
        Scenario(
            "long command",
            [calls("shell", "make"), [Say("made")]],
            [Does("shell", "execute", times=6, seconds=600)],
        ),
        Scenario(
            "a tool deaf to stops",
            [calls("look", "x") + calls("deaf", "a"), [Say("done")]],
            [LOOK, Does("deaf", "execute", times=1, seconds=30, deaf="to stops")],
        ),
        Scenario(
            "a tool deaf to all",
            [calls("deaf", "a"), [Say("done")]],
            [Does("deaf", "execute", times=1, seconds=30, deaf="to cancellations")],
        ),
        Scenario(
            "file edit",
            [
                [Call("edit", {"path": "a.txt", "old": "one", "new": "two"})],
                [Call("write", {"path": "b.txt", "content": "new\n"}), Call("read", {"path": "a.txt"})],
                [Say("edited")],
            ],
            files={"a.txt": "one\n"},
        ),
        Scenario(
            "a patch of several files",
            [
                [Call("apply_patch", {"input": PATCH})],
                [Call("read", {"path": "c.txt"})],
                [Say("patched")],
            ],
            files={"a.txt": "one\n", "b.txt": "gone\n"},
        ),
        Scenario(
            "long history",  # most of its results are left out before the first request
            [calls("look", "a"), [Say("seen")]],
            [LOOK],
            before=long_history(12),
            context=context_settings.ContextSettings(prune_protect=1_000, prune_least=1_000),
        ),
        Scenario(
            "a fallback model",  # for the second request of the first turn; the second turn asks the chosen one again
            [[*calls("look", "a")], [Fail(529)], [Fail(503)], calls("act", "b"), [Say("done")], [Say("back")]],
            [LOOK, ACT],
            fallback="anthropic:other",
            limits=Limits(attempts=2),
            then=["and then"],
        ),
        Scenario(
            "compaction",  # before the first request, and between two of a turn
            [
                [Fail(400, TOO_LONG)],
                [Fail(503)],
                [Wait(3), Say("All of it was looked at.", chunk=8, delay=0.5)],
                calls("look", "a"),
                [Fail(400, TOO_LONG)],
                [Say("And a.", chunk=4, delay=0.5)],
                [Say("seen")],
            ],
            [LOOK],
            before=long_history(12),
            context=context_settings.ContextSettings(prune="off"),
        ),
        Scenario(
            "retries after 429 and 503",
            [[Fail(429, retry_after=7)], [Fail(503)], calls("look", "a"), [Wait(20), Fail(529)], [Say("at last")]],
            [LOOK],
        ),
        Scenario(
            "a stream that breaks",
            [calls("look", "a"), [Say("I will deploy", delay=0.7), Call("look", {"of": "b"}), Reset()]],
            [LOOK],
        ),
        Scenario("a stream cut before anything", [[Cut()], [Cut()], [Say("third time lucky")]]),
        Scenario(
            "resume of a damaged journal",
            [calls("look", "a"), [Say("seen")]],
            [LOOK],
            before=left_open(),
            damage=[Finding(seq=3, what="checksum does not match")],
            lingers=0.8,
        ),
        Scenario(
            "steered and queued",
            [
                calls("act", "a"),
                calls("look", "b"),
                [Say("done")],
                calls("act", "c"),
                [Say("that too")],
                [Say("and that")],
            ],
            [LOOK, Does("act", "execute", times=2, seconds=5)],
            messages=[
                (1, "later", "and then this"),
                (2, "steer", "not so"),
                (7, "steer", "but so"),
                (10.01, "later", "last"),
            ],
        ),
        Scenario(
            "taken up at the question",
            [[Say("done")], calls("look", "x"), [Say("that too")]],
            [LOOK, ACT],
            before=left_asking(),
            mode="ask",
            ask=answers([True, False], after=600),
            carries_on=True,
            lingers=0.3,
        ),
        Scenario(
            "a prompt right after",
            [calls("act", "a"), [Say("done")], calls("look", "b"), [Say("that too")]],
            [LOOK, ACT],
            then=["and another thing"],
        ),
        Scenario(
            "one provider id twice",
            [calls("look", "a", "b", id="same"), calls("look", "c", id="same"), [Say("done")]],
            [LOOK],
        ),
        Scenario("a silent provider", [[Hold("never")], [Hold("never")], [Say("awake")]], limits=IMPATIENT),
        Scenario(
            "a provider that does not stream",  # what follows each silence is asked for in one piece
            [[Hold("never")], [Wait(3), *calls("look", "a")], [Hold("never")], [Wait(3), Say("in one piece")]],
            [LOOK],
            limits=IMPATIENT,
        ),
        Scenario(
            "background tasks",  # one ends while the turn runs, one after it
            [calls("serve", "a", "b"), calls("act", "c"), calls("look", "d"), [Say("done")], [Say("and done")]],
            [
                Does("serve", "execute", times=3, seconds=4, background=True),
                Does("act", "execute", times=2, seconds=7),
                LOOK,
            ],
            then=["and then"],
        ),
        Scenario(
            "a task that is waited for and stopped",  # task and stop_task name it by the place of its first entry
            [
                calls("serve", "a"),
                [Call("task", {"id": "t6", "wait_seconds": 5})],
                [Call("stop_task", {"id": "t6"})],
                [Call("task", {"id": "t6"}), *calls("look", "b")],
                [Say("done")],
            ],
            [
                Does("serve", "execute", times=20, seconds=3, background=True),
                Real("task", create=TaskTool),
                Real("stop_task", create=StopTaskTool),
                LOOK,
            ],
        ),
        Scenario(
            "a plan that is handed over",  # rejected with words, then approved: what changes something asks again
            [
                calls("look", "a") + calls("act", "b"),
                [Call("present_plan", PLAN)],
                [Call("present_plan", {"plan": "1. A part"})],
                calls("act", "c"),
                [Say("done")],
            ],
            [LOOK, ACT, Real("present_plan")],
            mode="plan",
            ask=decisions(
                ApprovalAnswer("keep", WORDS),
                ApprovalAnswer("each"),
                ApprovalAnswer("once"),
                after=600,
            ),
        ),
        Scenario(
            "a command that is moved to the background",  # it is deaf to the stop of its turn from then on
            [calls("act", "a", "b"), calls("look", "c"), [Say("done")], [Say("and done")]],
            [Moves("act", "execute", times=4, seconds=5), LOOK],
            moves=[3, 10],
            then=["and then"],
        ),
        Scenario(
            "background tasks of a process that died",
            [calls("look", "a"), [Say("seen")]],
            [LOOK],
            before=left_with_tasks(),
            lingers=0.8,
        ),
        Scenario(
            "questions of the model",  # answered with two options and words, refused with words, answered with words
            [
                [*calls("look", "a"), Call("ask_user", QUESTION), *calls("act", "b")],
                [Call("ask_user", QUESTION)],
                [Call("ask_user", QUESTION)],
                [Say("done")],
            ],
            [LOOK, ACT, ASK_USER],
            ask=decisions(
                ApprovalAnswer("own", "in this order", ("option1", "option2")),
                ApprovalAnswer(words="do not ask"),
                ApprovalAnswer("own", "to the test server"),
                after=600,
            ),
        ),
        Scenario(
            "a question that is never answered",
            [[*calls("look", "a"), Call("ask_user", QUESTION), *calls("act", "b")]],
            [LOOK, ACT, ASK_USER],
            ask=nobody_answers,
            stops=86_400,
        ),
        Scenario(
            "nobody to answer a question",
            [[Call("ask_user", QUESTION), *calls("act", "b")], [Say("decided alone")]],
            [ACT, ASK_USER],
        ),
        Scenario(
            "taken up at a question of the model",
            [calls("act", "b"), [Say("done")], calls("look", "x"), [Say("that too")]],
            [LOOK, ACT, ASK_USER],
            before=left_consulting("ask_user", QUESTION),
            ask=decisions(ApprovalAnswer("marked", marked=("option1",)), after=600),
            carries_on=True,
            lingers=0.3,
        ),
        Scenario(
            "taken up at a plan",
            [calls("act", "b"), [Say("done")], calls("look", "x"), [Say("that too")]],
            [LOOK, ACT, Real("present_plan")],
            before=left_consulting("present_plan", PLAN),
            mode="plan",
            ask=decisions(ApprovalAnswer("each"), ApprovalAnswer("once"), after=600),
            carries_on=True,
            lingers=0.3,
        ),
        Scenario("a slow connection", [calls("look", "a"), [Say("seen")]], [LOOK], connecting=30),
    )
}


def truth_of_files(entries: Sequence[Entry], folder: Path) -> list[str]:
    """Return where the journal does not tell the truth about the files that were to be changed."""
    lies: list[str] = []
    results = {
        result.call: result
        for message in fold(entries).messages
        if isinstance(message, UserMessage)
        for result in message.results
    }
    for entry in entries:
        if not isinstance(entry, CallStarted) or len(entry.changes) != 1:
            continue
        (change,) = entry.changes
        path = folder / "workspace" / change.path
        found = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None
        result = results[entry.call]
        landed = found == change.after
        reported = result.outcome == "ok" or "had landed" in result.text
        if landed != reported or (not reported and "did not land" not in result.text):
            lies.append(f"{change.path} {'was' if landed else 'was not'} changed, and was told: {result.text}")
    return lies


def temporary() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for the files of one run, in memory where there is such a place."""
    shm = Path("/dev/shm")
    return tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None)
