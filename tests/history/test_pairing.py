"""Which result answers which call, where ids do not tell it alone."""

from __future__ import annotations

import pytest

from holdfast.history.pairing import pair
from holdfast.history.shape import Grammar, Item, Message, Shape

Known = tuple[str | None, str | None]
"""What is known of a call or a result: its id and its name."""


def answered(calls: list[Known], results: list[Known]) -> list[int | None]:
    """Return for each result the index of the call of one response that it answers."""
    call_items = tuple(Item("call", "assistant", (0, at), *known) for at, known in enumerate(calls))
    result_messages = tuple(
        Message(at, "tool", (Item("result", "tool", (at,), *known),)) for at, known in enumerate(results, start=1)
    )
    pairing = pair(Shape("made", Grammar(results="own"), (Message(0, "assistant", call_items), *result_messages)))
    return [call_items.index(call.item) if call and call.answer is answer else None for answer, call in pairing.answers]


@pytest.mark.parametrize("more", [0, 20])
@pytest.mark.parametrize(
    ("calls", "results", "expected"),
    [
        ([("a", "read"), ("b", "bash")], [("b", None), ("a", None)], [1, 0]),
        ([("a", "read"), ("a", "bash")], [("a", "bash"), ("a", "read")], [1, 0]),
        ([("a", "read"), ("a", "bash")], [("a", None), ("a", None)], [0, 1]),
        ([("a", "read")], [("a", "renamed")], [0]),
        ([("a", "read"), (None, "read")], [(None, "read"), ("a", "read")], [1, 0]),
        ([("a", "read"), ("b", "bash")], [(None, "bash"), (None, "read")], [1, 0]),
        ([(None, "read"), (None, "bash")], [("x", "bash"), ("y", "read")], [1, 0]),
        ([("a", None), ("b", None)], [(None, None), (None, None)], [0, 1]),
        ([("a", "read")], [("x", "read"), ("a", "read"), ("a", "read")], [None, 0, None]),
    ],
)
def test_by_id_else_by_name_else_by_position(
    calls: list[Known], results: list[Known], expected: list[int | None], more: int
) -> None:
    others: list[Known] = [(f"other{at}", "other") for at in range(more)]  # many calls are looked up in an index
    assert answered([*calls, *others], results) == expected


def test_a_call_behind_a_result_of_the_same_response_is_answered() -> None:
    called = tuple(Item("call", "assistant", (0, at), f"call{at}", "read") for at in range(20))
    early = Item("result", "assistant", (0, 20), "call3", "read")
    late = Item("call", "assistant", (0, 21), "late", "read")
    answer = Message(1, "tool", (Item("result", "tool", (1,), "late", "read"),))
    shape = Shape("made", Grammar(results="own"), (Message(0, "assistant", (*called, early, late)), answer))
    found = [(call and call.item.id, answer.verdict) for answer, call in pair(shape).answers]
    assert found == [("call3", "displaced"), ("late", "displaced")]
