"""Every wire in every situation, and from each to every other: the provider accepts what is sent next.

A provider's strict server refuses what the real one would refuse. Two more judges read the bytes of each request:
holdfast's rules, as they read any program's conversation, and the vendors' own readers.
"""

from __future__ import annotations

import pytest

from holdfast.testing.script import Call, Say
from provider_situations import (
    PAIRS,
    SCENES,
    THOUGHT,
    Scene,
    Session,
    accepted,
    everything_is_in,
    images,
    killed_mid_tool,
    request_text,
    shown,
    stop_mid_tool,
    thinking,
)
from tiers import sampled

# --- what happens on the first wire ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scene", "here", "there"), sampled([(scene, *pair) for scene in SCENES for pair in PAIRS], 64)
)
async def test_each_provider_accepts_what_is_sent_next(scene: Scene, here: str, there: str) -> None:
    session = Session()
    await scene(session, session.begin(here))

    away = session.agent()
    away.use_model(there)
    session.provider.extend([Say("let me see"), Call("read", {}), Call("list", {})], [Say("so it is")])
    assert (await away.run("what now?")).reason == "end_turn"

    back = session.agent()
    back.use_model(here)
    session.provider.extend([Say("all is well")])
    assert (await back.run("and back here?")).reason == "end_turn"

    sent = session.sent()
    assert [name for name, _ in sent][-3:] == [there, there, here]
    for name, request in sent:
        accepted(name, request)
    for _, request in sent[-1:]:
        everything_is_in(session, request)
    if scene is images:
        assert {name for name, request in sent if shown(request) == 3} == {here, there}
    thoughts = [name for name, request in sent if THOUGHT in request_text(request)]
    thinks = scene in (thinking, stop_mid_tool, killed_mid_tool)
    assert set(thoughts) == ({here} if thinks else set())
