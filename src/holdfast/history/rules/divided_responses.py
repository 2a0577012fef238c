"""Finds assistant messages that form one response: some logs store each block as a separate record.

A call without a result after its response ends the response: later messages are a new one. Only the shape is read: the
provider's rules decide whether the messages must be joined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from holdfast.history.rules.profile import Profile
from holdfast.history.shape import Item, Message, Shape


def joined(shape: Shape, profile: Profile, *, frozen: int = 0) -> Shape:
    """Return the shape with the messages marked that continue the response of the one before.

    Messages before `frozen` are not continued, unless the provider joins messages by itself.
    """
    if shape.grammar.atomic:
        return shape
    pairs = enumerate(pairwise(shape.messages), 1)
    following = [at for at, (before, after) in pairs if before.role == after.role == "assistant"]
    if not following:
        return shape
    walk = _Walk(shape, profile, 0 if profile.joins else frozen)
    for first, last in _runs(following):
        walk.run(first, last)
    return msgspec.structs.replace(shape, joined=frozenset(walk.joined), leading=frozenset(walk.leading))


def joined_responses(shape: Shape) -> Sequence[Message]:
    """Return the messages, each divided response joined under the index of its first message."""
    if not shape.joined:
        return shape.messages
    found: list[Message] = []
    items: list[Item] = []
    for at, message in enumerate(shape.messages):
        if at in shape.joined:
            items.extend(message.items)
            continue
        _close(found, items)
        items = list(message.items)
        found.append(message)
    _close(found, items)
    return found


def _close(found: list[Message], items: list[Item]) -> None:
    """Move the whole response into its last message."""
    if found and len(items) != len(found[-1].items):
        found[-1] = msgspec.structs.replace(found[-1], items=tuple(items))


def _runs(following: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of each sequence of assistant messages."""
    first = following[0] - 1
    for index, after in pairwise((*following, -1)):
        if after != index + 1:
            yield first, index
            first = after - 1


class _Walk:
    def __init__(self, shape: Shape, profile: Profile, frozen: int) -> None:
        self._messages = shape.messages
        self._anyhow = profile.joins
        self._frozen = frozen
        self.joined: set[int] = set()
        self.leading: set[int] = set()

    def run(self, first: int, last: int) -> None:
        """Process a sequence of assistant messages, the last first."""
        answers = self._answers(last + 1)
        has_calls = has_content = False  # in later messages of the same response
        for index in range(last, first - 1, -1):
            items = self._messages[index].items
            calls = [item for item in items if item.kind == "call" and "misplaced" not in item.flags]
            unanswered = [call for call in calls if not _use_answer(call, answers)]
            if index < last:
                parted = bool(unanswered) or (bool(calls) and not (has_calls or self._anyhow))
                if parted or index + 1 == self._frozen:
                    has_calls = has_content = False
                    answers.clear()
                else:
                    self.joined.add(index + 1)
            thinks = all(item.kind == "thinking" for item in items)
            if items and thinks and has_content:
                self.leading.add(index)
            has_calls = has_calls or bool(calls)
            has_content = has_content or any(
                item.kind != "thinking" and not item.flags & {"blank", "null"} for item in items
            )

    def _answers(self, start: int) -> Counter[tuple[str, str | None]]:
        """Count the ids that the following results answer."""
        answers: Counter[tuple[str, str | None]] = Counter()
        for index in range(start, len(self._messages)):
            message = self._messages[index]
            if message.role == "assistant":
                break
            for item in message.items:
                if item.kind == "result":
                    answers[("name", item.name) if item.id is None else ("id", item.id)] += 1
        return answers


def _use_answer(call: Item, answers: Counter[tuple[str, str | None]]) -> bool:
    """Return whether an unused result answers the call, and mark it as used."""
    for key in (("id", call.id), ("name", call.name), ("name", None)):
        if answers[key] > 0:
            answers[key] -= 1
            return True
    return False
