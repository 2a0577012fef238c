"""The shape that an abort left in document 000: three calls, some answered, two prompts behind them, and a third."""

from __future__ import annotations

from itertools import combinations

import pytest
from conversations import NO_RESULT, Answered, Called, Piece, Returned, Said
from renderings import RENDERINGS

from holdfast.history import check, repair
from holdfast.history.formats.format import json_text
from holdfast.history.profiles import PAIRS

CALLS = tuple(Called(f"call_{name}", "bash") for name in "abc")
BEFORE: tuple[Piece, ...] = (
    Said("user", "first prompt"),
    Answered("looking", (Called("call_0", "read"),)),
    Returned("call_0", "read", "result zero"),
    Answered("first answer"),
)
AFTER: tuple[Piece, ...] = (Answered("last answer"), Said("user", "last prompt"))
SUBSETS = [subset for size in range(3) for subset in combinations(CALLS, size)]


@pytest.mark.parametrize(("form", "profile"), [(form, profile) for form in RENDERINGS for profile in PAIRS[form]])
@pytest.mark.parametrize("answered", SUBSETS, ids=lambda calls: "+".join(call.id for call in calls) or "none")
@pytest.mark.parametrize("position", ["alone", "at the end", "in the middle", "first", "twice"])
def test_every_text_survives_and_answered_calls_stay_paired(
    form: str, profile: str, answered: tuple[Called, ...], position: str
) -> None:
    results = tuple(Returned(call.id, call.name, f"result of {call.id}") for call in answered)
    aborted: tuple[Piece, ...] = (Said("user", "prompt"), Answered("running", CALLS), *results)
    stuck: tuple[Piece, ...] = (*aborted, Said("user", "second prompt"), Said("user", "third"), Said("user", "fourth"))
    pieces = {
        "alone": stuck,
        "at the end": (*BEFORE, *stuck),
        "in the middle": (*BEFORE, *stuck, *AFTER),
        "first": (*stuck, *AFTER),
        "twice": (*stuck, *AFTER, *stuck),
    }[position]
    mended = repair(RENDERINGS[form](pieces), format=form, profile=profile)
    assert mended.remaining == ()
    assert check(mended.messages, format=form, profile=profile) == []
    written = json_text(mended.messages)
    for text in [piece.text for piece in pieces if piece.text]:
        assert text in written
    times = 2 if position == "twice" else 1
    assert written.count(NO_RESULT) == times * (3 - len(answered))
    assert not any(f"]\\nresult of {call.id}" in written for call in answered), (
        "a result was quoted though its call is there"
    )
