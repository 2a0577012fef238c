"""The protocols that holdfast speaks: one module for each, without a vendor's library."""

from __future__ import annotations

from typing import assert_never

from holdfast.config.model_servers import ProtocolKind
from holdfast.providers.protocols.protocol import ProviderProtocol


def protocol_of(kind: ProtocolKind) -> ProviderProtocol:
    """Return the protocol. Only its own modules are imported."""
    match kind:
        case "anthropic":
            from holdfast.providers.protocols.anthropic_messages import WIRE
        case "bedrock":
            from holdfast.providers.protocols.anthropic_messages import BEDROCK_WIRE as WIRE
        case "openai-chat" | "mistral":
            from holdfast.providers.protocols.openai_chat import WIRE
        case "gemini":
            from holdfast.providers.protocols.gemini import WIRE
        case "openai-responses":
            from holdfast.providers.protocols.openai_responses import WIRE
        case _:
            assert_never(kind)
    return WIRE
