"""A session of a fleet whose record goes away at any statement: what was journalled before, and what is known after.

Each statement that the driver sends is cut in two ways, before the record did it and after, and the record stays away
until the driver has ended, as for a worker that is killed there. Then another driver takes the session.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import LiteralString

from report import record

sys.path.append(str(Path(__file__).parents[1] / "fleet"))

from memory_driving import Driving
from memory_record import MemoryRecord

from holdfast.errors import HoldfastError
from holdfast.fleet.postgres.database import ServerAway
from holdfast.session.conversation.conversation import Conversation, UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.testing.script import Call, Reply, Say

PROMPTS = ("same", "same", "other")
MOST_DRIVES = 5


class CutRecord(MemoryRecord):
    """A record that goes away at the statement number `at`: before it does it, or `after`."""

    def __init__(self, at: int, *, after: bool) -> None:
        super().__init__()
        self.count = 0
        self.at = at
        self.after = after
        self.is_away = False

    def once(self, sql: LiteralString, *values: object) -> list[tuple[object, ...]]:
        """Answer, unless it is away."""
        self.count += 1
        if self.count == self.at:
            if self.after:
                super().once(sql, *values)
            self.is_away = True
        if self.is_away:
            raise ServerAway("It is away.")
        return super().once(sql, *values)


def driving(cut: CutRecord) -> Driving:
    calls = iter(range(1000))

    def reply(conversation: Conversation) -> Reply:
        last = conversation.messages[-1]
        if isinstance(last, UserMessage) and not any(result.outcome == "ok" for result in last.results):
            return (Call("work", {"name": str(next(calls))}),)
        return (Say("Done."),)

    made = Driving(*[reply] * 100, record=cut)
    made.mode = "yolo"
    for prompt in PROMPTS:
        cut.ask("prompt", text=prompt)
    return made


async def driven(cut: CutRecord) -> Driving:
    """Drive the session until it is given back; the record is back for each further driver."""
    made = driving(cut)
    for _ in range(MOST_DRIVES):
        try:
            if await made.run() == "released":
                break
        except HoldfastError:
            pass
        cut.is_away = False
    return made


def faults(made: Driving) -> Iterator[str]:
    journal = made.record.journal
    texts = [each for each in made.prompts if not each.startswith("[holdfast")]
    if texts != list(PROMPTS):
        yield f"the prompts are {texts}"
    seqs = [made.record.seq_of(row) for row in range(1, len(PROMPTS) + 1)]
    if len({each for each in seqs if isinstance(each, int)}) != len(PROMPTS):
        yield f"the rows became {seqs}"
    began = Counter(entry.turn for entry in journal if isinstance(entry, e.PromptAccepted))
    ended = Counter(entry.turn for entry in journal if isinstance(entry, e.TurnEnded))
    if began != ended or any(count != 1 for count in ended.values()):
        yield f"turns began {began} and ended {ended}"
    if made.record.held or fold(journal).is_open:
        yield f"it is held ({made.record.held!r}) or open"
    effects = Counter(made.effects)
    outcomes = {entry.call: entry.outcome for entry in journal if isinstance(entry, e.CallEnded)}
    responses = [entry for entry in journal if isinstance(entry, e.ResponseEnded)]
    known: set[str] = set()
    for call in (part for entry in responses for part in entry.parts if isinstance(part, CallPart)):
        name = str(call.arguments).partition('"name": "')[2].partition('"')[0] or str(call.arguments)
        name = "".join(filter(str.isdigit, name))
        known.add(name)
        outcome = outcomes.get(call.id)
        if outcome is None or effects[name] > 1:
            yield f"call {name} ran {effects[name]} times and ended {outcome}"
        if (outcome == "ok" and not effects[name]) or (outcome == "not_started" and effects[name]):
            yield f"call {name} is said to be {outcome} and ran {effects[name]} times"
    if unknown := set(effects) - known:
        yield f"calls {unknown} ran and are not in the journal"


async def test_the_record_goes_away_at_any_statement() -> None:
    whole = CutRecord(0, after=False)
    made = await driven(whole)
    assert list(faults(made)) == []
    assert len(made.effects) == len(PROMPTS)
    for after in (False, True):
        found: list[str] = []
        for at in range(1, whole.count + 1):
            made = await driven(CutRecord(at, after=after))
            found += [f"statement {at}: {each}" for each in faults(made)]
        record(
            "a session of a fleet: three prompts, each with a call",
            f"the record goes away {'after' if after else 'before'} a statement, and another worker takes the session",
            points=whole.count,
            violations=found,
        )
        assert not found, "\n".join(found[:20])
