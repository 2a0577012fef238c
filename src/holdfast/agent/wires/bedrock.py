"""Claude on Amazon Bedrock: Anthropic Messages at an address of Amazon's, over Anthropic's SDK.

The region is that of the environment, as Amazon's own tools have it.
"""

from __future__ import annotations

import httpx2
from anthropic import AnthropicError
from anthropic.lib.bedrock import AsyncAnthropicBedrockMantle

from holdfast.agent.providers import Target
from holdfast.agent.wire import private
from holdfast.agent.wires import messages
from holdfast.agent.wires.wire import NO_KEY, ModelFor, Wire
from holdfast.errors import ModelUnusable


def _build(target: Target, http: httpx2.AsyncClient) -> ModelFor:
    private(http, with_key=True)  # else Amazon is sent what the environment holds for Anthropic
    try:
        client = AsyncAnthropicBedrockMantle(
            api_key=target.key or NO_KEY, base_url=target.address, http_client=http, max_retries=0
        )
    except AnthropicError as error:
        raise ModelUnusable(
            f"Region of provider {target.provider.name!r} is missing, AWS_REGION in the environment was expected. Set "
            "it (export AWS_REGION=us-east-1) to the one that the key is for."
        ) from error
    return messages.made(target, client)


WIRE = Wire(build=_build, terminal=messages.WIRE.terminal, marks_errors=True)
