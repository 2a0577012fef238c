"""The protocols: one module for each, which alone imports the SDK for it.

A protocol is data and a builder (`protocol.ProviderProtocol`). Everything that they share is in
`holdfast.providers.pydantic_ai.model`.
"""

from __future__ import annotations

from typing import assert_never

from holdfast.config.settings import ProtocolKind
from holdfast.providers.protocols.protocol import ProviderProtocol


def protocol_of(kind: ProtocolKind) -> ProviderProtocol:
    """Return the protocol; imports its SDK only, which takes about a second."""
    match kind:
        case "openai-chat":
            from holdfast.providers.protocols.openai_chat import WIRE  # noqa: PLC0415 - only the SDK in use
        case "openai-responses":
            from holdfast.providers.protocols.openai_responses import WIRE  # noqa: PLC0415 - only the SDK in use
        case "mistral":
            from holdfast.providers.protocols.mistral import WIRE  # noqa: PLC0415 - only the SDK in use
        case "bedrock":
            from holdfast.providers.protocols.bedrock import WIRE  # noqa: PLC0415 - only the SDK in use
        case "anthropic":
            from holdfast.providers.protocols.anthropic_messages import WIRE  # noqa: PLC0415 - only the SDK in use
        case "gemini":
            from holdfast.providers.protocols.gemini import WIRE  # noqa: PLC0415 - only the SDK in use
        case _:
            assert_never(kind)
    return WIRE
