"""What the journal says about the bytes of a request is true, and stays true after a crash."""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from io import StringIO
from itertools import pairwise
from typing import cast

import msgspec
import pytest
from test_stable_prefix import TURNS, thirty_turns, unmarked

from holdfast.agent.model_request.prefix_history import SentRequest, sent_requests
from holdfast.providers.registry import PROVIDERS
from holdfast.session.conversation.context_settings import ContextSettings
from holdfast.session.journal.entries import RequestStarted
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_provider import CapturedRequest
from holdfast.ui.commands.show_requests import show_requests
from long_sessions import Long
from provider_situations import MODELS, OTHERS, Session
from tiers import sampled


def found(session: Session) -> list[SentRequest]:
    return list(sent_requests(session.store.read().records, PROVIDERS))


def digest_of(request: CapturedRequest) -> str:
    """Return the digest of the messages as a provider reads them."""
    body = unmarked(request)
    messages = next(body[key] for key in ("messages", "input", "contents") if key in body)
    return blake2b(b"".join(map(msgspec.json.encode, cast("list[object]", messages))), digest_size=16).hexdigest()


@pytest.mark.parametrize("model", sampled([*MODELS, *OTHERS], 3))
async def test_thirty_turns_with_interruptions_are_written_again_byte_for_byte(model: str) -> None:
    session = await thirty_turns(model)
    requests = found(session)
    assert len(requests) > TURNS
    assert {each.same_bytes for each in requests} == {True}
    for before, after in pairwise(requests):
        assert before.written is not None
        assert after.unchanged_bytes == before.written.bytes or after.changed
        assert "entry" in after.changed or not after.changed, "whatever changed the past is named"


@pytest.mark.parametrize("model", sampled(MODELS, 2))
async def test_the_digest_is_of_the_bytes_that_were_sent(model: str) -> None:
    session = Session()
    agent = session.begin(model)
    for number in range(3):
        session.provider.extend([Say("I look."), Call("read", {})], [Say("It says so.")])
        await agent.run(f"prompt {number}")
    started = [entry for entry in session.entries if isinstance(entry, RequestStarted)]
    for entry, (_, request) in zip(started, session.sent(), strict=True):
        assert entry.prefix is not None
        assert entry.prefix.digest == digest_of(request)
        assert 0 < len(request.raw) - entry.prefix.bytes < 200, "what is not in it is the end, and the cache mark"


async def test_a_pruned_result_is_named_as_the_cause() -> None:
    session = Long(context=ContextSettings(prune_protect=6_000, prune_least=5_000, prune_turns=2))
    agent = session.begin("anthropic:m")
    for number in range(6):
        await session.turn(agent, f"prompt {number}")
    changed = [each.changed for each in found(session) if each.changed]
    assert len(changed) == len(session.pruned) > 0
    assert all("old results were left out (entry" in each for each in changed)


async def test_another_system_prompt_is_another_head() -> None:
    session = Session()
    agent = session.begin("anthropic:m")
    for number in range(2):
        session.provider.extend([Say("well")])
        await agent.run(f"prompt {number}")
    records = list(session.store.read().records)
    opened = msgspec.structs.replace(records[0].entry, system="ANOTHER")
    first, second = sent_requests([msgspec.structs.replace(records[0], entry=opened), *records[1:]], PROVIDERS)
    assert (first.same_bytes, second.same_bytes) == (False, False)
    assert second.unchanged_bytes > 0, "it is compared with what would have been sent before"


async def test_models_that_are_not_known_any_more_are_listed_without_their_bytes() -> None:
    session = Session()
    agent = session.begin("anthropic:m")
    session.provider.extend([Say("well")])
    await agent.run("go")
    (request,) = sent_requests(session.store.read().records, {})
    assert (request.written, request.same_bytes, request.unchanged_bytes) == (None, None, 0)
    assert request.usage is not None


async def test_the_command_lists_each_request_and_what_changed() -> None:
    session = Long(context=ContextSettings(prune_protect=3_000, prune_least=2_000, prune_turns=1))
    agent = session.begin("openai-chat:m")
    for number in range(6):
        await session.turn(agent, f"prompt {number}")
    shown, rows = StringIO(), StringIO()
    reading = session.store.read()
    assert show_requests(reading, providers=PROVIDERS, as_json=False, stdout=shown) == 0
    lines = shown.getvalue().splitlines()
    assert lines[0].split() == ["ENTRY", "REQUEST", "BYTES", "AS", "BEFORE", "INPUT", "CACHED", "MODEL"]
    assert re.search(
        r"^  message \d+ changed: old results were left out \(entry \d+\)$", shown.getvalue(), re.MULTILINE
    )
    assert show_requests(reading, providers=PROVIDERS, as_json=True, stdout=rows) == 0
    assert len(json.loads(rows.getvalue())) == len(found(session)) == 12
    assert {row["same_bytes"] for row in json.loads(rows.getvalue())} == {True}
