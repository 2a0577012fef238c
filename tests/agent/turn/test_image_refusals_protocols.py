"""Refused images on every wire: the same step is sent once more without them, and accepted."""

from __future__ import annotations

import pytest

from holdfast.session.journal.entries import RequestFailed
from holdfast.testing.script import Call, Fail, Say
from provider_situations import MODELS, OTHERS, Session, accepted, shown
from shown_images import picture


@pytest.mark.parametrize("model", [*MODELS, *OTHERS])
async def test_what_is_left_is_accepted(model: str) -> None:
    session = Session()
    agent = session.begin(model)
    refused = Fail(400, "This model does not support image input.")
    session.provider.extend(
        [Call("look", {}), Call("read", {})], [refused], [Call("look", {})], [Say("I cannot see it")]
    )
    assert (await agent.run("what does it show?")).cause == "finished"
    session.provider.extend([Say("still here")])
    assert (await session.agent().run("go on")).cause == "finished"
    (failed,) = [each for each in session.entries if isinstance(each, RequestFailed)]
    assert (failed.fault, failed.status) == ("no_images", 400)
    sent = session.sent()
    assert [shown(request) for _, request in sent] == [0, 1, 0, 0, 0]
    for name, request in sent[2:]:
        accepted(name, request)


@pytest.mark.parametrize("model", [*MODELS, *OTHERS])
async def test_without_a_bad_image_the_rest_is_accepted_and_later_ones_are_shown(model: str) -> None:
    session = Session()
    agent = session.begin(model)
    session.provider.extend([Say("I see it")], [Call("look", {}), Call("read", {})])
    session.provider.extend([Fail(400, "Could not process image")], [Say("not that one")], [Say("that too")])
    assert (await agent.run("see @a.png", images=(picture(),))).cause == "finished"
    assert (await agent.run("and what a tool finds?")).cause == "finished"
    assert (await session.agent().run("see @b.png", images=(picture("b.png"),))).cause == "finished"
    (failed,) = [each for each in session.entries if isinstance(each, RequestFailed)]
    assert (failed.fault, failed.status) == ("bad_images", 400)
    sent = session.sent()
    assert [shown(request) for _, request in sent] == [1, 1, 2, 1, 2]
    for name, request in sent[3:]:
        accepted(name, request)
