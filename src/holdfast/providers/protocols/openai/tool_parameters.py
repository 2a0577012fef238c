"""The parameters of a tool as OpenAI's protocols take them."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.providers.protocols.protocol import JsonObject


def with_properties(parameters: Mapping[str, object]) -> JsonObject:
    """Return the JSON Schema with `properties`: OpenAI refuses an object's schema without them."""
    return {**parameters} if "properties" in parameters else {**parameters, "properties": {}}
