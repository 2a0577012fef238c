"""Conversations of every kind, whole and damaged, in no format: a format renders them to a document of its own.

To plug a format in: write a `Rendering` (a function from a conversation to a list of messages) and add it to
`renderings.RENDERINGS`. Its pairs of profile and format come from `holdfast.history.profiles.PAIRS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

IDS = st.sampled_from(["a", "b", "c", "a", "call_1", "functions.bash:0", "x" * 70, "", "n" * 41])
"""Mostly three letters, so that calls often share an id; some that a provider refuses."""

NAMES = st.sampled_from(["read", "bash", "read", "bash", "browser.tabs open", "", "9lives"])
ARGUMENTS = st.sampled_from(["{}", '{"path":"x"}', "{}", "", "{", "[]", "null", '{"a": "\\ud83d"}'])
NO_RESULT = "No result was recorded for this call; it may or may not have run."


@dataclass(frozen=True, slots=True)
class Said:
    """A text of somebody; `parts` tells whether it is written as a list of parts where a format can."""

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

_counter = st.integers(0, 999)
_words = st.builds("w{}.".format, _counter)
_texts = st.one_of(_words, _words, _words, st.sampled_from(["", " ", "\ud83d", "nul\x00", "emoji \U0001f600 \ud83d x"]))
_called = st.builds(Called, st.one_of(IDS, IDS, st.none()), NAMES, ARGUMENTS)
_plain_call = st.builds(Called, IDS, st.just("read"))
_thoughts = st.builds(Thought, _words, st.sampled_from([None, "", "c2lnbmVk"]))
_pieces: st.SearchStrategy[Piece] = st.one_of(
    st.builds(Said, st.just("user"), _texts, st.booleans()),
    st.builds(Answered, st.one_of(st.none(), _texts)),
    st.builds(Answered, st.one_of(st.none(), _texts), st.lists(_called, max_size=3).map(tuple), st.none() | _thoughts),
    st.builds(Returned, st.one_of(IDS, IDS, st.none()), NAMES, st.one_of(_texts, st.none(), st.just(NO_RESULT))),
    st.builds(Said, st.sampled_from(["system", "user"]), _texts),
    st.builds(Junk, st.sampled_from([None, "bogus"]), _words),
)


@st.composite
def _step(draw: st.DrawFn) -> list[Piece]:
    """Return calls and some of their results, in any order, maybe with something in between."""
    calls = draw(st.lists(_plain_call, min_size=1, max_size=3))
    results: list[Piece] = [Returned(call.id, call.name, draw(_texts)) for call in calls]
    kept = draw(st.permutations(results))
    kept = kept[: draw(st.integers(0, len(kept)))]
    between = draw(st.lists(_pieces, max_size=2))
    at = draw(st.integers(0, len(kept)))
    return [Answered(draw(st.none() | _words), tuple(calls)), *kept[:at], *between, *kept[at:]]


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Piece, ...]:
    """Return a conversation, most often damaged."""
    rounds = draw(st.lists(st.one_of(_step(), st.lists(_pieces, max_size=3)), max_size=4))
    return tuple(piece for each in rounds for piece in each)
