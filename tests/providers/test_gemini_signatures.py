"""Gemini's signatures: on a call and on a text, byte for byte to the model that made them, and to no other."""

from __future__ import annotations

import json

import pytest

from holdfast.session.journal.entries import RequestFailed, ResponseEnded
from holdfast.session.journal.parts import ThinkingPart
from holdfast.testing.script import Call, Cut, Fail, Headers, Raw, Say, Think
from provider_situations import Session

HERE, SIBLING = "google:gemini-3-m", "google:gemini-3-n"
ALPHABET = str.maketrans("-_", "+/")
STAND_IN = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="


def signed(session: Session, number: int) -> dict[str, str]:
    """Return the signatures of a request by what they are on, in the alphabet they came in: the SDK sends another."""
    contents = json.loads(session.provider.requests[number].raw)["contents"]
    parts = [part for content in contents for part in content["parts"] if "thoughtSignature" in part]
    on = (part["text"] if "text" in part else part["functionCall"]["name"] for part in parts)
    return {name: part["thoughtSignature"].translate(ALPHABET) for name, part in zip(on, parts, strict=True)}


async def talked() -> Session:
    """Return a session of three responses, the first signed on a call and the second on its text."""
    session = Session()
    agent = session.begin(HERE)
    calls = (Call("read", {"path": "a"}), Call("list", {}))
    session.provider.extend([Think("hm"), *calls], [Think("so"), Say("It is "), Say("done.")], [Say("Welcome.")])
    await agent.run("look")
    await agent.run("thanks")
    return session


async def test_each_goes_back_where_it_was() -> None:
    session = await talked()
    assert session.provider.refusals == ()  # the strict server reads what each was made for
    third = signed(session, 2)
    assert third.keys() == {"read", "It is done."}
    assert third["read"] == signed(session, 1)["read"] != STAND_IN


async def test_a_texts_is_journalled_as_thinking_that_says_nothing() -> None:
    session = await talked()
    _, answer, _ = (entry for entry in session.entries if isinstance(entry, ResponseEnded))
    assert [type(part).__name__ for part in answer.parts] == ["ThinkingPart", "ThinkingPart", "TextPart"]
    _, seal, _ = answer.parts
    assert isinstance(seal, ThinkingPart)
    assert (seal.text, seal.signature) == ("", signed(session, 2)["It is done."])


@pytest.mark.parametrize("other", [SIBLING, "anthropic:m", "openai:gpt-5.5"])
async def test_they_are_for_their_maker_only_and_there_again_when_it_is(other: str) -> None:
    session = await talked()
    away = session.agent()
    away.use_model(other)
    session.provider.extend([Say("Hello.")])
    await away.run("and you?")
    signatures = set(signed(session, 2).values())
    sent = session.provider.requests[3].raw.decode().translate(ALPHABET)
    assert not any(signature in sent for signature in signatures)
    if other == SIBLING:
        assert signed(session, 3) == {"read": STAND_IN}
    back = session.agent()
    back.use_model(HERE)
    session.provider.extend([Say("Hello again.")])
    await back.run("and here?")
    assert session.provider.refusals == ()
    assert set(signed(session, 4).values()) == signatures


@pytest.mark.parametrize(
    ("raw", "cause", "message"),
    [
        (b'{"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}}', "refusal", ""),
        (
            b'{"candidates": [{"content": {"parts": [{"text": "half"}]}, "finishReason": "OTHER"}]}',
            "provider",
            "ended its response with 'OTHER'",
        ),
    ],
)
async def test_a_response_that_is_blocked_or_broken_off_is_reported_as_that(
    raw: bytes, cause: str, message: str
) -> None:
    session = Session()
    agent = session.begin(HERE)
    session.provider.extend([Headers(), Raw(b"data: " + raw + b"\r\n\r\n"), Cut()])
    ended = await agent.run("go")
    assert (ended.cause if cause == "provider" else ended.reason) == cause
    assert message in ended.detail


async def test_a_key_that_is_refused_is_the_keys_fault_though_google_says_400() -> None:
    session = Session()
    session.provider._key = "another-key"
    ended = await session.begin(HERE).run("go")
    assert "API key not valid" in ended.detail
    assert [each.fault for each in session.entries if isinstance(each, RequestFailed)] == ["credentials"]
    assert len(session.provider.requests) == 1


async def test_a_model_that_is_overloaded_is_asked_again_when_it_says() -> None:
    session = Session()
    agent = session.begin(HERE)
    session.provider.extend([Fail(503, retry_after=0.01)], [Say("here")])
    assert (await agent.run("go")).reason == "end_turn"
