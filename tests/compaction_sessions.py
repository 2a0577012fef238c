"""What several test modules share of `test_compacting`."""

from __future__ import annotations

from agent_harness import Rig, says
from holdfast.agent.events import Event, Shortening
from holdfast.session.conversation.context_settings import ContextSettings
from holdfast.session.conversation.conversation import Conversation, UserMessage
from holdfast.session.journal.entries import Compacted
from holdfast.session.journal.parts import Usage
from holdfast.testing.script import Call, Reply, Say
from holdfast.testing.scripted_model import ScriptedModel

LONG = "word " * 2_000  # 2,500 tokens
TOO_LONG = "This model's maximum context length is 8192 tokens."


def texts(sent: Conversation) -> list[str]:
    return [text for message in sent.messages if isinstance(message, UserMessage) for text in message.texts]


def compacted(rig: Rig) -> list[Compacted]:
    return [entry for entry in rig.entries if isinstance(entry, Compacted)]


def shortenings(events: list[Event]) -> list[str]:
    return [event.message for event in events if isinstance(event, Shortening)]


def uncounted(script: list[Reply]) -> ScriptedModel:
    """Return a model that does not say how much it read."""
    return ScriptedModel(script, usage=Usage(output_tokens=1))


async def long_session(*replies: Reply, turns: int = 4) -> Rig:
    """Return a session of so many turns, each with one long output, and a script that continues with the replies."""
    script: list[Reply] = []
    for turn in range(1, turns + 1):
        script += [[Call("look", {"of": turn})], [Say(f"answer {turn}")]]
    rig = Rig(uncounted([*script, *replies]), [says("look", LONG), says("todo", "[ ] the rest")])
    for turn in range(1, turns + 1):
        await rig.agent.run(f"request {turn}")
    return rig


def sized(rig: Rig, window: int, context: ContextSettings | None = None) -> None:
    """Let the agent know of a window."""
    rig.context, rig.window = context or ContextSettings(), lambda _: window
    rig.agent = rig.new_agent()
