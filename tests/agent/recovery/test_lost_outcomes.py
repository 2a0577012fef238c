"""Damage where the outcome of a call may have been: nothing is said of it that is not known, and nothing runs again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agent_harness import Rig, opened, says
from holdfast.questions import ApprovalAnswer
from holdfast.session import model_notices
from holdfast.session.conversation.conversation import Result, UserMessage
from holdfast.session.journal.entries import (
    ApprovalAnswered,
    ApprovalAsked,
    CallEnded,
    CallStarted,
    Entry,
    PromptAccepted,
    RequestStarted,
    ResponseEnded,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, TextPart, Usage
from holdfast.session.journal.store import Finding, MemoryStore, Reading
from holdfast.testing.script import Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tools.tool import Plan
from holdfast.ui.view.journal_listing import transcript

MODEL = "openai-chat:scripted"
READ, ACT = (CallPart(id=f"{name:0<9}", name="act", arguments="{}") for name in ("read", "act"))
JOURNAL: tuple[Entry, ...] = (
    opened(),
    PromptAccepted(turn=1, text="do both"),
    RequestStarted(step=1, attempt=1, model=MODEL),
    ResponseEnded(step=1, model=MODEL, parts=(READ, ACT), usage=Usage(), finish="calls"),
    CallStarted(call=READ.id, effect="read"),
    CallEnded(call=READ.id, outcome="ok", text="read"),
    ApprovalAsked(call=ACT.id, why="The call 'act' runs a command."),
    ApprovalAnswered(call=ACT.id, allowed=True),
    CallStarted(call=ACT.id, effect="execute"),
    CallEnded(call=ACT.id, outcome="ok", text="acted"),
    RequestStarted(step=2, attempt=1, model=MODEL),
    ResponseEnded(step=2, model=MODEL, parts=(TextPart("both done"),), usage=Usage()),
    TurnEnded(turn=1, reason="end_turn", cause="finished"),
)
"""Both calls ran, and ended: whatever is said of them, it is not that they did not."""

RESPONSE = 4
"""The place of the response with the calls, from 1."""


class Holed(MemoryStore):
    """A journal in which some entries cannot be read; without places, the number lost at the end is unknown."""

    def __init__(self, journal: Sequence[Entry], lost: Sequence[int], *, places: bool = True) -> None:
        super().__init__()
        self.append(journal, expected=0)
        self._lost = lost
        self._findings = tuple(Finding(seq, f"Entry {seq} is damaged.") for seq in (lost if places else (0,)))

    def read(self) -> Reading:
        """Return what is readable, and what is not."""
        records = tuple(record for record in super().read().records if record.seq not in self._lost)
        return Reading(records, self._findings)


async def sent(store: MemoryStore) -> tuple[Result, ...]:
    """Return the results of the two calls in the request that the next prompt makes."""
    rig = Rig(ScriptedModel([[Say("as you say")]]), [says("act", effect="execute")], store=store)
    ended = await rig.agent.run("go on")
    assert ended.cause == "finished"
    assert not [fact for fact in rig.facts if isinstance(fact, CallStarted)]
    messages = rig.model.requests[-1].messages
    return next(message.results for message in messages if isinstance(message, UserMessage) and message.results)


HOLES = [
    (length, *lost)
    for length in range(RESPONSE + 1, len(JOURNAL) + 1)
    for first in range(RESPONSE + 1, length + 1)
    for lost in ([first], range(first, length + 1))
]


@pytest.mark.parametrize("hole", HOLES, ids=lambda hole: f"{hole[1]} to {hole[-1]} of {hole[0]}")
async def test_what_may_have_run_is_never_said_not_to_have(hole: tuple[int, ...]) -> None:
    length, *lost = hole
    journal = JOURNAL[:length]
    may_have_run = {entry.call for entry in journal if isinstance(entry, CallStarted)}
    for result in await sent(Holed(journal, lost)):
        assert result.outcome in ("ok", "interrupted") if result.call in may_have_run else True
        assert "had no effect" not in result.text or result.call not in may_have_run


async def test_what_came_last_may_be_lost_without_a_place() -> None:
    read, act = await sent(Holed(JOURNAL[:RESPONSE], (), places=False))
    assert (read.text, act.text) == (model_notices.lost(), model_notices.lost())


async def test_damage_before_the_response_says_nothing_of_its_calls() -> None:
    read, act = await sent(Holed(JOURNAL[: RESPONSE + 1], [2]))
    assert read.text == model_notices.interrupted("crash")
    assert (act.outcome, act.text) == ("not_started", model_notices.not_started("crash"))


async def test_what_may_have_been_answered_is_not_asked_again() -> None:
    """The question stands there without an answer; that it was answered, and ran, is in what cannot be read."""
    calls: list[str] = []

    async def ask(call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        del plan, why
        calls.append(call.id)
        return ApprovalAnswer(allowed=True)

    store = Holed(JOURNAL[:10], [8, 9, 10])
    rig = Rig(ScriptedModel([]), [says("act", effect="execute")], mode="ask", ask=ask, store=store)
    assert await rig.agent.resume_turn() is None
    assert calls == []
    assert [(each.call, each.text) for each in rig.facts if isinstance(each, CallEnded)] == [
        (ACT.id, model_notices.lost())
    ]


@pytest.mark.parametrize("places", [True, False])
def test_the_transcript_does_not_say_that_it_did_not_start_either(*, places: bool) -> None:
    reading = Holed(JOURNAL[:9], [8, 9], places=places).read()
    lines = [line.text for line in transcript(reading.records, reading.findings)]
    assert lines[-1] == "◌ act: may have run, outcome unknown"
