"""Models through pydantic-ai: they keep the laws, but for what is listed, and say what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product

import pytest

from holdfast.errors import ModelUnusable
from holdfast.history.profiles import ANY, BEDROCK
from holdfast.providers.connect import open_model
from holdfast.providers.model import Model
from holdfast.providers.registry import profile_of, resolve_endpoint
from holdfast.testing import MODEL_LAWS, ProviderHarness, ScriptedProvider, check_model
from tiers import DEEP

NAMES = ("pydantic-ai:openai-chat:m", "pydantic-ai:anthropic:m", "pydantic-ai:google:gemini-3-m")
CANNOT: dict[tuple[str, str], str] = {
    ("pydantic-ai:google:gemini-3-m", "ends a request that is left"): (
        "Google's SDK leaves it to the garbage collector to close a response that was not read to its end."
    ),
}
"""What pydantic-ai cannot do, with the reason."""


@pytest.mark.parametrize(("name", "law"), [each for each in product(NAMES, MODEL_LAWS) if each not in CANNOT])
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


async def test_keys_are_in_the_environment_only_while_they_are_read() -> None:
    key = "sk-is-nowhere-else"
    model = open_model(resolve_endpoint("pydantic-ai:openai-chat:m", {"OPENAI_API_KEY": key}))
    await model.aclose()
    assert key not in os.environ.values()


def test_without_the_extra_it_says_what_to_install() -> None:
    code = """
import sys
sys.modules["pydantic_ai"] = None
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
