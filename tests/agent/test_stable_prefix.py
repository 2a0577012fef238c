"""P8 on the wire: thirty turns with stops, kills and failures, and each request begins with all of the one before."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import cast

import pytest

from agent_harness import says
from holdfast.agent.agent import Agent
from holdfast.session.conversation.context_settings import ContextSettings
from holdfast.session.journal.entries import Pruned, RequestStarted
from holdfast.testing.script import Call, Fail, Say
from holdfast.testing.scripted_provider import CapturedRequest
from holdfast.testing.toolbox import FunctionToolbox
from long_sessions import Long
from provider_situations import MODELS, OTHERS, SCENES, Scene, Session, accepted
from tiers import sampled

TURNS = 30
Json = dict[str, object]


async def fails_once(session: Session, agent: Agent) -> None:
    session.provider.extend([Fail(529)], [Say("at the second attempt")])
    assert (await agent.run("try")).reason == "end_turn"


async def fails_for_good(session: Session, agent: Agent) -> None:
    """Leave a prompt without an answer: the next joins it in one message."""
    session.provider.extend([Fail(401)])
    assert (await agent.run("try this")).reason == "error"


INTERRUPTED: tuple[Scene, ...] = (*SCENES, fails_once, fails_for_good)


def blocks(request: CapturedRequest) -> list[str]:
    """Return what a request says, block by block, in the order in which a provider reads it."""
    body = unmarked(request)
    heads = [body.get(key) for key in ("tools", "system", "instructions", "systemInstruction")]
    messages = next(body[key] for key in ("messages", "input", "contents") if key in body)
    return [json.dumps(block) for block in (*heads, *_blocks(cast("list[Json]", messages)))]


def unmarked(request: CapturedRequest) -> Json:
    """Return the body without the marks up to which Anthropic keeps it: they are no part of what is kept."""

    def without(value: Json) -> Json:
        return {key: each for key, each in value.items() if key != "cache_control"}

    return cast("Json", json.loads(request.raw, object_hook=without))


def _blocks(messages: Sequence[Json]) -> Iterator[object]:
    """Yield the blocks of messages with the role of each; a text alone is the same as a list of that text."""
    for message in messages:
        where = "parts" if "parts" in message else "content"
        content = message.get(where)
        rest = {key: value for key, value in message.items() if key != where}
        for block in cast("list[str | Json]", content if isinstance(content, list) else [content]):
            text = block.get("text", block) if isinstance(block, dict) else block
            yield rest, text


def begins_with(longer: Sequence[str], shorter: Sequence[str]) -> int:
    """Return how much is the same from the beginning."""
    return next(
        (at for at, (a, b) in enumerate(zip(longer, shorter, strict=False)) if a != b), min(len(longer), len(shorter))
    )


def reused(requests: Sequence[CapturedRequest]) -> float:
    """Return which share of the bytes that were sent is the beginning of what is sent next, over all requests."""
    sent = [written(request) for request in requests]
    pairs = list(pairwise(sent))
    return sum(begins_with(after, before) for before, after in pairs) / sum(len(before) for before, _ in pairs)


def written(request: CapturedRequest) -> str:
    """Return the messages as they were written, without the end of their list."""
    body = unmarked(request)
    return json.dumps(next(body[key] for key in ("messages", "input", "contents") if key in body))[:-1]


async def thirty_turns(model: str) -> Session:
    """Return a session after so many turns, each interrupted in another way, and each taken up by another process."""
    session = Session()
    agent = session.begin(model)
    for number in range(TURNS):
        session.happened.clear()
        await INTERRUPTED[number % len(INTERRUPTED)](session, agent)
        agent = session.agent()
    return session


@pytest.mark.parametrize("model", sampled([*MODELS, *OTHERS], 3))
async def test_thirty_turns_with_interruptions_send_the_past_as_it_was(model: str) -> None:
    session = await thirty_turns(model)
    sent = [request for _, request in session.sent()]
    assert len(sent) > TURNS
    for name, request in session.sent():
        accepted(name, request)
    for before, after in pairwise(sent):
        assert blocks(after)[: len(blocks(before))] == blocks(before)
    assert reused(sent) >= 0.999


async def test_anthropic_is_asked_to_keep_tools_prompt_and_all_that_is_said() -> None:
    session = Session()
    agent = session.begin("anthropic:m")
    await SCENES[0](session, agent)
    await SCENES[0](session, agent)
    assert [name for name, _ in session.sent()] == ["anthropic:m"] * len(session.sent())
    assert len(session.sent()) == 2
    for _, request in session.sent():
        body = cast("dict[str, list[Json]]", json.loads(request.raw))
        contents = [block for message in body["messages"] for block in cast("list[Json]", message["content"])]
        for blocks_ in (body["tools"], body["system"], contents):
            assert ["cache_control" in block for block in blocks_] == [False] * (len(blocks_) - 1) + [True]


@pytest.mark.parametrize("model", sampled(MODELS, 2))
async def test_the_past_changes_with_a_prune_and_at_no_other_moment(model: str) -> None:
    session = Long(context=ContextSettings(prune_protect=6_000, prune_least=5_000, prune_turns=2))
    session.tools = FunctionToolbox((*session.tools.tool_list, says("list", "a, b and c")))
    agent = session.begin(model)
    for number in range(8):
        session.provider.extend([Call("list", {})])
        await session.turn(agent, f"prompt {number}")
    sent = [blocks(request) for _, request in session.sent()]
    changed = [at for at in range(1, len(sent)) if begins_with(sent[at], sent[at - 1]) < len(sent[at - 1])]
    started = [at for at, entry in enumerate(session.entries) if isinstance(entry, RequestStarted)]
    pruned = [number for number, at in enumerate(started) if isinstance(session.entries[at - 1], Pruned)]
    assert changed == pruned
    assert len(pruned) == 2
