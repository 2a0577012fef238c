"""Decides whether a call may run, from its plan and the approval policy alone. No other code decides this."""

from __future__ import annotations

from typing import assert_never

import msgspec

from holdfast.tool_calls import Effect, Mode, Pattern
from holdfast.tools.tool import Plan


class Policy(msgspec.Struct, frozen=True):
    """The approval mode, and the patterns the user has allowed permanently."""

    mode: Mode
    patterns: tuple[Pattern, ...] = ()


class Allow(msgspec.Struct, frozen=True):
    """The call may run."""


class Ask(msgspec.Struct, frozen=True):
    """The user must decide; `why` is one sentence for them."""

    why: str


class Deny(msgspec.Struct, frozen=True):
    """The call may not run; the model reads `why`."""

    why: str


Decision = Allow | Ask | Deny

_DOES: dict[Effect, str] = {"read": "reads", "write": "changes files", "execute": "runs a command"}


def decide(plan: Plan, policy: Policy) -> Decision:
    """Return whether the planned call may run. A plan that the model presents is always the user's to decide.

    A path outside the workspace or a network host always needs approval, except in mode `yolo`. Mode `plan` allows only
    reading, whatever patterns the user has allowed.
    """
    if plan.presents:
        return Ask("The model presents a plan. Decide whether it is carried out.")
    match policy.mode:
        case "yolo":
            return Allow()
        case "plan" if plan.effect != "read":
            return Deny(
                f"Plan mode allows only reading: {plan.title!r} {_DOES[plan.effect]}. "
                "It was not run. Continue reading, or present your plan: the user decides whether it is carried out."
            )
        case "plan" | "ask" | "accept-edits":
            from holdfast.tools.approval_patterns import allowed  # noqa: PLC0415 - tables of programs, for the first call

            free = plan.outside is None and _is_free(plan, policy.mode)
            return Allow() if free or allowed(plan, policy.patterns) else Ask(_question(plan))
        case _:
            assert_never(policy.mode)


def _is_free(plan: Plan, mode: Mode) -> bool:
    """Return whether the mode alone allows what the plan does in the workspace."""
    if plan.effect == "read":
        return not plan.host  # a request also sends information to the host
    from holdfast.tools.approval_patterns import obeyed  # noqa: PLC0415 - tables of programs, for the first call

    known = plan.change is not None and not obeyed(plan)
    return plan.effect == "write" and mode == "accept-edits" and known


def _question(plan: Plan) -> str:
    if plan.host:
        return f"The call {plan.title!r} asks {plan.host!r} over the network."
    from holdfast.tools.approval_patterns import obeyed  # noqa: PLC0415 - tables of programs, for the first call

    where = "" if plan.outside is None else f" outside the workspace, at {plan.outside!r}"
    itself = plan.effect == "write" and obeyed(plan)
    that = " that other programs run or obey by themselves" if itself else ""
    that += f" (as {plan.known_as!r})" if itself and plan.known_as else ""
    return f"The call {plan.title!r} {_DOES[plan.effect]}{that}{where}."
