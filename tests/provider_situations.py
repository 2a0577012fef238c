"""What several test modules share of `test_matrix`."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import product

import httpx2

from agent_harness import FAST, SENDING, says, waits
from holdfast.agent.agent import Agent
from holdfast.agent.events import Event, Fact, LiveText
from holdfast.history import check
from holdfast.providers.connect import open_model
from holdfast.providers.model import Model
from holdfast.providers.registry import PROVIDERS, resolve_endpoint
from holdfast.session.conversation.context_settings import ContextSettings as Sending
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    CallEnded,
    CallStarted,
    Entry,
    PromptAccepted,
    RequestStarted,
    SessionOpened,
)
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.http_transport import ScriptedTransport
from holdfast.testing.script import Call, Hold, Say, Think
from holdfast.testing.scripted_provider import CapturedRequest, ScriptedProvider
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tools.tool import ToolContext, ToolOutput
from judges import JUDGES, judge
from shown_images import picture, png

MODELS = ("openai:gpt-5.5", "openai-chat:m", "anthropic:m", "google:gemini-3-m")
OTHERS = ("mistral:m", "bedrock:anthropic.m", "openrouter:m", "ollama:m")  # the same wires, by rules of their own
PAIRS = tuple(product((*MODELS, *OTHERS), repeat=2))
KEYS = {
    **{provider.key_variable: "test-key" for provider in PROVIDERS.values() if provider.key_variable},
    "MISTRAL_BASE_URL": "http://provider/mistral/v1",
    "OPENROUTER_BASE_URL": "http://provider/v1",
    "ANTHROPIC_BEDROCK_MANTLE_BASE_URL": "http://provider/anthropic",
    "OLLAMA_BASE_URL": "http://provider/ollama/v1",
}
THOUGHT = "a thought that is nobody else's"


async def look(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
    del arguments, context
    return ToolOutput(text="an image", images=(picture("found.png"),))


@dataclass
class Session:
    """A journal that outlives its agents, and a provider that speaks every wire."""

    provider: ScriptedProvider = field(default_factory=ScriptedProvider)
    store: MemoryStore = field(default_factory=MemoryStore)
    models: list[str] = field(default_factory=list[str])  # the model of each request
    happened: asyncio.Event = field(default_factory=asyncio.Event)  # a text was shown, or the tool that waits began
    context: Sending = SENDING
    tools: FunctionToolbox = field(init=False)
    window: int = field(default=0, init=False)  # of every model, in tokens; 0: unknown

    def __post_init__(self) -> None:
        slow = waits("wait", started=self.happened)
        quick = says("read", "what the file says"), says("list", "a, b and c"), FunctionTool("look", "read", look)
        self.tools = FunctionToolbox((*quick, slow))

    def begin(self, model: str) -> Agent:
        """Return the first agent of the session, with this model."""
        tools = tuple(tool.schema for tool in self.tools.tool_list)
        opened = SessionOpened(session="s", cwd="/", model=model, system="SYSTEM", tools=tools, version="0")
        self.store.append([opened], expected=0)
        return self.agent()

    def agent(self) -> Agent:
        """Return an agent as another process would make it from the same journal."""
        return Agent(
            store=self.store,
            toolbox=self.tools,
            connect=self.connect,
            mode="yolo",
            limits=FAST,
            context=self.context,
            window=lambda _: self.window,
            emit=self.emitted,
            ends_with_listener=True,
        )

    def emitted(self, event: Event) -> None:
        match event:
            case LiveText():
                self.happened.set()
            case Fact(entry=RequestStarted(model=model)):
                self.models.append(model)
            case _:
                pass

    async def connect(self, name: str) -> Model:
        def http() -> httpx2.AsyncClient:
            return httpx2.AsyncClient(transport=ScriptedTransport(self.provider), timeout=5)

        return open_model(resolve_endpoint(name, KEYS), http=http)

    @property
    def entries(self) -> list[Entry]:
        return [record.entry for record in self.store.read().records]

    def sent(self) -> list[tuple[str, CapturedRequest]]:
        """Return each request and the model it was for, in order."""
        return list(zip(self.models, self.provider.requests, strict=True))

    def keep_only(self, count: int) -> None:
        """Leave the journal as a process that was killed then would have."""
        entries = self.entries[:count]
        self.store = MemoryStore()
        self.store.append(entries, expected=0)


async def text(session: Session, agent: Agent) -> None:
    session.provider.extend([Say("an answer")])
    await agent.run("say something")


async def thinking(session: Session, agent: Agent) -> None:
    session.provider.extend([Think(THOUGHT), Say("I will look."), Call("read", {})], [Think(THOUGHT), Say("read it")])
    await agent.run("think about it")


async def parallel_calls(session: Session, agent: Agent) -> None:
    calls = (Call("read", {"path": "a"}), Call("list", {}), Call("read", {"path": "b"}), Call("unknown", {}))
    session.provider.extend([Say("all at once"), *calls], [Say("done")])
    await agent.run("do them all")


async def images(session: Session, agent: Agent) -> None:
    session.provider.extend([Say("I will look"), Call("look", {}), Call("read", {})], [Say("blue")])
    await agent.run("what is in @shot.png?", images=(picture("shot.png"), picture("wide.png", width=3000)))


async def bad_arguments(session: Session, agent: Agent) -> None:
    calls = (Call("read", '{"path": "a'), Call("read", "[1, 2]"), Call("read", ""), Call("list", {}))
    session.provider.extend([*calls], [Say("again, then")])
    await agent.run("write it wrong")


async def stop_mid_stream(session: Session, agent: Agent) -> None:
    session.provider.extend([Say("half of an answer"), Hold("never")])
    await stopped(session, agent, "talk")


async def stop_mid_call(session: Session, agent: Agent) -> None:
    """Stop while the model writes a call, behind one that it has written."""
    session.provider.extend([Say("I will"), Call("read", {}), Call("list", '{"half": "'), Hold("never")])
    await stopped(session, agent, "call something")


async def stop_mid_tool(session: Session, agent: Agent) -> None:
    session.provider.extend([Think(THOUGHT), Call("read", {}), Call("wait", {}), Call("list", {})])
    await stopped(session, agent, "run something long")


async def killed_mid_tool(session: Session, agent: Agent) -> None:
    """Go on from the journal of a process that was killed while one call of three ran."""
    await stop_mid_tool(session, agent)
    entries = session.entries
    began = [at for at, each in enumerate(entries) if isinstance(each, CallStarted)]
    ended = [at for at, each in enumerate(entries) if isinstance(each, CallEnded)]
    session.keep_only(max(began[-1], ended[0]) + 1)
    assert fold(session.entries).open_calls


async def killed_between_steps(session: Session, agent: Agent) -> None:
    """Go on from the journal of a process that was killed when the calls had ended, before the next request."""
    await parallel_calls(session, agent)
    entries = session.entries
    session.keep_only(max(at for at, each in enumerate(entries) if isinstance(each, CallEnded)) + 1)


async def stopped(session: Session, agent: Agent, prompt: str) -> None:
    turn = asyncio.create_task(agent.run(prompt))
    await session.happened.wait()
    await asyncio.sleep(0.01)  # some more of it comes
    agent.stop()
    assert (await turn).reason == "cancelled"


Scene = Callable[[Session, Agent], Awaitable[None]]
SCENES: tuple[Scene, ...] = (
    text,
    thinking,
    parallel_calls,
    images,
    bad_arguments,
    stop_mid_stream,
    stop_mid_call,
    stop_mid_tool,
    killed_mid_tool,
    killed_between_steps,
)


def accepted(name: str, request: CapturedRequest) -> None:
    """Fail unless the strict server took the request, our rules find nothing in it, and no vendor's reader refuses."""
    assert request.refusal is None
    profile = PROVIDERS[name.partition(":")[0]].profile
    body = json.loads(request.raw)
    found = check(body, format=request.wire, profile=profile.name)
    if name.startswith(("openrouter:", "ollama:")):  # they take back their thinking; the strictest do not
        found = [each for each in found if each.rule != "unknown-field" or "'reasoning" not in each.error]
    if name.startswith("mistral:"):  # it takes back its thinking, which the rules do not know as a kind of content
        found = [each for each in found if each.rule != "foreign-content" or "'thinking'" not in each.sentence]
    assert found == []
    thinks = name.startswith("mistral:") and b'"type":"thinking"' in request.raw
    if request.wire in {*JUDGES["deepseek"].formats, *JUDGES["google"].formats} and not thinks:
        judge(request.wire, request.raw)
    for judge_name, each in JUDGES.items():
        if judge_name == "mistral-v3":
            continue  # of models that wanted no text beside calls, see tests/history/disagreements.py
        if request.wire in each.formats and profile.name in each.profiles:
            messages = next(body[key] for key in ("messages", "input", "contents") if key in body)
            if thinks and judge_name != "mistral-v13":
                continue  # of models that do not think
            assert each.refusal(request.wire, messages) == ""


def shown(request: CapturedRequest) -> int:
    """Return how many images the request holds."""
    return request_text(request).count(base64.b64encode(png()).decode()[:12])


def request_text(request: CapturedRequest) -> str:
    """Return the request's JSON without escapes, to look for words in."""
    return json.dumps(json.loads(request.raw), ensure_ascii=False)


def everything_is_in(session: Session, request: CapturedRequest) -> None:
    """Fail unless every prompt and every result is in the request, word for word."""
    text = request_text(request)
    for entry in session.entries:
        match entry:
            case PromptAccepted():
                assert entry.text in text
            case CallEnded():
                assert json.dumps(entry.text, ensure_ascii=False)[1:-1] in text
            case _:
                pass
