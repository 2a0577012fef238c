"""Whether a call may run: the one place where that is decided, from its plan and the approval policy alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from holdfast.calls import Effect, Mode, Pattern
from holdfast.tools.patterns import allowed, obeyed
from holdfast.tools.tool import Plan


@dataclass(frozen=True, slots=True)
class Policy:
    """The approval mode, and what a person has allowed for good."""

    mode: Mode
    patterns: tuple[Pattern, ...] = ()


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A person must say; `why` is one sentence for them."""

    why: str


@dataclass(frozen=True, slots=True)
class Deny:
    """The call may not run; `why` are the words for the model."""

    why: str


Decision = Allow | Ask | Deny

_DOES: dict[Effect, str] = {"read": "reads", "write": "changes files", "execute": "runs a command"}


def decide(plan: Plan, policy: Policy) -> Decision:
    """Return whether the planned call may run.

    Whatever touches a path outside the workspace asks, and whatever asks a host over the network, in every mode but
    `yolo`. In mode `plan` nothing is allowed that does more than read: what is remembered is not looked at before that.
    """
    match policy.mode:
        case "yolo":
            return Allow()
        case "plan" if plan.effect != "read":
            return Deny(
                f"plan mode: {plan.title!r} {_DOES[plan.effect]}, only reading was expected. "
                "It was not run. Go on reading, or present your plan and ask the person to leave plan mode."
            )
        case "plan" | "ask" | "accept-edits":
            free = plan.outside is None and _is_free(plan, policy.mode)
            return Allow() if free or allowed(plan, policy.patterns) else Ask(_question(plan))
        case _:
            assert_never(policy.mode)


def _is_free(plan: Plan, mode: Mode) -> bool:
    """Return whether the mode alone allows what the plan does in the workspace."""
    if plan.effect == "read":
        return not plan.host  # what is asked of somebody tells them something
    known = plan.change is not None and not obeyed(plan)
    return plan.effect == "write" and mode == "accept-edits" and known


def _question(plan: Plan) -> str:
    if plan.host:
        return f"The call {plan.title!r} asks {plan.host!r} over the network."
    where = "" if plan.outside is None else f" outside the workspace, at {plan.outside!r}"
    itself = plan.effect == "write" and obeyed(plan)
    that = " that other programs run or obey by themselves" if itself else ""
    that += f" (as {plan.known_as!r})" if itself and plan.known_as else ""
    return f"The call {plan.title!r} {_DOES[plan.effect]}{that}{where}."
