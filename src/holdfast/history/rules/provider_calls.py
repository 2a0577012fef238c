"""Pairs the calls that the provider runs itself with their results."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import islice

from holdfast.history.rules.rule import Found, about
from holdfast.history.shape import SERVED, Item, Message, Path, Shape


def server_pairs(shape: Shape, answers: AbstractSet[Path]) -> Iterator[Found]:
    """Yield every call that the provider runs itself and has no result when the user speaks again, and the reverse.

    Beside calls of the client's, and where the provider paused, its result is in a later response: as documented.
    """
    if not any(item.kind in SERVED for message in shape.messages for item in message.items):
        return
    calls: dict[str | None, Item] = {}
    for message in shape.messages:
        if message.role != "assistant" and any(item.path not in answers for item in message.items):
            for item in calls.values():
                yield about("server-call-without-result", item, "has no result when another role speaks")
            calls.clear()
        for item in message.items:
            if item.kind in SERVED:
                yield about("server-call-foreign", item, "is of a tool that a provider ran itself")
            if item.kind == "server-call":
                if (earlier := calls.get(item.id)) is not None:
                    yield about("server-call-without-result", earlier, "has no result before its id comes again")
                calls[item.id] = item
            elif item.kind == "server-result" and calls.pop(item.id, None) is None:
                yield about("server-result-without-call", item, "has no call before it that waits for it")
        if message.role == "assistant" and any(
            item.kind == "result" and item.path not in answers for item in message.items
        ):
            for item in calls.values():
                yield about(
                    "server-call-without-result", item, "has no result before what is the user's in its response"
                )
            calls.clear()
    held = (message for message in reversed(shape.messages) if message.items)  # one that holds nothing goes
    if any(_goes_on(message) for message in islice(held, 1)):
        for item in calls.values():
            yield about("server-call-without-result", item, "has no result, and the response went on")


def _goes_on(message: Message) -> bool:
    """Return whether the message, the last that says something, ends neither in the provider's pause nor in calls."""
    said = [item.kind for item in message.items if "blank" not in item.flags]
    return message.role == "assistant" and bool(said) and said[-1] not in SERVED and "call" not in said
