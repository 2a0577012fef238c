"""What a session has cost: every response that was paid counts once, at its turn and its model."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from holdfast.agent.turn.budget import Spent
from holdfast.session.conversation.fold import fold
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import Usage
from holdfast.ui.view.session_costs import Spending
from laws import law


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


usages = st.builds(
    Usage,
    input_tokens=st.integers(0, 3),
    output_tokens=st.integers(0, 3),
    cost=st.sampled_from([None, "0", "0.01", "0.5", "1E-7"]),
)
paid = st.one_of(
    st.builds(e.ResponseEnded, step=st.just(1), model=st.sampled_from("ab"), parts=st.just(()), usage=usages),
    st.builds(
        e.ResponseEnded,
        step=st.just(1),
        model=st.sampled_from("ab"),
        parts=st.just(()),
        usage=usages,
        cut=st.sampled_from(["user", "max_tokens", "flood"]),
    ),
    st.builds(e.Compacted, step=st.just(0), note=st.just("n"), why=st.just("auto"), model=st.just("a"), usage=usages),
    st.builds(e.Titled, title=st.just("t"), model=st.just("b"), usage=usages),
    st.builds(e.Titled, title=st.just("t")),
    st.builds(e.PromptAccepted, turn=st.integers(1, 3), text=st.just("p")),
    st.builds(e.Rewound, turn=st.integers(1, 3)),
)


@law(200)
@given(st.lists(paid, max_size=12))
def test_the_session_its_pages_and_its_bound_count_the_same_cost(entries: list[e.Entry]) -> None:
    """Responses, summaries and titles are paid, also those that a rewind removed, and those that were cut off."""
    usages = [each.usage for each in entries if isinstance(each, e.ResponseEnded | e.Compacted | e.Titled)]
    dollars = sum((Decimal(usage.cost or 0) for usage in usages), Decimal(0))
    tokens = sum(usage.input_tokens + usage.output_tokens for usage in usages)
    is_known = all(usage.cost is not None for usage in usages)
    spending, conversation, spent = Spending(entries), fold(entries), Spent()
    for entry in entries:
        spent = spent.after(entry)
    for total in (conversation.usage, spending.total()):
        assert total.input_tokens + total.output_tokens == tokens
        assert (total.cost is not None) == is_known
        assert total.cost is None or Decimal(total.cost) == dollars
    assert Decimal(spent.dollars) == dollars
    assert (spent.unpriced is None) == all(
        each.usage.cost is not None
        for each in entries
        if isinstance(each, e.Compacted | e.Titled) or (isinstance(each, e.ResponseEnded) and each.cut is None)
    )
    by_model = [usage for _, usage in spending.by_model().values()]
    by_turn = [usage for _, usage in spending.by_turn().values()]
    for groups in (by_model, by_turn):
        assert sum(usage.input_tokens + usage.output_tokens for usage in groups) == tokens
