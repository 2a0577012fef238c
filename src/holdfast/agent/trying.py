"""One tiny request to a model, to see whether it answers before anything depends on it."""

from __future__ import annotations

import asyncio
import time

from holdfast import __version__
from holdfast.agent.connecting import connect
from holdfast.agent.model import Finished
from holdfast.agent.providers import Target
from holdfast.config import Limits
from holdfast.errors import ProviderFailed
from holdfast.session.entries import PromptAccepted, SessionOpened
from holdfast.session.fold import fold
from holdfast.session.outgoing import outgoing

SYSTEM = "You are being asked whether you can be reached. Answer with one word."
PROMPT = "Answer with the word: ready"

PATIENCE = 60.0
"""Seconds for all of the answer; a model that thinks first may take some."""


async def tried(target: Target, limits: Limits) -> float:
    """Return the seconds in which the model answered; raises `ProviderFailed`, or `ModelUnusable`."""
    opened = SessionOpened(session="", cwd="/", model=target.name, system=SYSTEM, tools=(), version=__version__)
    conversation = fold([opened, PromptAccepted(turn=1, text=PROMPT)])
    model = await connect(target, limits)
    since = time.monotonic()
    try:
        async with (
            asyncio.timeout(PATIENCE),
            model.stream(outgoing(conversation, target.provider.profile)) as events,
        ):
            async for event in events:
                if isinstance(event, Finished):
                    return time.monotonic() - since
    except TimeoutError as error:
        raise ProviderFailed(
            f"Model {target.name!r} did not answer within {PATIENCE:g} s, an answer was expected. Try again, or "
            "choose another model.",
            fault="silent",
        ) from error
    finally:
        await model.aclose()
    raise ProviderFailed(
        f"Model {target.name!r} broke off, the end of its answer was expected. Try again, or choose another model.",
        fault="cut",
    )
