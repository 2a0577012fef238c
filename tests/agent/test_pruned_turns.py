"""Old outputs are left out before a turn's first request: journalled, told, accepted by each provider, and for good."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field

import pytest
from rig import says
from test_matrix import MODELS, Session, accepted, told

from holdfast.agent.driver import Driver
from holdfast.agent.events import Event, Fact
from holdfast.config import Context
from holdfast.session.conversation import UserMessage
from holdfast.session.entries import CallEnded, PromptAccepted, Pruned, RequestStarted
from holdfast.session.estimate import context_tokens
from holdfast.session.fold import fold
from holdfast.session.transcript import transcript
from holdfast.testing.script import Call, Say, Think
from holdfast.testing.toolbox import FunctionToolbox
from holdfast.ui.output import StreamJsonOutput, TextOutput

BIG = "a line of it\n" * 800  # 2,600 tokens
SMALL = Context(prune_protect=3_000, prune_least=2_000, prune_turns=1)


@dataclass
class Long(Session):
    """A session with a tool that gives much."""

    context: Context = SMALL
    events: list[Event] = field(default_factory=list[Event])

    def __post_init__(self) -> None:
        self.tools = FunctionToolbox((says("read", BIG), says("todo", "[ ] the last of it")))

    def emitted(self, event: Event) -> None:
        super().emitted(event)
        self.events.append(event)

    async def turn(self, driver: Driver, prompt: str) -> None:
        """Run a turn that reads once."""
        self.provider.extend([Think("hm"), Say("I look."), Call("read", {})], [Say("I have seen it.")])
        assert (await driver.run(prompt)).reason == "end_turn"

    @property
    def pruned(self) -> list[Pruned]:
        return [entry for entry in self.entries if isinstance(entry, Pruned)]


def bodies(session: Session) -> list[str]:
    return [told(request) for _, request in session.sent()]


@pytest.mark.parametrize("model", MODELS)
async def test_an_old_output_goes_between_turns_and_the_provider_takes_what_is_left(model: str) -> None:
    session = Long()
    driver = session.begin(model)
    for number in (1, 2, 3, 4):
        await session.turn(driver, f"prompt {number}")
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


@pytest.mark.parametrize("model", MODELS)
async def test_killed_before_or_after_the_entry_the_next_process_sends_the_same(model: str) -> None:
    whole = Long()
    driver = whole.begin(model)
    for number in (1, 2, 3):
        await whole.turn(driver, f"prompt {number}")
    place = next(at for at, entry in enumerate(whole.entries) if isinstance(entry, Pruned))
    sent: list[object] = []
    for kept in (place, place + 1):
        session = Long()
        session.begin(model)
        session.store = type(session.store)()
        session.store.append(whole.entries[:kept], expected=0)
        await session.turn(session.driver(), "go on")
        for name, request in session.sent():
            accepted(name, request)
        assert [entry.outputs for entry in session.pruned] == [entry.outputs for entry in whole.pruned]
        sent.append(json.loads(session.provider.requests[0].raw))
    assert sent[0] == sent[1]


async def test_it_is_told_once_in_a_line_as_it_happens_and_afterwards() -> None:
    session = Long()
    driver = session.begin(MODELS[0])
    for number in (1, 2, 3):
        await session.turn(driver, f"prompt {number}")
    (entry,) = session.pruned
    gone = "The output of 1 call is not sent whole to the model from here on"
    line = f"{gone}, about {entry.saved:,} tokens less; the session keeps it."
    out, err = io.StringIO(), io.StringIO()
    text = TextOutput(out, err, gone=lambda _: None)
    stream = StreamJsonOutput(out, gone=lambda _: None)
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
    driver = session.begin(MODELS[0])
    for number in (1, 2, 3):
        await session.turn(driver, f"prompt {number}")
    place = next(at for at, entry in enumerate(session.entries) if isinstance(entry, Pruned))
    before, after = (context_tokens(fold(session.entries[:at])) for at in (place, place + 1))
    assert after < before


async def test_off_means_that_nothing_goes() -> None:
    session = Long(context=Context(prune="off"))
    driver = session.begin(MODELS[0])
    for number in range(1, 5):
        await session.turn(driver, f"prompt {number}")
    assert session.pruned == []
    last = fold(session.entries).messages
    results = [each.text for message in last if isinstance(message, UserMessage) for each in message.results]
    assert results == [BIG] * 4


async def test_by_default_little_is_left_alone() -> None:
    session = Long(context=Context())
    driver = session.begin(MODELS[0])
    for number in range(1, 4):  # 7,800 tokens of output: less than what is protected
        await session.turn(driver, f"prompt {number}")
    assert session.pruned == []
