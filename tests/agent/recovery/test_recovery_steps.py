"""What runs beside the turns is settled with the turn that a crash left open: in one append, and before its end."""

from __future__ import annotations

import pytest

from agent_harness import Rig, opened
from holdfast.errors import StorageFailed
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.session.journal.store import MemoryStore
from holdfast.session.journal.tasks import TaskEnded, TaskStarted
from holdfast.testing.script import Say
from holdfast.testing.scripted_model import ScriptedModel

MODEL = "openai-chat:scripted"
LEFT = (
    opened(),
    e.PromptAccepted(turn=1, text="serve it"),
    e.RequestStarted(step=1, attempt=1, model=MODEL),
    e.ResponseEnded(
        step=1, model=MODEL, parts=(CallPart(id="c1", name="serve", arguments="{}"),), usage=Usage(), finish="calls"
    ),
    e.ShellStarted(id="rig-s5", command="make", shared=True),
    e.CallStarted(call="c1", effect="execute"),
    TaskStarted(id="t7", call="c1", command="serve"),
)
"""What a killed process leaves: a turn with a call, a task of that call, a command of the user."""

ENDS = ["shell-ended", "task-ended", "call-ended", "turn-ended"]


def left() -> MemoryStore:
    store = MemoryStore()
    store.append(LEFT, expected=0)
    return store


def kinds(rig: Rig) -> list[str]:
    return [
        name
        for each in rig.entries[len(LEFT) :]
        for kind, name in zip((e.ShellEnded, TaskEnded, e.CallEnded, e.TurnEnded), ENDS, strict=True)
        if isinstance(each, kind)
    ]


class FullOnce(MemoryStore):
    """A store whose first append behind what was left fails."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: list[int] = []

    def append(self, entries: object, *, expected: int) -> int:
        """Refuse once, then append."""
        if expected == len(LEFT) and not self.refused:
            self.refused.append(expected)
            raise StorageFailed("Journal cannot be written: no space is left.")
        return super().append(entries, expected=expected)  # pyright: ignore[reportArgumentType] - what it was given


async def test_what_ran_beside_the_turn_ends_before_it_in_one_append() -> None:
    rig = Rig(ScriptedModel([[Say("I see")]]), store=left())
    seen: list[int] = []
    rig.emit = lambda _: seen.append(rig.store.length)
    await rig.agent.recover()
    assert kinds(rig) == ENDS
    assert set(seen) == {len(LEFT) + len(ENDS)}, "nothing was told before all of it was durable"
    assert await rig.agent.run("go on")
    assert kinds(rig) == [*ENDS, "turn-ended"], "nothing is settled twice"


async def test_a_full_disk_settles_nothing_of_it_and_the_next_prompt_all() -> None:
    store = FullOnce()
    store.append(LEFT, expected=0)
    rig = Rig(ScriptedModel([[Say("I see")]]), store=store)
    with pytest.raises(StorageFailed):
        await rig.agent.run("go on")
    assert store.refused == [len(LEFT)]
    assert kinds(rig) == []
    assert (await rig.agent.run("go on")).cause == "finished"
    assert kinds(rig) == [*ENDS, "turn-ended"]
