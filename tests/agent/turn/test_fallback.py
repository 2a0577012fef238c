"""The fallback model: when it stands in for the chosen one, for how long, and what the journal says of it."""

from __future__ import annotations

import asyncio

import pytest

from agent_harness import FAST, Rig, says
from holdfast.config.settings import Limits
from holdfast.errors import ModelUnusable
from holdfast.session.conversation.context_settings import ContextSettings
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    Compacted,
    Entry,
    ModelChanged,
    PromptAccepted,
    RequestFailed,
    RequestStarted,
    TurnEnded,
)
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Action, Call, Cut, Fail, Hold, Reply, Reset, Say, Think
from holdfast.testing.scripted_model import ScriptedModel, Step

CHOSEN = "openai-chat:scripted"
OTHER = "anthropic:other"
OVERLOADED: Reply = (Fail(529),)
ONCE = Limits(backoff=0.001, stop_grace=0.1, drop_wait=0.05, attempts=1)


def rig_of(chosen: list[Step], other: list[Step], *, limits: Limits = ONCE) -> Rig:
    return Rig(ScriptedModel(chosen), fallback=ScriptedModel(other, name=OTHER), limits=limits, tools=[says("read")])


def request_models(entries: list[Entry]) -> list[str]:
    """Return the model of each request."""
    return [each.model for each in entries if isinstance(each, RequestStarted)]


def switches(entries: list[Entry]) -> list[ModelChanged]:
    return [each for each in entries if isinstance(each, ModelChanged)]


async def test_the_turn_continues_with_it_and_the_next_prompt_goes_to_the_chosen_one_again() -> None:
    rig = rig_of([OVERLOADED, [Say("back")]], [[Call("read", {})], [Say("done")]])
    ended = await rig.agent.run("go")
    assert (ended.cause, rig.agent.conversation.answer) == ("finished", "done")
    assert request_models(rig.entries) == [CHOSEN, OTHER, OTHER], "the rest of the turn stays with it"
    assert switches(rig.entries) == [ModelChanged(model=OTHER, why="fallback")]
    assert rig.agent.conversation.chosen_model == CHOSEN
    await rig.agent.run("again")
    assert request_models(rig.entries)[3:] == [CHOSEN]
    assert switches(rig.entries)[1:] == [ModelChanged(model=CHOSEN, why="back")]
    back = rig.entries.index(ModelChanged(model=CHOSEN, why="back"))
    assert isinstance(rig.entries[back + 1], PromptAccepted)


async def test_every_attempt_is_made_first_and_the_switch_is_journalled_before_the_request() -> None:
    rig = rig_of([OVERLOADED] * 4, [[Say("done")]], limits=FAST)
    await rig.agent.run("go")
    assert len(rig.model.requests) == FAST.attempts
    at = rig.entries.index(ModelChanged(model=OTHER, why="fallback"))
    before, after = rig.entries[at - 1], rig.entries[at + 1]
    assert isinstance(before, RequestFailed)
    assert before.retry_in is None
    assert after == RequestStarted(step=2, attempt=1, model=OTHER)


@pytest.mark.parametrize(
    "failure", [Fail(529), Fail(503), Fail(429, retry_after=3600.0), Fail(500), Cut(), Reset()], ids=repr
)
async def test_what_sending_again_could_have_helped_falls_back(failure: Action) -> None:
    rig = rig_of([[failure]], [[Say("done")]])
    assert (await rig.agent.run("go")).cause == "finished"
    assert request_models(rig.entries) == [CHOSEN, OTHER]


async def test_a_longer_wait_than_the_longest_backoff_falls_back_at_once() -> None:
    rig = rig_of([[Fail(429, retry_after=3600.0)]], [[Say("done")]], limits=FAST)
    await rig.agent.run("go")
    assert request_models(rig.entries) == [CHOSEN, OTHER]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_key_or_a_request_that_is_refused_does_not(status: int) -> None:
    rig = rig_of([[Fail(status)]], [[Say("never")]])
    assert (await rig.agent.run("go")).cause == "provider"
    assert switches(rig.entries) == []


async def test_an_answer_that_was_shown_does_not() -> None:
    rig = rig_of([[Say("half of it"), Cut()]], [[Say("never")]])
    assert (await rig.agent.run("go")).cause == "provider"
    assert switches(rig.entries) == []


async def test_a_turn_falls_back_once() -> None:
    rig = rig_of([OVERLOADED], [[Call("read", {})], OVERLOADED])
    assert (await rig.agent.run("go")).cause == "provider"
    assert request_models(rig.entries) == [CHOSEN, OTHER, OTHER]


async def test_a_turn_in_which_the_user_chose_again_falls_back_once() -> None:
    rig = rig_of([OVERLOADED, OVERLOADED], [[Hold("here"), Call("read", {})]])
    turn = asyncio.create_task(rig.agent.run("go"))
    while not rig.fallback or not rig.fallback.requests:  # noqa: ASYNC110 - there is no event to await
        await asyncio.sleep(0)
    rig.agent.use_model(CHOSEN)
    rig.fallback.release("here")
    assert (await turn).cause == "provider"
    assert request_models(rig.entries) == [CHOSEN, OTHER, CHOSEN]


