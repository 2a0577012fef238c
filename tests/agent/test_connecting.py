"""Connecting imports off the event loop, and says what went wrong to whoever awaits it."""

from __future__ import annotations

import pytest

from holdfast.agent.connecting import connect, preload
from holdfast.agent.providers import Provider, Target, target
from holdfast.errors import ModelUnusable
from holdfast.history.profiles import OPENAI_CHAT

KNOWN = target("openai-chat:m", {"OPENAI_API_KEY": "key"})
UNKNOWN = Target(Provider("nobody", "KEY", "ADDRESS", "nobody:m", OPENAI_CHAT), "m", "key", None)


async def test_a_preload_and_a_connection_at_the_same_time_get_along() -> None:
    preload(KNOWN)
    model = await connect(KNOWN)
    assert model.name == "openai-chat:m"
    await model.aclose()


async def test_what_goes_wrong_is_told_by_connecting_not_by_preloading() -> None:
    preload(UNKNOWN)
    with pytest.raises(ModelUnusable):
        await connect(UNKNOWN)
