"""The laws of repair, over every legal pair of format and profile."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations import NO_RESULT, Answered, Junk, Piece, Returned, Said, conversations
from holdfast.history import check, repair
from holdfast.history.apply_edits import apply
from holdfast.history.edits import AddResult, Edit, MoveResult
from holdfast.history.formats import find_format
from holdfast.history.formats.format import CrossMessageFormat, is_object, project_messages
from holdfast.history.profiles import PAIRS, PROFILES
from holdfast.history.repair import NOT_REPAIRABLE, repair_shape
from holdfast.text import valid_unicode
from json_strings import strings_in
from laws import law
from renderings import RENDERINGS
from tiers import one_of

EVERY_FORMAT = pytest.mark.parametrize("form", RENDERINGS)
A_LAW = law(shared_by=len(RENDERINGS))
THINKING = st.sampled_from([None, True, False])


@pytest.mark.parametrize("form", one_of(tuple(RENDERINGS), "test_every_legal_pair_is_drawn_often"))
def test_every_legal_pair_is_drawn_often(form: str) -> None:
    drawn: Counter[str] = Counter()
    many = max(400, A_LAW.max_examples)  # a hundred say little of eleven profiles

    @settings(A_LAW, max_examples=many)
    @given(data=st.data(), pieces=conversations())
    def draw(data: st.DataObject, pieces: tuple[Piece, ...]) -> None:  # noqa: ARG001 - as the laws draw
        drawn[data.draw(st.sampled_from(PAIRS[form]))] += 1

    draw()
    assert sum(drawn.values()) >= many
    for profile in PAIRS[form]:
        assert drawn[profile] >= many / len(PAIRS[form]) / 8, profile


@EVERY_FORMAT
@A_LAW
@given(data=st.data(), pieces=conversations(), thinking=THINKING)
def test_a_repaired_conversation_is_valid_and_needs_no_second_repair(
    form: str, *, data: st.DataObject, pieces: tuple[Piece, ...], thinking: bool | None
) -> None:
    profile = data.draw(st.sampled_from(PAIRS[form]))
    repaired = repair(RENDERINGS[form](pieces), format=form, profile=profile, thinking=thinking)
    left = check(repaired.messages, format=form, profile=profile, thinking=thinking)
    assert {each.rule for each in left} <= NOT_REPAIRABLE.keys()
    again = repair(repaired.messages, format=form, profile=profile, thinking=thinking)
    assert again.edits == ()
    assert again.messages is repaired.messages


@EVERY_FORMAT
@A_LAW
@given(st.data(), conversations())
def test_a_valid_conversation_is_the_same_document(form: str, data: st.DataObject, pieces: tuple[Piece, ...]) -> None:
    profile = data.draw(st.sampled_from(PAIRS[form]))
    messages = RENDERINGS[form](pieces)
    if not check(messages, format=form, profile=profile):
        repaired = repair(messages, format=form, profile=profile)
        assert repaired.edits == ()
        assert repaired.messages is messages


@EVERY_FORMAT
@A_LAW
@given(st.data(), conversations())
def test_untouched_messages_are_the_same_objects_and_the_input_is_never_changed(
    form: str, data: st.DataObject, pieces: tuple[Piece, ...]
) -> None:
    profile = data.draw(st.sampled_from(PAIRS[form]))
    messages = RENDERINGS[form](pieces)
    before = copy.deepcopy(messages)
    repaired = repair(messages, format=form, profile=profile)
    assert messages == before
    ids = {id(message) for message in repaired.messages}
    touched = {index for edit in repaired.edits for index in indices(edit)}
    for index, message in enumerate(messages):
        joined = index + 1 in touched  # the next was joined to it
        heir = index - 1 in touched and id(messages[index - 1]) not in ids  # or it took the place of one that is gone
        assert id(message) in ids or index in touched or joined or heir


NO_MESSAGES: tuple[object, ...] = (
    "unheard",
    5,
    ["unheard"],
    {"content": "unheard"},
    {"role": "x", "content": "unheard"},
)


def with_fields(message: object, fields: tuple[str, ...]) -> object:
    return {**message, **dict.fromkeys(fields, 1)} if fields and is_object(message) else message


@pytest.mark.parametrize("form", [each for each in RENDERINGS if not isinstance(find_format(each), CrossMessageFormat)])
@A_LAW
@given(st.data(), conversations(), st.sampled_from([(), ("unheard",)]))
def test_a_projection_that_is_known_after_a_repair_is_the_one_of_the_message(
    form: str, data: st.DataObject, pieces: tuple[Piece, ...], fields: tuple[str, ...]
) -> None:
    profile = PROFILES[data.draw(st.sampled_from(PAIRS[form]))]
    known = profile.known_fields(form, thinking=False)
    broken = [with_fields(each, fields) for each in RENDERINGS[form](pieces)]
    for messages in (broken, repair(broken, format=form, profile=profile.name).messages):
        shape = project_messages(find_format(form), messages, known=known)
        edited = apply(find_format(form), messages, shape, repair_shape(shape, profile), known=known)
        for raw, projection in zip(edited.messages, edited.known_projections(shape), strict=True):
            if projection is not None:
                again = project_messages(find_format(form), [raw], known=known, begin=projection.index)
                assert again.messages == (projection,)


@EVERY_FORMAT
@A_LAW
@given(st.data(), conversations())
def test_texts_and_finished_results_survive(form: str, data: st.DataObject, pieces: tuple[Piece, ...]) -> None:
    profile = data.draw(st.sampled_from(PAIRS[form]))
    repaired = repair(RENDERINGS[form](pieces), format=form, profile=profile)
    strings = list(strings_in(repaired.messages))
    for text in _texts(pieces):
        if text.strip():
            assert any(valid_unicode(text) in each or text in each for each in strings), text


@EVERY_FORMAT
@A_LAW
@given(st.data(), conversations())
def test_a_profile_of_some_rules_loses_no_text(form: str, data: st.DataObject, pieces: tuple[Piece, ...]) -> None:
    known = PROFILES[data.draw(st.sampled_from(PAIRS[form]))]
    chosen = data.draw(st.sets(st.sampled_from(sorted(known.rules))))
    rules = {rule: evidence for rule, evidence in known.rules.items() if rule in chosen}
    messages = [*RENDERINGS[form](pieces), *data.draw(st.lists(st.sampled_from(NO_MESSAGES)))]
    repaired = repair(messages, format=form, profile=msgspec.structs.replace(known, rules=rules))
    strings = list(strings_in(repaired.messages))
    for text in (*_texts(pieces), "unheard"):
        if text.strip() and any(text in each for each in strings_in(messages)):
            assert any(valid_unicode(text) in each or text in each for each in strings), text


@EVERY_FORMAT
@A_LAW
@given(st.data(), conversations())
def test_the_same_input_gives_the_same_edits(form: str, data: st.DataObject, pieces: tuple[Piece, ...]) -> None:
    profile = data.draw(st.sampled_from(PAIRS[form]))
    first = repair(RENDERINGS[form](pieces), format=form, profile=profile)
    second = repair(RENDERINGS[form](pieces), format=form, profile=profile)
    assert first.edits == second.edits
    assert first.messages == second.messages


@EVERY_FORMAT
@A_LAW
@given(st.data(), conversations(), conversations(), st.integers(0, 20))
def test_what_is_frozen_is_never_edited(
    form: str, data: st.DataObject, pieces: tuple[Piece, ...], more: tuple[Piece, ...], cut: int
) -> None:
    profile = data.draw(st.sampled_from(PAIRS[form]))
    sent = repair(RENDERINGS[form](pieces), format=form, profile=profile)
    messages = [*sent.messages, *RENDERINGS[form](more)]
    repaired = repair(messages, format=form, profile=profile, frozen=len(sent.messages))
    assert all(is_now is was for is_now, was in zip(repaired.messages, sent.messages, strict=False))
    assert len(repaired.messages) >= len(sent.messages)
    if not sent.remaining:
        left = check(repaired.messages, format=form, profile=profile)
        assert {each.rule for each in left} <= NOT_REPAIRABLE.keys()
    anywhere = repair(messages, format=form, profile=profile, frozen=min(cut, len(messages)))
    assert all(is_now is was for is_now, was in zip(anywhere.messages, messages[:cut], strict=False))


def test_a_system_message_behind_one_that_was_sent_becomes_a_user_message() -> None:
    sent, new = {"role": "system", "content": "be brief"}, {"role": "system", "content": "and kind"}
    repaired = repair([sent, new], format="openai-chat", profile="openai-compatible", frozen=1)
    assert repaired.messages == [sent, {"role": "user", "content": "[System message]\nand kind"}]
    assert repaired.messages[0] is sent
    assert repaired.remaining == ()


def indices(edit: Edit) -> Iterator[int]:
    """Yield the indices of the messages that the edit names."""
    yield from (int(index) for index in re.findall(r"messages\[(\d+)\]", edit.sentence))
    if isinstance(edit, AddResult | MoveResult):
        yield edit.place.message


def _texts(pieces: tuple[Piece, ...]) -> Iterator[str]:
    for piece in pieces:
        match piece:
            case Said(text=text) | Junk(text=text):
                yield text
            case Answered(text=str(text)):
                yield text
            case Returned(text=str(text)) if text != NO_RESULT:
                yield text
            case _:
                pass
