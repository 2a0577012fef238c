"""Where the reference's scenarios are played: a real session on disk, real tools, a real client, a strict provider.

Whatever is sent is judged twice, by the scripted provider's own rules and by a validator of another author.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import msgspec
import pytest

from holdfast.agent.agent import Agent
from holdfast.agent.events import Event, Fact, LiveOutput, LiveText
from holdfast.agent.sessions import OpenSession, create, resume
from holdfast.agent.stop_cause import StopCause
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.config.settings import Limits
from holdfast.providers.connect import open_model
from holdfast.providers.model import Model
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import Entry, PromptAccepted, SessionOpened, TurnEnded, encode
from holdfast.system.user_directories import homes
from holdfast.testing.http_transport import ScriptedTransport
from holdfast.testing.script import Call, Reply, Say, WireName
from holdfast.testing.scripted_provider import ScriptedProvider
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tool_calls import Mode
from holdfast.ui.commands import sessions
from judges import judge

KEYS = {"OPENAI_API_KEY": "test-key", "ANTHROPIC_API_KEY": "test-key"}
FAST = Limits(backoff=0.001, first_event=20, idle_event=20)

ONE_WIRE = pytest.mark.parametrize("wire", ["openai-chat"])
"""For scenarios that take real seconds and in which the wire plays no part."""

Line = tuple[str, str]
"""One thing that a request says, and who says it: system, user, assistant, call (its tool's name) or result."""


class _Function(msgspec.Struct):
    name: str


class _Call(msgspec.Struct):
    function: _Function


class _Block(msgspec.Struct):
    type: str
    text: str = ""
    name: str = ""
    content: str | list[_Block] = ""


class _Message(msgspec.Struct):
    role: str
    content: str | list[_Block] | None = None
    tool_calls: list[_Call] = msgspec.field(default_factory=list[_Call])


class _Body(msgspec.Struct):
    messages: list[_Message]
    system: str | list[_Block] = ""


def lines(body: bytes) -> list[Line]:
    """Return what a request of either wire says, in order, as its provider reads it."""
    request = msgspec.json.decode(body, type=_Body)
    found = [("system", text) for text in _texts(request.system)]
    for message in request.messages:
        role = "result" if message.role == "tool" else message.role
        blocks = message.content if isinstance(message.content, list) else [_Block("text", message.content or "")]
        for block in blocks:
            match block.type:
                case "tool_use":
                    found.append(("call", block.name))
                case "tool_result":
                    found.append(("result", "".join(_texts(block.content))))
                case _ if block.text:
                    found.append((role, block.text))
                case _:
                    pass
        found.extend(("call", call.function.name) for call in message.tool_calls)
    return found


def texts(sent: Sequence[Line], who: str) -> list[str]:
    """Return what `who` says in a request."""
    return [text for speaker, text in sent if speaker == who]


def read_rounds(count: int) -> list[Reply]:
    """Return the replies of so many rounds that each read one of the files that `Stage.write_files` wrote."""
    return [[Call("read", {"path": f"{number}.txt"})] for number in range(count)]


def _texts(content: str | list[_Block]) -> list[str]:
    return [content] * bool(content) if isinstance(content, str) else [block.text for block in content]


@dataclass
class Stage:
    """One session after another in one home; `limits`, `mode`, `ask` and `tools` count from the next agent on."""

    root: Path
    wire: WireName
    limits: Limits = FAST
    mode: Mode = "yolo"
    ask: ApprovalPrompt | None = None
    tools: Sequence[FunctionTool] = ()
    events: list[Event] = field(default_factory=list[Event])
    connections: list[Model] = field(default_factory=list[Model])

    def __post_init__(self) -> None:
        self.provider = ScriptedProvider()
        self.model = f"{self.wire}:m"
        self.workspace = self.root / "project"
        self.workspace.mkdir()
        self.environ = {"HOLDFAST_HOME": str(self.root / "home")}
        self.catalog = Catalog(homes(self.environ).sessions)
        self.session = create(self.catalog, cwd=self.workspace, model=self.model)
        self._agent: Agent | None = None

    @property
    def agent(self) -> Agent:
        """Return the agent of the session, made when it is first asked for."""
        if self._agent is None:
            local = self.session.toolbox
            self._agent = Agent(
                store=self.session.store,
                toolbox=FunctionToolbox([*local.tools.values(), *self.tools]) if self.tools else local,
                connect=self._connect,
                mode=self.mode,
                emit=self.events.append,
                ask=self.ask,
                limits=self.limits,
            )
        return self._agent

    async def _connect(self, name: str) -> Model:
        transport = ScriptedTransport(self.provider)
        model = open_model(
            resolve_endpoint(name, KEYS), http=lambda: httpx2.AsyncClient(transport=transport, timeout=30)
        )
        self.connections.append(model)
        return model

    def write_files(self, count: int) -> list[str]:
        """Write so many files into the workspace and return how the tool shows each."""
        for number in range(count):
            (self.workspace / f"{number}.txt").write_text(f"content {number}\n")
        return [f"1\tcontent {number}" for number in range(count)]

    # --- playing ------------------------------------------------------------------------------------------------

    def script(self, *replies: Reply) -> None:
        """Let the provider give these replies to the next requests."""
        self.provider.extend(*replies)

    async def run_turn(self, prompt: str, *replies: Reply) -> TurnEnded:
        """Run one turn, to which the provider gives these replies."""
        self.script(*replies)
        return await self.agent.run(prompt)

    @asynccontextmanager
    async def turn(
        self, prompt: str, *replies: Reply, until: Callable[[], bool]
    ) -> AsyncGenerator[asyncio.Task[TurnEnded]]:
        """Begin a turn, yield its task once `until()` holds, and wait for its end."""
        self.script(*replies)
        task = asyncio.create_task(self.agent.run(prompt))
        async with asyncio.timeout(20):
            while not until() and not task.done():  # noqa: ASYNC110 - no event reports what is awaited
                await asyncio.sleep(0.002)
        assert until(), f"the turn ended before what was waited for: {task}"
        yield task
        await asyncio.wait({task})

    async def stopped(self, prompt: str, *replies: Reply, until: Callable[[], bool]) -> TurnEnded:
        """Run one turn and press ESC once `until()` holds."""
        async with self.turn(prompt, *replies, until=until) as task:
            self.agent.stop(StopCause("user"))
        return await task

    async def goes_on(self, prompt: str = "go on") -> list[Line]:
        """Assert that the next message works at once: one request, one answer, every prompt so far still in it."""
        before = len(self.provider.requests)
        ended = await self.run_turn(prompt, [Say("still here")])
        assert (ended.reason, self.agent.conversation.answer) == ("end_turn", "still here")
        assert len(self.provider.requests) == before + 1
        sent = self.sent
        prompts = [entry.text for entry in self.entries if isinstance(entry, PromptAccepted)]
        assert [text for text in texts(sent, "user") if text in prompts] == prompts
        return sent

    async def quit(self) -> None:
        """Close the session as the program does when it ends."""
        if self._agent is not None:
            await self._agent.close()
        await self.session.toolbox.close()
        self.session.store.close()
        self._agent = None

    async def restart(self) -> None:
        """Quit, and resume the session as a new process would."""
        await self.quit()
        self.session = self._resumed(self.session.id)

    async def load(self, messages: Sequence[object]) -> str:
        """Import a document of other people's making and resume it; return what the command said."""
        await self.quit()
        document = self.root / "document.json"
        document.write_text(json.dumps(messages))
        output = io.StringIO()
        arguments = ["import", str(document), "-m", self.model]
        assert sessions.main(arguments, environ=self.environ, stdout=output, stderr=output) == 0
        found = re.search(r"as session (\S+)\.$", output.getvalue(), flags=re.MULTILINE)
        assert found
        self.session = self._resumed(found[1])
        return output.getvalue()

    def _resumed(self, session: str) -> OpenSession:
        return resume(self.catalog, self.catalog.find(session))

    # --- looking ------------------------------------------------------------------------------------------------

    @property
    def sent(self) -> list[Line]:
        """Return what the last request said, without the facts of the session."""
        return self._without_facts(lines(self.provider.requests[-1].raw))

    @property
    def all_sent(self) -> list[list[Line]]:
        """Return what each request said, without the facts of the session."""
        return [self._without_facts(lines(request.raw)) for request in self.provider.requests]

    def _without_facts(self, found: list[Line]) -> list[Line]:
        """Return the lines without the facts, which must open the first user message as they are in the journal."""
        (facts,) = [entry.facts for entry in self.entries if isinstance(entry, SessionOpened)]
        spoken = [line for line in found if line[0] != "system"]
        places = [place for place, line in enumerate(spoken) if line == ("user", facts)]
        assert places == [0], f"the facts of the session stand at {places}, not once at the beginning"
        return [line for line in found if line != ("user", facts)]

    @property
    def entries(self) -> list[Entry]:
        """Return the journal."""
        return [record.entry for record in self.session.store.read().records]

    @property
    def journal(self) -> list[bytes]:
        """Return the journal as the bytes that are on disk."""
        return [encode(entry) for entry in self.entries]

    def facts(self, kind: type[Entry]) -> int:
        """Return how many facts of a kind were told."""
        return sum(isinstance(event, Fact) and isinstance(event.entry, kind) for event in self.events)

    def printed(self, text: str) -> bool:
        """Return whether a running command has printed `text`."""
        return any(isinstance(event, LiveOutput) and text in event.text for event in self.events)

    def streamed(self, text: str) -> bool:
        """Return whether `text` was streamed to the user."""
        return text in "".join(event.text for event in self.events if isinstance(event, LiveText))

    def requests_reach(self, times: int) -> Callable[[], bool]:
        """Return a check whether the provider was asked so often."""
        return lambda: len(self.provider.requests) >= times

    def judge(self) -> None:
        """Assert that no request was refused or remarked on, by either judge."""
        assert self.provider.refusals == ()
        assert self.provider.complaints == ()
        for request in self.provider.requests:
            judge(request.wire, request.raw)
