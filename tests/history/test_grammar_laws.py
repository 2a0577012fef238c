"""The laws of repair over every grammar and every profile, on formats that are nothing but their grammar."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain import PLAIN, Plain

from conversations import NO_RESULT, Piece, conversations
from holdfast.history.apply_edits import apply
from holdfast.history.edits import Edit
from holdfast.history.formats.format import RequestFacts, as_array, as_object, project_messages
from holdfast.history.profiles import PROFILES
from holdfast.history.repair import NOT_REPAIRABLE, repair_shape
from holdfast.history.rules import Violation, check_shape
from holdfast.text import valid_unicode
from laws import law

EVERY_GRAMMAR = pytest.mark.parametrize("form", PLAIN.values(), ids=PLAIN)
A_LAW = law(shared_by=len(PLAIN))
PROFILE = st.sampled_from(sorted(PROFILES))


def repaired(
    form: Plain, messages: list[object], profile: str, frozen: int = 0
) -> tuple[list[object], tuple[Edit, ...]]:
    shape = project_messages(form, messages, RequestFacts())
    edits = repair_shape(shape, PROFILES[profile], frozen=frozen)
    return apply(form, messages, shape, edits).messages, edits


def left(form: Plain, messages: list[object], profile: str) -> list[Violation]:
    found = check_shape(project_messages(form, messages, RequestFacts()), PROFILES[profile])
    return [violation for violation in found if violation.rule not in NOT_REPAIRABLE]


@EVERY_GRAMMAR
@A_LAW
@given(pieces=conversations(), profile=PROFILE)
def test_a_repaired_conversation_is_valid(form: Plain, pieces: tuple[Piece, ...], profile: str) -> None:
    messages, _ = repaired(form, form.render(pieces), profile)
    assert left(form, messages, profile) == []
    assert messages == [] or repaired(form, messages, profile)[1] == ()


@EVERY_GRAMMAR
@A_LAW
@given(pieces=conversations(), profile=PROFILE)
def test_every_text_and_result_survives(form: Plain, pieces: tuple[Piece, ...], profile: str) -> None:
    messages, _ = repaired(form, form.render(pieces), profile)
    texts = [
        str(as_object(item).get("text")) for message in messages for item in as_array(as_object(message).get("items"))
    ]
    for piece in pieces:
        if piece.text is not None and piece.text.strip() and piece.text != NO_RESULT:
            assert any(valid_unicode(piece.text) in each or piece.text in each for each in texts), piece


@EVERY_GRAMMAR
@A_LAW
@given(pieces=conversations(), more=conversations(), profile=PROFILE)
def test_what_is_frozen_is_never_edited(
    form: Plain, pieces: tuple[Piece, ...], more: tuple[Piece, ...], profile: str
) -> None:
    sent, _ = repaired(form, form.render(pieces), profile)
    messages, _ = repaired(form, [*sent, *form.render(more)], profile, frozen=len(sent))
    assert all(now is then for now, then in zip(messages, sent, strict=False))
    assert left(form, messages, profile) == []
