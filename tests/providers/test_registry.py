"""The user's own servers: which config is refused, what goes to them, and what never does."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from pathlib import Path

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings

from holdfast.agent.recovery.settle import settle
from holdfast.agent.stop_cause import StopCause
from holdfast.config.model_servers import ModelOverrides
from holdfast.config.settings import Config, read_config
from holdfast.errors import ConfigInvalid, ModelUnusable, ProviderFailed
from holdfast.history import check
from holdfast.history.profiles import ANTHROPIC, OPENAI_COMPATIBLE
from holdfast.providers.connect import open_model
from holdfast.providers.credentials.provider_keys import ProviderKey, keys_in_use, with_keys
from holdfast.providers.credentials.redaction import secrets_of
from holdfast.providers.model import StreamEvent, StreamFinished
from holdfast.providers.registry import (
    PROVIDERS,
    Providers,
    known_providers,
    profile_of,
    resolve_endpoint,
    without_vision,
)
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.fold import Fold, fold
from holdfast.session.journal.entries import Entry, ModelChanged, PromptAccepted, SessionOpened
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.session.request.normalize import normalize
from holdfast.testing.http_transport import ScriptedTransport
from holdfast.testing.script import Call, Cut, Fail, Headers, Raw, Say, ScriptStep, Think
from holdfast.testing.scripted_provider import CapturedRequest, ScriptedProvider
from journals import journals
from judges import judge
from laws import law

OWN = """
[providers.home]
kind = "openai-chat"
base_url = "http://home.test:8080/v1"

[providers.newer]
kind = "openai-responses"
base_url = "http://newer.test:8080/v1"

[providers.work]
kind = "anthropic"
base_url = "https://work.test"
api_key_env = "WORK_CREDENTIALS"
limits = { first_event = 600 }

