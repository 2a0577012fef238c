"""P3 and P4, against the model: whatever a provider answers, what follows can be sent, to it and to every other."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from holdfast.history.profiles import PROFILES
from holdfast.history.repair import NOT_REPAIRABLE
from holdfast.history.rules import RULES
from holdfast.history.rules.profile import Profile
from holdfast.session import verify as verifying
from holdfast.session.conversation.conversation import AssistantMessage, Conversation, UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    CallEnded,
    CallStarted,
    Entry,
    Part,
    PromptAccepted,
    RequestStarted,
    ResponseEnded,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.journal.store import Reading, StoredEntry
from holdfast.session.request.normalize import normalize
from holdfast.session.request.validate import left_broken, validate_request, violations
from holdfast.session.verify import verify
from holdfast.tool_calls import Outcome
from journals import opened
from laws import law

EVERY_PROFILE = pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
LIMITED = [profile for profile in PROFILES.values() if profile.calls is not None]

ARGUMENTS = (
    "{}",
    "",
    " ",
    "null",
    "[]",
    "{",
    '"{}"',
    '{"a": NaN}',
    '{"a": "\\ud83d"}',
    '{"a": ' + "[" * 20_000,
    '{"a": ' + "[" * 20_000 + "]" * 20_000 + "}",
    '{"a": ' * 500 + "1" + "}" * 500,
    '{"a": "' + "x" * 300_000 + '"}',
    '{"a": ' + "9" * 5_000 + "}",
)
NAMES = ("read", "", " ", "functions.read", "läs fil", "9lives", "x" * 300, "a\nb", "read\u0000", "🌊")
TEXTS = ("", " \n", "one", "\u200b", "x" * 100_000)
END = (TurnEnded(turn=1, reason="end_turn", cause="finished"), PromptAccepted(turn=2, text="and now?"))
OUTCOMES: tuple[Outcome, ...] = ("ok", "failed", "denied", "interrupted", "not_started")

spoken: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, st.sampled_from(TEXTS)),
    st.builds(
        ThinkingPart,
        st.sampled_from(TEXTS),
        signature=st.sampled_from([None, "", "sig"]),
        id=st.sampled_from([None, "", "rs_1", "reasoning_content"]),
        provider=st.sampled_from([None, "anthropic", "openai"]),
    ),
)


@st.composite
def answers(draw: st.DrawFn) -> list[Entry]:
    """Return a turn that ends in an answer of anything: many calls, strange ones, empty parts in any place."""
    many = draw(st.sampled_from([0, 1, 2, 127, 128, 129, 130, 256, 257, 400]))
    strange = draw(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(ARGUMENTS)), max_size=4))
    calls = [("read", "{}")] * many + strange
    parts: list[Part] = [CallPart(id=f"c{at:08}", name=name, arguments=text) for at, (name, text) in enumerate(calls)]
    for part in draw(st.lists(spoken, max_size=4)):
        parts.insert(draw(st.integers(0, len(parts))), part)
    model = draw(st.sampled_from(["openai-chat:m", "anthropic:m"]))
    outcome = draw(st.sampled_from(OUTCOMES))
    text = draw(st.sampled_from(TEXTS))
    event(f"{len(calls) // 128} times the limit")
    ended = ResponseEnded(step=1, model=model, parts=tuple(parts), usage=Usage())
    ran: list[Entry] = []
    for part in parts:
        if isinstance(part, CallPart):
            ran += [CallStarted(call=part.id, effect="read"), CallEnded(call=part.id, outcome=outcome, text=text)]
    return [PromptAccepted(turn=1, text="go"), RequestStarted(step=1, attempt=1, model=model), ended, *ran]


@EVERY_PROFILE
@law(shared_by=len(PROFILES))
@given(answer=answers(), end=st.sampled_from([(), END]))
def test_whatever_a_provider_answers_can_be_sent_again_to_every_profile(
    profile: Profile, answer: list[Entry], end: tuple[Entry, ...]
) -> None:
    called = any(isinstance(entry, CallEnded) for entry in answer)
    conversation = fold([opened, *answer, *(end if called else END)])  # without calls only the next prompt sends it
    admitted = validate_request(conversation, profile)
    assert admitted.violations == ()
    assert admitted.conversation == normalize(conversation, profile)
    assert violations(conversation, profile) == ()


@pytest.mark.parametrize("profile", LIMITED, ids=lambda profile: profile.name)
@pytest.mark.parametrize("calls", [128, 129, 257])
def test_an_answer_of_many_calls_is_sent_in_parts_with_their_results(profile: Profile, calls: int) -> None:
    thought = ThinkingPart("hm", signature="sig", provider="openai")
    sent = normalize(_answered(calls, thought, TextPart("I look.")), profile).messages
    answers = [message for message in sent if isinstance(message, AssistantMessage)]
    divided = [message for message in answers if message.calls]
    assert answers[: len(divided)] == divided  # between the results and the user some want one more
    if "thinking-off" not in profile.rules:
        assert isinstance(divided[0].parts[0], ThinkingPart)
    assert [len(message.calls) for message in divided] == [min(128, calls - at) for at in range(0, calls, 128)]
    assert TextPart("I look.") in divided[0].parts
    more = [part for message in divided[1:] for part in message.parts]
    assert {type(part) for part in more} == ({CallPart} if calls > 128 else set())
    for message, following in pairwise(sent):
        if isinstance(message, AssistantMessage) and message.calls:
            assert isinstance(following, UserMessage)
            assert [result.call for result in following.results] == [call.id for call in message.calls]
    assert [isinstance(message, UserMessage) and message.texts for message in sent][-1] == ("and now?",)


@pytest.mark.parametrize(
    "profile", [each for each in PROFILES.values() if each.calls is None], ids=lambda each: each.name
)
def test_without_a_limit_it_is_sent_as_it_is(profile: Profile) -> None:
    sent = normalize(_answered(257), profile).messages
    assert len([message for message in sent if isinstance(message, AssistantMessage)]) in (1, 2)
    assert max(len(message.calls) for message in sent if isinstance(message, AssistantMessage)) == 257


@EVERY_PROFILE
def test_one_that_was_sent_in_parts_stays_so(profile: Profile) -> None:
    before = normalize(_answered(300), profile).messages
    after = normalize(_answered(300, more=(PromptAccepted(turn=3, text="more"),)), profile).messages
    assert after[: len(before) - 1] == before[:-1]


WITHOUT_REPAIR = {
    "no-messages": "the next prompt is a message",
    "tools-not-declared": "a session without tools whose history holds calls declares the first one that was called",
    "thinking-not-first": "no request of ours turns thinking on: a provider that thinks does so unasked",
}
"""Every rule that no edit of messages repairs, and why no answer of a provider can break it in a session."""


def test_every_rule_without_a_repair_is_decided() -> None:
    assert WITHOUT_REPAIR.keys() == NOT_REPAIRABLE.keys()
    assert WITHOUT_REPAIR.keys() <= RULES.keys()
    for profile in PROFILES.values():
        assert left_broken(fold([opened]), profile) == ""
        assert left_broken(_answered(3, ThinkingPart("hm", signature="sig")), profile) == ""


def test_what_no_repair_restores_is_not_called_repaired(monkeypatch: pytest.MonkeyPatch) -> None:
    impossible = msgspec.structs.replace(PROFILES["openai-chat"], id_length=0)
    monkeypatch.setattr(verifying, "PROFILES", {impossible.name: impossible})
    records = tuple(StoredEntry(seq=at, at=0.0, entry=entry) for at, entry in enumerate([opened, *_journal(1)], 1))
    found = verify("s", Reading(records=records, findings=()), impossible).problems
    assert {problem.kind for problem in found} == {"violation"}
    assert all("nothing more is sent to this provider" in problem.todo for problem in found)
    assert not any("repaired before each request" in problem.todo for problem in found)


def _journal(calls: int, *parts: Part) -> list[Entry]:
    call_parts = tuple(CallPart(id=f"c{at:08}", name="read", arguments="{}") for at in range(calls))
    ended = ResponseEnded(step=1, model=opened.model, parts=(*parts, *call_parts), usage=Usage())
    ran: list[Entry] = []
    for call in call_parts:
        ran += [CallStarted(call=call.id, effect="read"), CallEnded(call=call.id, outcome="ok", text=call.id)]
    return [PromptAccepted(turn=1, text="go"), ended, *ran, TurnEnded(turn=1, reason="end_turn", cause="finished")]


def _answered(calls: int, *parts: Part, more: tuple[Entry, ...] = ()) -> Conversation:
    return fold([opened, *_journal(calls, *parts), PromptAccepted(turn=2, text="and now?"), *more])
