"""Checking what was added finds what checking the whole finds, in whatever conversation, valid or broken."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from holdfast.errors import InvalidRequest
from holdfast.history import rules
from holdfast.history.profiles import PROFILES
from holdfast.history.rules import Violation
from holdfast.history.rules.profile import Profile
from holdfast.history.shape import Shape
from holdfast.session.conversation.conversation import (
    AssistantMessage,
    Conversation,
    ConversationMessage,
    Result,
    UserMessage,
)
from holdfast.session.conversation.fold import Fold, fold
from holdfast.session.journal.entries import CallEnded, Entry, Part, PromptAccepted, RequestStarted, ResponseEnded
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.request.validate import FULL_CHECK, RequestValidator, ValidRequest, validate_request
from journals import opened, sessions
from laws import law
from sendable_conversations import conversation
from shown_images import picture

MODEL = "openai-chat:m"
every_profile = pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)

_ids = st.sampled_from(["c1", "c2", "c3", "functions.read:0", ""])
_words = st.sampled_from(["go", "", " ", "a\x00b"])
_names = st.sampled_from(["read", "list", "no such tool!"])
_arguments = st.sampled_from(["{}", "[1]", '{"a": 1}', "{"])


@st.composite
def _user(draw: st.DrawFn, calls: tuple[CallPart, ...]) -> UserMessage:
    """Return a message behind one with these calls: as a rule with their results, else with any."""
    results = tuple(Result(call.id, call.name, "ok", "done") for call in calls)
    if draw(st.sampled_from([False, False, False, True])):
        results = tuple(draw(st.lists(st.builds(Result, _ids, _names, st.just("ok"), _words), max_size=2)))
    content = draw(st.lists(st.one_of(st.just("go on"), _words, st.just(picture("a.png"))), max_size=1))
    return UserMessage(results, tuple(content) if results or content else ("go on",))


@st.composite
def _answer(draw: st.DrawFn, number: int) -> AssistantMessage:
    parts: list[Part] = []
    if draw(st.booleans()):
        parts.append(ThinkingPart("hm", signature=draw(st.sampled_from(["s", None])), provider="openai-chat"))
    if draw(st.booleans()):
        parts.append(TextPart(draw(st.one_of(st.just("Well."), _words))))
    calls = draw(st.sampled_from([0, 1, 1, 2, 2, 130]))
    unique = draw(st.sampled_from([True, True, True, False]))
    for each in range(calls):
        call = f"c{number}_{each}" if unique or each > 1 else draw(_ids)
        plain = unique or each > 1
        parts.append(CallPart(call, "read" if plain else draw(_names), "{}" if plain else draw(_arguments)))
    return AssistantMessage(draw(st.sampled_from([MODEL, MODEL, "other:m"])), tuple(parts))


@st.composite
def growing(draw: st.DrawFn) -> list[tuple[ConversationMessage, ...]]:
    """Return conversations, each as a rule longer than the one before; some are no conversations at all."""
    messages: list[ConversationMessage] = []
    found: list[tuple[ConversationMessage, ...]] = []
    calls: tuple[CallPart, ...] = ()
    for number in range(draw(st.integers(1, 6))):
        messages.append(draw(_user(calls)))
        if draw(st.booleans()):
            found.append(tuple(messages))
        answer = draw(_answer(number))
        calls = answer.calls
        match draw(st.sampled_from(["asks", "asks", "asks", "asks", "ends", "forgets"])):
            case "ends":
                found.append((*messages, answer))
            case "forgets" if len(messages) > 1:
                del messages[draw(st.integers(0, len(messages) - 1))]
            case _:
                pass
        messages.append(answer)
    return [*found, (*messages, draw(_user(calls)))]


@every_profile
@law(shared_by=len(PROFILES))
@given(conversations=growing())
def test_a_longer_conversation_is_judged_as_if_it_were_new(
    profile: Profile, conversations: list[tuple[ConversationMessage, ...]]
) -> None:
    validator = RequestValidator()
    for messages in conversations:
        request = conversation(MODEL, *messages)
        assert _verdict(validator, request, profile) == _verdict(RequestValidator(always_full=True), request, profile)


@every_profile
@law(shared_by=len(PROFILES))
@given(journal=sessions())
def test_a_session_is_judged_as_if_each_request_were_its_first(profile: Profile, journal: list[Entry]) -> None:
    validator, folded = RequestValidator(), Fold([opened, PromptAccepted(turn=1, text="go")])
    requests = 0
    for entry in journal:
        if isinstance(entry, RequestStarted):
            requests += 1
            request = folded.conversation()
            assert validator.validate(request, profile) == validate_request(request, profile)
        folded.add(entry)
    event(f"requests: {min(requests, 5)}")


def test_only_what_was_added_is_checked_and_every_fiftieth_request_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = _lengths_checked(monkeypatch)
    validator = RequestValidator()
    messages: list[ConversationMessage] = [UserMessage((), ("go",))]
    for number in range(2 * FULL_CHECK + 1):
        request = conversation(MODEL, *messages)
        assert validator.validate(request, PROFILES["anthropic"]).conversation.messages == request.messages
        messages += _step(f"call{number:05}")
    assert [at for at, length in enumerate(checked) if length > LONGEST_WINDOW] == [FULL_CHECK, 2 * FULL_CHECK]
    assert set(checked[2:FULL_CHECK]) == {LONGEST_WINDOW}


@pytest.mark.parametrize("profile", ["anthropic", "bedrock"])
def test_a_request_that_continues_declares_the_tool_of_an_earlier_call_too(profile: str) -> None:
    """A session whose tools are all gone (an MCP server that was removed): these providers refuse undeclared calls."""
    journal = [
        msgspec.structs.replace(opened, tools=()),
        PromptAccepted(turn=1, text="go"),
        RequestStarted(step=1, attempt=1, model=MODEL),
        ResponseEnded(step=1, model=MODEL, parts=(CallPart("c1", "read", "{}"),), usage=Usage()),
        CallEnded(call="c1", outcome="ok", text="done"),
        RequestStarted(step=2, attempt=1, model=MODEL),
        ResponseEnded(step=2, model=MODEL, parts=(TextPart("Done."),), usage=Usage()),
        PromptAccepted(turn=2, text="more"),
        RequestStarted(step=3, attempt=1, model=MODEL),
        ResponseEnded(step=3, model=MODEL, parts=(TextPart("Done."),), usage=Usage()),
        PromptAccepted(turn=3, text="more"),
    ]
    validator = RequestValidator()
    for end in (2, 5, 8, 11):
        request = validator.validate(fold(journal[:end]), PROFILES[profile])
        assert request == validate_request(fold(journal[:end]), PROFILES[profile])
        assert request.conversation.opened is not None
        assert [tool.name for tool in request.conversation.opened.tools] == (["read"] if end > 2 else [])


def test_a_call_id_used_before_is_found_however_long_ago() -> None:
    validator = RequestValidator()
    messages: list[ConversationMessage] = [UserMessage((), ("go",)), *_step("call00001"), *_step("call00002")]
    for again in (*_step("call00003"), *_step("call00004")), _step("call00001"):
        first = conversation(MODEL, *messages)
        assert validator.validate(first, PROFILES["any"]).violations == ()
        messages += again
    request = conversation(MODEL, *messages)
    found = validator.validate(request, PROFILES["any"])
    assert [each.rule for each in found.violations] == ["reused-call-id"]
    assert found == validate_request(request, PROFILES["any"])


def test_an_image_has_everything_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    validator = RequestValidator()
    messages = [UserMessage((), ("go",)), *_step("call00001"), *_step("call00002"), *_step("call00003")]
    validator.validate(conversation(MODEL, *messages), PROFILES["anthropic"])
    messages += [AssistantMessage(MODEL, (TextPart("Well."),)), UserMessage((), (picture("a.png"),))]
    checked = _lengths_checked(monkeypatch)
    validator.validate(conversation(MODEL, *messages), PROFILES["anthropic"])
    assert checked == [len(messages)]


def test_a_response_with_too_many_calls_is_there_before_its_results_are() -> None:
    validator, profile = RequestValidator(), PROFILES["openai-chat"]
    messages: list[ConversationMessage] = [UserMessage((), ("go",))]
    validator.validate(conversation(MODEL, *messages), profile)
    many = [_step(f"call{number:05}") for number in range(129)]
    calls = AssistantMessage(MODEL, tuple(part for answer, _ in many for part in answer.parts))
    for following in (calls, UserMessage(tuple(each for _, answered in many for each in answered.results), ())):
        messages.append(following)
        request = conversation(MODEL, *messages)
        assert _verdict(validator, request, profile) == _verdict(RequestValidator(), request, profile)


LONGEST_WINDOW = 5
"""What stands for the earlier messages, the last exchange that was checked, and a new one."""


def _step(call: str) -> tuple[AssistantMessage, UserMessage]:
    """Return a response with one call, and its result."""
    return AssistantMessage(MODEL, (CallPart(call, "read", "{}"),)), UserMessage(
        (Result(call, "read", "ok", "done"),), ()
    )


def _lengths_checked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets how many messages each further check looks at."""
    checked: list[int] = []
    check = rules.check_shape

    def counted(shape: Shape, profile: Profile) -> tuple[Violation, ...]:
        checked.append(len(shape.messages))
        return check(shape, profile)

    monkeypatch.setattr(rules, "check_shape", counted)
    return checked


def _verdict(validator: RequestValidator, request: Conversation, profile: Profile) -> ValidRequest | str:
    try:
        return validator.validate(request, profile)
    except InvalidRequest as error:
        return str(error)
