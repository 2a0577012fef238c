"""What takes part in a call: it is asked in order, in bounded time, and a kill or a stop at it leaves one fate."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_harness import Rig, says, waits
from holdfast.agent.seam import PlannedCall, Seam
from holdfast.agent.stop_cause import StopCause
from holdfast.agent.turn.calls import call_steps
from holdfast.errors import ToolFailed
from holdfast.questions import ApprovalAnswer, Question
from holdfast.session.conversation.conversation import Noted, UserMessage
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionToolbox
from holdfast.tools.approval.decision import Allow, Ask, Decision, Deny
from holdfast.tools.tool import Plan

NOTE = e.Repaired(findings=("seen",), note="[Note from holdfast: seen behind the call.]")


def calls(*names: str) -> ScriptedModel:
    return ScriptedModel([[Call(name, {"of": str(place)}) for place, name in enumerate(names)], [Say("done")]])


def of(rig: Rig, *kinds: type) -> list[e.Entry]:
    return [entry for entry in rig.entries if isinstance(entry, kinds)]


def before(*steps: Callable[[PlannedCall], Decision | Awaitable[Decision]]) -> Seam:
    return Seam(before_call=steps)


async def yes(question: Question, plan: Plan) -> ApprovalAnswer:
    del plan
    return ApprovalAnswer(next(each.name for each in question.choices if each.allows))


# --- before a call ----------------------------------------------------------------------------------------------------


async def test_the_steps_are_asked_in_order_until_one_denies() -> None:
    asked: list[str] = []

    def says_so(name: str, decision: Decision) -> Callable[[PlannedCall], Decision]:
        def step(planned: PlannedCall) -> Decision:
            asked.append(f"{name} {planned.tool}")
            return decision

        return step

    steps = before(says_so("first", Allow()), says_so("second", Deny("no")), says_so("third", Allow()))
    rig = Rig(calls("look"), [says("look")], seam=steps)
    assert (await rig.agent.run("go")).cause == "finished"
    assert asked == ["first look", "second look"]
    assert rig.outcomes == {"look": "denied"}
    assert of(rig, e.CallStarted) == []


async def test_a_step_that_denies_wins_over_one_that_asks_and_the_user_is_not_asked() -> None:
    rig = Rig(calls("look"), [says("look")], ask=yes, seam=before(lambda _: Ask("Look?"), lambda _: Deny("no")))
    assert (await rig.agent.run("go")).cause == "finished"
    assert rig.outcomes == {"look": "denied"}
    assert of(rig, e.ApprovalAsked) == []


async def test_what_a_step_allows_the_rules_still_deny() -> None:
    asked: list[str] = []
    steps = before(lambda planned: asked.append(planned.tool) or Allow())
    rig = Rig(calls("act"), [says("act", effect="write")], mode="plan", seam=steps)
    await rig.agent.run("go")
    assert rig.outcomes == {"act": "denied"}
    assert asked == ["act"], "the rules judge last, what all others leave"


async def test_the_question_of_a_step_is_journalled_before_it_is_asked_and_a_yes_runs_the_call() -> None:
    rig = Rig(
        calls("look"),
        [says("look")],
        ask=yes,
        seam=before(lambda _: Ask("The call 'look' needs approval: a step says so.")),
    )
    await rig.agent.run("go")
    assert rig.outcomes == {"look": "ok"}
    [asked] = of(rig, e.ApprovalAsked)
    assert isinstance(asked, e.ApprovalAsked)
    assert asked.question.reason == "It needs approval: a step says so."
    kinds = [type(each) for each in of(rig, e.ApprovalAsked, e.ApprovalAnswered, e.CallStarted, e.CallEnded)]
    assert kinds == [e.ApprovalAsked, e.ApprovalAnswered, e.CallStarted, e.CallEnded]


async def test_a_step_that_denies_by_the_time_of_the_answer_wins_over_a_yes() -> None:
    decisions: list[Decision] = [Ask("Look?"), Deny("too late")]
    rig = Rig(calls("look"), [says("look")], ask=yes, seam=before(lambda _: decisions.pop(0)))
    await rig.agent.run("go")
    assert rig.outcomes == {"look": "denied"}
    assert decisions == []
    assert of(rig, e.CallStarted) == []


async def test_what_a_step_writes_is_there_before_the_call_starts_and_a_kill_between_leaves_a_call_that_never_ran(
    tmp_path: Path,
) -> None:
    kept = tmp_path / "before"

    async def keep(planned: PlannedCall) -> Decision:
        await asyncio.sleep(0)
        kept.write_text(planned.call.arguments)
        assert of(rig, e.CallStarted) == []
        return Allow()

    rig = Rig(calls("act"), [says("act", effect="write")], seam=before(keep))
    await rig.agent.run("go")
    assert rig.outcomes == {"act": "ok"}
    assert kept.read_text() == '{"of": "0"}'
    start = next(place for place, entry in enumerate(rig.entries) if isinstance(entry, e.CallStarted))
    killed = Rig(ScriptedModel([[Say("I see")]]), store=stored(rig.entries[:start]))  # by a kill behind the step
    assert (await killed.agent.run("go on")).cause == "finished"
    [ended] = of(killed, e.CallEnded)
    assert isinstance(ended, e.CallEnded)
    assert ended.outcome == "not_started"


async def test_a_stop_ends_the_wait_for_a_step_and_the_call_never_starts() -> None:
    waiting = asyncio.Event()

    async def never(_: PlannedCall) -> Decision:
        waiting.set()
        await asyncio.Event().wait()
        return Allow()

    rig = Rig(calls("act"), [says("act", effect="write")], seam=before(never))
    turn = asyncio.ensure_future(rig.agent.run("go"))
    await waiting.wait()
    rig.agent.stop()
    assert (await turn).cause == "user"
    assert rig.outcomes == {"act": "not_started"}
    assert of(rig, e.CallStarted) == []


async def test_a_step_that_does_not_answer_denies_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(_: PlannedCall) -> Decision:
        await asyncio.Event().wait()
        return Allow()

    monkeypatch.setattr(call_steps, "BEFORE_CALL", 0.02)
    rig = Rig(calls("act"), [says("act", effect="write")], seam=before(never))
    assert (await rig.agent.run("go")).cause == "finished"
    assert rig.outcomes == {"act": "denied"}
    assert "was not judged within 0.02 s" in rig.results()["act"].text


async def test_a_step_with_a_bug_starts_nothing_and_the_next_prompt_works() -> None:
    faulty = [True]

    def step(_: PlannedCall) -> Decision:
        if faulty.pop():
            raise RuntimeError("a bug")
        return Allow()

    rig = Rig(ScriptedModel([[Call("act", {})], [Say("again")]]), [says("act", effect="write")], seam=before(step))
    with pytest.raises(RuntimeError, match="a bug"):
        await rig.agent.run("go")
    assert rig.outcomes == {"act": "not_started"}
    assert (await rig.agent.run("go on")).cause == "finished"


# --- behind a call ----------------------------------------------------------------------------------------------------


async def says_note(_: e.CallEnded) -> Sequence[Noted]:
    await asyncio.sleep(0)
    return (NOTE,)


def note_after(ended: e.CallEnded) -> Awaitable[Sequence[Noted]] | None:
    return says_note(ended) if ended.outcome == "ok" else None


async def test_what_is_said_behind_a_call_is_an_entry_behind_its_durable_outcome() -> None:
    lengths: list[tuple[int, e.Entry]] = []

    async def looks(ended: e.CallEnded) -> Sequence[Noted]:
        lengths.append((rig.store.length, rig.entries[-1]))
        return await says_note(ended)

    rig = Rig(calls("look"), [says("look")], seam=Seam(after_call=(looks,)))
    assert (await rig.agent.run("go")).cause == "finished"
    [(length, last)] = lengths
    assert isinstance(last, e.CallEnded), "its outcome is durable when the step is asked"
    assert rig.entries[length] == NOTE
    assert rig.entries[length + 1] != NOTE


async def test_a_kill_between_outcome_and_note_leaves_the_outcome_alone() -> None:
    rig = Rig(calls("look"), [says("look")], seam=Seam(after_call=(note_after,)))
    await rig.agent.run("go")
    end = rig.entries.index(NOTE)
    killed = Rig(ScriptedModel([[Say("I see")]]), store=stored(rig.entries[:end]))
    assert (await killed.agent.run("go on")).cause == "finished"
    [ended] = of(killed, e.CallEnded)
    assert isinstance(ended, e.CallEnded)
    assert (ended.outcome, NOTE in killed.entries) == ("ok", False)


async def test_a_stop_ends_the_wait_behind_a_call_and_its_outcome_stays() -> None:
    waiting = asyncio.Event()

    async def never(_: e.CallEnded) -> Sequence[Noted]:
        waiting.set()
        await asyncio.Event().wait()
        return (NOTE,)

    rig = Rig(calls("look"), [says("look")], seam=Seam(after_call=(never,)))
    turn = asyncio.ensure_future(rig.agent.run("go"))
    await waiting.wait()
    rig.agent.stop(StopCause("user"))
    assert (await turn).cause == "user"
    assert rig.outcomes == {"look": "ok"}
    assert NOTE not in rig.entries


async def test_a_step_behind_a_call_that_takes_too_long_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(_: e.CallEnded) -> Sequence[Noted]:
        await asyncio.Event().wait()
        return (NOTE,)

    monkeypatch.setattr(call_steps, "AFTER_CALL", 0.02)
    rig = Rig(calls("look"), [says("look")], seam=Seam(after_call=(never, note_after)))
    assert (await rig.agent.run("go")).cause == "finished"
    assert of(rig, e.Repaired) == [NOTE], "the one behind it is asked all the same"


async def test_a_call_that_a_stop_has_settled_has_nothing_behind_it() -> None:
    started = asyncio.Event()
    rig = Rig(calls("wait"), [waits("wait", started=started)], seam=Seam(after_call=(says_note,)))
    turn = asyncio.ensure_future(rig.agent.run("go"))
    await started.wait()
    rig.agent.stop()
    assert (await turn).cause == "user"
    assert rig.outcomes == {"wait": "interrupted"}
    assert NOTE not in rig.entries


@dataclass(slots=True)
class Foldered(FunctionToolbox):
    """A toolbox whose folder can go."""

    gone: str = ""

    def missing_folder(self) -> str:
        """Return the folder that is gone."""
        return self.gone


async def test_calls_that_fail_together_say_once_that_the_folder_is_gone_and_the_next_request_has_it() -> None:
    box = Foldered([says("look", ok=False), says("find", ok=False)])

    def goes(_: PlannedCall) -> Decision:
        box.gone = "/work"
        return Allow()

    rig = Rig(model := calls("look", "find"), toolbox=box, seam=before(goes))
    assert (await rig.agent.run("go")).cause == "finished"
    [gone] = of(rig, e.FolderGone)
    assert isinstance(gone, e.FolderGone)
    last = model.requests[-1].messages[-1]
    assert isinstance(last, UserMessage)
    assert gone.note in last.texts
    await rig.agent.run("go on")
    assert len(of(rig, e.FolderGone)) == 1, "the next prompt does not say it again"


async def test_calls_that_end_together_are_followed_up_one_after_the_other() -> None:
    inside: list[str] = []
    together: list[int] = []

    async def looks(ended: e.CallEnded) -> Sequence[Noted]:
        inside.append(ended.call)
        while len(of(rig, e.CallEnded)) < 2:  # noqa: ASYNC110 - the journal has no event of it
            await asyncio.sleep(0)
        for _ in range(5):
            await asyncio.sleep(0)
        together.append(len(inside))
        inside.remove(ended.call)
        return ()

    rig = Rig(calls("look", "find"), [says("look"), says("find")], seam=Seam(after_call=(looks,)))
    assert (await rig.agent.run("go")).cause == "finished"
    assert together == [1, 1]


async def test_a_folder_that_a_kill_kept_from_being_said_is_said_with_the_next_prompt() -> None:
    box = Foldered([says("look", ok=False)])
    rig = Rig(calls("look"), toolbox=box)
    await rig.agent.run("go")
    end = next(place for place, entry in enumerate(rig.entries) if isinstance(entry, e.CallEnded))
    box.gone = "/work"
    killed = Rig(ScriptedModel([[Say("I see")]]), store=stored(rig.entries[: end + 1]), toolbox=box)
    await killed.agent.run("go on")
    [gone] = of(killed, e.FolderGone)
    assert killed.entries.index(gone) < killed.entries.index(of(killed, e.PromptAccepted)[-1])


def stored(entries: Sequence[e.Entry]) -> MemoryStore:
    store = MemoryStore()
    store.append(tuple(entries), expected=0)
    return store


async def test_a_call_without_a_plan_has_its_steps_behind_it_too() -> None:
    async def looks(ended: e.CallEnded) -> Sequence[Noted]:
        assert rig.entries[-1] == ended
        return await says_note(ended)

    rig = Rig(ScriptedModel([[Call("missing", {})], [Say("done")]]), [says("look")], seam=Seam(after_call=(looks,)))
    assert (await rig.agent.run("go")).cause == "finished"
    assert NOTE in rig.entries


async def test_a_step_behind_a_call_with_a_bug_keeps_the_outcome() -> None:
    async def fails(_: e.CallEnded) -> Sequence[Noted]:
        raise ToolFailed("The step failed.")

    rig = Rig(calls("look"), [says("look")], seam=Seam(after_call=(fails,)))
    with pytest.raises(ToolFailed):
        await rig.agent.run("go")
    assert rig.outcomes == {"look": "ok"}
