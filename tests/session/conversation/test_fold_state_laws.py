"""The laws of a written fold: it continues as the fold from the first entry does, wherever it was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.session.conversation.fold import Fold
from holdfast.session.conversation.fold_state import LARGE_TEXT, FoldState
from holdfast.session.journal.entries import (
    CallEnded,
    Compacted,
    Entry,
    PromptAccepted,
    Pruned,
    RequestStarted,
    ResponseEnded,
    Rewound,
    TurnEnded,
    Uncompacted,
    decode,
)
from holdfast.session.journal.parts import CallPart, TextPart, Usage
from journals import journals
from laws import law


def _grown(journal: Sequence[Entry]) -> list[Entry]:
    """Return the journal with every second result so long that a state leaves it to the journal."""
    return [
        replace(entry, text=entry.text + f" line {at}" * LARGE_TEXT)
        if isinstance(entry, CallEnded) and at % 2
        else entry
        for at, entry in enumerate(journal)
    ]


def _texts(journal: Sequence[Entry], seqs: Sequence[int]) -> Mapping[int, str]:
    found = {seq: journal[seq - 1] for seq in seqs}
    return {seq: entry.text for seq, entry in found.items() if isinstance(entry, CallEnded)}


def _written(fold: Fold, journal: Sequence[Entry]) -> Fold:
    """Return the fold after it was written and read."""
    state = msgspec.json.decode(msgspec.json.encode(fold.state()), type=FoldState)
    return Fold.restored(state, texts=partial(_texts, journal))


def _all(fold: Fold) -> tuple[object, ...]:
    """Return all that can be read of a fold."""
    return fold.conversation(), fold.steps, dict(fold.files), fold.tasks.ended


def _continues(journal: Sequence[Entry], cut: int) -> None:
    """Assert that a fold which was written at `cut` is the same then, and after each later entry."""
    whole = Fold()
    for seq, entry in enumerate(journal[:cut], start=1):
        whole.add(entry, seq=seq)
    written = _written(whole, journal)
    assert _all(written) == _all(whole)
    for seq, entry in enumerate(journal[cut:], start=cut + 1):
        whole.add(entry, seq=seq)
        written.add(entry, seq=seq)
        assert written.conversation() == whole.conversation()
    assert _all(written) == _all(whole)
    assert _all(_written(written, journal)) == _all(whole)
    fresh = Fold()  # of which no conversation was taken before
    for seq, entry in enumerate(journal, start=1):
        fresh.add(entry, seq=seq)
    assert _all(fresh) == _all(whole)


@law(shared_by=2)
@given(journals.map(_grown), st.data())
def test_a_written_fold_continues_as_the_one_from_the_start(journal: list[Entry], data: st.DataObject) -> None:
    _continues(journal, data.draw(st.integers(0, len(journal))))


@law(shared_by=2)
@given(journals.map(_grown), st.data())
def test_a_fold_that_holds_no_hidden_texts_continues_as_the_one_that_does(
    journal: list[Entry], data: st.DataObject
) -> None:
    cuts = data.draw(st.sets(st.integers(0, len(journal))))
    whole, released = Fold(), Fold()
    for seq, entry in enumerate(journal, start=1):
        whole.add(entry, seq=seq)
        released.add(entry, seq=seq)
        if seq in cuts:
            released.release(partial(_texts, journal))
        assert _all(released) == _all(whole)
    assert _all(_written(released, journal)) == _all(whole)


def _turn(turn: int) -> list[Entry]:
    call = CallPart(id=f"c{turn}", name="read", arguments="{}")
    return [
        PromptAccepted(turn=turn, text=f"prompt {turn}"),
        RequestStarted(step=2 * turn, attempt=1, model="openai-chat:m"),
        ResponseEnded(step=2 * turn, model="openai-chat:m", parts=(call,), usage=Usage()),
        CallEnded(call=call.id, outcome="ok", text=f"result {turn} " * LARGE_TEXT, seconds=0.1),
        RequestStarted(step=2 * turn + 1, attempt=1, model="openai-chat:m"),
        ResponseEnded(step=2 * turn + 1, model="openai-chat:m", parts=(TextPart("done"),), usage=Usage()),
        TurnEnded(turn=turn, reason="end_turn", cause="finished", note=f"note {turn}"),
    ]


_LATER: dict[str, list[Entry]] = {
    "a rewind to a prompt that is not sent": [Rewound(turn=2), *_turn(5)],
    "an undone compaction": [Uncompacted(), Rewound(turn=3)],
    "a second compaction": [Compacted(step=7, note="shorter", why="asked"), Uncompacted(), Uncompacted()],
    "a result that is left out for a long text": [Pruned(outputs={"c4": "left out " * LARGE_TEXT}), Rewound(turn=4)],
    "results left out on both sides": [Pruned(outputs={"c1": "out", "c4": "out"}), Uncompacted()],
}


@pytest.mark.parametrize("name", _LATER)
def test_a_decision_about_what_was_not_sent_continues_from_every_cut(name: str) -> None:
    compacted = Compacted(step=5, note="what was done", why="auto")
    last = Compacted(step=9, note="what was done since", why="auto")
    journal = [*_turn(1), *_turn(2), *_turn(3), compacted, *_turn(4), *_LATER[name], *_turn(6), last]
    for cut in range(len(journal) + 1):
        _continues(journal, cut)


_HERE = Path(__file__).parent
_PLAYED = sorted((_HERE.parents[1] / "corpus" / "journals").glob("*.jsonl"))


@pytest.mark.parametrize("path", _PLAYED, ids=lambda path: path.stem)
def test_a_played_journal_continues_from_every_cut(path: Path) -> None:
    journal = _grown([decode(line) for line in path.read_bytes().split(b"\n") if line])
    for cut in range(len(journal) + 1):
        _continues(journal, cut)


class _Old(msgspec.Struct):
    entries: list[msgspec.Raw]


@pytest.mark.parametrize("name", ["folds_before_fields.jsonl", "folds_before_names.jsonl"])
def test_a_journal_of_an_older_holdfast_continues_from_every_cut(name: str) -> None:
    for line in (_HERE / name).read_text().splitlines():
        journal = _grown([decode(bytes(raw)) for raw in msgspec.json.decode(line, type=_Old).entries])
        for cut in range(len(journal) + 1):
            _continues(journal, cut)
