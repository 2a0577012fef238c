"""A turn that waits for the user, put aside: closed without an end, for any process to take up when they answer."""

from __future__ import annotations

from holdfast.agent.agent import Agent


async def park(agent: Agent) -> bool:
    """Close the session if its turn only waits for the user, and return whether it did. Nothing is settled.

    The journal is then what a crash during the question leaves: `Agent.resume_turn` takes the turn up again, in another
    process or on another machine. Nothing happens while calls, commands or background tasks run.
    """
    if agent.turn is None or agent.tasks.running or agent.conversation.open_shells or not agent.turn.park():
        return False
    await agent.close()
    return True
