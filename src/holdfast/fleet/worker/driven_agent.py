"""The agent of a session that is steered by its inbox, with the modes, models and images it accepts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, get_args

import msgspec

from holdfast.agent.agent import Agent
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.fleet.held_session import HeldSession
from holdfast.fleet.places.place import SessionPlace
from holdfast.tool_calls import Image, Mode


class DrivenAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent, and what inbox rows may request of it.

    `check_model` raises `HoldfastError` if no model has the name. `find_images` returns the images that a text names.
    """

    agent: Agent
    modes: tuple[Mode, ...] = get_args(Mode)
    check_model: Callable[[str], object] = lambda _: None
    find_images: Callable[[Agent, str], tuple[Image, ...]] = lambda _, __: ()


class AgentMaker(Protocol):
    """Makes the agent of a session in its place."""

    def __call__(self, held_session: HeldSession, place: SessionPlace, ask: ApprovalPrompt) -> DrivenAgent:
        """Return the agent. A session without entries gets its first ones."""
        ...
