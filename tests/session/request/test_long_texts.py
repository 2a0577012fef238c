"""Texts that are longer than a provider accepts: sent with their beginning and their end, and the session goes on."""

from __future__ import annotations

import json

import pytest

from holdfast.history.profiles import ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES
from holdfast.history.rules.profile import Profile
from holdfast.session.conversation.conversation import AssistantMessage, UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import CallEnded, CallStarted, PromptAccepted, ResponseEnded
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.session.request.validate import validate_request

MOST = 10_485_760
LONG = f"BEGIN{'x' * MOST}END"


@pytest.mark.parametrize("profile", [OPENAI_CHAT, OPENAI_RESPONSES], ids=lambda profile: profile.name)
def test_a_prompt_that_is_too_long_is_sent_with_its_beginning_and_its_end(profile: Profile) -> None:
    valid = validate_request(fold([PromptAccepted(turn=1, text=LONG)]), profile)
    assert [each.rule for each in valid.violations] == ["text-too-long"]
    message = valid.conversation.messages[0]
    assert isinstance(message, UserMessage)
    text = message.content[0]
    assert isinstance(text, str)
    assert MOST - 20 < len(text) <= MOST
    assert (text[:6], text[-4:]) == ("BEGINx", "xEND")
    assert "characters are left out here" in text


def test_a_prompt_is_sent_as_it_is_where_no_limit_is_known() -> None:
    valid = validate_request(fold([PromptAccepted(turn=1, text=LONG)]), ANTHROPIC)
    assert valid.violations == ()


def test_a_result_and_arguments_that_are_too_long_are_shortened_too() -> None:
    arguments = json.dumps({"text": "x" * 1_048_576})
    call = CallPart(id="call_1", name="write", arguments=arguments)
    entries = [
        PromptAccepted(turn=1, text="Write it."),
        ResponseEnded(step=1, model="openai-responses:m", parts=(call,), usage=Usage()),
        CallStarted(call="call_1", effect="write"),
        CallEnded(call="call_1", outcome="ok", text=LONG),
    ]
    valid = validate_request(fold(entries), OPENAI_RESPONSES)
    assert {each.rule for each in valid.violations} == {"text-too-long", "arguments-too-long"}
    _, answer, returned = valid.conversation.messages
    assert isinstance(answer, AssistantMessage)
    assert isinstance(answer.parts[0], CallPart)
    assert set(json.loads(answer.parts[0].arguments)) == {"_unreadable_arguments"}
    assert isinstance(returned, UserMessage)
    assert MOST - 20 < len(returned.results[0].text) <= MOST
