"""Mistral's Chat: Chat Completions, but a field that it does not know makes it refuse the request."""

from __future__ import annotations

from functools import partial
from typing import Any

from openai import omit

from holdfast.agent.wires import chat
from holdfast.agent.wires.wire import Wire


class _Mistral(chat.Foreign):
    def _get_stream_options(self, model_settings: object) -> Any:  # noqa: ANN401 - "none" is no options
        del model_settings
        return omit  # it counts unasked


WIRE = Wire(build=partial(chat.build, foreign=_Mistral), terminal=chat.WIRE.terminal, marks_errors=False)
