"""Models through pydantic-ai: they keep the laws, but for what is listed, and say what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product

import pytest

from holdfast.config.model_servers import ModelOverrides
from holdfast.errors import ModelUnusable
from holdfast.history.profiles import ANY, BEDROCK
from holdfast.providers.connect import open_model
from holdfast.providers.model import Model, StreamFinished
from holdfast.providers.registry import known_providers, profile_of, resolve_endpoint
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from holdfast.testing import MODEL_LAWS, ProviderHarness, ScriptedProvider, check_model
from holdfast.testing.script import Say
from tiers import DEEP

NAMES = ("pydantic-ai:openai-chat:m", "pydantic-ai:anthropic:m", "pydantic-ai:google:gemini-3-m")
CANNOT: dict[tuple[str, str], str] = {
    ("pydantic-ai:google:gemini-3-m", "ends a request that is left"): (
        "Google's SDK leaves it to the garbage collector to close a response that was not read to its end."
    ),
}
"""What pydantic-ai cannot do, with the reason."""
NOT_ALWAYS: dict[tuple[str, str], str] = {
    ("pydantic-ai:google:gemini-3-m", "ends a cancelled request"): (
        "Google's SDK is cancelled within a generator that cannot be closed while it runs: it is left to the collector."
    ),
}
"""What it does or not as the machine is busy, with the reason."""


@pytest.mark.parametrize(
    ("name", "law"), [each for each in product(NAMES, MODEL_LAWS) if each not in CANNOT | NOT_ALWAYS]
)
def test_the_laws_are_kept(name: str, law: str) -> None:
    async def connect(provider: ScriptedProvider) -> Model:
        return open_model(resolve_endpoint(name, provider.environ()))

    check_model(lambda: ProviderHarness(connect), laws=[law])


@pytest.mark.deep
@pytest.mark.skipif(not DEEP, reason="it waits half a minute for what never comes")
@pytest.mark.parametrize(("name", "law"), CANNOT)
def test_what_is_listed_is_not_kept(name: str, law: str) -> None:
    async def connect(provider: ScriptedProvider) -> Model:
        return open_model(resolve_endpoint(name, provider.environ()))

    with pytest.raises(AssertionError):
        check_model(lambda: ProviderHarness(connect), laws=[law])


def test_a_conversation_follows_the_rules_of_its_provider_or_of_all() -> None:
    assert profile_of("pydantic-ai:bedrock:us.amazon.nova") is BEDROCK
    assert profile_of("pydantic-ai:groq:llama-4") is ANY


@pytest.mark.parametrize("name", ["pydantic-ai:groq", "pydantic-ai:nobody:m", "pydantic-ai:openai-chat:m"])
def test_what_cannot_be_used_says_why(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelUnusable) as caught:
        open_model(resolve_endpoint(name, {}))
    assert str(caught.value).startswith(f"Model {name!r} cannot be used: ")
    assert str(caught.value).endswith(". Check the name and the provider's settings in the environment.")


PRICED = ModelOverrides(input_price=2.0, output_price=10.0)


@pytest.mark.parametrize("non_streaming", [False, True])
@pytest.mark.parametrize("name", NAMES)
async def test_what_the_user_says_of_a_model_reaches_it(name: str, *, non_streaming: bool) -> None:
    with ScriptedProvider([[Say("ok")]]) as provider:
        known = known_providers({}, {name: PRICED, "openai:gpt-5.5": PRICED})
        endpoint = resolve_endpoint(name, provider.environ(), known)
        assert endpoint.provider.profile is profile_of(name, known) is profile_of(name)
        model = open_model(endpoint)
        opened = SessionOpened(session="s", cwd="/", model=name, system="S", tools=(), version="0")
        async with model.stream(
            fold([opened, PromptAccepted(turn=1, text="go")]), non_streaming=non_streaming
        ) as events:
            finished = [event async for event in events][-1]
        await model.aclose()
    assert isinstance(finished, StreamFinished)
    usage = finished.usage
    assert usage.input_tokens
    assert usage.cost is not None
    assert float(usage.cost) == pytest.approx((usage.input_tokens * 2 + usage.output_tokens * 10) / 1_000_000)


def test_a_model_of_which_nothing_is_said_has_no_price() -> None:
    known = known_providers({}, {NAMES[0]: PRICED})
    environ = {"OPENAI_API_KEY": "k"}
    assert resolve_endpoint(NAMES[0], environ, known).facts.prices is not None
    assert resolve_endpoint("pydantic-ai:openai-chat:other", environ, known).facts.prices is None
    assert resolve_endpoint(NAMES[0], environ).facts.prices is None


async def test_keys_are_in_the_environment_only_while_they_are_read() -> None:
    key = "sk-is-nowhere-else"
    endpoint = resolve_endpoint("pydantic-ai:openai-chat:m", {"OPENAI_API_KEY": key})
    assert key in endpoint.environ.values()
    await open_model(endpoint).aclose()
    assert key not in os.environ.values()


def test_without_the_extra_it_says_what_to_install() -> None:
    code = """
import sys
sys.modules["pydantic_ai"] = None
from holdfast.config.model_servers import ModelOverrides
from holdfast.errors import ModelUnusable
from holdfast.providers.connect import open_model
from holdfast.providers.registry import resolve_endpoint
try:
    open_model(resolve_endpoint("pydantic-ai:groq:m", {}))
except ModelUnusable as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == (
        "Model 'pydantic-ai:groq:m' needs pydantic-ai: the module 'pydantic_ai' is not installed. "
        'Install it: pip install "holdfast[pydantic-ai]".\n'
    )
