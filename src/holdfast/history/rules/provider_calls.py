"""Pairs the calls that the provider runs itself with their results."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import islice

from holdfast.history.rules.rule import RuleFinding, item_finding
from holdfast.history.shape import SERVED, Item, Message, Path, Shape


def server_pairs(shape: Shape, answers: AbstractSet[Path]) -> Iterator[RuleFinding]:
    """Yield provider-run calls without a result before the user speaks again, and results without a call.

    With calls of the client, or after a pause, the documented place of the result is a later response.
    """
    if not any(item.kind in SERVED for message in shape.messages for item in message.items):
        return
    calls: dict[str | None, Item] = {}
    for message in shape.messages:
        if message.role != "assistant" and any(item.path not in answers for item in message.items):
            for item in calls.values():
                yield item_finding("server-call-without-result", item, "has no result before another role's message")
            calls.clear()
        for item in message.items:
            if item.kind in SERVED:
                yield item_finding("server-call-foreign", item, "is of a tool that a provider ran itself")
            if item.kind == "server-call":
                if (earlier := calls.get(item.id)) is not None:
                    yield item_finding(
                        "server-call-without-result", earlier, "has no result before its id occurs again"
                    )
                calls[item.id] = item
            elif item.kind == "server-result" and calls.pop(item.id, None) is None:
                yield item_finding("server-result-without-call", item, "has no unanswered call before it")
        if message.role == "assistant" and any(
            item.kind == "result" and item.path not in answers for item in message.items
        ):
            for item in calls.values():
                yield item_finding(
                    "server-call-without-result", item, "has no result before the user's content in its response"
                )
            calls.clear()
    nonempty = (message for message in reversed(shape.messages) if message.items)  # empty messages are dropped
    if any(_goes_on(message) for message in islice(nonempty, 1)):
        for item in calls.values():
            yield item_finding("server-call-without-result", item, "has no result, but the response continued")


def _goes_on(message: Message) -> bool:
    """Return whether the last message with content ends neither in a pause of the provider nor in calls."""
    kinds = [item.kind for item in message.items if "blank" not in item.flags]
    return message.role == "assistant" and bool(kinds) and kinds[-1] not in SERVED and "call" not in kinds
