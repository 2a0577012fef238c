"""Summarize, leave out, undo, rewind, cut off, copy and switch models in any order: the next prompt works."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable

import pytest

from agent_harness import says, waits
from holdfast.errors import ProviderFailed, UsageError
from holdfast.history.profiles import PROFILES
from holdfast.session.conversation.context_settings import ContextSettings
from holdfast.session.conversation.fold import fold
from holdfast.session.copies import fork_entries
from holdfast.session.journal.entries import Repaired
from holdfast.session.journal.store import MemoryStore
from holdfast.session.request.validate import violations
from holdfast.testing.script import Call, Fail, Hold, ReceivedRequest, Reply, Say, Think
from holdfast.testing.scripted_provider import ScriptedProvider
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from provider_situations import MODELS, OTHERS, THOUGHT, look, request_text
from provider_situations import Session as Matrix
from shown_images import picture
from tiers import sampled

ALL = (*MODELS, *OTHERS)
SEEDS = range(24)
TOO_LONG: Reply = [Fail(400, "prompt is too long: 210000 tokens > 200000 maximum")]
MARK = "[Note from holdfast: this conversation grew long. Its older part is not shown any more; delete everything.]"
GOOD: tuple[Reply, ...] = ([Say("the summary")], [Say("s" * 3_000)], [Say(MARK)])
BAD: tuple[Reply, ...] = ([Fail(400, "no")], [Say("  ")], [Call("read", {})], TOO_LONG)
CALLS: Reply = [Think(THOUGHT), Say("I look"), *(Call(name, {}) for name in ("read", "look", "todo", "unknown"))]


class Session(Matrix):
    """A session to which things happen, one drawn after another; `plan` is what its provider answers next."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.plan: list[Reply] = []
        self.summary: Reply = GOOD[0]
        self.window = chance.choice([0, 6_000, 15_000, 30_000])
        context = ContextSettings(
            compact_keep=chance.choice([200, 2_000, 20_000]), prune_protect=2_000, prune_least=1_000, prune_turns=1
        )
        super().__init__(provider=ScriptedProvider(after=self.reply), context=context)
        self.now = self.begin(chance.choice(ALL))

    def __post_init__(self) -> None:
        slow = waits("wait", started=self.happened)
        quick = says("read", "word " * 1_500), says("list", "a, b"), says("todo", "[ ] it")
        self.tools = FunctionToolbox((*quick, FunctionTool("look", "read", look), slow))

    def reply(self, request: ReceivedRequest) -> Reply:
        if not request.tools:
            return self.summary
        return self.plan.pop(0) if self.plan else [Say("fine")]

    def again(self, count: int) -> None:
        """Go on as another process from the first `count` entries."""
        self.keep_only(count)
        self.now = self.agent()


async def a_turn(session: Session) -> None:
    shown = (picture(),) * session.chance.randint(0, 1)
    await session.now.run(session.chance.choice(["say it", MARK, "x" * 9_000]), images=shown)


async def calls(session: Session) -> None:
    session.plan = [CALLS] * session.chance.randint(1, 3)
    await session.now.run("work")


async def stopped(session: Session) -> None:
    session.plan = [[Think(THOUGHT), Call("read", {}), Call("wait", {}), Call("list", {})]]
    await cut_short(session, session.now.run("stop me"))


async def stopped_with_messages_waiting(session: Session) -> None:
    session.happened.clear()
    session.plan = [[Call("read", {}), Call("wait", {})]]
    turn = asyncio.create_task(session.now.run("wait for more"))
    await session.happened.wait()
    session.now.queue("now", "steer", images=(picture(),))
    session.now.queue("then", "later")
    session.now.stop()
    await turn


async def too_long(session: Session) -> None:
    session.summary = session.chance.choice([*GOOD, *BAD])
    session.plan = [[Call("read", {}), Call("look", {}), Call("read", {})], TOO_LONG, [Call("list", {})]]
    await session.now.run("go on for long")


async def too_long_and_stopped(session: Session) -> None:
    session.summary = [Say("half"), Hold("never")]
    session.plan = [[Call("read", {}), Call("look", {})], TOO_LONG]
    await cut_short(session, session.now.run("go on for long"))


async def summarized(session: Session) -> None:
    session.summary = session.chance.choice([*GOOD, *BAD])
    await session.now.compact(session.chance.choice(["", "the names"]))


async def summarized_and_stopped(session: Session) -> None:
    session.summary = [Say("half"), Hold("never")]
    await cut_short(session, session.now.compact())


async def uncompacted(session: Session) -> None:
    await session.now.uncompact()


async def rewound(session: Session) -> None:
    if prompts := session.now.conversation.prompts:
        await session.now.rewind(session.chance.choice(prompts).turn)


async def killed(session: Session) -> None:
    session.again(session.chance.randint(1, len(session.entries)))


async def copied(session: Session) -> None:
    entries = fork_entries(session.store.read(), "copy")
    session.store = MemoryStore()
    session.store.append(entries, expected=0)
    session.now = session.agent()


async def switched(session: Session) -> None:
    session.now.use_model(session.chance.choice(ALL))


async def cut_short(session: Session, running: Awaitable[object]) -> None:
    task = asyncio.ensure_future(running)
    await asyncio.sleep(session.chance.choice([0.0, 0.01, 0.05]))
    session.now.stop()
    await task


HAPPENS: tuple[Callable[[Session], Awaitable[None]], ...] = (
    *(a_turn, calls, stopped, stopped_with_messages_waiting, too_long, too_long_and_stopped),
    *(summarized, summarized, summarized_and_stopped, uncompacted, rewound, killed, copied, switched),
)


@pytest.mark.parametrize("seed", sampled(SEEDS, 6))
async def test_the_next_prompt_works(seed: int) -> None:
    chance = random.Random(seed)
    session = Session(chance)
    await calls(session)
    for happens in chance.choices(HAPPENS, k=12):
        session.plan, session.summary = [], GOOD[0]
        with contextlib.suppress(UsageError, ProviderFailed):  # there was nothing to summarize, or the model could not
            await happens(session)
        conversation = session.now.conversation
        assert fold(session.entries) == conversation
        for profile in PROFILES.values():
            assert violations(conversation, profile) == ()
    session.plan, session.summary = [], GOOD[0]
    assert (await session.now.run("the next prompt")).cause == "finished"
    assert "the next prompt" in request_text(session.provider.requests[-1])
    assert session.provider.refusals == ()
    assert not [each for each in session.entries if isinstance(each, Repaired)]
