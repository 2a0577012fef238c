"""Claude on Amazon Bedrock: Anthropic Messages at an address of Amazon's, over Anthropic's SDK.

The region is that of the environment, as Amazon's own tools have it.
"""

from __future__ import annotations

import httpx2
from anthropic.lib.bedrock import AsyncAnthropicBedrockMantle

from holdfast.agent.providers import Target
from holdfast.agent.wire import private
from holdfast.agent.wires import messages
from holdfast.agent.wires.wire import NO_KEY, ModelFor, Wire


def _build(target: Target, http: httpx2.AsyncClient) -> ModelFor:
    private(http, with_key=True)  # else Amazon is sent what the environment holds for Anthropic
    client = AsyncAnthropicBedrockMantle(
        api_key=target.key or NO_KEY, base_url=target.address, http_client=http, max_retries=0
    )
    return messages.made(target, client)


WIRE = Wire(build=_build, terminal=messages.WIRE.terminal, marks_errors=True)
