"""Headers and keys as a server of the user's own wants them, and what of them is kept secret."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import get_args

import httpx2
import msgspec
import pytest

from holdfast.config.model_servers import ProtocolKind, ServerCompat
from holdfast.config.settings import Config, read_config
from holdfast.errors import ConfigInvalid, ModelUnusable, ProviderFailed
from holdfast.providers.catalog import FOREIGN_COMPAT, MISTRAL_COMPAT, Compat
from holdfast.providers.connect import open_model
from holdfast.providers.credentials.redaction import HIDDEN, secrets_of
from holdfast.providers.protocols import protocol_of
from holdfast.providers.registry import ModelEndpoint, known_providers, resolve_endpoint
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from holdfast.testing.http_transport import ScriptedTransport
from holdfast.testing.script import Say
from holdfast.testing.scripted_provider import CapturedRequest, ScriptedProvider

OWN = """
[providers.home]
kind = "openai-chat"
base_url = "http://home.test/v1?api-version=3"
headers = { X-Team = "blue", X-Pass = { env = "TEAM_PASS" } }
"""
PASS = {"TEAM_PASS": "open-sesame-42"}
OPENED = SessionOpened(session="s", cwd="/", model="home:m", system="S", tools=(), version="0")
ASKED = fold([OPENED, PromptAccepted(turn=1, text="go")])


@pytest.fixture
def configured(tmp_path: Path) -> Callable[[str], Config]:
    def read(text: str) -> Config:
        path = tmp_path / "config.toml"
        path.write_text(text)
        return read_config(path)

    return read


def endpoint(config: Config, name: str, **environ: str) -> ModelEndpoint:
    return resolve_endpoint(name, environ, known_providers(config.providers))


async def sent(target: ModelEndpoint) -> CapturedRequest:
    provider = ScriptedProvider([[Say("hello")]], key=None)
    model = open_model(target, http=lambda: httpx2.AsyncClient(transport=ScriptedTransport(provider)))
    async with model.stream(ASKED) as events:
        assert [event async for event in events]
    await model.aclose()
    return provider.requests[0]


async def test_headers_go_with_each_request(configured: Callable[[str], Config]) -> None:
    request = await sent(endpoint(configured(OWN), "home:m", **PASS))
    assert (request.headers["x-team"], request.headers["x-pass"]) == ("blue", "open-sesame-42")
    assert "authorization" not in request.headers


async def test_what_is_in_a_variable_is_hidden_and_what_is_in_the_config_is_not(
    configured: Callable[[str], Config],
) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        message = f"{request.headers['x-pass']} of the team {request.headers['x-team']}"
        return httpx2.Response(403, json={"error": {"message": message}})

    target = endpoint(configured(OWN), "home:m", **PASS)
    assert "open-sesame-42" not in repr(target)
    model = open_model(target, http=lambda: httpx2.AsyncClient(transport=httpx2.MockTransport(answer)))
    with pytest.raises(ProviderFailed, match="of the team blue") as failed:
        async with model.stream(ASKED):
            pass
    await model.aclose()
    assert HIDDEN in str(failed.value)
    assert "open-sesame-42" not in str(failed.value)
    assert secrets_of(PASS, known_providers(configured(OWN).providers)) == ("open-sesame-42",)


def test_a_variable_that_is_not_set_is_named(configured: Callable[[str], Config]) -> None:
    with pytest.raises(ModelUnusable, match=r"No value for the header 'x-pass' of home\. Set TEAM_PASS \(export"):
        endpoint(configured(OWN), "home:m")
    with pytest.raises(ModelUnusable, match="Invalid value") as failed:
        endpoint(configured(OWN), "home:m", TEAM_PASS="open\nsesame")
    assert "sesame" not in str(failed.value)


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ('{ "x y" = "1" }', "Header 'x y' has an invalid name"),
        ('{ Host = "elsewhere" }', "Header 'Host' is set by holdfast itself"),
        ('{ Content-Length = "1" }', "Header 'Content-Length' is set by holdfast itself"),
        ('{ x = "SECRET\\nx-other: 1" }', "Header 'x' has an invalid value (expected printable ASCII)"),
        ('{ x = "" }', "Header 'x' has an invalid value"),
        ('{ x = { env = "$SECRET" } }', "Header 'x' names no variable"),
        ('{ x = { file = "SECRET" } }', "file"),
        ("{ x = 1 }", "headers"),
    ],
)
def test_what_is_no_header_is_named(configured: Callable[[str], Config], headers: str, message: str) -> None:
    with pytest.raises(ConfigInvalid) as failed:
        configured(f'[providers.x]\nkind = "openai-chat"\nbase_url = "http://x"\nheaders = {headers}')
    assert message in str(failed.value)
    assert "SECRET" not in str(failed.value)


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        ("", "authorization", "Bearer sk-home"),
        ('auth = "bearer"', "authorization", "Bearer sk-home"),
        ('auth = "api-key"', "api-key", "sk-home"),
        ('auth = "x-api-key"', "x-api-key", "sk-home"),
    ],
)
async def test_a_key_goes_in_the_header_that_the_server_wants_and_in_no_other(
    configured: Callable[[str], Config], auth: str, header: str, value: str
) -> None:
    seen: list[httpx2.Headers] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.headers)
        return httpx2.Response(400)

    text = f'[providers.home]\nkind = "openai-chat"\nbase_url = "http://x/v1"\napi_key_env = "HOME_KEY"\n{auth}'
    target = endpoint(configured(text), "home:m", HOME_KEY="sk-home")
    model = open_model(target, http=lambda: httpx2.AsyncClient(transport=httpx2.MockTransport(answer)))
    with pytest.raises(ProviderFailed):
        async with model.stream(ASKED):
            pass
    await model.aclose()
    assert {name: content for name, content in seen[0].items() if "sk-home" in content} == {header: value}


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        ('auth = "bearer"', "authorization", "Bearer sk-home"),
        ('auth = "api-key"', "api-key", "sk-home"),
        ('auth = "x-api-key"', "x-api-key", "sk-home"),
        ('auth = "x-goog-api-key"', "x-goog-api-key", "sk-home"),
    ],
)
@pytest.mark.parametrize("kind", get_args(ProtocolKind))
def test_every_protocol_sends_the_key_in_the_header_that_the_config_names(
    configured: Callable[[str], Config], kind: ProtocolKind, auth: str, header: str, value: str
) -> None:
    text = f'[providers.home]\nkind = "{kind}"\nbase_url = "http://x"\napi_key_env = "HOME_KEY"\n{auth}'
    target = endpoint(configured(text), "home:m", HOME_KEY="sk-home")
    headers = protocol_of(kind).headers(target, ASKED)
    assert {name: each for name, each in headers.items() if "sk-home" in each} == {header: value}


@pytest.mark.parametrize("kind", get_args(ProtocolKind))
def test_without_the_setting_it_is_the_header_of_the_protocol(
    configured: Callable[[str], Config], kind: ProtocolKind
) -> None:
    text = f'[providers.home]\nkind = "{kind}"\nbase_url = "http://x"\napi_key_env = "HOME_KEY"'
    headers = protocol_of(kind).headers(endpoint(configured(text), "home:m", HOME_KEY="sk-home"), ASKED)
    usual = {"x-goog-api-key": "sk-home"} if kind == "gemini" else {"authorization": "Bearer sk-home"}
    assert {name: each for name, each in headers.items() if "sk-home" in each} == usual


def test_azure_gets_its_key_in_its_own_header_at_its_own_path() -> None:
    environ = {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com/"}
    target = resolve_endpoint("azure:gpt-5.5", environ)
    assert target.address == "https://mine.openai.azure.com/openai/v1"
    assert target.key_header("bearer") == {"api-key": "k"}
    complete = environ | {"AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com/openai/v1"}
    assert resolve_endpoint("azure:gpt-5.5", complete).address == "https://mine.openai.azure.com/openai/v1"


# --- how a server differs --------------------------------------------------------------------------------------------


OTHER_WORDS = {
    "text_calls": "off",
    "thinking": "none",
    "effort": "reasoning",
    "output_limit": "max_completion_tokens",
    "service_tiers": ("flex",),
    "no_effort_with_tools": ("gpt-",),
}


def test_every_difference_can_be_set_and_the_others_stay(configured: Callable[[str], Config]) -> None:
    assert ServerCompat.__struct_fields__ == Compat.__struct_fields__
    for kind, usual in (("openai-chat", FOREIGN_COMPAT), ("mistral", MISTRAL_COMPAT)):
        for name in Compat.__struct_fields__:
            value = OTHER_WORDS.get(name, not getattr(usual, name))
            written = msgspec.json.encode(value).decode()
            text = f'[providers.x]\nkind = "{kind}"\nbase_url = "http://x"\ncompat = {{ {name} = {written} }}'
            (provider,) = known_providers(configured(text).providers).keys() & {"x"}
            compat = known_providers(configured(text).providers)[provider].compat
            assert compat == msgspec.structs.replace(usual, **{"text_calls": "auto", name: value})


async def test_a_server_that_refuses_stream_options_is_not_sent_any(configured: Callable[[str], Config]) -> None:
    text = '[providers.home]\nkind = "openai-chat"\nbase_url = "http://x/v1"\n'
    assert b"stream_options" in (await sent(endpoint(configured(text), "home:m"))).raw
    text += "compat = { stream_usage = false }"
    assert b"stream_options" not in (await sent(endpoint(configured(text), "home:m"))).raw
