"""What a session has cost: every response that was paid counts once, at its turn and its model."""

from __future__ import annotations

from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import Usage
from holdfast.ui.view.session_costs import Spending


def ended(model: str, tokens: int, cost: str | None) -> e.ResponseEnded:
    return e.ResponseEnded(step=1, model=model, parts=(), usage=Usage(input_tokens=tokens, cost=cost))


def test_by_model_and_by_turn() -> None:
    spending = Spending(
        [
            e.Compacted(step=0, note="n", why="asked", model="b", usage=Usage(input_tokens=7, cost="0.5")),
            e.PromptAccepted(turn=1, text="first"),
            ended("a", 10, "1"),
            ended("a", 20, "2"),
            e.PromptAccepted(turn=2, text="second"),
            e.Rewound(turn=2),
            e.PromptAccepted(turn=3, text="third"),
            ended("b", 30, None),
        ]
    )
    assert spending.by_model() == {
        "b": (2, Usage(input_tokens=37, cost=None)),
        "a": (2, Usage(input_tokens=30, cost="3")),
    }
    assert [(turn, number) for turn, (number, _) in spending.by_turn().items()] == [(0, 1), (1, 2), (3, 1)]
    assert spending.total() == Usage(input_tokens=67, cost=None)
    assert spending.prompts == {1: "first", 2: "second", 3: "third"}
    assert Spending().total() == Usage(cost="0")
