"""Connecting imports off the event loop, and raises what went wrong in the caller that awaits it."""

from __future__ import annotations

import subprocess
import sys
from typing import cast

import pytest

from holdfast.config.model_servers import ProtocolKind
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


async def test_connecting_raises_what_goes_wrong_and_preloading_does_not() -> None:
    preload(UNKNOWN)
    with pytest.raises(AssertionError, match="telepathy"):
        await connect(UNKNOWN)


@pytest.mark.parametrize("name", ["anthropic:m", "openai:gpt-5.5"])
def test_a_protocol_that_holdfast_speaks_itself_loads_no_library_of_a_vendor(name: str) -> None:
    program = f"""
import asyncio, sys, threading
from holdfast.providers.connect import connect, preload
from holdfast.providers.registry import resolve_endpoint
target = resolve_endpoint({name!r}, dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY"), "key"))
preload(target)
for thread in threading.enumerate():
    if thread.name.startswith("import"):
        thread.join()
asyncio.run(connect(target))
print([each for each in ("anthropic", "openai", "pydantic", "pydantic_ai", "genai_prices") if each in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert ran.stdout == "[]\n"
