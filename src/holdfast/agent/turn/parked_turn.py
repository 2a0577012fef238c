"""Parks a turn that waits for the user: closes it without an end, so that any process can resume it later."""

from __future__ import annotations

from holdfast.agent.agent import Agent


def park(agent: Agent) -> bool:
    """End a turn that only waits for the user, without settling it, and return whether it will. Close the agent then.

    The journal is then the same as after a crash during the question: `Agent.resume_turn` resumes the turn, also in
    another process or on another machine. Nothing happens while calls, commands or background tasks run.
    """
    if agent.turn is None or agent.tasks.running or agent.conversation.open_shells:
        return False
    return agent.turn.park()
