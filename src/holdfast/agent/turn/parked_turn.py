"""Parks a turn that waits for the user: closes it without an end, so that any process can resume it later."""

from __future__ import annotations

from holdfast.agent.agent import Agent


async def park(agent: Agent) -> bool:
    """Close the session if its turn only waits for the user, and return whether it did. Nothing is settled.

    The journal is then the same as after a crash during the question: `Agent.resume_turn` resumes the turn, also in
    another process or on another machine. Nothing happens while calls, commands or background tasks run.
    """
    if agent.turn is None or agent.tasks.running or agent.conversation.open_shells or not agent.turn.park():
        return False
    await agent.close()
    return True
