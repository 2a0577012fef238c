"""The laws of repair on documents as they go over the wire, of which some nodes were deleted, doubled or retyped."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.history import Request, check, repair
from holdfast.history.formats.format import as_object, is_array
from holdfast.history.profiles import PAIRS
from holdfast.history.repair import NOT_REPAIRABLE
from laws import law
from wire_documents import DOCUMENTS, mutations

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
def test_what_is_repaired_is_valid_and_nothing_said_is_lost(
    form: str, *, data: st.DataObject, request: Request
) -> None:
    messages = data.draw(mutations(form))
    before = copy.deepcopy(messages)
    for profile in PAIRS[form]:
        repaired = repair(messages, format=form, profile=profile, **request)
        left = check(repaired.messages, format=form, profile=profile, **request)
        assert {each.rule for each in left} <= NOT_REPAIRABLE.keys()
        assert repaired.remaining == tuple(left)
        again = repair(repaired.messages, format=form, profile=profile, **request)
        assert again.edits == ()
        assert again.messages is repaired.messages
        other = repair(copy.deepcopy(messages), format=form, profile=profile, **request)
        assert (other.messages, other.edits) == (repaired.messages, repaired.edits)
        assert document_words(form, messages) - words_in(repaired.messages) == set()
    assert messages == before


@EVERY_FORMAT
@A_LAW
@given(data=st.data(), thinking=THINKING)
def test_what_was_sent_is_never_edited(form: str, *, data: st.DataObject, thinking: bool | None) -> None:
    messages = data.draw(mutations(form))
    profile = data.draw(st.sampled_from(PAIRS[form]))
    for frozen in range(len(messages) + 2):
        repaired = repair(messages, format=form, profile=profile, thinking=thinking, frozen=frozen)
        sent = messages[:frozen]
        assert len(repaired.messages) >= len(sent)
        assert all(is_now is was for is_now, was in zip(repaired.messages, sent, strict=False))
        assert document_words(form, messages) - words_in(repaired.messages) == set()


@EVERY_FORMAT
@A_LAW
@given(data=st.data())
def test_what_follows_a_valid_conversation_is_repaired_without_it(form: str, data: st.DataObject) -> None:
    profile = data.draw(st.sampled_from(PAIRS[form]))
    sent = repair(data.draw(mutations(form)), format=form, profile=profile)
    more = data.draw(mutations(form))
    repaired = repair([*sent.messages, *more], format=form, profile=profile, frozen=len(sent.messages))
    assert all(is_now is was for is_now, was in zip(repaired.messages, sent.messages, strict=False))
    if not sent.remaining:
        assert {each.rule for each in repaired.remaining} <= NOT_REPAIRABLE.keys()


def words_in(raw: object) -> set[str]:
    return set(_WORD.findall(json.dumps(raw)))


_UNSAID: Mapping[str, str] = {
    **dict.fromkeys(("id", "call_id", "tool_call_id", "tool_use_id"), "it pairs, and gets another value where it must"),
    **dict.fromkeys(("type", "role", "kind", "part_kind", "index", "status"), "it says of which kind something is"),
    **dict.fromkeys(("name", "tool_name", "filename", "mimeType", "media_type"), "a name, which becomes a legal one"),
    **dict.fromkeys(("thinking", "reasoning", "reasoning_content", "summary", "thought"), "thinking may have to go"),
    **dict.fromkeys(("signature", "thoughtSignature", "encrypted_content", "data"), "no word: bytes, or a signature"),
    **dict.fromkeys(("url", "image_url", "fileUri", "file_data", "source", "file"), "a note says that it was left out"),
    **dict.fromkeys(("cache_control", "citations", "annotations", "usage", "metadata", "x"), "it is of an answer"),
    **dict.fromkeys(("model_name", "provider_name", "run_id", "instructions", "is_error"), "it is of a request"),
    **dict.fromkeys(("audio", "action", "executableCode", "language", "query"), "what the provider did itself"),
}
"""The fields whose text need not be sent, each with the reason."""

_COPIED: Mapping[str, str] = {"pydantic-ai": "tool_calls"}
"""What a format writes a second time, of what its parts say."""


def document_words(form: str, raw: object) -> set[str]:
    """Return the words that stand anywhere in a document but in the fields that say nothing."""
    if isinstance(raw, str):
        return words_in(raw)
    if is_array(raw):
        return {word for each in raw for word in document_words(form, each)}
    block = as_object(raw)
    if block.get("thought") is True or "thinking" in (block.get("type"), block.get("part_kind")):
        return set()  # thinking may have to go
    values = (each for key, each in block.items() if key not in _UNSAID and key != _COPIED.get(form))
    return {word for each in values for word in document_words(form, each)}
