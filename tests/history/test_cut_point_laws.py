"""The laws of the cut: what stays, and that nothing is lost that was not answered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.history.compaction import Round, cut
from laws import law

weights = st.integers(0, 50)
answered = st.builds(Round, results=weights, texts=weights, answer=st.integers(1, 50), opens=st.booleans())
conversations = st.tuples(st.lists(answered, max_size=8), st.booleans()).map(
    lambda drawn: [*drawn[0][:-1], replace(drawn[0][-1], answer=None)] if drawn[0] and drawn[1] else drawn[0]
)
limits = st.integers(0, 300)


def stays(exchanges: list[Round], dropped: int) -> int:
    """Return what is sent on of the exchanges when so many go, in words of this test's own."""
    if dropped >= len(exchanges):
        return 0
    first, *rest = exchanges[dropped:]
    return first.texts + (first.answer or 0) + sum(each.results + each.texts + (each.answer or 0) for each in rest)


@law()
@given(conversations, limits, limits)
def test_what_stays_fits_or_is_one_exchange(exchanges: list[Round], keep: int, most: int) -> None:
    dropped = cut(exchanges, keep=keep, most=most)
    assert 0 <= dropped <= len(exchanges)
    left = exchanges[dropped:]
    open_ended = bool(exchanges) and exchanges[-1].answer is None
    if open_ended:
        assert left, "what was not answered never goes"
    if stays(exchanges, dropped) > keep:
        assert len([each for each in left if each.answer is not None]) <= 1
    if stays(exchanges, 0) <= keep:
        assert dropped == 0 or exchanges[dropped].opens


@law()
@given(conversations, limits, limits)
def test_no_more_goes_than_must(exchanges: list[Round], keep: int, most: int) -> None:
    dropped = cut(exchanges, keep=keep, most=most)
    if dropped and stays(exchanges, dropped - 1) <= keep:
        assert exchanges[dropped].opens, "more than must be goes only for the beginning of a turn"
        longest = next(fewer for fewer in range(dropped) if stays(exchanges, fewer) <= keep)
        assert 2 * stays(exchanges, dropped) >= stays(exchanges, longest)


def exchange(results: int = 0, texts: int = 0, answer: int | None = 1, *, opens: bool = False) -> Round:
    return Round(results=results, texts=texts, answer=answer, opens=opens)


def test_the_newest_step_stays_if_it_fits_at_all() -> None:
    long = [exchange(texts=5, opens=True), exchange(results=100), exchange(answer=100)]
    assert cut(long, keep=50, most=200) == 2
    assert cut(long, keep=50, most=90) == 3


def test_results_that_were_not_answered_stay_with_their_call() -> None:
    unseen = [exchange(texts=5, opens=True), exchange(results=9, answer=60), exchange(results=100, answer=None)]
    assert cut(unseen, keep=50, most=70) == 1, "what they weigh does not count"
    assert cut(unseen, keep=50, most=50) == 2, "what the call weighs does"


def test_a_turn_is_where_to_cut_if_that_is_not_far() -> None:
    def turn(steps: int) -> list[Round]:
        return [exchange(texts=2, opens=True), *(exchange(results=9) for _ in range(steps))]

    assert cut([*turn(5), *turn(3)], keep=45, most=100) == 6
    assert cut([*turn(9), *turn(1)], keep=45, most=100) == 6
