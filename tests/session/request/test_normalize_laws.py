"""P3, by the rules themselves: whatever the journal, what would be sent of it is valid for every profile, and stays."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from holdfast.history.profiles import PROFILES
from holdfast.history.rules.profile import Profile
from holdfast.session.conversation.conversation import AssistantMessage, Conversation, UserMessage
from holdfast.session.conversation.fold import Fold, fold
from holdfast.session.journal.entries import (
    BAD_IMAGES,
    NO_IMAGES,
    Entry,
    ModelChanged,
    PromptAccepted,
    RequestFailed,
    RequestStarted,
    ResponseEnded,
    SessionOpened,
    ToolsChanged,
)
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.request.normalize import normalize
from holdfast.session.request.validate import validate_request, violations
from journals import DECISIONS, journals, opened, sessions
from laws import law

every_profile = pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
MODELS = ("openai-chat:m", "anthropic:m", "other:m")
BEGUN = PromptAccepted(turn=9, text="go")  # a turn that is never rewound here


@every_profile
@law(shared_by=len(PROFILES))
@given(journal=journals, model=st.sampled_from(MODELS))
def test_every_prefix_of_every_journal_is_valid_for_every_profile(
    profile: Profile, journal: list[Entry], model: str
) -> None:
    folded = Fold([opened])
    for entry in (*journal, ModelChanged(model=model)):
        folded.add(entry)
        assert violations(folded.conversation(), profile) == ()


@every_profile
@law(shared_by=len(PROFILES))
@given(journal=journals)
def test_what_is_sent_is_what_the_gate_admits_and_nothing_had_to_be_repaired(
    profile: Profile, journal: list[Entry]
) -> None:
    conversation = fold([opened, *journal, PromptAccepted(turn=9, text="go on")])
    admitted = validate_request(conversation, profile)
    assert admitted.violations == ()
    assert admitted.conversation == normalize(conversation, profile)


@every_profile
@law(shared_by=len(PROFILES))
@given(journal=journals, more=journals)
def test_what_was_sent_is_sent_again_the_same(profile: Profile, journal: list[Entry], more: list[Entry]) -> None:
    more = [each for each in more if not isinstance(each, ModelChanged | SessionOpened | ToolsChanged | DECISIONS)]
    more = [each for each in more if not (isinstance(each, RequestFailed) and each.fault in (NO_IMAGES, BAD_IMAGES))]
    folded = Fold([opened, BEGUN, *journal])
    conversation = folded.conversation()
    before = normalize(conversation, profile).messages
    for entry in more:
        folded.add(entry)
    after = normalize(folded.conversation(), profile).messages
    if conversation.open_calls:  # nothing is sent before they are settled, but for what asked for them
        unchanged = 1 + max(place for place, message in enumerate(before) if _has_calls(message))
        assert after[:unchanged] == before[:unchanged]
        return
    assert after[: len(before) - 1] == before[:-1]
    match before[-1], after[len(before) - 1]:
        case UserMessage() as was, UserMessage() as now:
            assert (now.results, now.texts[: len(was.texts)]) == (was.results, was.texts)
        case AssistantMessage() as was, AssistantMessage() as now:  # the end of a journal: nothing was sent behind it
            assert now.model == was.model
        case _:
            raise AssertionError(before[-1], after)


@given(journal=sessions(), fault=st.sampled_from([NO_IMAGES, BAD_IMAGES]))
def test_what_a_model_signed_behind_an_image_goes_when_the_image_does(journal: list[Entry], fault: str) -> None:
    profile = PROFILES["anthropic"]
    switch = ModelChanged(model="anthropic:m"), PromptAccepted(turn=99, text="go on")
    folded = Fold(
        [opened, BEGUN, *map(_signed, journal), *switch, RequestStarted(step=99, attempt=1, model="anthropic:m")]
    )
    before = normalize(folded.conversation(), profile).messages
    folded.add(RequestFailed(step=99, attempt=1, fault=fault, message="no", retry_in=0.0))
    after = normalize(folded.conversation(), profile).messages
    changed = [was != now for was, now in zip(before, after, strict=True)]
    rest = after[changed.index(True) :] if any(changed) else ()
    assert [message for message in rest if _thinks(message)] == []
    event(f"thinking went: {any(_thinks(message) for message in before[-len(rest) :]) if rest else False}")


@given(journal=journals)
def test_words_of_the_user_and_results_are_sent(journal: list[Entry]) -> None:
    conversation = fold([opened, *journal])
    for profile in PROFILES.values():
        sent = normalize(conversation, profile)
        assert _texts(sent) >= _texts(conversation)


@given(journal=journals, model=st.sampled_from(MODELS))
def test_thinking_goes_to_its_maker_only(journal: list[Entry], model: str) -> None:
    conversation = fold([opened, *journal, ModelChanged(model=model)])
    for profile in PROFILES.values():
        for message in normalize(conversation, profile).messages:
            if isinstance(message, AssistantMessage) and message.model != model:
                assert [part for part in message.parts if isinstance(part, ThinkingPart)] == []


def test_a_call_keeps_its_result_when_its_id_is_mapped() -> None:
    journal: list[Entry] = [opened, BEGUN, _call("functions.read:0"), PromptAccepted(turn=2, text="and now?")]
    sent = normalize(fold(journal), PROFILES["mistral"])
    call = next(part for m in sent.messages if isinstance(m, AssistantMessage) for part in m.parts)
    result = next(each for m in sent.messages if isinstance(m, UserMessage) for each in m.results)
    assert isinstance(call, CallPart)
    assert call.id == result.call
    assert call.id.isalnum()
    assert len(call.id) == 9


def _has_calls(message: UserMessage | AssistantMessage) -> bool:
    return isinstance(message, AssistantMessage) and any(isinstance(part, CallPart) for part in message.parts)


def _signed(entry: Entry) -> Entry:
    """Return the entry, an answer with thinking that Anthropic's model signed."""
    if not isinstance(entry, ResponseEnded):
        return entry
    thought = ThinkingPart("hm", signature="sig", provider="anthropic")
    parts = [part for part in entry.parts if not isinstance(part, ThinkingPart)]
    return msgspec.structs.replace(entry, model="anthropic:m", parts=(thought, *parts))


