"""Connecting leaves the program as it was: its garbage is collected before and after, however the import went."""

from __future__ import annotations

import gc

import pytest

from holdfast.agent.connecting import connect, preload
from holdfast.agent.providers import Provider, Target, target
from holdfast.errors import ModelUnusable
from polling import eventually

KNOWN = target("openai-chat:m", {"OPENAI_API_KEY": "key"})
UNKNOWN = Target(Provider("nobody", "KEY", "ADDRESS", "nobody:m"), "m", "key", None)


async def test_garbage_is_collected_again_after_connecting() -> None:
    model = await connect(KNOWN)
    assert gc.isenabled()
    await model.aclose()


async def test_a_preload_and_a_connection_at_the_same_time_get_along() -> None:
    preload(KNOWN)
    model = await connect(KNOWN)
    assert model.name == "openai-chat:m"
    await model.aclose()
    eventually(gc.isenabled)


async def test_garbage_is_collected_again_after_a_failure() -> None:
    with pytest.raises(ModelUnusable):
        await connect(UNKNOWN)
    assert gc.isenabled()


async def test_a_program_that_collects_no_garbage_is_left_so() -> None:
    gc.disable()
    try:
        with pytest.raises(ModelUnusable):
            await connect(UNKNOWN)
        assert not gc.isenabled()
    finally:
        gc.enable()
