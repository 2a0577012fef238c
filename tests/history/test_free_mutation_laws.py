"""The laws of repair, and what judges say, on documents in which anything may be anything: any field of any type."""

from __future__ import annotations

import copy

import pytest
from disagreements import refusal
from hypothesis import given
from hypothesis import strategies as st
from test_judge_laws import promised
from test_mutation_laws import document_words, words_in

from holdfast.history import check, repair
from holdfast.history.repair import NOT_REPAIRABLE
from judges import JUDGES
from laws import law
from wire_documents import DOCUMENTS, free_mutations

BENCH = [(name, form) for name, judge in JUDGES.items() for form in judge.formats if form in DOCUMENTS]


@pytest.mark.parametrize(("name", "form"), BENCH)
@law(shared_by=len(BENCH))
@given(data=st.data())
def test_what_is_repaired_pleases_the_judge_and_nothing_said_is_lost(
    name: str, form: str, *, data: st.DataObject
) -> None:
    judge = JUDGES[name]
    profile = data.draw(st.sampled_from(promised(judge)))
    messages = data.draw(free_mutations(form))
    before = copy.deepcopy(messages)
    repaired = repair(messages, format=form, profile=profile, thinking=judge.thinking)
    left = check(repaired.messages, format=form, profile=profile, thinking=judge.thinking)
    assert {each.rule for each in left} <= NOT_REPAIRABLE.keys()
    assert repaired.remaining == tuple(left)
    assert repair(repaired.messages, format=form, profile=profile, thinking=judge.thinking).edits == ()
    assert document_words(form, messages) - words_in(repaired.messages) == set()
    assert messages == before
    if not left:
        assert refusal(name, form, repaired.messages) == ""
