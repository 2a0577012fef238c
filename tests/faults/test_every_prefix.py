"""T3: a process that died between any two entries of any turn's journal: the next one settles it and goes on."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest
from decisions import DECISIONS, EVERY
from report import record
from scenario_runner import AFTERWARDS, Play, judged
from scenarios import SCENARIOS, Ledger, Lingering, Scenario

from holdfast.agent.agent import Agent
from holdfast.providers.model import Model
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    CallEnded,
    Compacted,
    Entry,
    PromptAccepted,
    Pruned,
    Steered,
    TurnEnded,
    kind,
)
from holdfast.session.journal.store import MemoryStore
from holdfast.session.journal.tasks import TaskEnded, TaskStarted
from holdfast.testing.script import Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.virtual_loop import VirtualLoop

TRIED = [scenario for scenario in EVERY.values() if not scenario.files]
"""All but those that change files: what became of them is not in the journal (`tests/e2e/test_kills.py`)."""


@pytest.mark.parametrize("scenario", TRIED, ids=lambda scenario: scenario.name)
def test_a_crash_between_any_two_entries(scenario: Scenario) -> None:
    play = Play(scenario)
    play.run()
    entries = play.entries
    end = next(i for i, entry in enumerate(entries) if isinstance(entry, PromptAccepted) and entry.text == AFTERWARDS)
    lengths = range(play.before, end + 1)
    found: list[str] = []
    for length in lengths:
        found += [f"entry {length}: {complaint}" for complaint in _next_prompt(scenario, entries[:length])]
    record(scenario.name, "crash between two entries", points=len(lengths), violations=found)
    assert found == []


def test_in_a_long_history_old_results_are_left_out() -> None:
    play = Play(SCENARIOS["long history"])
    play.run()
    (pruned,) = [entry for entry in play.entries if isinstance(entry, Pruned)]
    assert len(pruned.outputs) > 5


def test_a_conversation_that_is_too_long_is_compacted_each_time() -> None:
    play = Play(SCENARIOS["compaction"])
    play.run()
    assert [(each.why, each.summary) for each in play.entries if isinstance(each, Compacted)] == [
        ("overflow", "All of it was looked at."),
        ("overflow", "And a."),
    ]


def _next_prompt(scenario: Scenario, journal: list[Entry]) -> Iterator[str]:
    """Yield what goes wrong with a prompt that another process gives, seen by one who knows nothing of the agent."""
    store = MemoryStore()
    store.append(journal, expected=0)
    toolbox = Lingering([does.tool(Ledger()) for does in scenario.tools], lingers=scenario.lingers)
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        ended = runner.run(_run(store, toolbox))
    entries = [record.entry for record in store.read().records]
    if ended.cause != "finished":
        yield f"the next prompt ended {ended}"
    outcomes = Counter(entry.call for entry in entries if isinstance(entry, CallEnded))
    if any(times > 1 for times in outcomes.values()):
        yield f"calls have outcomes {dict(outcomes)}"
    for entry in entries[len(journal) :]:
        if isinstance(entry, Steered) or (isinstance(entry, PromptAccepted) and entry.queued):
            yield f"{entry.text!r} was sent, and nobody said so"
    began = {entry.id for entry in journal if isinstance(entry, TaskStarted)}
    ends = Counter(entry.id for entry in entries if isinstance(entry, TaskEnded))
    if ends != Counter(began):
        yield f"tasks {began} have ends {dict(ends)}"
    accepted = max(index for index, entry in enumerate(entries) if isinstance(entry, PromptAccepted))
    sent = fold(entries[: accepted + 1])
    has_summary = [prompt.text for prompt in sent.prompts if prompt.at < 0]
    prompts = [entry.text for entry in entries[:accepted] if isinstance(entry, PromptAccepted)]
    yield from judged(sent, [text for text in prompts if text not in has_summary])
    first = sent.messages[0]
    if has_summary and not (isinstance(first, UserMessage) and has_summary[0] in first.texts[0]):
        yield f"the first request is not carried over: {first}"


async def _run(store: MemoryStore, toolbox: Lingering) -> TurnEnded:
    async def connect(name: str) -> Model:
        return ScriptedModel([[Say("still here")]], name=name)

    agent = Agent(store=store, toolbox=toolbox, connect=connect, mode="yolo", emit=lambda _: None)
    return await agent.run(AFTERWARDS)


DECIDED: dict[str, tuple[str, ...]] = {
    "a refusal that is left out": ("call-ended", "request-started", "request-failed", "requests-changed"),
    "a provider that keeps refusing": ("requests-changed", "request-started", "request-failed", "turn-ended"),
    "calls written as text": ("response-checkpoint", "response-ended", "call-started", "call-ended"),
    "a call written as text where it is none": ("response-ended", "turn-ended", "prompt-accepted"),
    "empty answers": ("request-failed", "request-started", "response-ended", "call-started"),
    "nothing but empty answers": ("request-failed", "request-started", "request-failed", "turn-ended"),
    "a call that repeats": ("response-ended", "call-ended", "turn-ended"),
    "an answer that repeats itself": ("response-checkpoint", "request-failed", "response-ended", "turn-ended"),
    "an answer that goes on as the user": ("response-checkpoint", "request-failed", "response-ended", "turn-ended"),
    "text that streams for long": ("request-started", *("response-checkpoint",) * 7, "response-ended"),
    "moved with an open turn": ("moved", "call-ended", "call-ended", "turn-ended", "prompt-accepted"),
}
"""Entries that follow one another in the journal of each turn with a decision."""


@pytest.mark.parametrize("name", DECISIONS)
def test_each_decision_is_journalled_before_what_follows_it(name: str) -> None:
    play = Play(DECISIONS[name])
    play.run()
    assert play.complaints == []
    kinds = " ".join(map(kind, play.entries))
    assert " ".join(DECIDED[name]) in kinds, kinds
