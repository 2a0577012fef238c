"""The agent of a session that is steered by its inbox, with what its surface offers: modes, models, answers, images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, get_args

import msgspec

from holdfast.agent.agent import Agent
from holdfast.agent.turn.approval_prompt import Asker
from holdfast.fleet.held_session import HeldSession
from holdfast.fleet.places.place import SessionPlace
from holdfast.fleet.worker.inbox_asker import OfferedAnswer
from holdfast.tool_calls import Image, Mode
from holdfast.tools.tool import Plan


class DrivenAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent, and what a row may ask of it.

    `offers` returns what a question about a plan offers, in a mode, for a reason. `check_model` raises `HoldfastError`
    for a name that is no model's. `attached` returns the images that a text mentions.
    """

    agent: Agent
    offers: Callable[[Plan, Mode, str], tuple[OfferedAnswer, ...]]
    modes: tuple[Mode, ...] = get_args(Mode)
    check_model: Callable[[str], object] = lambda _: None
    attached: Callable[[Agent, str], tuple[Image, ...]] = lambda _, __: ()


class AgentMaker(Protocol):
    """Makes the agent of a session in its place."""

    def __call__(self, held: HeldSession, place: SessionPlace, ask: Asker) -> DrivenAgent:
        """Return the agent. A session without entries gets its first ones."""
        ...
