"""The laws of `prune`: what is protected stays, nothing is done for a little, and a second time finds nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.history.compaction import SHORT, ResultSize, prune
from holdfast.history.tokens import tokens_of

sizes = st.one_of(st.integers(0, 60), st.integers(0, 3000))
outputs = st.lists(
    st.builds(ResultSize, call=st.just(""), tokens=sizes, instead=st.integers(0, 60), may_go=st.booleans())
)
numbered = outputs.map(lambda each: [replace(one, call=str(at)) for at, one in enumerate(each)])
bounds = st.integers(0, 4000)


@given(numbered, bounds, bounds)
def test_what_is_left_out_may_go_is_old_and_is_worth_it(each: list[ResultSize], protect: int, least: int) -> None:
    pruned = prune(each, protect=protect, least=least)
    places = [each.index(output) for output in pruned]
    assert places == sorted(places)
    for place, output in zip(places, pruned, strict=True):
        assert output.may_go
        assert output.saves >= SHORT
        assert sum(other.tokens for other in each[place:]) > protect
    if pruned:
        assert sum(output.saves for output in pruned) >= least


@given(numbered, bounds, bounds)
def test_all_that_may_go_goes_if_any_does(each: list[ResultSize], protect: int, least: int) -> None:
    pruned = prune(each, protect=protect, least=least)
    could = [
        output
        for place, output in enumerate(each)
        if output.may_go and output.saves >= SHORT and sum(other.tokens for other in each[place:]) > protect
    ]
    enough = bool(could) and sum(output.saves for output in could) >= least
    assert list(pruned) == (could if enough else [])


@given(numbered, bounds, bounds)
def test_a_second_time_finds_nothing(each: list[ResultSize], protect: int, least: int) -> None:
    pruned = {output.call for output in prune(each, protect=protect, least=least)}
    if pruned:
        left = [replace(output, tokens=output.instead) if output.call in pruned else output for output in each]
        assert prune(left, protect=protect, least=least) == ()


def test_the_newest_stay_and_the_one_that_crosses_the_line_goes() -> None:
    each = [ResultSize(call=name, tokens=20_000, instead=50, may_go=True) for name in "abcd"]
    assert [output.call for output in prune(each, protect=40_000, least=20_000)] == ["a", "b"]
    assert prune(each[1:], protect=40_000, least=20_000) == (), "19,950 are saved, and 20,000 were asked for"


def test_tokens_are_a_quarter_of_the_bytes() -> None:
    assert [tokens_of(text) for text in ("", "a", "abcd", "abcde", "ü", "界" * 4, "🌊")] == [0, 1, 1, 2, 1, 3, 1]
    assert tokens_of("x" * 40_000) == 10_000
