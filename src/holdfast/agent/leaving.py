"""Why a turn is left, by what was raised in it. Pure."""

from __future__ import annotations

import asyncio

from holdfast.agent.calls import NobodyToAsk
from holdfast.agent.settle import Leave
from holdfast.errors import ProviderFailed, StateError, Unsendable, UsageError


def leave_of(error: BaseException) -> Leave:
    """Return the cause that an exception stands for; what stands for nothing else is a fault of ours."""
    said = str(error)
    match error:
        case NobodyToAsk():
            leave = Leave("approval", said)
        case ProviderFailed() | UsageError():  # a usage error here: a model that cannot be used
            leave = Leave("provider", said)
        case StateError():  # the journal takes no more: full, closed, or in another's hands
            leave = Leave("storage", said)
        case KeyboardInterrupt():
            leave = Leave("user")
        case asyncio.CancelledError() | SystemExit() | GeneratorExit():
            leave = Leave("external")
        case Unsendable():
            leave = Leave("bug", said)
        case _:
            leave = Leave("bug", f"{type(error).__name__}: {said}")
    return leave
