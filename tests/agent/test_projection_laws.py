"""P3, judged from outside: whatever the journal, the next request is one that a strict provider accepts.

The scripted provider's rules and the vendors' validators share nothing with the fold; the rules of `history` share its
authors, and look at the bytes.
"""

from __future__ import annotations

import asyncio

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings

from holdfast.agent.recovery.settle import settle
from holdfast.agent.stop_cause import StopCause
from holdfast.providers.connect import open_model
from holdfast.providers.model import Model
from holdfast.providers.registry import profile_of, resolve_endpoint
from holdfast.session.conversation.fold import Fold
from holdfast.session.journal.entries import (
    Entry,
    ModelChanged,
    ModelSettingsChanged,
    Part,
    PromptAccepted,
    ResponseEnded,
    SessionOpened,
)
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.request.normalize import normalize
from holdfast.testing.http_transport import ScriptedTransport
from holdfast.testing.protocols.signatures import sign
from holdfast.testing.script import Say
from holdfast.testing.scripted_provider import ScriptedProvider
from holdfast.tool_calls import ToolSchema
from journals import journals
from laws import law
from provider_situations import KEYS, MODELS, OTHERS, accepted

EVERY = (*MODELS, *OTHERS)
TOOL = ToolSchema(name="read", description="Read.", parameters={"type": "object", "properties": {}})


def connected(provider: ScriptedProvider, name: str) -> Model:
    """Return a real client whose bytes go to the scripted provider without a socket."""
    return open_model(
        resolve_endpoint(name, KEYS), http=lambda: httpx2.AsyncClient(transport=ScriptedTransport(provider), timeout=5)
    )


async def send(journal: list[Entry], name: str) -> ScriptedProvider:
    """Settle the journal as a new process would, write a prompt and send what it folds to."""
    fold = Fold(journal)
    for entry in settle(fold.conversation(), StopCause("crash")):
        fold.add(entry)
    fold.add(ModelChanged(model=name))
    fold.add(PromptAccepted(turn=99, text="go on"))
    provider = ScriptedProvider([[Say("accepted")]])
    model = connected(provider, name)
    async with model.stream(normalize(fold.conversation(), profile_of(name))) as events:
        async for _ in events:
            pass
    await model.aclose()
    return provider


def signed(entry: Entry) -> Entry:
    """Return the entry, its thinking signed, its parts in the order in which a model that thinks writes them."""
    if not isinstance(entry, ResponseEnded):
        return entry
    parts: list[Part] = []
    order = [ThinkingPart, TextPart, CallPart]
    for part in sorted(entry.parts, key=lambda part: order.index(type(part))):
        if isinstance(part, ThinkingPart):
            place = sum(isinstance(before, ThinkingPart) for before in parts)
            text = part.text or "hm"
            seal = sign(text, place=place)
            provider = entry.model.partition(":")[0]
            item = f"rs_{entry.step}_{place}" if provider == "openai" else None  # in Chat it names the field
            parts.append(ThinkingPart(text, signature=seal, id=item, provider=provider))
        else:
            parts.append(part)
    return ResponseEnded(
        step=entry.step, model=entry.model, parts=tuple(parts), usage=entry.usage, finish=entry.finish, cut=entry.cut
    )


@pytest.mark.parametrize("name", EVERY)
@settings(law(shared_by=len(EVERY)), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(journal=journals)
def test_any_journal_and_a_new_prompt_make_a_request_that_is_accepted(name: str, journal: list[Entry]) -> None:
    opened = SessionOpened(session="s", cwd="/", model=name, system="SYSTEM", tools=(TOOL,), version="0")
    # One server speaks for all here. Settings differ by provider: `test_settings_laws` has a server for each.
    journal = [entry for entry in journal if not isinstance(entry, ModelSettingsChanged)]
    provider = asyncio.run(send([opened, *(signed(entry) for entry in journal)], name))
    assert provider.complaints == ()
    accepted(name, provider.requests[0])


BAD = ["", "{", "[1]", "null", '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}', '{"a":' * 2000 + "1" + "}" * 2000]


@pytest.mark.parametrize("name", EVERY)
def test_arguments_that_are_no_json_object_are_sent_as_one_that_quotes_them(name: str) -> None:
    opened = SessionOpened(session="s", cwd="/", model=name, system="SYSTEM", tools=(TOOL,), version="0")
    calls = tuple(CallPart(id=f"call{index:05}", name="read", arguments=raw) for index, raw in enumerate(BAD))
    journal: list[Entry] = [
        opened,
        PromptAccepted(turn=1, text="go"),
        ResponseEnded(step=1, model=name, parts=calls, usage=Usage()),
    ]
    provider = asyncio.run(send(journal, name))
    assert provider.refusals == ()
    assert b"INVALID_JSON" in provider.requests[0].raw


@pytest.mark.parametrize("name", EVERY)
def test_names_that_no_tool_can_have_are_sent_as_names_that_one_can(name: str) -> None:
    opened = SessionOpened(session="s", cwd="/", model=name, system="SYSTEM", tools=(TOOL,), version="0")
    names = ["", "functions.read", "read file", "läs", "tools/read\n", "x" * 200]
    calls = tuple(CallPart(id=f"call{index:05}", name=name, arguments="{}") for index, name in enumerate(names))
    response = ResponseEnded(step=1, model=name, parts=calls, usage=Usage())
    provider = asyncio.run(send([opened, PromptAccepted(turn=1, text="go"), response], name))
    accepted(name, provider.requests[0])
