"""Claude on Amazon Bedrock: Anthropic Messages at Amazon's address, over Anthropic's SDK.

The region comes from the environment, in the same variables that Amazon's own tools read.
"""

from __future__ import annotations

import httpx2
from anthropic.lib.bedrock import AsyncAnthropicBedrockMantle

from holdfast.providers.http_client import with_minimal_headers
from holdfast.providers.pydantic_ai.sdk_protocols import anthropic_messages
from holdfast.providers.pydantic_ai.sdk_protocols.sdk_protocol import NO_KEY, ModelFor, SdkProtocol
from holdfast.providers.registry import ModelEndpoint


def _build(target: ModelEndpoint, http: httpx2.AsyncClient) -> ModelFor:
    with_minimal_headers(http, with_key=True)  # else the SDK sends Anthropic's variables to Amazon
    client = AsyncAnthropicBedrockMantle(
        api_key=target.key or NO_KEY, base_url=target.address, http_client=http, max_retries=0
    )
    return anthropic_messages.made(target, client)


WIRE = SdkProtocol(build=_build, terminal=anthropic_messages.WIRE.terminal, marks_errors=True)
