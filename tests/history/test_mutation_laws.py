"""The laws of repair on documents as they go over the wire, of which some nodes were deleted, doubled or retyped."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_documents import DOCUMENTS, mutations

from holdfast.history import Request, check, repair
from holdfast.history.formats import find_format
from holdfast.history.formats.format import as_object, is_array, project
from holdfast.history.formats.writing import raw_at
from holdfast.history.profiles import PAIRS
from holdfast.history.repair import CANNOT_BE_MENDED
from holdfast.history.sending import Parted
from laws import law

EVERY_FORMAT = pytest.mark.parametrize("form", DOCUMENTS)
A_LAW = law(shared_by=len(DOCUMENTS))
THINKING = st.sampled_from([None, True, False])
REQUESTS = st.builds(
    Request,
    thinking=THINKING,
    tools=st.sampled_from([None, ["f", "g", "h"]]),
    text_only=st.booleans(),
    signed_by=st.sampled_from([None, "another"]),
    store=st.sampled_from([None, False]),
)
_WORD = re.compile(r"w[A-Z]+\d\.")


@pytest.mark.parametrize(("form", "profile"), [(form, profile) for form in DOCUMENTS for profile in PAIRS[form][:1]])
def test_the_documents_are_valid_before_they_are_changed(form: str, profile: str) -> None:
    assert check(DOCUMENTS[form], format=form, profile=profile, tools=["f", "g", "h"]) == []


@EVERY_FORMAT
@A_LAW
@given(data=st.data(), request=REQUESTS)
def test_what_is_mended_is_valid_and_nothing_said_is_lost(form: str, *, data: st.DataObject, request: Request) -> None:
    messages = data.draw(mutations(form))
    before = copy.deepcopy(messages)
    for profile in PAIRS[form]:
        mended = repair(messages, format=form, profile=profile, **request)
        left = check(mended.messages, format=form, profile=profile, **request)
        assert [each for each in left if each.rule not in CANNOT_BE_MENDED] == []
        assert mended.remaining == tuple(left)
        again = repair(mended.messages, format=form, profile=profile, **request)
        assert again.edits == ()
        assert again.messages is mended.messages
        other = repair(copy.deepcopy(messages), format=form, profile=profile, **request)
        assert (other.messages, other.edits) == (mended.messages, mended.edits)
        assert said(form, messages) - words_in(mended.messages) == set()
    assert messages == before


@EVERY_FORMAT
@A_LAW
@given(data=st.data(), thinking=THINKING)
def test_what_was_sent_is_never_edited(form: str, *, data: st.DataObject, thinking: bool | None) -> None:
    messages = data.draw(mutations(form))
    profile = data.draw(st.sampled_from(PAIRS[form]))
    for frozen in range(len(messages) + 2):
        mended = repair(messages, format=form, profile=profile, thinking=thinking, frozen=frozen)
        kept = messages[:frozen]
        assert len(mended.messages) >= len(kept)
        assert all(is_now is was for is_now, was in zip(mended.messages, kept, strict=False))
        assert said(form, messages) - words_in(mended.messages) == set()


@EVERY_FORMAT
@A_LAW
@given(data=st.data())
def test_what_follows_a_valid_conversation_is_mended_without_it(form: str, data: st.DataObject) -> None:
    profile = data.draw(st.sampled_from(PAIRS[form]))
    sent = repair(data.draw(mutations(form)), format=form, profile=profile)
    more = data.draw(mutations(form))
    mended = repair([*sent.messages, *more], format=form, profile=profile, frozen=len(sent.messages))
    assert all(is_now is was for is_now, was in zip(mended.messages, sent.messages, strict=False))
    if not sent.remaining:
        assert [each for each in mended.remaining if each.rule not in CANNOT_BE_MENDED] == []


def words_in(raw: object) -> set[str]:
    return set(_WORD.findall(json.dumps(raw)))


def said(form: str, messages: list[object]) -> set[str]:
    """Return the words that stand where somebody says them: in texts and in what results hold."""
    found = find_format(form)
    sent = [unit.raw for unit in found.unfold(messages)] if isinstance(found, Parted) else messages
    items = (item for message in project(found, sent).messages for item in message.items)
    return {
        word
        for item in items
        if item.kind in ("text", "result") and (item.kind == "result" or "foreign" not in item.flags)
        for held in _held(raw_at(item.path, sent))
        for word in words_in(held)
    }


_SAYING = frozenset({"text", "refusal", "content", "output", "transcript", "tool_calls", "function", "arguments"})


def _shown(raw: object) -> object:
    """Return JSON without the fields of its blocks in which nobody says anything: a kind, an address, a flag."""
    if is_array(raw):
        return [_shown(each) for each in raw]
    if block := as_object(raw):
        return {key: _shown(each) for key, each in block.items() if "type" not in block or key in _SAYING}
    return raw


def _held(raw: object) -> Iterator[object]:
    """Yield what a text or a result says."""
    if isinstance(raw, str):
        yield raw
    block = as_object(raw)
    result = as_object(block.get("functionResponse"))
    if str(block.get("type")).endswith("_output"):  # it has no other field that says something
        block = {"output": block.get("output")}
    yield from (
        _shown(block[key])
        for key in ("text", "refusal", "content", "output", "transcript", "tool_calls")
        if key in block and not (key == "text" and "role" in block)  # no message has that field
    )
    if "response" in result:
        yield result["response"]
