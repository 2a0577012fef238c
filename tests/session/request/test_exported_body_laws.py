"""The laws of exported bodies: whatever a journal holds, a provider of that wire would accept what is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import cast

import msgspec
import pytest
from hypothesis import given

from holdfast.history import check
from holdfast.session.conversation.conversation import AssistantMessage, Conversation
from holdfast.session.journal.entries import Entry, PromptAccepted, ResponseEnded
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.request.exported_body import Body, anthropic, openai_chat, settled_conversation
from journals import journals, opened
from laws import law

NEXT: dict[str, Body] = {
    "openai-chat": {"role": "user", "content": "The next prompt."},
    "anthropic": {"role": "user", "content": [{"type": "text", "text": "The next prompt."}]},
}


@pytest.mark.parametrize(("form", "write"), [("openai-chat", openai_chat), ("anthropic", anthropic)])
@law(shared_by=2)
@given(journal=journals)
def test_a_body_breaks_no_rule_and_says_every_text(
    form: str, write: Callable[[Conversation], Body], journal: list[Entry]
) -> None:
    conversation = settled_conversation([opened, *journal])
    body = write(conversation)
    messages = cast("list[object]", body["messages"])
    if not conversation.messages or isinstance(conversation.messages[-1], AssistantMessage):
        body = body | {"messages": [*messages, NEXT[form]]}
    assert check(json.loads(json.dumps(body)), format=form, tools=("bash",)) == []  # a session declares some
    output = json.dumps(body, ensure_ascii=False)
    for message in conversation.messages:
        if isinstance(message, AssistantMessage):
            texts = [part.text for part in message.parts if isinstance(part, TextPart)]
        else:
            said_there = [each if isinstance(each, str) else each.name for each in message.content]
            texts = [*said_there, *(result.text for result in message.results)]
        assert all(json.dumps(text, ensure_ascii=False)[1:-1] in output for text in texts)


def test_thinking_goes_where_it_was_signed() -> None:
    parts = (
        ThinkingPart("hm", signature="sig", provider="anthropic"),
        TextPart("I look."),
        CallPart(id="a", name="read", arguments='{"path": "x"}'),
    )
    ended = ResponseEnded(step=1, model="anthropic:m", parts=parts, usage=Usage())
    conversation = settled_conversation([opened, PromptAccepted(turn=1, text="go"), ended])
    assert "hm" not in json.dumps(openai_chat(conversation))
    assert "hm" not in json.dumps(anthropic(conversation))  # the session's model is another
    signed = settled_conversation(
        [msgspec.structs.replace(opened, model="anthropic:m"), PromptAccepted(turn=1, text="go"), ended]
    )
    body = anthropic(signed)
    assert body["model"] == "m"
    written = json.loads(json.dumps(body))["messages"][1]["content"]
    call = written[2].pop("id")
    assert call
    assert written == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "name": "read", "input": {"path": "x"}},
    ]
