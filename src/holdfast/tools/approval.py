"""Whether a call may run: the one place where that is decided, from its plan and the approval mode alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from holdfast.calls import Effect, Mode
from holdfast.tools.tool import Plan


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


def decide(plan: Plan, mode: Mode) -> Decision:
    """Return whether the planned call may run in `mode`.

    Whatever touches a path outside the workspace asks, in every mode but `yolo`.
    """
    match mode:
        case "yolo":
            return Allow()
        case "plan" if plan.effect != "read":
            return Deny(
                f"plan mode: {plan.title!r} {_DOES[plan.effect]}, only reading was expected. "
                "It was not run. Go on reading, or present your plan and ask the person to leave plan mode."
            )
        case "plan" | "ask" | "accept-edits":
            free = plan.effect == "read" or (plan.effect == "write" and mode == "accept-edits")
            return Allow() if free and plan.outside is None else Ask(_question(plan))
        case _:
            assert_never(mode)


def _question(plan: Plan) -> str:
    where = "" if plan.outside is None else f" outside the workspace, at {plan.outside!r}"
    return f"The call {plan.title!r} {_DOES[plan.effect]}{where}."
