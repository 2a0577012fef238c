"""Journals of earlier versions replay to the requests that those versions sent, but for differences that are meant.

The corpus was written by the code before this (`tests/corpus/write_journals.py`, `write_requests.py`): code that
reads a journal or writes a request may change, but not what a provider reads about the past.
"""

from __future__ import annotations

import json

import pytest

from holdfast.providers.connect import connect
from holdfast.providers.model import Model
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.journal.entries import decode, encode
from replays import (
    EVERYBODY,
    JOURNALS,
    Record,
    Sent,
    Situation,
    conversation,
    journal_names,
    records,
    send,
    situations,
)
from request_differences import OWN_WIRES, Difference, differences, idle, unmeant
from socket_servers import Recorder, environ, listening
from tiers import DEEP, TIER, Tier

RECORDS = {name: records(name) for name in journal_names()}
ONE_IN: dict[Tier, int] = {"quick": 6, "wider": 3, "deep": 1}
PROVIDERS = sorted({model.partition(":")[0] for model in EVERYBODY})


def of(provider: str) -> list[Record]:
    """Return the records of requests to this provider; of those behind a switch, of many in the quick tier one."""
    every = [each for name in RECORDS for each in RECORDS[name] if each.situation.model.startswith(f"{provider}:")]
    switched = [record for record in every if record.situation.when == "next"]
    left_out = [record for at, record in enumerate(switched) if at % ONE_IN[TIER]]
    return [record for record in every if record not in left_out]


async def replayed(provider: str) -> list[Difference]:
    """Return all differences between what is sent to this provider and what was recorded."""
    found: list[Difference] = []
    compared = of(provider)
    recorder = Recorder()
    models: dict[str, Model] = {}
    async with listening(recorder.serve) as port:
        for record in compared:
            situation = record.situation
            name = situation.model
            if name not in models:
                models[name] = await connect(resolve_endpoint(name, environ(f"http://127.0.0.1:{port}")))
            sent = await send(models[name], conversation(situation), recorder)
            for was, now in zip((record.streamed, record.in_one_piece), sent, strict=True):
                found += differences(situation, was, now)
                other = Sent(was.target, was.headers, b'{"other": 1}')
                assert list(differences(situation, other, now)), "what would be sent otherwise is seen"
        for model in models.values():
            await model.aclose()
    assert len(recorder.requests) == 2 * len(compared) >= 16, "streamed and in one piece"
    return found


def named_otherwise(difference: Difference) -> bool:
    """Return whether only pydantic-ai's knowledge of a model's name made it: to Gemini it sent no empty properties."""
    gemini = difference.situation.model == "openrouter:google/gemini-3-pro"
    return gemini and difference.place.endswith(".parameters.properties") and difference.now == {}


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")  # of an SDK, for old models
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_what_is_sent_is_what_was_sent(provider: str) -> None:
    found = [each for each in await replayed(provider) if not named_otherwise(each)]
    meant = [each for each in OWN_WIRES if provider in each.providers]
    left = [*unmeant(found, meant), *(idle(found, meant) if DEEP else ())]
    assert not left, "\n".join([f"{len(left)} differences are not meant:", *left[:20]])


@pytest.mark.parametrize("name", RECORDS)
def test_every_request_of_a_journal_is_recorded(name: str) -> None:
    assert [record.situation for record in RECORDS[name]] == list(situations(name))
    assert len(RECORDS[name]) > 4


@pytest.mark.parametrize("name", RECORDS)
def test_a_journal_is_written_today_as_it_was(name: str) -> None:
    for line in (JOURNALS / f"{name}.jsonl").read_bytes().splitlines():
        assert encode(decode(line)) == line


# --- the judge itself ------------------------------------------------------------------------------------------------


def sent(body: object, *, target: str = "/v1", **headers: str) -> Sent:
    return Sent(target, {name.replace("_", "-"): value for name, value in headers.items()}, json.dumps(body).encode())


def between(model: str, was: Sent, now: Sent) -> list[str]:
    """Return where they differ in a way that our own wires may not."""
    found = differences(Situation("a journal", model, "next"), was, now)
    return [each.place for each in found if not any(known.covers(each) for known in OWN_WIRES)]


def called(arguments: str) -> Sent:
    return sent({"messages": [{"role": "assistant", "tool_calls": [{"function": {"arguments": arguments}}]}]})


def parts(**part: object) -> Sent:
    return sent({"contents": [{"parts": [part]}]})


@pytest.mark.parametrize(
    ("model", "was", "now"),
    [
        ("ollama:m", called('{"n":1}'), called(' {"n" : 1}')),
        ("openai:m", sent({"input": [{"arguments": "{}"}]}), sent({"input": [{"arguments": "{ }"}]})),
        ("google:m", parts(inlineData={"mime_type": "a"}), parts(inlineData={"mimeType": "a"})),
        ("google:m", parts(thoughtSignature="-_8="), parts(thoughtSignature="+/8")),
        ("openai:m", sent({}, x_stainless_lang="…"), sent({})),
        ("google:m", sent({}, x_goog_api_client="…"), sent({})),
        ("bedrock:m", sent({}, anthropic_version="2026-10-21"), sent({}, anthropic_version="2023-06-01")),
        ("anthropic:m", sent({}, authorization="Bearer test-key"), sent({}, x_api_key="test-key")),
    ],
)
def test_what_our_own_wires_may_do_otherwise(model: str, was: Sent, now: Sent) -> None:
    assert list(differences(Situation("a journal", model, "next"), was, now))
    assert between(model, was, now) == []


@pytest.mark.parametrize(
    ("model", "was", "now", "place"),
    [
        ("ollama:m", sent({}), sent({}, target="/v2"), "target"),
        ("ollama:m", called('{"n":1}'), called('{"n":2}'), "body.messages.0.tool_calls.0.function.arguments"),
        ("anthropic:m", called('{"n":1}'), called('{"n": 1}'), "body.messages.0.tool_calls.0.function.arguments"),
        ("google:m", parts(inlineData={"mime_type": "a"}), parts(inlineData={"mimeType": "b"}), None),
        ("google:m", parts(thoughtSignature="-_8="), parts(thoughtSignature="+_88"), None),
        ("google:m", parts(thoughtSignature="-_8="), parts(), None),
        ("google:m", parts(text="a"), parts(text="a", thought=True), "body.contents.0.parts.0.thought"),
        ("openai:m", sent({}), sent({}, x_stainless_lang="…"), "header x-stainless-lang"),
        ("anthropic:m", sent({}, authorization="Bearer test-key"), sent({}, x_api_key="other"), "header x-api-key"),
        ("openai:m", sent({}, authorization="Bearer test-key"), sent({}), "header authorization"),
        ("bedrock:m", sent({}, anthropic_version="2026-10-21"), sent({}), "header anthropic-version"),
        ("anthropic:m", sent({"max_tokens": 1}), sent({"max_tokens": 2}), "body.max_tokens"),
        ("ollama:m", sent({"messages": [1]}), sent({"messages": [1, 2]}), "body.messages"),
        ("ollama:m", sent({"a": 1}), sent({"a": True}), "body.a"),
        ("ollama:m", sent({"a": None}), sent({}), "body.a"),
    ],
)
def test_what_they_may_not(model: str, was: Sent, now: Sent, place: str | None) -> None:
    found = between(model, was, now)
    assert found
    assert place is None or found == [place]


def test_a_difference_that_is_meant_and_found_nowhere_is_reported() -> None:
    (message,) = idle([], OWN_WIRES[:1])
    assert message.startswith("Nothing differs any more, so it need not be meant: A call's arguments go back as")
