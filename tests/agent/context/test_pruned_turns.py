"""Old outputs are left out before a turn's first request: journalled, told, accepted by each provider, and for good."""

from __future__ import annotations

import io
import json

import pytest

from holdfast.agent.events import Fact
from holdfast.session.conversation.context_settings import ContextSettings
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.conversation.token_estimate import context_tokens
from holdfast.session.journal.entries import CallEnded, PromptAccepted, Pruned, RequestStarted
from holdfast.ui.headless.json_output import StreamJsonOutput
from holdfast.ui.headless.text_output import TextOutput
from holdfast.ui.view.journal_listing import transcript
from long_sessions import BIG, Long
from provider_situations import MODELS, Session, accepted, request_text
from tiers import sampled


def bodies(session: Session) -> list[str]:
    return [request_text(request) for _, request in session.sent()]


@pytest.mark.parametrize("model", sampled(MODELS, 4))
async def test_an_old_output_goes_between_turns_and_the_provider_takes_what_is_left(model: str) -> None:
    session = Long()
    agent = session.begin(model)
    for number in (1, 2, 3, 4):
        await session.turn(agent, f"prompt {number}")
    for name, request in session.sent():
        accepted(name, request)
    lines = json.dumps(BIG)[1:-1]
    assert [body.count(lines) for body in bodies(session)] == [0, 1, 1, 2, 1, 2, 1, 2], "each third turn's first leaves"
    assert [len(entry.outputs) for entry in session.pruned] == [1, 1]
    assert all("left out to save room" in body for body in bodies(session)[4:])
    entries = session.entries
    for entry in session.pruned:
        before, after = entries[entries.index(entry) - 1], entries[entries.index(entry) + 1]
        assert isinstance(before, PromptAccepted)
        assert isinstance(after, RequestStarted)
    assert [entry.text for entry in entries if isinstance(entry, CallEnded)] == [BIG] * 4, "the journal has it all"


@pytest.mark.parametrize("model", sampled(MODELS, 4))
async def test_killed_before_or_after_the_entry_the_next_process_sends_the_same(model: str) -> None:
    complete = Long()
    agent = complete.begin(model)
    for number in (1, 2, 3):
        await complete.turn(agent, f"prompt {number}")
    place = next(at for at, entry in enumerate(complete.entries) if isinstance(entry, Pruned))
    sent: list[object] = []
    for count in (place, place + 1):
        session = Long()
        session.begin(model)
        session.store = type(session.store)()
        session.store.append(complete.entries[:count], expected=0)
        await session.turn(session.agent(), "go on")
        for name, request in session.sent():
            accepted(name, request)
        assert [entry.outputs for entry in session.pruned] == [entry.outputs for entry in complete.pruned]
        sent.append(json.loads(session.provider.requests[0].raw))
    assert sent[0] == sent[1]


async def test_pruning_is_shown_once_in_one_line_live_and_in_the_transcript() -> None:
    session = Long()
    agent = session.begin(MODELS[0])
    for number in (1, 2, 3):
        await session.turn(agent, f"prompt {number}")
    (entry,) = session.pruned
    notice = "From here on the model gets a shortened output of 1 call"
    line = f"{notice} (saves about {entry.saved:,} tokens). Nothing is deleted."
    out, err = io.StringIO(), io.StringIO()
    text = TextOutput(out, err, on_closed=lambda _: None)
    stream = StreamJsonOutput(out, on_closed=lambda _: None)
    for event in session.events:
        if isinstance(event, Fact):
            text.event(event)
            stream.event(event)
    text.close(None)
    stream.close(None)
    assert err.getvalue().splitlines().count(line) == 1
    assert [each.text for each in transcript(session.store.read().records)].count(line) == 1
    (told_json,) = [json.loads(each) for each in out.getvalue().splitlines() if '"pruned"' in each]
    assert told_json == {"type": "pruned", "calls": list(entry.outputs), "saved": entry.saved}


async def test_the_count_falls_when_it_happens() -> None:
    session = Long()
    agent = session.begin(MODELS[0])
    for number in (1, 2, 3):
        await session.turn(agent, f"prompt {number}")
    place = next(at for at, entry in enumerate(session.entries) if isinstance(entry, Pruned))
    before, after = (context_tokens(fold(session.entries[:at])) for at in (place, place + 1))
    assert after < before


async def test_off_means_that_nothing_goes() -> None:
    session = Long(context=ContextSettings(prune="off"))
    agent = session.begin(MODELS[0])
    for number in range(1, 5):
        await session.turn(agent, f"prompt {number}")
    assert session.pruned == []
    last = fold(session.entries).messages
    results = [each.text for message in last if isinstance(message, UserMessage) for each in message.results]
    assert results == [BIG] * 4


async def test_by_default_little_is_left_alone() -> None:
    session = Long(context=ContextSettings())
    agent = session.begin(MODELS[0])
    for number in range(1, 4):  # 7,800 tokens of output: less than what is protected
        await session.turn(agent, f"prompt {number}")
    assert session.pruned == []
