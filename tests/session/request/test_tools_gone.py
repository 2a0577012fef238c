"""A conversation whose tools are all gone is still sent where a history of calls must declare some."""

from __future__ import annotations

import pytest

from holdfast.history.profiles import PROFILES
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    CallEnded,
    Entry,
    PromptAccepted,
    ResponseEnded,
    SessionOpened,
    ToolsChanged,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.session.request.normalize import normalize
from holdfast.session.request.validate import validate_request
from holdfast.tool_calls import ToolSchema

GONE = "It was used earlier in this conversation. It is not available any more."
TOOL = ToolSchema(name="mcp__files__read", description="Reads.", parameters={"type": "object"})


def journal(*calls: str) -> list[Entry]:
    entries: list[Entry] = [
        SessionOpened(session="s", cwd="/", model="anthropic:m", system="S", tools=(TOOL,), version="0"),
        PromptAccepted(turn=1, text="go"),
    ]
    for step, name in enumerate(calls, 1):
        call = CallPart(id=f"c{step}", name=name, arguments="{}")
        entries += [
            ResponseEnded(step=step, model="anthropic:m", parts=(call,), usage=Usage()),
            CallEnded(call=call.id, outcome="ok", text="done"),
        ]
    entries += [
        TurnEnded(turn=1, reason="end_turn", cause="finished"),
        ToolsChanged(tools=(), note="The server is gone."),
        PromptAccepted(turn=2, text="and now?"),
    ]
    return entries


@pytest.mark.parametrize("profile", ["anthropic", "bedrock"])
def test_one_that_was_called_is_declared_and_no_later_call_changes_which(profile: str) -> None:
    for calls in (("mcp__files__read",), ("mcp__files__read", "invented", "mcp__files__read")):
        conversation = fold(journal(*calls))
        sent = validate_request(conversation, PROFILES[profile])
        assert sent.violations == ()
        opened = sent.conversation.opened
        assert opened is not None
        assert [(tool.name, tool.description) for tool in opened.tools] == [("mcp__files__read", GONE)]


@pytest.mark.parametrize("profile", ["openai-chat", "gemini"])
def test_where_none_must_be_declared_none_is(profile: str) -> None:
    sent = normalize(fold(journal("mcp__files__read")), PROFILES[profile])
    assert sent.opened is not None
    assert sent.opened.tools == ()


def test_without_calls_none_is_declared() -> None:
    sent = normalize(fold(journal()), PROFILES["anthropic"])
    assert sent.opened is not None
    assert sent.opened.tools == ()