async def test_the_model_that_is_the_fallback_has_none() -> None:
    rig = Rig(ScriptedModel(), fallback=ScriptedModel([OVERLOADED, [Say("never")]], name=CHOSEN), limits=ONCE)
    assert (await rig.agent.run("go")).cause == "provider"
    assert (request_models(rig.entries), switches(rig.entries)) == ([CHOSEN], [])


async def test_a_fallback_without_its_key_changes_nothing_and_is_said() -> None:
    rig = rig_of([OVERLOADED], [])
    rig.unusable = ModelUnusable("No API key for anthropic.", fault="no_key")
    ended = await rig.agent.run("go")
    assert (ended.cause, switches(rig.entries)) == ("provider", [])
    assert ended.detail.endswith("The fallback model was not used: No API key for anthropic.")
    assert "529" in ended.detail


async def test_the_user_who_chooses_the_fallback_keeps_it() -> None:
    rig = rig_of([OVERLOADED], [[Say("one")], [Say("two")]])
    await rig.agent.run("go")
    rig.agent.use_model(OTHER)
    assert rig.agent.conversation.chosen_model == OTHER
    await rig.agent.run("again")
    assert request_models(rig.entries) == [CHOSEN, OTHER, OTHER]


async def test_a_queued_prompt_goes_to_the_chosen_one() -> None:
    rig = rig_of([OVERLOADED, [Say("back")]], [[Hold("here"), Say("one")]])
    turn = asyncio.create_task(rig.agent.run("go"))
    while not rig.fallback or not rig.fallback.requests:  # noqa: ASYNC110 - there is no event to await
        await asyncio.sleep(0)
    rig.agent.queue("and then", "later")
    rig.fallback.release("here")
    await turn
    assert request_models(rig.entries) == [CHOSEN, OTHER, CHOSEN]


async def test_a_summary_that_the_user_asks_for_is_the_chosen_ones() -> None:
    long = "word " * 2_000
    turns: list[Step] = [[Say(long)] for _ in range(5)]
    rig = rig_of([*turns, OVERLOADED, [Say("the summary")]], [[Say(long)]])
    for turn in range(6):
        await rig.agent.run(f"request {turn}")
    assert rig.agent.conversation.model == OTHER
    compacted = await rig.agent.compact()
    assert compacted is not None
    assert compacted.model == CHOSEN
    assert switches(rig.entries)[-1] == ModelChanged(model=CHOSEN, why="back")


async def test_a_smaller_window_is_looked_at_before_its_request() -> None:
    long = "word " * 2_000
    turns: list[Step] = [[Say(long)] for _ in range(5)]
    rig = rig_of([*turns, OVERLOADED], [[Say("the summary")], [Say("done")]])
    rig.window = lambda name: 12_000 if name == OTHER else 1_000_000
    rig.context = ContextSettings(prune="off", compact_keep=1_000)
    rig.agent = rig.new_agent()
    for turn in range(5):
        await rig.agent.run(f"request {turn}")
    assert (await rig.agent.run("go")).cause == "finished"
    kinds = [type(each) for each in rig.entries if isinstance(each, ModelChanged | Compacted | RequestStarted)]
    assert kinds[-3:] == [ModelChanged, Compacted, RequestStarted]
    assert rig.agent.conversation.answer == "done"


async def test_thinking_of_the_chosen_model_is_not_sent_to_it() -> None:
    rig = rig_of([[Think("a thought"), Call("read", {})], OVERLOADED], [[Say("done")]])
    await rig.agent.run("go")
    assert rig.fallback is not None
    assert [part for message in rig.fallback.requests[0].messages for part in getattr(message, "parts", ())]
    assert "a thought" not in repr(rig.fallback.requests[0].messages)


@pytest.mark.parametrize("last_kind", [RequestFailed, ModelChanged, RequestStarted])
async def test_a_crash_leaves_a_journal_that_the_next_prompt_goes_on_from(
    last_kind: type[RequestFailed | ModelChanged | RequestStarted],
) -> None:
    """Killed after the last entry of this kind, as another process then finds the journal."""
    rig = rig_of([OVERLOADED], [[Say("done")]])
    await rig.agent.run("go")
    last = max(at for at, each in enumerate(rig.entries) if isinstance(each, last_kind))
    store = MemoryStore()
    store.append(rig.entries[: last + 1], expected=0)
    again = Rig(ScriptedModel([[Say("here")]]), store=store, limits=ONCE)
    ended = await again.agent.run("go on")
    assert ended.cause == "finished"
    assert request_models(again.entries)[-1] == CHOSEN
    assert [each.cause for each in again.entries if isinstance(each, TurnEnded)] == ["crash", "finished"]
    assert not fold(again.entries).is_open
