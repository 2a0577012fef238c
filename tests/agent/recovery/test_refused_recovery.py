"""A recovery whose append is refused forgets nothing: with the next prompt it says the same, once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from test_lost_outcomes import JOURNAL, RESPONSE, Holed

from agent_harness import Rig, says
from holdfast.errors import StorageFailed
from holdfast.session import model_notices
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.journal.entries import CallEnded, Entry, Repaired, TurnEnded
from holdfast.testing.script import Say
from holdfast.testing.scripted_model import ScriptedModel


class RefusingHoled(Holed):
    """A journal with a hole, whose disk is full while `full` is set."""

    full = False

    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        if self.full:
            raise StorageFailed("Journal cannot be written: the disk is full. Free some space.")
        return super().append(entries, expected=expected)


@pytest.mark.parametrize("refusals", [1, 3])
async def test_the_damage_the_gap_and_the_open_turn_are_still_known_when_there_is_space(refusals: int) -> None:
    store = RefusingHoled(JOURNAL[: RESPONSE + 2], [RESPONSE + 1, RESPONSE + 2])
    rig = Rig(ScriptedModel([[Say("as you say")], [Say("and again")]]), [says("act", effect="execute")], store=store)
    before = store.read().records
    store.full = True
    for _ in range(refusals):
        with pytest.raises(StorageFailed, match="the disk is full"):
            await rig.agent.run("go on")
        assert store.read().records == before, "nothing is half recovered"
    store.full = False
    assert (await rig.agent.run("go on")).cause == "finished"

    entries = [record.entry for record in store.read().records]
    new = entries[len(before) :]
    findings = [finding for entry in new if isinstance(entry, Repaired) for finding in entry.findings]
    assert findings == [f"Entry {RESPONSE + 1} is damaged.", f"Entry {RESPONSE + 2} is damaged."]
    assert [entry.text for entry in new if isinstance(entry, CallEnded)] == [model_notices.lost()] * 2
    assert [entry.cause for entry in new if isinstance(entry, TurnEnded)] == ["crash", "finished"]
    sent = [text for each in rig.model.requests[-1].messages if isinstance(each, UserMessage) for text in each.texts]
    assert sum("was damaged" in text for text in sent) == 1

    assert (await rig.agent.run("once more")).cause == "finished"
    later = [record.entry for record in store.read().records][len(entries) :]
    assert not [entry for entry in later if isinstance(entry, Repaired | CallEnded)], "it is said once"


async def test_an_outcome_that_the_disk_refused_twice_is_written_with_the_third_prompt() -> None:
    store = RefusingHoled(JOURNAL[: RESPONSE + 2], ())
    rig = Rig(ScriptedModel([[Say("as you say")]]), [says("act", effect="execute")], store=store)
    kept = CallEnded(call=next(iter(rig.agent.conversation.open_calls)).part.id, outcome="ok", text="it did that")
    rig.agent.recovery.keep_outcome(kept)
    store.full = True
    for _ in range(2):
        with pytest.raises(StorageFailed):
            await rig.agent.run("go on")
    store.full = False
    await rig.agent.run("go on")
    assert kept in [record.entry for record in store.read().records]
