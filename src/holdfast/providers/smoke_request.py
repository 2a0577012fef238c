"""Send one tiny request to a model, to check that it answers before anything depends on it."""

from __future__ import annotations

import asyncio
import time

from holdfast import __version__
from holdfast.config.settings import Limits
from holdfast.errors import ProviderFailed
from holdfast.providers.connect import connect
from holdfast.providers.model import StreamFinished
from holdfast.providers.registry import ModelEndpoint
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from holdfast.session.request.normalize import normalize

SYSTEM = "This is a connection test. Answer with one word."
PROMPT = "Answer with the word: ready"

_PATIENCE = 60.0
"""Seconds for the whole answer: a reasoning model may think first."""


async def smoke_request(target: ModelEndpoint, limits: Limits) -> float:
    """Return the seconds until the model answered. Raise `ProviderFailed` or `ModelUnusable`."""
    opened = SessionOpened(session="", cwd="/", model=target.name, system=SYSTEM, tools=(), version=__version__)
    conversation = fold([opened, PromptAccepted(turn=1, text=PROMPT)])
    model = await connect(target, limits)
    start = time.monotonic()
    try:
        async with (
            asyncio.timeout(_PATIENCE),
            model.stream(normalize(conversation, target.provider.profile)) as events,
        ):
            async for event in events:
                if isinstance(event, StreamFinished):
                    return time.monotonic() - start
    except TimeoutError as error:
        raise ProviderFailed(f"Model {target.name!r} did not answer within {_PATIENCE:g} s.", fault="silent") from error
    finally:
        await model.aclose()
    raise ProviderFailed(f"Model {target.name!r} did not finish its answer.", fault="cut")
