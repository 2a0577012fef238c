"""Why a response ended, in holdfast's terms."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from holdfast.errors import ProviderFailed
from holdfast.providers.model import ModelFinish
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import CallPart

_LONGEST = 500
"""Characters of an unknown reason to quote."""

_NONSTANDARD: Mapping[str, ModelFinish] = MappingProxyType(
    {
        "eos": "stop",
        "eos_token": "stop",
        "end": "stop",
        "model_length": "max_tokens",
        "model_context_window_exceeded": "max_tokens",  # Anthropic's and Z.AI's, also behind other protocols
    }
)
"""Reasons of servers that mean a complete response, in whatever protocol they speak."""


def finish_for(model: str, reason: str, known: Mapping[str, ModelFinish], parts: tuple[Part, ...]) -> ModelFinish:
    """Return how a response ended, by the `known` reasons of its protocol.

    Raise `ProviderFailed` if the reason is an error or unknown: some servers end a broken response regularly, with a
    reason such as "error" or "network_error".
    """
    finish = known.get(reason) or _NONSTANDARD.get(reason)
    if finish is None:
        raise ProviderFailed(
            f"Model {model!r} ended its response with {reason[:_LONGEST]!r}: the response is incomplete. "
            "No call in it was run.",
            fault="cut",
        )
    if finish == "stop" and any(isinstance(part, CallPart) for part in parts):
        return "calls"  # some servers use the same reason for both
    return finish
