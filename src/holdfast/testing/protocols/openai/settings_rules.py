"""What OpenAI refuses about reasoning effort, temperature and the limit of an answer, in its words."""

from __future__ import annotations

from holdfast.testing.protocols.protocol import Refusal
from holdfast.testing.protocols.strict_json import is_integer, is_json_object

_LEAST_LIMIT = 16
_LEVELS = {  # the first that fits counts
    "gpt-5-pro": ("high",),
    "gpt-5-codex": ("low", "medium", "high"),
    "gpt-5.1-codex-max": ("none", "low", "medium", "high", "xhigh"),
    "gpt-5.1-codex": ("low", "medium", "high"),
    "gpt-5.1": ("none", "low", "medium", "high"),
    "gpt-5.2-pro": ("medium", "high", "xhigh"),
    "gpt-5.2": ("none", "low", "medium", "high", "xhigh"),
    "gpt-5.4": ("none", "low", "medium", "high", "xhigh"),
    "gpt-5.5": ("none", "low", "medium", "high", "xhigh"),
    "gpt-5": ("minimal", "low", "medium", "high"),
    "o3": ("low", "medium", "high"),
    "gpt-4": (),
}
_THINKS_UNASKED = ("gpt-5-", "gpt-5.5", "o3")
_NO_EFFORT_WITH_TOOLS = ("gpt-5.4", "gpt-5.5")


def check_effort(body: dict[str, object], effort: object, field: str) -> None:
    """Raise `Refusal` for an effort or a temperature that the model does not take. Unknown names take all."""
    model = str(body["model"])
    levels = next((each for prefix, each in _LEVELS.items() if model.startswith(prefix)), None)
    if levels is None:
        return
    if effort is not None and not levels:
        raise Refusal(f"Unsupported parameter: '{field}' is not supported with this model.", param=field)
    if effort is not None and effort not in levels:
        listed = ", ".join(f"'{each}'" for each in levels)
        what = (
            f"Unsupported value: '{effort}' is not supported with the '{model}' model. Supported values are: {listed}."
        )
        raise Refusal(what, param=field, code="unsupported_value")
    thinks = effort not in (None, "none") or (effort is None and model.startswith(_THINKS_UNASKED)) or model == "gpt-5"
    if body.get("temperature") is not None and thinks:
        what = "Unsupported parameter: 'temperature' is not supported with this model."
        raise Refusal(what, param="temperature", code="unsupported_parameter")


def check_chat_settings(body: dict[str, object]) -> None:
    """Raise `Refusal` for a setting that the model does not take over Chat Completions."""
    model, effort = str(body["model"]), body.get("reasoning_effort")
    check_effort(body, effort, "reasoning_effort")
    if effort not in (None, "none") and body.get("tools") and model.startswith(_NO_EFFORT_WITH_TOOLS):
        what = f"Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To use"
        advice = "function tools, use /v1/responses or set reasoning_effort to 'none'."
        raise Refusal(f"{what} {advice}", param="reasoning_effort")
    if body.get("max_tokens") is not None and any(model.startswith(prefix) for prefix, each in _LEVELS.items() if each):
        what = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        raise Refusal(what, param="max_tokens", code="unsupported_parameter")


def check_responses_settings(body: dict[str, object]) -> None:
    """Raise `Refusal` for a setting that the model does not take over Responses."""
    reasoning = body.get("reasoning")
    check_effort(body, reasoning.get("effort") if is_json_object(reasoning) else None, "reasoning.effort")
    limit = body.get("max_output_tokens")
    if is_integer(limit) and limit < _LEAST_LIMIT:
        what = f"Expected a value >= {_LEAST_LIMIT}, but got {limit} instead."
        message = f"Invalid 'max_output_tokens': integer below minimum value. {what}"
        raise Refusal(message, param="max_output_tokens", code="integer_below_min_value")
