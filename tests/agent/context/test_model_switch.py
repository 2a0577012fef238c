"""From each provider to each after something older was left out, or came back: what is sent next is accepted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import cycle

import pytest

from agent_harness import says, waits
from holdfast.agent.agent import Agent
from holdfast.session.conversation.context_settings import ContextSettings
from holdfast.session.journal.entries import Compacted, Pruned, Rewound, Uncompacted
from holdfast.testing.script import Call, Say, Think
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from overlong_sessions import LONG
from overlong_sessions import Session as Compacting
from provider_situations import PAIRS, THOUGHT, accepted, everything_is_in, look, request_text, stop_mid_tool
from shown_images import picture
from tiers import sampled

OUTPUT = "what the file says, at some length. " * 100
LITTLE = ContextSettings(prune_protect=1_000, prune_least=500, prune_turns=1, compact_keep=1_000)


@dataclass
class Session(Compacting):
    """A session that leaves things out early; nothing by itself unless a test says so."""

    context: ContextSettings = field(default_factory=lambda: ContextSettings(prune="off", compact_keep=1_000))

    def __post_init__(self) -> None:
        slow = waits("wait", started=self.happened)
        quick = says("read", OUTPUT), says("list", "a, b and c"), FunctionTool("look", "read", look)
        self.tools = FunctionToolbox((*quick, slow))

    async def turns(self, agent: Agent, count: int) -> None:
        """Run turns that think, look at images and read."""
        for turn in range(count):
            calls = (Call("read", {}), Call("look", {}), Call("list", {}))
            self.provider.extend([Think(THOUGHT), Say(LONG), *calls], [Think(THOUGHT), Say(f"answer {turn}")])
            ended = await agent.run(f"request {turn}, and @shot.png", images=(picture(),))
            assert ended.reason == "end_turn", ended.detail

    async def compact(self, agent: Agent) -> None:
        self.provider.extend([Say("the summary")])
        assert await agent.compact() is not None


async def compacted(session: Session, agent: Agent) -> None:
    await session.compact(agent)


async def compacted_twice(session: Session, agent: Agent) -> None:
    await session.compact(agent)
    await session.turns(agent, 2)
    await session.compact(agent)


async def compacted_in_a_stopped_turn(session: Session, agent: Agent) -> None:
    session.happened.clear()
    await stop_mid_tool(session, agent)
    await session.compact(agent)


async def uncompacted(session: Session, agent: Agent) -> None:
    await session.compact(agent)
    await session.turns(agent, 1)
    await agent.uncompact()


async def rewound_behind_a_summary(session: Session, agent: Agent) -> None:
    await session.compact(agent)
    await session.turns(agent, 1)
    await agent.rewind(4)


async def rewound_to_before_a_summary(session: Session, agent: Agent) -> None:
    await session.compact(agent)
    await session.turns(agent, 1)
    await agent.rewind(2)


async def pruned(session: Session, agent: Agent) -> None:
    del agent
    session.context = LITTLE
    await session.turns(session.agent(), 1)


async def pruned_and_rewound(session: Session, agent: Agent) -> None:
    await pruned(session, agent)
    await session.agent().rewind(3)


async def pruned_and_compacted(session: Session, agent: Agent) -> None:
    await pruned(session, agent)
    await session.compact(session.agent())


Scene = Callable[[Session, Agent], Awaitable[None]]
SCENES: dict[Scene, tuple[type, ...]] = {
    compacted: (Compacted,),
    compacted_twice: (Compacted, Compacted),
    compacted_in_a_stopped_turn: (Compacted,),
    uncompacted: (Compacted, Uncompacted),
    rewound_behind_a_summary: (Compacted, Rewound),
    rewound_to_before_a_summary: (Compacted, Rewound),
    pruned: (Pruned,),
    pruned_and_rewound: (Pruned, Rewound),
    pruned_and_compacted: (Pruned, Compacted),
}
IN_TURN = [(scene, *pair) for scene, pair in zip(cycle(SCENES), PAIRS, strict=False)]
"""Each pair once: from each provider there is each scene but one, and to each too."""


@pytest.mark.parametrize(("scene", "here", "there"), sampled(IN_TURN, 18))
async def test_what_is_sent_next_is_accepted(scene: Scene, here: str, there: str) -> None:
    session = Session()
    agent = session.begin(here)
    await session.turns(agent, 3)
    await scene(session, agent)
    decisions = [type(each) for each in session.entries if isinstance(each, Compacted | Uncompacted | Rewound | Pruned)]
    assert tuple(decisions) == SCENES[scene]
    before = len(session.models)

    session.context = ContextSettings(prune="off", compact_keep=1_000)
    away = session.agent()
    away.use_model(there)
    session.provider.extend([Think(THOUGHT), Call("read", {}), Call("look", {})], [Say("so it is")])
    assert (await away.run("what now?")).reason == "end_turn"
    await session.compact(away)  # whichever model wrote the older messages
    session.provider.extend([Say("still so")])
    assert (await away.run("and after that?")).reason == "end_turn"

    back = session.agent()
    back.use_model(here)
    await back.uncompact()
    session.provider.extend([Call("list", {})], [Say("all is well")])
    assert (await back.run("and back here?")).reason == "end_turn"

    sent = session.sent()
    assert [name for name, _ in sent][before:] == [there] * 4 + [here] * 2
    for name, request in sent:
        accepted(name, request)
    if scene in (uncompacted, rewound_to_before_a_summary):
        assert "the summary" not in request_text(sent[before][1])
    if scene is uncompacted:
        everything_is_in(session, sent[-1][1])
    if there != here:
        assert THOUGHT not in request_text(sent[before][1])
