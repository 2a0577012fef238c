"""The protocols that holdfast speaks: one module for each, without a vendor's library."""

from __future__ import annotations

from typing import assert_never

from holdfast.config.model_servers import ProtocolKind
from holdfast.providers.protocols.protocol import ProviderProtocol


def protocol_of(kind: ProtocolKind) -> ProviderProtocol:
    """Return the protocol. Only its own modules are imported."""
    match kind:
        case "anthropic":
            from holdfast.providers.protocols.anthropic_messages import WIRE  # noqa: PLC0415 - only the protocol in use
        case "bedrock":
            from holdfast.providers.protocols.anthropic_messages import BEDROCK_WIRE as WIRE  # noqa: PLC0415 - only the protocol in use
        case "openai-chat" | "mistral":
            from holdfast.providers.protocols.openai_chat import WIRE  # noqa: PLC0415 - only the protocol in use
        case "gemini":
            from holdfast.providers.protocols.gemini import WIRE  # noqa: PLC0415 - only the protocol in use
        case "openai-responses":
            from holdfast.providers.protocols.openai_responses import WIRE  # noqa: PLC0415 - only the protocol in use
        case _:
            assert_never(kind)
    return WIRE
