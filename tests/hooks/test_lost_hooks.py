"""What a crash leaves of a hook, and what a late word about a result does to what was sent."""

from __future__ import annotations

from pathlib import Path

from agent_harness import opened
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.session.journal.store import MemoryStore
from hook_rig import hook_rig

CALL = e.ResponseEnded(
    step=1, model="m:m", parts=(CallPart(id="c1", name="bash", arguments="{}"),), usage=Usage(), finish="calls"
)
BEGUN: tuple[e.Entry, ...] = (
    opened("hooked"),
    e.PromptAccepted(turn=1, text="go"),
    e.RequestStarted(step=1, attempt=1, model="m:m"),
    CALL,
)
HOOK = e.HookStarted(id="hooked-h5", event="PreToolUse", command="true", call="c1")
ENDED = e.CallEnded(call="c1", outcome="ok", text="one")


def results(*entries: e.Entry) -> list[str]:
    messages = fold(entries).messages
    return [each.text for message in messages if isinstance(message, UserMessage) for each in message.results]


async def test_a_hook_of_a_crash_gets_its_end_and_the_model_reads_of_a_call_that_did_not_start(tmp_path: Path) -> None:
    store = MemoryStore()
    store.append([*BEGUN, HOOK], expected=0)
    async with hook_rig(tmp_path, store=store) as rig:  # no hook is configured any more
        await rig.agent.recover()
        (ended,) = rig.ended
        assert ended.outcome == "interrupted"
        assert "may have run" in ended.note
        assert rig.outcomes == ["not_started"]
        assert rig.agent.conversation.open_hooks == ()
        await rig.agent.recover()
        assert len(rig.ended) == 1


async def test_a_hook_behind_a_call_that_ran_says_nothing_to_the_model(tmp_path: Path) -> None:
    store = MemoryStore()
    started = e.CallStarted(call="c1", effect="execute")
    store.append(
        [*BEGUN, started, ENDED, e.HookStarted(id="h", event="PostToolUse", command="x", call="c1")], expected=0
    )
    async with hook_rig(tmp_path, store=store) as rig:
        await rig.agent.recover()
        assert [each.note for each in rig.ended] == [""]


def test_a_word_about_a_result_changes_it_until_a_request_had_it() -> None:
    add, replace = e.ResultAmended(call="c1", text="two"), e.ResultAmended(call="c1", text="three", replaces=True)
    assert results(*BEGUN, ENDED, add) == ["one\ntwo"]
    assert results(*BEGUN, ENDED, add, replace) == ["three"]
    sent = e.RequestStarted(step=2, attempt=1, model="m:m")
    assert results(*BEGUN, ENDED, sent, replace) == ["one"]
    later = fold((*BEGUN, ENDED, sent, replace, e.PromptAccepted(turn=2, text="next"))).messages[-1]
    assert isinstance(later, UserMessage)
    assert "three" in later.texts[0]
