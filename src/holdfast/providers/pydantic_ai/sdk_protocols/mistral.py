"""Mistral's Chat: Chat Completions, except that the server refuses requests with unknown fields."""

from __future__ import annotations

from functools import partial
from typing import Any

from openai import omit

from holdfast.providers.pydantic_ai.sdk_protocols import openai_chat
from holdfast.providers.pydantic_ai.sdk_protocols.sdk_protocol import SdkProtocol


class _Mistral(openai_chat.Foreign):
    def _get_stream_options(self, model_settings: object) -> Any:  # noqa: ANN401 - "none" is no options
        del model_settings
        return omit  # it always sends usage


WIRE = SdkProtocol(
    build=partial(openai_chat.build_model, foreign=_Mistral), terminal=openai_chat.WIRE.terminal, marks_errors=False
)
