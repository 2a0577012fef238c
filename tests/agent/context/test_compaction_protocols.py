"""Compacting on every wire: each says in its own words that a conversation is too long, and accepts what is left."""

from __future__ import annotations

import pytest

from holdfast.session.journal.entries import Compacted, RequestFailed
from holdfast.testing.script import Call, Fail, Say, Think
from overlong_sessions import LONG, Session
from provider_situations import MODELS, OTHERS, THOUGHT, accepted, request_text
from tiers import sampled

SAYS = {
    "openai": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "openai-chat": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000.",
    "anthropic": "prompt is too long: 210000 tokens > 200000 maximum",
    "google": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
    "mistral": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "bedrock": "prompt is too long: 210000 tokens > 200000 maximum",
    "openrouter": "This endpoint's maximum context length is 8192 tokens. However, you requested about 9000 tokens.",
    "ollama": "input length exceeds the context length",
}

SIGNED = {"openai", "anthropic", "bedrock"}
"""Whose thinking may be bound to what was before it."""


@pytest.mark.parametrize("model", sampled([*MODELS, *OTHERS], 4))
async def test_what_is_left_is_accepted_in_the_middle_of_a_turn_and_later(model: str) -> None:
    session = Session()
    agent = session.begin(model)
    for turn in range(4):
        session.provider.extend([Think(THOUGHT), Say(LONG), Call("read", {})], [Think(THOUGHT), Say(f"answer {turn}")])
        await agent.run(f"request {turn}")
    full = Fail(400, SAYS[model.partition(":")[0]])
    session.provider.extend([Think(THOUGHT), Call("read", {}), Call("list", {})], [full], [Say("the summary")])
    session.provider.extend([Call("read", {})], [Say("so it is")])
    ended = await agent.run("read on")
    assert (ended.cause, ended.detail) == ("finished", "")
    (entry,) = [each for each in session.entries if isinstance(each, Compacted)]
    (failed,) = [each for each in session.entries if isinstance(each, RequestFailed)]
    assert (entry.why, failed.fault) == ("overflow", "too_long")
    await agent.uncompact()
    session.provider.extend([Say("all of it")])
    await agent.run("and now?")
    sent = session.sent()
    for name, request in sent:
        accepted(name, request)
    shortened, later = sent[-2][1], sent[-1][1]
    assert "the summary" in request_text(shortened)
    if model.partition(":")[0] in SIGNED:
        assert THOUGHT not in request_text(shortened), "what it was signed behind is not sent any more"
    assert "request 1" not in request_text(shortened)
    assert "read on" in request_text(shortened)
    assert "the summary" not in request_text(later)
    for turn in range(4):
        assert f"request {turn}" in request_text(later)
