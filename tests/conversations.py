"""Conversations of every kind, whole and damaged, in no format: a format renders them to its own document.

To plug a format in: write a `Rendering` (a function from a conversation to a list of messages) and add it to
`renderings.RENDERINGS`. Its pairs of profile and format come from `holdfast.history.profiles.PAIRS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain, permutations, product

from hypothesis import strategies as st

_IDS = ("a", "b", "c", "a", "call_1", "functions.bash:0", "x" * 70, "", "n" * 41)
"""Mostly three letters, so that calls often share an id; some that a provider refuses."""

_NAMES = ("read", "bash", "read", "bash", "browser.tabs open", "", "9lives")
_ARGUMENTS = ("{}", '{"path":"x"}', "{}", "", "{", "[]", "null", '{"a": "\\ud83d"}')
NO_RESULT = "No result was recorded for this call; it may or may not have run."


@dataclass(frozen=True, slots=True)
class Said:
    """A text of one speaker; `parts` tells whether it is written as a list of parts where a format can."""

    role: str
    text: str
    parts: bool = False


@dataclass(frozen=True, slots=True)
class Called:
    """A call; `arguments` is what the model wrote, `id` None where it has none."""

    id: str | None
    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class Thought:
    """Thinking; `signature` None if there is none."""

    text: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """A response: thinking, text and calls, in this order; each may be absent."""

    text: str | None
    calls: tuple[Called, ...] = ()
    thought: Thought | None = None


@dataclass(frozen=True, slots=True)
class Returned:
    """A result; `text` None where it has no content."""

    id: str | None
    name: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Junk:
    """Something that is no message, or one of an unknown role."""

    role: str | None
    text: str


Piece = Said | Answered | Returned | Junk
Rendering = Callable[[tuple[Piece, ...]], list[object]]

# Whole pieces are drawn from tables: drawing every word of them for itself takes five times as long as the laws do.
_WORD = "w"  # becomes a word that no other piece says, so that none can be lost unseen
_TEXTS = (_WORD, _WORD, _WORD, "same", "", " ", "\ud83d", "nul\x00", "emoji \U0001f600 \ud83d x")
_NO_TEXT = (None, *_TEXTS)
_PLAIN: tuple[Piece, ...] = (
    *(Said("user", text, parts) for text in _TEXTS for parts in (False, True)),
    *(Answered(text) for text in _NO_TEXT),
    *(Said("system", text) for text in _TEXTS),
    *(Junk(role, _WORD) for role in (None, "bogus") for _ in range(4)),
)
_RETURNED = tuple(
    Returned(call, name, text) for text in (*_NO_TEXT, NO_RESULT) for name in _NAMES for call in (*_IDS, *_IDS, None)
)
_CALLED = tuple(
    Called(call, name, written) for written in _ARGUMENTS for name in _NAMES for call in (*_IDS, *_IDS, None)
)
_THOUGHTS = (None, None, None, *(Thought(_WORD, signature) for signature in (None, "", "c2lnbmVk")))
_CALLING = tuple((text, thought) for text in _NO_TEXT for thought in _THOUGHTS)
_SEVERAL = (
    *product(_IDS),
    *product(_IDS),
    *product("abc", repeat=2),
    *product(_IDS, repeat=2),
    *product("abc", repeat=3),
)
_STEPS = tuple(
    Answered(text, tuple(Called(call, "read") for call in ids)) for ids in _SEVERAL for text in (None, _WORD)
)
_RESULTS = tuple(product(_TEXTS, repeat=3))
_ORDERS = tuple(
    tuple(order for count in range(size + 1) for order in permutations(range(size), count)) for size in range(4)
)

_calls = st.one_of(*(st.tuples(*[st.sampled_from(_CALLED)] * size) for size in (1, 2, 3)))
_calling = st.tuples(st.sampled_from(_CALLING), _calls).map(lambda drawn: Answered(drawn[0][0], drawn[1], drawn[0][1]))
_pieces: st.SearchStrategy[Piece] = st.one_of(st.sampled_from(_PLAIN), st.sampled_from(_RETURNED), _calling)

# Made once: to make a strategy takes longer than to draw from it.
_steps = st.sampled_from(_STEPS)
_orders = [st.sampled_from(orders) for orders in _ORDERS]
_results = st.sampled_from(_RESULTS)
_between = st.none() | _pieces
_places = [st.integers(0, last) for last in range(4)]


@st.composite
def _step(draw: st.DrawFn) -> list[Piece]:
    """Return calls and some of their results, in any order, maybe with something in between."""
    step = draw(_steps)
    order = draw(_orders[len(step.calls)])
    texts = draw(_results)
    pieces: list[Piece] = [Returned(step.calls[which].id, "read", texts[which]) for which in order]
    if (between := draw(_between)) is not None:
        pieces.insert(draw(_places[len(pieces)]), between)
    return [step, *pieces]


def _worded(piece: Piece, number: int) -> Piece:
    """Return the piece with a unique word where it says one."""
    if isinstance(piece, Answered) and piece.thought is not None:
        piece = replace(piece, thought=replace(piece.thought, text=f"t{number}."))
    return replace(piece, text=f"w{number}.") if piece.text == _WORD else piece


_logged = st.sampled_from([False, False, True])


def in_records(piece: Piece) -> list[Piece]:
    """Return the piece as a log has it that writes one block a record: the same response, in several messages."""
    if not isinstance(piece, Answered):
        return [piece]
    thought = [] if piece.thought is None else [Answered(None, (), piece.thought)]
    answers = [] if piece.text is None else [Answered(piece.text)]
    return [*thought, *answers, *(Answered(None, (call,)) for call in piece.calls)] or [piece]


_rounds = st.lists(st.one_of(_step(), _pieces), max_size=6)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Piece, ...]:
    """Return a conversation, most often damaged."""
    logged = draw(_logged)
    pieces = chain.from_iterable(each if isinstance(each, list) else [each] for each in draw(_rounds))
    if logged:
        pieces = chain.from_iterable(map(in_records, pieces))
    return tuple(_worded(piece, number) for number, piece in enumerate(pieces))
