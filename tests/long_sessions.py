"""What several test modules share of `test_pruned_turns`."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent_harness import says
from holdfast.agent.agent import Agent
from holdfast.agent.events import Event
from holdfast.session.conversation.context_settings import ContextSettings
from holdfast.session.journal.entries import Pruned
from holdfast.testing.script import Call, Say, Think
from holdfast.testing.toolbox import FunctionToolbox
from provider_situations import Session

BIG = "a line of it\n" * 800  # 2,600 tokens
SMALL = ContextSettings(prune_protect=3_000, prune_least=2_000, prune_turns=1)


@dataclass
class Long(Session):
    """A session with a tool that gives much."""

    context: ContextSettings = SMALL
    events: list[Event] = field(default_factory=list[Event])

    def __post_init__(self) -> None:
        self.tools = FunctionToolbox((says("read", BIG), says("todo", "[ ] the last of it")))

    def emitted(self, event: Event) -> None:
        super().emitted(event)
        self.events.append(event)

    async def turn(self, agent: Agent, prompt: str) -> None:
        """Run a turn that reads once."""
        self.provider.extend([Think("hm"), Say("I look."), Call("read", {})], [Say("I have seen it.")])
        assert (await agent.run(prompt)).reason == "end_turn"

    @property
    def pruned(self) -> list[Pruned]:
        return [entry for entry in self.entries if isinstance(entry, Pruned)]
