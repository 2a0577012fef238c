"""The laws of the breakdown: its kinds add up to what the estimate counts, for every journal."""

from __future__ import annotations

from hypothesis import given

from holdfast.session.conversation.context_breakdown import (
    KIND_ANSWERS,
    KIND_IMAGES,
    KIND_RESULTS,
    KIND_SUMMARIES,
    KIND_SYSTEM,
    KIND_THINKING,
    KIND_USER_TEXTS,
    context_breakdown,
)
from holdfast.session.conversation.fold import fold
from holdfast.session.conversation.token_estimate import estimate, overhead_tokens
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.tool_calls import Image
from journals import journals
from laws import law

MODEL = "openai-chat:m"
opened = e.SessionOpened(session="s", cwd="/", model=MODEL, system="S" * 400, tools=(), version="0")


@law()
@given(journals)
def test_the_kinds_add_up(journal: list[e.Entry]) -> None:
    conversation = fold([opened, *journal])
    found = context_breakdown(conversation)
    assert found.total == overhead_tokens(conversation.opened) + estimate(conversation.messages, conversation.model)
    assert all(tokens > 0 for _, tokens in found.kinds)
    results = sum(tokens for kind, tokens in found.kinds if kind.startswith(KIND_RESULTS))
    assert sum(each.tokens for each in context_breakdown(conversation, most=10**9).largest) == results


def test_everything_has_its_kind() -> None:
    image = Image(media_type="image/png", data=b"x", name="a.png", width=75, height=100)
    journal = [
        opened,
        e.PromptAccepted(turn=1, text="p" * 40, images=(image,)),
        e.RequestStarted(step=1, attempt=1, model=MODEL),
        e.ResponseEnded(
            step=1,
            model=MODEL,
            parts=(
                ThinkingPart("t" * 80),
                TextPart("a" * 120),
                CallPart(id="1", name="read", arguments='{"path": "a"}'),
                CallPart(id="2", name="grep", arguments='{"pattern": "b"}'),
            ),
            usage=Usage(),
        ),
        e.CallEnded(call="1", outcome="ok", text="r" * 4000),
        e.CallEnded(call="2", outcome="ok", text="g" * 40),
    ]
    found = context_breakdown(fold(journal))
    kinds = dict(found.kinds)
    assert kinds[KIND_SYSTEM] == 100
    assert (kinds[KIND_USER_TEXTS], kinds[KIND_ANSWERS], kinds[KIND_THINKING], kinds[KIND_IMAGES]) == (10, 30, 20, 10)
    assert kinds[f"{KIND_RESULTS}read"] == 1016
    assert [(each.name, each.arguments) for each in found.largest] == [
        ("read", '{"path": "a"}'),
        ("grep", '{"pattern": "b"}'),
    ]
    compacted = fold(
        [
            *journal,
            e.TurnEnded(turn=1, reason="end_turn", cause="finished"),
            e.Compacted(step=1, note="n" * 80, why="asked"),
        ]
    )
    assert dict(context_breakdown(compacted).kinds)[KIND_SUMMARIES] == 20
