"""What Anthropic's Messages refuses about thinking, effort and temperature, in its words."""

from __future__ import annotations

from holdfast.testing.protocols.protocol import Refusal
from holdfast.testing.protocols.strict_json import is_integer, is_json_object

_LEAST_BUDGET = 1_024
_DOCS = "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
_ADAPTIVE_ONLY = ("claude-opus-4-7", "claude-opus-4-8", "claude-opus-5", "claude-sonnet-5", "claude-haiku-5")
_BUDGET_ONLY = ("claude-3-7", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-5", "claude-opus-4-1")
_NO_XHIGH = ("claude-opus-4-6", "claude-sonnet-4-6")
_NO_DISABLED = ("claude-opus-5-5", "claude-sonnet-5-5")
_NO_EFFORT = ("claude-3-7", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-1")


def check_settings(body: dict[str, object]) -> None:
    """Raise `Refusal` for the first setting that the model does not take. Names that are not Claude's take all."""
    model, thinking = str(body["model"]), body.get("thinking")
    kind = str(thinking.get("type")) if is_json_object(thinking) else ""
    if is_json_object(thinking) and kind == "enabled":
        _budget(thinking["budget_tokens"], body["max_tokens"])
    if kind == "enabled" and model.startswith(_ADAPTIVE_ONLY):
        what = '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and'
        raise Refusal(f'{what} "output_config.effort" to control thinking behavior.')
    if kind == "adaptive" and model.startswith(_BUDGET_ONLY):
        raise Refusal("adaptive thinking is not supported on this model")
    if kind == "disabled" and model.startswith(_NO_DISABLED):
        raise Refusal('"thinking.type.disabled" is not supported for this model.')
    _effort(model, body.get("output_config"))
    _temperature(model, body.get("temperature"), thinks=kind in ("enabled", "adaptive"))


def _budget(budget: object, most: object) -> None:
    if not is_integer(budget) or budget < _LEAST_BUDGET:
        what = "thinking.enabled.budget_tokens: Input should be greater than or equal to"
        raise Refusal(f"{what} {_LEAST_BUDGET}")
    if is_integer(most) and most <= budget:
        raise Refusal(f"`max_tokens` must be greater than `thinking.budget_tokens`. {_DOCS}")


def _effort(model: str, config: object) -> None:
    level = config.get("effort") if is_json_object(config) else None
    if level is None:
        return
    if model.startswith(_NO_EFFORT):
        raise Refusal("This model does not support the effort parameter.")
    if level == "xhigh" and model.startswith(_NO_XHIGH):
        raise Refusal("This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.")
    if level in ("xhigh", "max") and model.startswith("claude-opus-4-5"):
        raise Refusal(f"This model does not support effort level '{level}'. Supported levels: high, low, medium.")


def _temperature(model: str, temperature: object, *, thinks: bool) -> None:
    if temperature is None:
        return
    if not isinstance(temperature, int | float) or not 0 <= temperature <= 1:
        raise Refusal("temperature: range: 0..1")
    if model.startswith(_ADAPTIVE_ONLY):
        raise Refusal("`temperature` is deprecated for this model.")
    if thinks and temperature != 1:
        raise Refusal(f"`temperature` may only be set to 1 when thinking is enabled. {_DOCS}")
