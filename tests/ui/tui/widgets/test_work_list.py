"""What waits and runs above the composer, and the to-do list as the journal has it."""

from __future__ import annotations

from typing import Literal

import pytest

from holdfast.agent.events import Fact
from holdfast.session.journal.entries import CallEnded, CallStarted, Entry, PromptAccepted, ResponseEnded, Rewound
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.tool_calls import Outcome
from holdfast.ui.tui.widgets.work_list import task_text, todo_text
from holdfast.ui.view.blocks import TodoLine
from holdfast.ui.view.view import View

State = Literal["open", "doing", "done"]


def items(*states: State) -> list[TodoLine]:
    return [TodoLine(f"item {number}", state) for number, state in enumerate(states, 1)]


def lines(*states: State, expanded: bool = False) -> list[str]:
    return todo_text(items(*states), expanded=expanded).plain.split("\n")


def done(count: int) -> list[State]:
    return ["done"] * count


def opened(count: int) -> list[State]:
    return ["open"] * count


def test_one_line_has_what_is_being_done_and_names_the_key() -> None:
    assert lines("done", "doing", "open") == ["▸ 1/3 item 2  ctrl+t: all"]
    assert lines("done", "open", "open") == ["○ 1/3 item 2  ctrl+t: all"]
    assert lines("open", "doing") == ["▸ 0/2 item 2  ctrl+t: all"]


def test_nothing_is_shown_without_a_list_or_without_work_left() -> None:
    assert lines() == [""]
    assert lines("done", "done", expanded=True) == [""]


def test_the_whole_list_is_a_window_around_what_is_being_done() -> None:
    assert lines("done", "doing", "open", expanded=True) == [
        "To do 1/3  ctrl+t: less",
        "✓ item 1",
        "▸ item 2",
        "○ item 3",
    ]
    shown = lines(*done(6), "doing", *opened(13), expanded=True)
    assert shown[:4] == ["To do 6/20  ctrl+t: less", "  … 4 above", "✓ item 5", "✓ item 6"]
    assert shown[-2:] == ["○ item 12", "  … 8 more"]
    assert lines(*done(19), "doing", expanded=True)[-1] == "▸ item 20"


def test_text_of_a_model_is_no_control_sequence() -> None:
    assert todo_text([TodoLine("a\nb \x1b[31mred", "doing")], expanded=False).plain.startswith("▸ 0/1 a b ")
    assert "\x1b" not in todo_text([TodoLine("\x1b[31mred", "doing")], expanded=True).plain


def test_tasks_are_shown_and_the_rest_is_counted() -> None:
    assert task_text({"bg1": "make", "bg2": "npm run dev"}).plain == "● bg1  make\n● bg2  npm run dev"
    assert task_text({f"bg{number}": "x" for number in range(5)}).plain == "● bg0  x\n● bg1  x\n  … 3 more: /tasks"


def wrote(turn: int, text: str, outcome: Outcome = "ok") -> tuple[Entry, ...]:
    """Return the entries of a turn that writes a list of one item."""
    call = CallPart(id=f"c{turn}", name="todo", arguments=f'{{"items": [{{"text": "{text}"}}]}}')
    return (
        PromptAccepted(turn=turn, text="go"),
        ResponseEnded(step=turn, model="m", parts=(call,), usage=Usage()),
        CallStarted(call=call.id, effect="read"),
        CallEnded(call=call.id, outcome=outcome, text=""),
    )


@pytest.mark.parametrize(
    ("entries", "todo"),
    [
        ((), []),
        (wrote(1, "a"), ["a"]),
        ((*wrote(1, "a"), *wrote(2, "b")), ["b"]),
        ((*wrote(1, "a"), *wrote(2, "b", "failed")), ["a"]),
        ((*wrote(1, "a"), *wrote(2, "b"), Rewound(turn=2)), ["a"]),
        ((*wrote(1, "a"), Rewound(turn=1)), []),
    ],
)
def test_the_list_is_that_of_the_branch(entries: tuple[Entry, ...], todo: list[str]) -> None:
    live, read = View(), View()
    facts = [Fact(seq, entry) for seq, entry in enumerate(entries, 1)]
    for fact in facts:
        live.take(fact)
    read.load(facts)
    assert [item.text for item in live.todo] == [item.text for item in read.todo] == todo
