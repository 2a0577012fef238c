"""The shape that an abort left in document 000: three calls, some answered, two prompts behind them, and a third."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from conversations import NO_RESULT, Answered, Called, Piece, Returned, Said
from holdfast.history import check, repair
from holdfast.history.formats.format import json_text
from holdfast.history.profiles import PAIRS
from renderings import RENDERINGS
from tiers import sampled

CALLS = tuple(Called(f"call_{name}", "bash") for name in "abc")
BEFORE: tuple[Piece, ...] = (
    Said("user", "first prompt"),
    Answered("looking", (Called("call_0", "read"),)),
    Returned("call_0", "read", "result zero"),
    Answered("first answer"),
)
AFTER: tuple[Piece, ...] = (Answered("last answer"), Said("user", "last prompt"))
POSITIONS = ("alone", "at the end", "in the middle", "first", "twice")
VARIANTS = [(form, profile) for form in RENDERINGS for profile in PAIRS[form]]
SUBSETS = [subset for size in range(3) for subset in combinations(CALLS, size)]


@pytest.mark.parametrize(
    ("position", "answered", "form", "profile"),
    sampled(((*how, *pair) for how in product(POSITIONS, SUBSETS) for pair in VARIANTS), 140),
    ids=lambda value: value if isinstance(value, str) else "+".join(call.id for call in value) or "none",
)
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
    repaired = repair(RENDERINGS[form](pieces), format=form, profile=profile)
    assert repaired.remaining == ()
    assert check(repaired.messages, format=form, profile=profile) == []
    written = json_text(repaired.messages)
    for text in [piece.text for piece in pieces if piece.text]:
        assert text in written
    times = 2 if position == "twice" else 1
    assert written.count(NO_RESULT) == times * (3 - len(answered))
    quoted = {call.id for call in CALLS if f"]\\nresult of {call.id}" in written}
    assert quoted == set(), "a result was quoted though its call is there"


# The same as document 000 logged it: requests of pydantic-ai, with every kind of part an answer has.

LONGER: list[object] = [
    {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "first prompt"}], "instructions": "be good"},
    {"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "read", "args": "{}", "tool_call_id": "z"}]},
    {
        "kind": "request",
        "parts": [{"part_kind": "tool-return", "tool_name": "read", "content": "result zero", "tool_call_id": "z"}],
    },
    {"kind": "response", "parts": [{"part_kind": "text", "content": "an answer"}], "model_name": "m"},
    {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "last prompt"}]},
]


def logged(answered: tuple[str, ...]) -> list[object]:
    """Return `[3 calls] [3 retry-prompts, 2 user texts] [user text]`, of the retry-prompts those of `answered`."""
    calls = [
        {"part_kind": "tool-call", "tool_name": "bash", "args": {"command": name}, "tool_call_id": name}
        for name in "abc"
    ]
    retries = [
        {"part_kind": "retry-prompt", "tool_name": "bash", "content": f"result of {name}", "tool_call_id": name}
        for name in answered
    ]
    texts = [{"part_kind": "user-prompt", "content": text} for text in ("second prompt", "third prompt")]
    return [
        {"kind": "response", "parts": calls, "model_name": "m", "run_id": "1"},
        {"kind": "request", "parts": [*retries, *texts], "run_id": "1"},
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "fourth prompt"}], "run_id": "2"},
    ]


@pytest.mark.parametrize("profile", PAIRS["pydantic-ai"])
@pytest.mark.parametrize("answered", [names for size in range(4) for names in combinations("abc", size)], ids="".join)
def test_the_shape_as_it_was_logged_is_repaired_wherever_it_stands(profile: str, answered: tuple[str, ...]) -> None:
    for position in range(len(LONGER) + 1):
        messages = [*LONGER[:position], *logged(answered), *LONGER[position:]]
        repaired = repair(messages, format="pydantic-ai", profile=profile)
        assert repaired.remaining == ()
        assert check(repaired.messages, format="pydantic-ai", profile=profile) == []
        written = json_text(repaired.messages)
        for text in ("second prompt", "third prompt", "fourth prompt", "first prompt", "an answer", "last prompt"):
            assert text in written
        assert written.count(NO_RESULT) == 3 - len(answered)  # a result that now comes late goes back to its call
        assert {name for name in "abc" if f"]\\nresult of {name}" in written} == set()
        assert {name for name in "abc" if f"result of {name}" in written} == {*answered}
        assert "result zero" in written
