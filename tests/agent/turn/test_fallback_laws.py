"""Laws of the fallback: both providers accept what is sent, a turn has it once, and the choice comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hypothesis import example, given
from hypothesis import strategies as st

from agent_harness import says
from holdfast.agent.agent import Agent
from holdfast.config.settings import Limits
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import Entry, ModelChanged, PromptAccepted, RequestStarted, TurnEnded
from holdfast.testing.script import Call, Cut, Fail, Finish, Reply, Reset, Say, Think
from holdfast.testing.toolbox import FunctionToolbox
from laws import law
from provider_situations import MODELS, OTHERS, THOUGHT, Session, accepted

FEW = Limits(backoff=0.001, stop_grace=0.1, drop_wait=0.05, attempts=2)

REPLIES: tuple[Reply, ...] = (
    (Fail(529),),
    (Fail(503),),
    (Fail(429, retry_after=3600.0),),
    (Fail(401),),
    (Fail(400),),
    (Reset(),),
    (Cut(),),
    (Think(THOUGHT), Cut()),
    (Say("half of it"), Cut()),
    (Call("read", {}), Reset()),
    (Say("an answer"),),
    (Think(THOUGHT), Say("I will look."), Call("read", {}), Call("list", {})),
    (Say("no"), Finish("refusal")),
    (Say("long"), Finish("length")),
)
NAMES = (*MODELS, *OTHERS)


class _Session(Session):
    """A session with a fallback; its agent's turns have two attempts at a response."""

    fallback = ""

    def __post_init__(self) -> None:
        self.tools = FunctionToolbox((says("read", "what the file says"), says("list", "a, b and c")))

    def agent(self) -> Agent:
        return Agent(
            store=self.store,
            toolbox=self.tools,
            connect=self.connect,
            mode="yolo",
            limits=FEW,
            emit=self.emitted,
            ends_with_listener=True,
            fallback=self.fallback,
        )


def turns(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return the entries of each turn, with what is journalled before its prompt."""
    found: list[list[Entry]] = [[]]
    for entry in entries:
        found[-1].append(entry)
        if isinstance(entry, TurnEnded):
            found.append([])
    return [turn for turn in found if any(isinstance(each, PromptAccepted) for each in turn)]


async def played(here: str, there: str, script: Sequence[Reply]) -> _Session:
    """Play three prompts over the script, then one that nothing fails; return the session."""
    session = _Session()
    session.fallback = there
    agent = session.begin(here)
    session.provider.extend(*script)
    for number in range(3):
        await agent.run(f"request {number}")
    session.provider.extend(*[(Say("still here"),)] * len(REPLIES))
    while (await agent.run("the last one")).cause != "finished":
        assert session.provider.refusals == ()
    await agent.close()
    return session


@law(40)
@example(here="anthropic:m", there="openai:gpt-5.5", script=[REPLIES[11], *[REPLIES[0]] * 2, REPLIES[11]])
@example(here="google:gemini-3-m", there="mistral:m", script=[REPLIES[11], *[REPLIES[7]] * 2, REPLIES[11]])
@example(here="anthropic:m", there="bedrock:anthropic.m", script=[REPLIES[5], REPLIES[2], REPLIES[11], REPLIES[0]])
@given(here=st.sampled_from(NAMES), there=st.sampled_from(NAMES), script=st.lists(st.sampled_from(REPLIES), max_size=9))
def test_both_providers_accept_what_is_sent_and_the_choice_comes_back(
    here: str, there: str, script: list[Reply]
) -> None:
    session = asyncio.run(played(here, there, script))
    for name, request in session.sent():
        accepted(name, request)
    for turn in turns(session.entries):
        begun = next(at for at, each in enumerate(turn) if isinstance(each, PromptAccepted))
        falls = [each for each in turn[begun:] if isinstance(each, ModelChanged)]
        assert falls in ([], [ModelChanged(model=there, why="fallback")])
        models = [each.model for each in turn if isinstance(each, RequestStarted)]
        assert models[0] == here, "each prompt goes to the chosen model first"
        assert models == sorted(models, key=lambda name: name != here), "and never back within its turn"
        if here == there:
            assert not falls
    conversation = fold(session.entries)
    assert (conversation.chosen_model, conversation.is_open) == (here, False)