[providers.wing]
kind = "gemini"
base_url = "http://wing.test"
"""


def configured(folder: Path, text: str) -> Config:
    path = folder / "config.toml"
    path.write_text(text)
    return read_config(path)


@pytest.fixture
def providers(tmp_path: Path) -> Providers:
    return known_providers(configured(tmp_path, OWN).providers)


def test_a_server_of_the_config_is_a_provider_by_its_name(providers: Providers) -> None:
    found = resolve_endpoint("home:qwen3:8b", {}, providers)
    assert (found.name, found.model, found.key, found.address) == (
        "home:qwen3:8b",
        "qwen3:8b",
        None,
        "http://home.test:8080/v1",
    )
    found = resolve_endpoint("work:m", {"WORK_CREDENTIALS": "sk-work"}, providers)
    assert (found.key, found.address, found.provider.kind) == (
        "sk-work",
        "https://work.test",
        "anthropic",
    )


@pytest.mark.parametrize(
    "address", ["http://localhost:99999/v1", "http://[::1/v1", "localhost:1234/v1", "me:s3cret@host"]
)
def test_an_address_of_the_environment_is_checked_before_any_request(address: str) -> None:
    with pytest.raises(ModelUnusable, match=r"OPENAI_BASE_URL of provider 'openai' is not a URL") as failed:
        resolve_endpoint("openai:m", {"OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": address})
    assert address not in str(failed.value)


def test_its_rules_are_those_of_its_protocol_and_the_strictest_where_many_speak_it(providers: Providers) -> None:
    assert profile_of("home:m", providers) is OPENAI_COMPATIBLE
    assert profile_of("newer:m", providers) is OPENAI_COMPATIBLE
    assert profile_of("work:m", providers) is ANTHROPIC
    assert profile_of("openrouter:m") is profile_of("ollama:m") is OPENAI_COMPATIBLE


def test_one_that_is_not_known_is_named_with_those_that_are(providers: Providers) -> None:
    with pytest.raises(ModelUnusable, match=r"one of .*, home, newer, work, wing\). Did you mean home:m\?"):
        resolve_endpoint("hom:m", {}, providers)
    with pytest.raises(ModelUnusable, match="Set WORK_CREDENTIALS "):
        resolve_endpoint("work:m", {"ANTHROPIC_API_KEY": "sk"}, providers)


def test_its_key_is_a_secret_whatever_its_variable_is_called(providers: Providers) -> None:
    environ = {"WORK_CREDENTIALS": "abcdefgh1234"}
    assert secrets_of(environ) == ()
    assert secrets_of(environ, providers) == ("abcdefgh1234",)


def test_the_config_wins_over_what_is_built_in(tmp_path: Path) -> None:
    text = '[providers.ollama]\nkind = "openai-chat"\nbase_url = "http://attic:11434/v1"\n'
    known = known_providers(configured(tmp_path, text).providers)
    assert resolve_endpoint("ollama:m", {"OLLAMA_BASE_URL": "http://x"}, known).address == "http://attic:11434/v1"
    assert resolve_endpoint("ollama:m", {}).address == "http://localhost:11434/v1"
    assert known.keys() == PROVIDERS.keys()


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ('[providers.x]\nkind = "openai-chat"', "providers.x needs base_url"),
        ('[providers.x]\nkind = "telepathy"\nbase_url = "http://x"', "telepathy"),
        ('[providers.x]\nkind = "anthropic"\nbase_url = "http://x"\nkey = "sk"', "unknown field `key`"),
        ('[providers.x]\nkind = "anthropic"\nbase_url = "http://x"\nlimits = { attempts = 0 }', "attempts"),
        (
            '[providers.x]\nkind = "anthropic"\nbase_url = "localhost:80"',
            "Invalid base_url of provider 'x'",
        ),
        ('[providers.x]\nkind = "anthropic"\nbase_url = "http://"', "Fix it in the config."),
        ('[providers.x]\nkind = "anthropic"\nbase_url = "http://x:y"', "Fix it in the config."),
        ('[providers.x]\nkind = "anthropic"\nbase_url = "http://x"\napi_key_env = ""', "Remove it if the server needs"),
        (
            '[providers.x]\nkind = "anthropic"\nbase_url = "http://x"\napi_key_env = "sk-12-SECRET"',
            "Put the variable's name",
        ),
        ('[providers.x]\nkind = "anthropic"\nbase_url = "ftp://u:SECRET@x/"', "Fix it in the config."),
        ('[providers."a:b"]\nkind = "anthropic"\nbase_url = "http://x"', "Provider name 'a:b' in the config cannot"),
        ('[providers.""]\nkind = "anthropic"\nbase_url = "http://x"', "Rename the provider."),
    ],
)
def test_what_cannot_be_meant_is_named(tmp_path: Path, server: str, message: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        known_providers(configured(tmp_path, server).providers)
    assert message in str(caught.value)
    assert "SECRET" not in str(caught.value)


# --- on the wire -----------------------------------------------------------------------------------------------------

ELSEWHERE = {
    "OPENAI_API_KEY": "sk-of-openai",
    "OPENAI_ORG_ID": "org-of-openai",
    "OPENAI_PROJECT_ID": "project-of-openai",
    "OPENAI_CUSTOM_HEADERS": "x-gateway: of-openai",
    "ANTHROPIC_API_KEY": "sk-of-anthropic",
    "ANTHROPIC_CUSTOM_HEADERS": "x-gateway: of-anthropic",
    "ANTHROPIC_BASE_URL": "http://anthropic.test",
    "OPENAI_BASE_URL": "http://openai.test",
    "GEMINI_API_KEY": "sk-of-google",
    "GOOGLE_API_KEY": "sk-of-google-cloud",
    "GOOGLE_GEMINI_BASE_URL": "http://google.test",
    "GOOGLE_GENAI_USE_VERTEXAI": "true",
    "GOOGLE_CLOUD_PROJECT": "project-of-google",
}


async def sent(
    name: str, key: str | None, conversation: Conversation, known: Providers
) -> tuple[CapturedRequest, StreamFinished]:
    """Have a strict server answer the conversation and return what it got, and how its answer ended."""
    provider = ScriptedProvider([[Say("hello")]], key=key)
    model = open_model(
        resolve_endpoint(name, {"WORK_CREDENTIALS": "sk-work", "OPENROUTER_API_KEY": "sk-router"}, known),
        http=lambda: httpx2.AsyncClient(transport=ScriptedTransport(provider), timeout=5),
    )
    async with model.stream(normalize(conversation, profile_of(name, known))) as events:
        heard = [event async for event in events]
    await model.aclose()
    assert provider.refusals == provider.complaints == ()
    (request,) = provider.requests
    assert isinstance(heard[-1], StreamFinished)
    return request, heard[-1]


async def test_a_server_of_ones_own_is_sent_no_mark_of_anthropics_cache(providers: Providers) -> None:
    request, _ = await sent("work:m", "sk-work", prompted("work:m"), providers)
    assert b"SYSTEM" in request.raw
    assert b"cache_control" not in request.raw


def prompted(name: str) -> Conversation:
    opened = SessionOpened(session="s", cwd="/", model=name, system="SYSTEM", tools=(), version="0")
    return fold([opened, PromptAccepted(turn=1, text="go")])


@pytest.mark.parametrize(
    ("name", "key", "path"),
    [
        ("home:m", None, "/v1/chat/completions"),
        ("newer:m", None, "/v1/responses"),
        ("work:m", "sk-work", "/v1/messages"),
        ("ollama:m", None, "/v1/chat/completions"),
        ("wing:m", None, "/v1beta/models/m:streamGenerateContent"),
    ],
)
async def test_it_gets_its_own_key_and_nothing_that_is_meant_for_others(
    monkeypatch: pytest.MonkeyPatch, providers: Providers, name: str, key: str | None, path: str
) -> None:
    for variable, value in ELSEWHERE.items():
        monkeypatch.setenv(variable, value)
    request, _ = await sent(name, key, prompted(name), providers)  # a server that wants no key refuses one
    assert request.path == path
    for header, value in request.headers.items():
        assert not any(value.endswith(each) for each in ELSEWHERE.values()), header
        assert not header.startswith(("x-stainless", "openai-"))


@pytest.mark.parametrize("name", ["home:gpt-4o", "newer:gpt-5.5", "work:claude-opus-4-5", "wing:gemini-3.8-flash"])
async def test_a_model_at_home_has_not_the_price_of_its_namesake(providers: Providers, name: str) -> None:
    key = "sk-work" if name.startswith("work") else None
    _, finished = await sent(name, key, prompted(name), providers)
    assert finished.usage.input_tokens > 0
    assert finished.usage.cost is None


@pytest.mark.parametrize(("name", "form"), [("home:m", "openai-chat"), ("newer:m", "openai-responses")])
@settings(law(40, shared_by=2), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(journal=journals)
def test_any_journal_makes_a_request_that_every_server_with_openais_protocols_takes(
    providers: Providers, name: str, form: str, journal: list[Entry]
) -> None:
    opened = SessionOpened(session="s", cwd="/", model=name, system="SYSTEM", tools=(), version="0")
    session = Fold([opened, *journal])
    for entry in settle(session.conversation(), StopCause("crash")):
        session.add(entry)
    session.add(ModelChanged(model=name))
    session.add(PromptAccepted(turn=99, text="go on"))
    request, _ = asyncio.run(sent(name, None, session.conversation(), providers))
    judge(form, request.raw)
    strictest = "openai-compatible" if form == "openai-chat" else "any"
    assert check(json.loads(request.raw), format=form, profile=strictest) == []


def test_the_user_says_which_models_see_images(tmp_path: Path) -> None:
    text = (
        "[providers.home]\nkind = 'openai-chat'\nbase_url = 'http://x/v1'\nimages = false\n"
        "[models.'home:sees']\nimages = true\n"
        "[models.'openai:blind']\nimages = false\n[models.'openai:gpt-5.5']\nimages = true\n"
        "[models.'anthropic:m']\ncontext_window = 5\n"
    )
    config = configured(tmp_path, text)
    known = known_providers(config.providers, config.models)
    assert profile_of("home:sees", known) is OPENAI_COMPATIBLE
    assert profile_of("home:m", known) == profile_of("home:x", known) == without_vision(OPENAI_COMPATIBLE)
    assert profile_of("openai:blind", known) == without_vision(profile_of("openai:m"))
    assert profile_of("openai:gpt-5.5", known) is profile_of("openai:m", known) is profile_of("openai:m")
    assert profile_of("anthropic:m", known) is ANTHROPIC


def test_a_model_of_an_unknown_provider_is_named(tmp_path: Path) -> None:
    config = configured(tmp_path, "[models.'antropic:m']\nimages = false\n")
    with pytest.raises(ConfigInvalid, match=r"Unknown provider 'antropic' in \[models\.'antropic:m'\]") as caught:
        known_providers(config.providers, config.models)
    assert "Did you mean anthropic:m?" in str(caught.value)


# --- what is built in ------------------------------------------------------------------------------------------------


def test_a_key_may_be_in_either_of_googles_variables() -> None:
    assert resolve_endpoint("google:m", {"GEMINI_API_KEY": "sk-one", "GOOGLE_API_KEY": "sk-two"}).key == "sk-one"
    assert resolve_endpoint("google:m", {"GEMINI_API_KEY": " ", "GOOGLE_API_KEY": "sk-two"}).key == "sk-two"
    with pytest.raises(ModelUnusable, match=r"Set GEMINI_API_KEY \(or GOOGLE_API_KEY\)"):
        resolve_endpoint("google:m", {})
    stored = {"GEMINI_API_KEY": ProviderKey("file", "sk-kept")}
    keys = keys_in_use({"GOOGLE_API_KEY": "sk-two"}, PROVIDERS, stored)
    assert keys["GEMINI_API_KEY"] == ProviderKey("environment", "sk-two")
    assert resolve_endpoint("google:m", with_keys({"GOOGLE_API_KEY": "sk-two"}, keys)).key == "sk-two"


# --- those with rules of their own on a wire of another's ------------------------------------------------------------

AMAZON = {"AWS_BEARER_TOKEN_BEDROCK": "sk-of-amazon"}


async def answered(
    name: str, environ: dict[str, str], *script: ScriptStep
) -> tuple[CapturedRequest, list[StreamEvent]]:
    """Return what a strict server got under `/mistral` or `/anthropic`, and what it answered."""
    provider = ScriptedProvider(script, key=environ[PROVIDERS[name.partition(":")[0]].key_variable or ""])
    transport = ScriptedTransport(provider)
    model = open_model(resolve_endpoint(name, environ), http=lambda: httpx2.AsyncClient(transport=transport, timeout=5))
    async with model.stream(normalize(prompted(name), profile_of(name))) as events:
        heard = [event async for event in events]
    await model.aclose()
    assert provider.refusals == provider.complaints == ()
    return provider.requests[0], heard


async def test_amazon_gets_its_own_key_and_nothing_that_is_meant_for_anthropic(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in ELSEWHERE.items():
        monkeypatch.setenv(variable, value)
    environ = {**AMAZON, "ANTHROPIC_BEDROCK_MANTLE_BASE_URL": "http://provider/anthropic"}
    request, heard = await answered("bedrock:anthropic.claude-sonnet-5-5", environ, [Think("hm"), Say("hello")])
    assert (request.path, request.headers["authorization"]) == ("/anthropic/v1/messages", "Bearer sk-of-amazon")
    for header, value in request.headers.items():
        assert not any(value.endswith(each) for each in ELSEWHERE.values()), header
    finished = heard[-1]
    assert isinstance(finished, StreamFinished)
    assert [part.provider for part in finished.parts if isinstance(part, ThinkingPart)] == ["bedrock"]


@pytest.mark.parametrize("region", ["evil.test/", "us-east-1@evil.test", "a b", "{region}"])
def test_a_region_is_no_other_part_of_an_address(region: str) -> None:
    with pytest.raises(ModelUnusable, match=r"Invalid region for bedrock \(expected") as caught:
        resolve_endpoint("bedrock:anthropic.m", {**AMAZON, "AWS_REGION": region})
    assert region not in str(caught.value)


def test_amazon_is_where_the_region_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION", "ANTHROPIC_BEDROCK_MANTLE_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ModelUnusable, match=r"No region for bedrock\. Set AWS_REGION"):
        open_model(resolve_endpoint("bedrock:anthropic.m", AMAZON))
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    there = {**AMAZON, "AWS_REGION": "eu-north-1"}
    seen: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(str(request.url))
        return httpx2.Response(400, json={"message": "no"})

    transport = httpx2.MockTransport(answer)
    model = open_model(
        resolve_endpoint("bedrock:anthropic.m", there), http=lambda: httpx2.AsyncClient(transport=transport)
    )

    async def ask() -> None:
        async with model.stream(prompted("bedrock:anthropic.m")) as events:
            async for _ in events:
                pass

    with pytest.raises(ProviderFailed, match="status 400: no"):
        asyncio.run(ask())
    assert seen == ["https://bedrock-mantle.eu-north-1.api.aws/anthropic/v1/messages"]


MISTRAL_AT = {"MISTRAL_API_KEY": "sk-of-mistral", "MISTRAL_BASE_URL": "http://provider/mistral/v1"}


async def test_mistral_gets_no_field_that_it_does_not_know_and_counts_unasked() -> None:
    reply = [Think("hm"), Say("hello"), Call("read", {"path": "a"}, id="abcdefgh1")]
    request, heard = await answered("mistral:mistral-medium-latest", MISTRAL_AT, reply)
    assert set(json.loads(request.raw)) == {"model", "messages", "stream"}
    finished = heard[-1]
    assert isinstance(finished, StreamFinished)
    assert [type(part) for part in finished.parts] == [ThinkingPart, TextPart, CallPart]
    assert (finished.finish, finished.usage.output_tokens > 0) == ("calls", True)
    assert Decimal(finished.usage.cost or "0") > 0


def test_the_facts_of_an_endpoint_are_the_users_before_the_tables() -> None:
    overrides = {"anthropic:m": ModelOverrides(max_output=5), "ollama:m": ModelOverrides(input_price=1, output_price=2)}
    providers = known_providers({}, overrides)
    claude = resolve_endpoint("anthropic:m", {"ANTHROPIC_API_KEY": "test-key"}, providers)
    assert claude.facts.max_tokens == 5
    assert resolve_endpoint("ollama:m", {}, providers).facts.prices is not None
    assert resolve_endpoint("ollama:other", {}, providers).facts.prices is None


async def test_an_end_at_the_length_of_the_model_is_one_at_the_limit() -> None:
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    choice = {"index": 0, "delta": {"role": "assistant", "content": "half"}, "finish_reason": "model_length"}
    events = [Raw(f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\n".encode()), Raw(b"data: [DONE]\n\n")]
    _, heard = await answered("mistral:m", MISTRAL_AT, [Headers(), *events, Cut()])
    assert isinstance(heard[-1], StreamFinished)
    assert heard[-1].finish == "max_tokens"


async def test_what_mistral_says_of_a_field_is_shown() -> None:
    provider = ScriptedProvider([[Fail(400, "Expected last role User or Tool")]], key="sk-of-mistral")
    model = open_model(
        resolve_endpoint("mistral:m", MISTRAL_AT),
        http=lambda: httpx2.AsyncClient(transport=ScriptedTransport(provider)),
    )
    with pytest.raises(ProviderFailed, match="status 400: Expected last role User or Tool"):
        async with model.stream(prompted("mistral:m")):
            pass
