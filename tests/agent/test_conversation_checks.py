"""The conversation is checked before each send, on each load, and in debug after each step and before each append.

The fold cannot break a rule, so these tests break the projection.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module

import pytest

from agent_harness import Rig, opened, says
from holdfast.agent.agent import Agent
from holdfast.agent.events import CheckFinding
from holdfast.errors import AppendConflict
from holdfast.history.edits import Edit
from holdfast.history.rules import Violation
from holdfast.history.rules.profile import Profile
from holdfast.history.shape import NO_RESULT
from holdfast.providers.model import Model
from holdfast.session.conversation.conversation import Conversation, UserContent, UserMessage
from holdfast.session.journal.entries import CallEnded, Entry, Repaired, RequestStarted, Titled
from holdfast.session.journal.store import MemoryStore, conflict
from holdfast.session.request import normalize, validate
from holdfast.session.transfer.export import export
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionToolbox

LOSES = "call-without-result"
REPAIR = import_module("holdfast.history.repair")
"""The module; the package has a function of that name."""


def loses_results(_: object, content: tuple[UserContent, ...], *__: object) -> Iterator[UserMessage]:
    """Yield what would be sent if the projection forgot results."""
    yield UserMessage((), tuple(each for each in content if isinstance(each, str)) or ("(lost)",))


def stumbles(*_: object) -> Conversation:
    raise KeyError("a fault in a rule")


def repairs_nothing(*_: object) -> tuple[Edit, ...]:
    return ()


def reading() -> ScriptedModel:
    return ScriptedModel([[Call("read", {})], [Say("done")]])


async def test_before_each_send_a_broken_conversation_is_repaired_journalled_and_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig(reading(), [says("read")])
    monkeypatch.setattr(normalize, "user_messages", loses_results)
    ended = await rig.agent.run("go")
    assert ended.cause == "finished"
    repaired = [entry for entry in rig.facts if isinstance(entry, Repaired)]
    assert len(repaired) == 1
    assert f"rule {LOSES!r}" in repaired[0].findings[0]
    sent = rig.model.requests[-1].messages[-1]
    assert isinstance(sent, UserMessage)
    assert [result.text for result in sent.results] == [NO_RESULT]
    rig.model.extend([Say("again")])
    await rig.agent.run("and again")  # the same finding is not journalled twice
    assert [entry for entry in rig.facts if isinstance(entry, Repaired)] == repaired


async def test_on_each_load_a_finding_is_shown_and_journalled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(reading(), [says("read")])
    await rig.agent.run("go")
    monkeypatch.setattr(normalize, "user_messages", loses_results)
    for _ in range(2):
        agent = rig.new_agent()
        await agent.recover()
        findings = [entry.findings for entry in rig.facts if isinstance(entry, Repaired)]
        assert len(findings) == 1
        assert LOSES in findings[0][0]


async def test_a_finding_that_met_the_entries_of_another_process_is_journalled_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Shared(MemoryStore):
        shared = False

        def append(self, entries: Sequence[Entry], *, expected: int) -> int:
            if self.shared:
                self.shared = False
                super().append([Titled(title="from elsewhere")], expected=self.length)
                raise conflict(expected=expected, found=self.length)
            return super().append(entries, expected=expected)

    store = Shared()
    store.append([opened()], expected=0)
    rig = Rig(reading(), [says("read")], store=store)
    await rig.agent.run("go")
    monkeypatch.setattr(normalize, "user_messages", loses_results)
    agent = rig.new_agent()
    store.shared = True
    with pytest.raises(AppendConflict):
        await agent.recover()
    assert not any(isinstance(entry, Repaired) for entry in rig.entries)
    await agent.recover()
    assert [LOSES in entry.findings[0] for entry in rig.entries if isinstance(entry, Repaired)] == [True]


async def test_in_debug_it_is_checked_after_each_step_and_before_each_append(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    violations = validate.violations

    def counts(conversation: Conversation, profile: Profile) -> tuple[Violation, ...]:
        checked.append(conversation.model)
        return violations(conversation, profile)

    monkeypatch.setattr("holdfast.agent.conversation_checks.violations", counts)
    rig = Rig(reading(), [says("read")])
    agent = debugging(rig)
    checked.clear()
    appends = count_appends(agent, monkeypatch)
    await agent.run("go")
    assert len(checked) == appends() + 1, "each append, and the one step that had calls"


async def test_what_debug_finds_is_reported_and_keeps_nothing_from_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(reading(), [says("read")])
    agent = debugging(rig)
    monkeypatch.setattr(normalize, "user_messages", loses_results)
    ended = await agent.run("go")
    assert ended.cause == "finished"
    found = [event.message for event in rig.events if isinstance(event, CheckFinding)]
    assert [message.partition(":")[0] for message in found] == ["Before an append"]
    assert LOSES in found[0]
    assert any(isinstance(entry, CallEnded) for entry in rig.entries)


async def test_without_debug_nothing_is_checked_but_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(reading(), [says("read")])
    monkeypatch.setattr("holdfast.agent.conversation_checks.violations", stumbles)
    assert (await rig.agent.run("go")).cause == "finished"
    assert not any(isinstance(event, CheckFinding) for event in rig.events)


async def test_a_conversation_that_cannot_be_repaired_is_not_sent_and_the_error_names_the_rule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig(reading(), [says("read")])
    monkeypatch.setattr(normalize, "user_messages", loses_results)
    monkeypatch.setattr(REPAIR, "repair_shape", repairs_nothing)
    ended = await rig.agent.run("go")
    assert (ended.reason, ended.cause) == ("error", "bug")
    assert LOSES in ended.detail
    assert len(rig.model.requests) == 1, "the request behind the call was not sent"
    assert sum(isinstance(entry, RequestStarted) for entry in rig.entries) == 1
    assert not any(isinstance(entry, Repaired) for entry in rig.entries)
    monkeypatch.undo()
    rig.model.extend([Say("works")])
    assert (await rig.agent.run("go on")).cause == "finished"


@pytest.mark.parametrize("place", ["check", "repair"])
async def test_rules_that_stumble_send_nothing_and_leave_the_session_usable(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(reading(), [says("read")])
    store = rig.store
    if place == "check":
        monkeypatch.setattr(normalize, "user_messages", stumbles)
    else:
        monkeypatch.setattr(normalize, "user_messages", loses_results)
        monkeypatch.setattr(REPAIR, "repair_shape", stumbles)
    ended = await rig.agent.run("go")
    assert (ended.reason, ended.cause) == ("error", "bug")
    assert "a fault in a rule" in ended.detail
    assert len(rig.model.requests) == (0 if place == "check" else 1)
    again = rig.new_agent()  # loading such a session is no failure either
    await again.recover()
    assert store.read().findings == ()
    assert "go" in json.dumps(export(again.conversation))


# --- a session in debug ----------------------------------------------------------------------------------------------


def debugging(rig: Rig) -> Agent:
    """Return an agent over the rig's parts that checks all the time."""

    async def connect(name: str) -> Model:
        del name
        return rig.model

    return Agent(
        store=rig.store,
        toolbox=FunctionToolbox(rig.tools),
        connect=connect,
        mode=rig.mode,
        emit=rig.events.append,
        limits=rig.limits,
        debug=True,
    )


def count_appends(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Return what tells how often the agent's store was appended to since."""
    count = 0
    append = agent._store.append

    def counting(*args: object, **kwargs: object) -> int:
        nonlocal count
        count += 1
        return append(*args, **kwargs)  # pyright: ignore[reportArgumentType] - as it was called

    monkeypatch.setattr(agent._store, "append", counting)
    return lambda: count
