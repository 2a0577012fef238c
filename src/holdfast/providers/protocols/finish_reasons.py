"""Why an answer ended, and why it was refused, in the words of each protocol.

Gateways speak one protocol with the reasons of another (`end_turn` in a Chat chunk, `tool_calls` in a Message), and
write them in their own way (`STOP`, `content-filter`). So a reason is looked up by its letters, whatever protocol it
came in. The table is closed: a reason that is not in it is an error, because some servers end a broken response
regularly, with a reason such as "error" or "network_error".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from holdfast.errors import ProviderFailed
from holdfast.history.formats.format import is_arguments, is_array, is_object
from holdfast.providers.model import ModelFinish
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import AnswerRefusal, CallPart

_LONGEST = 500
"""Characters of an unknown reason to quote."""

CLOSED = "[closed]"
"""In place of a reason: the event came that closes the stream, and none had one."""

_REASONS: Mapping[ModelFinish, tuple[str, ...]] = MappingProxyType(
    {
        "stop": (
            "stop",  # Chat, Ollama
            "end_turn",  # Anthropic, Bedrock
            "stop_sequence",  # Anthropic, Cohere, Text Generation Inference
            "pause_turn",  # Anthropic: of a tool that the provider runs itself
            "compaction",  # Anthropic
            "completed",  # Responses
            "complete",  # Cohere
            "eos",  # Together, llama.cpp
            "eos_token",  # Text Generation Inference, watsonx
            "end",
            "stopped",
            "word",  # llama.cpp: a stop word
        ),
        "calls": (
            "tool_calls",  # Chat
            "tool_call",  # Cohere, pydantic-ai
            "tool_use",  # Anthropic, Bedrock
            "function_call",  # Chat, before there were tools
            "function_calls",
        ),
        "max_tokens": (
            "length",  # Chat, Ollama, Text Generation Inference
            "max_tokens",  # Anthropic, Gemini, Cohere
            "max_output_tokens",  # Responses
            "max_length",
            "model_length",  # Mistral
            "limit",  # llama.cpp
            "token_limit",  # watsonx
            "model_context_window_exceeded",  # Anthropic, Zhipu
            "continuation",  # Gemini: the limit of one request, not of the answer, see `gemini.py`
        ),
        "refusal": (
            "refusal",  # Anthropic, Responses
            "content_filter",  # Chat, Responses
            "content_filtered",  # Bedrock
            "guardrail_intervened",  # Bedrock
            "sensitive",  # Zhipu
            "safety",  # Gemini, as those below
            "recitation",
            "blocklist",
            "prohibited_content",
            "spii",
            "model_armor",
            "image_safety",
            "image_prohibited_content",
        ),
    }
)
"""Reasons with which a response is complete. With any other, such as MALFORMED_FUNCTION_CALL, it is cut off."""


def _letters(reason: str) -> str:
    """Return a reason as it is compared: its letters, without case, separators and Google's prefix for its names."""
    folded = "".join(each for each in reason.casefold() if each.isalnum())
    return folded.removeprefix("finishreason") or folded


_KNOWN: Mapping[str, ModelFinish] = MappingProxyType(
    {_letters(reason): finish for finish, reasons in _REASONS.items() for reason in reasons}
)


def known_finish(reason: str) -> ModelFinish | None:
    """Return what a reason means, in any protocol's words and spelling; None if it is no end of a complete response."""
    return _KNOWN.get(_letters(reason[:_LONGEST]))


def finish_for(model: str, reason: str, parts: tuple[Part, ...]) -> ModelFinish:
    """Return how a response ended. Raise `ProviderFailed` if the reason is an error or unknown.

    A response that was only `CLOSED` is complete if it holds something, and each of its calls whole arguments.
    """
    calls = [part for part in parts if isinstance(part, CallPart)]
    if reason == CLOSED:
        complete = parts and all(is_arguments(call.arguments) for call in calls)
        finish: ModelFinish | None = "stop" if complete else None
        words = "without a reason"
    else:
        finish, words = known_finish(reason), f"with {reason[:_LONGEST]!r}"
    if finish is None:
        raise ProviderFailed(
            f"Model {model!r} ended its response {words}: the response is incomplete. No call in it was run.",
            fault="cut",
        )
    if finish == "stop" and calls:
        return "calls"  # some servers use the same reason for both
    return finish


# --- Why an answer was refused, read from what providers send beside its end. Values of a wrong type are ignored ---


def stop_details(*values: object) -> AnswerRefusal | None:
    """Return the first of Anthropic's `stop_details` that says something, None if none does."""
    for value in values:
        if is_object(value):
            refusal = AnswerRefusal(_text(value.get("category")), _text(value.get("explanation")))
            if refusal.text:
                return refusal
    return None


def filter_refusal(explanation: str, *results: object) -> AnswerRefusal | None:
    """Return why a filter refused: the explanation, and the categories in the results of Azure's filter."""
    categories = dict.fromkeys(name for each in results for name in _filtered(each))
    refusal = AnswerRefusal(", ".join(categories), explanation.strip())
    return refusal if refusal.text else None


def safety_refusal(reason: str, message: object, ratings: object) -> AnswerRefusal:
    """Return why Gemini refused: its reason with the categories that were blocked, and its message."""
    found = ratings if is_array(ratings) else []
    blocked = [_text(each.get("category")) for each in found if is_object(each) and each.get("blocked") is True]
    names = ", ".join(name for name in blocked if name)
    return AnswerRefusal(f"{reason} ({names})" if names else reason, _text(message))


def _filtered(results: object) -> Iterator[str]:
    if is_object(results):
        for name, result in results.items():
            if is_object(result) and (result.get("filtered") is True or result.get("detected") is True):
                yield name


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
