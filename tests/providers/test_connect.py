"""Connecting imports off the event loop, and says what went wrong to whoever awaits it."""

from __future__ import annotations

from typing import cast

import pytest

from holdfast.config.settings import ProtocolKind
from holdfast.history.profiles import OPENAI_CHAT
from holdfast.providers.connect import connect, preload
from holdfast.providers.registry import ModelEndpoint, Provider, resolve_endpoint

KNOWN = resolve_endpoint("openai-chat:m", {"OPENAI_API_KEY": "key"})
UNKNOWN = ModelEndpoint(
    Provider(name="nobody", kind=cast("ProtocolKind", "telepathy"), profile=OPENAI_CHAT, key_variable="KEY"),
    "m",
    "key",
    None,
)


async def test_a_preload_and_a_connection_at_the_same_time_get_along() -> None:
    preload(KNOWN)
    model = await connect(KNOWN)
    assert model.name == "openai-chat:m"
    await model.aclose()


async def test_what_goes_wrong_is_told_by_connecting_not_by_preloading() -> None:
    preload(UNKNOWN)
    with pytest.raises(AssertionError, match="telepathy"):
        await connect(UNKNOWN)
