"""The wires: for each way to speak to a provider one module, which alone imports that way's SDK.

A wire is data and a builder (`wire.Wire`). What is the same for all of them is in `holdfast.agent.models`.
"""

from __future__ import annotations

from typing import assert_never

from holdfast.agent.wires.wire import Wire
from holdfast.config import Kind


def wire_of(kind: Kind) -> Wire:
    """Return how a model is spoken to this way; imports its SDK and no other, each costs about a second."""
    match kind:
        case "openai-chat":
            from holdfast.agent.wires.chat import WIRE  # noqa: PLC0415 - only the SDK in use
        case "openai-responses":
            from holdfast.agent.wires.responses import WIRE  # noqa: PLC0415 - only the SDK in use
        case "mistral":
            from holdfast.agent.wires.mistral import WIRE  # noqa: PLC0415 - only the SDK in use
        case "bedrock":
            from holdfast.agent.wires.bedrock import WIRE  # noqa: PLC0415 - only the SDK in use
        case "anthropic":
            from holdfast.agent.wires.messages import WIRE  # noqa: PLC0415 - only the SDK in use
        case "gemini":
            from holdfast.agent.wires.gemini import WIRE  # noqa: PLC0415 - only the SDK in use
        case _:
            assert_never(kind)
    return WIRE
