"""What an outline says of each message, and that it says nothing of what was said."""

from __future__ import annotations

from hypothesis import given
from msgspec.structs import replace

from holdfast.history.profiles import ANTHROPIC, OPENAI_CHAT, PROFILES
from holdfast.history.rules.profile import Profile
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.fold import fold
from holdfast.session.conversation.outline import Outline, OutlinePart, outline
from holdfast.session.journal.entries import (
    CallEnded,
    CallStarted,
    Entry,
    PromptAccepted,
    RequestStarted,
    ResponseEnded,
    SessionOpened,
)
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.request.normalize import normalize
from holdfast.session.request.validate import arranged
from journals import journals

MODEL = "anthropic:m"
ENTRIES: tuple[Entry, ...] = (
    SessionOpened(session="s", cwd="/", model=MODEL, system="S", tools=(), version="0"),
    PromptAccepted(turn=1, text="secret words"),
    RequestStarted(step=1, attempt=1, model=MODEL),
    ResponseEnded(
        step=1,
        model=MODEL,
        parts=(
            ThinkingPart("secret thought", signature="x"),
            TextPart("secret answer"),
            CallPart("aaaaaaaaa", "bash", '{"command": "secret"}'),
            CallPart("bbbbbbbbb", "bash", "{}"),
        ),
        usage=Usage(),
    ),
    CallStarted(call="aaaaaaaaa", effect="execute"),
    CallEnded(call="aaaaaaaaa", outcome="ok", text="secret output"),
    CallStarted(call="bbbbbbbbb", effect="execute"),
)


def outlined(conversation: Conversation, profile: Profile) -> tuple[Outline, ...]:
    unsettled = frozenset(call.part.id for call in conversation.open_calls)
    return outline(arranged(normalize(conversation, profile), profile), unsettled)


def test_every_part_has_its_kind_its_size_and_its_call() -> None:
    first, second, third = outlined(fold(ENTRIES), ANTHROPIC)
    assert first == Outline(0, "user", (OutlinePart("text", 12),))
    assert second == Outline(
        1,
        "assistant",
        (
            OutlinePart("thinking", 14),
            OutlinePart("text", 13),
            OutlinePart("call", 21, "aaaaaaaaa"),
            OutlinePart("call", 2, "bbbbbbbbb"),
        ),
        ("bbbbbbbbb",),
    )
    assert (third.index, third.role, third.calls) == (2, "user", ("aaaaaaaaa", "bbbbbbbbb"))
    assert third.pieces[0] == OutlinePart("result", 13, "aaaaaaaaa")
    assert "secret" not in repr((first, second, third))


def test_results_stand_apart_where_the_provider_has_them_apart() -> None:
    rows = outlined(replace(fold(ENTRIES), model="openai-chat:m"), OPENAI_CHAT)
    assert [row.role for row in rows] == ["user", "assistant", "tool", "tool"]
    assert [row.calls for row in rows[2:]] == [("aaaaaaaaa",), ("bbbbbbbbb",)]
    assert "thinking" not in {piece.kind for piece in rows[1].pieces}, "another model's is not sent"


def test_a_call_that_nothing_answers_is_open() -> None:
    conversation = fold((*ENTRIES, CallEnded(call="bbbbbbbbb", outcome="ok", text="x")))
    assert all(row.open_calls == () for row in outlined(conversation, ANTHROPIC))
    torn = replace(conversation, messages=conversation.messages[:-1])
    assert outlined(torn, ANTHROPIC)[1].open_calls == ("aaaaaaaaa", "bbbbbbbbb")


@given(journals)
def test_of_any_journal_only_calls_without_an_outcome_are_open(entries: list[Entry]) -> None:
    conversation = fold(entries)
    for profile in PROFILES.values():
        rows = outlined(conversation, profile)
        assert [row.index for row in rows] == list(range(len(rows)))
        assert len([call for row in rows for call in row.open_calls]) <= len(conversation.open_calls)