def _thinks(message: UserMessage | AssistantMessage) -> bool:
    return isinstance(message, AssistantMessage) and any(isinstance(part, ThinkingPart) for part in message.parts)


def _call(call: str) -> Entry:
    part = CallPart(id=call, name="read", arguments="{}")
    return ResponseEnded(step=1, model="openai-chat:m", parts=(part,), usage=Usage(), finish="calls")


def _texts(conversation: Conversation) -> set[str]:
    users = [message for message in conversation.messages if isinstance(message, UserMessage)]
    return {text for m in users for text in m.texts} | {result.text for m in users for result in m.results}


def test_where_text_may_not_follow_a_call_it_stands_before_it_although_thinking_was_signed() -> None:
    thought = ThinkingPart("hm", signature="sig", provider="deepseek")
    parts = (thought, CallPart(id="a", name="read", arguments="{}"), TextPart("one"))
    journal = [opened, BEGUN, ResponseEnded(step=1, model="openai-chat:m", parts=parts, usage=Usage())]
    assert violations(fold(journal), PROFILES["deepseek"]) == ()
    for profile, order in (("deepseek", [2, 1]), ("anthropic", [1, 2])):
        answer = normalize(fold(journal), PROFILES[profile]).messages[1]
        assert isinstance(answer, AssistantMessage)
        assert [type(part) for part in answer.parts[1:]] == [type(parts[at]) for at in order]


@pytest.mark.parametrize("profile", ["anthropic", "bedrock"])
def test_thinking_at_the_end_of_an_answer_is_not_sent_where_it_is_refused(profile: str) -> None:
    thought = ThinkingPart("hm", signature="sig", provider="anthropic")
    for parts in ((TextPart("one"), thought), (TextPart("one"), thought, TextPart(" "))):
        ended = ResponseEnded(step=1, model="anthropic:m", parts=parts, usage=Usage())
        conversation = fold(
            [opened, ModelChanged(model="anthropic:m"), BEGUN, ended, PromptAccepted(turn=10, text="y")]
        )
        admitted = validate_request(conversation, PROFILES[profile])
        assert admitted.violations == ()  # it was known before, nothing had to be repaired
        answer = admitted.conversation.messages[1]
        assert isinstance(answer, AssistantMessage)
        assert answer.parts == (TextPart("one"),)
        kept = normalize(conversation, PROFILES["deepseek"]).messages[1]
        assert isinstance(kept, AssistantMessage)
        assert thought in kept.parts
