"""The protocols: one module for each, which alone imports the SDK for it.

A protocol is data and a builder (`sdk_protocol.SdkProtocol`). Everything that they share is in
`holdfast.providers.pydantic_ai.model`.
"""

from __future__ import annotations

from typing import assert_never

from holdfast.config.settings import ProtocolKind
from holdfast.providers.pydantic_ai.sdk_protocols.sdk_protocol import SdkProtocol


def sdk_protocol_of(kind: ProtocolKind) -> SdkProtocol:
    """Return the protocol; imports its SDK only, which takes about a second."""
    match kind:
        case "openai-chat":
            from holdfast.providers.pydantic_ai.sdk_protocols.openai_chat import WIRE  # noqa: PLC0415 - only the SDK in use
        case "openai-responses":
            from holdfast.providers.pydantic_ai.sdk_protocols.openai_responses import WIRE  # noqa: PLC0415 - only the SDK in use
        case "mistral":
            from holdfast.providers.pydantic_ai.sdk_protocols.mistral import WIRE  # noqa: PLC0415 - only the SDK in use
        case "bedrock":
            from holdfast.providers.pydantic_ai.sdk_protocols.bedrock import WIRE  # noqa: PLC0415 - only the SDK in use
        case "anthropic":
            from holdfast.providers.pydantic_ai.sdk_protocols.anthropic_messages import WIRE  # noqa: PLC0415 - only the SDK in use
        case "gemini":
            from holdfast.providers.pydantic_ai.sdk_protocols.gemini import WIRE  # noqa: PLC0415 - only the SDK in use
        case _:
            assert_never(kind)
    return WIRE
