"""Rules on results that report an error."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.history.rules.rule import Rule, RuleFinding, item_finding
from holdfast.history.shape import Shape

RULES = (
    Rule(
        "error-result-not-text",
        "A result that reports an error contains only texts.",
        {
            "anthropic": "messages.{message}.content.{part}.tool_result: all content must be type `text` if `is_error`"
            " is true"
        },
    ),
    Rule(
        "error-result-empty",
        "A result that reports an error has a text.",
        {"anthropic": "messages.{message}.content.{part}.tool_result: content cannot be empty if `is_error` is true"},
    ),
)


def find(shape: Shape) -> Iterator[RuleFinding]:
    """Yield every result that says of an error what the provider does not accept."""
    for message in shape.messages:
        for item in message.items:
            if not item.flags:
                continue
            if "failed-blocks" in item.flags:
                yield item_finding("error-result-not-text", item, "reports an error, but does not contain only texts")
            if "failed-empty" in item.flags:
                yield item_finding("error-result-empty", item, "reports an error, but has no text")
