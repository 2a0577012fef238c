"""What the set-up says of a failure, and what it writes into a config that is there already."""

from __future__ import annotations

import tomllib
from typing import get_args

import pytest

from holdfast.config.servers import Server
from holdfast.errors import ConfigInvalid, ProviderFailed, ProviderFault
from holdfast.providers.connectivity import ConnectivityStep, Reached
from holdfast.ui.commands.provider_failures import explained, unreached
from holdfast.ui.commands.setup.config_edit import with_model, with_server

WELL = Reached(step="reached", place="api.test")


@pytest.mark.parametrize(
    ("status", "fault", "said"),
    [
        (401, "credentials", "The key is wrong"),
        (403, "credentials", "may not use this model"),
        (404, "rejected", "This key has no model 'small'"),
        (429, "rate_limited", "no credit left"),
        (402, "rejected", "no credit left"),
        (418, "rejected", "The request was refused."),
        (529, "overloaded", "Try again in a minute"),
        (400, "credentials", "The key is wrong"),
        (400, "rejected", "Is this a chat model"),
    ],
)
def test_a_status_is_told_in_words_with_those_of_the_provider(status: int, fault: ProviderFault, said: str) -> None:
    failed = ProviderFailed("Model 'a:small' answered: no.", fault=fault, status=status)
    words = explained(failed, WELL, model="small")
    assert said in words
    assert words.endswith("\n  Provider's message: Model 'a:small' answered: no.")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("Invalid token.", "The key is wrong"),
        ("The security token included in the request is expired.", "The key is wrong"),
        ("API key not valid. Please pass a valid API key.", "The key is wrong"),
        ("Your API key does not have permission to use the specified resource.", "may not use this model"),
        ("The caller does not have permission.", "may not use this model"),
        ("Country, region, or territory not supported.", "may not use this model"),
    ],
)
def test_a_key_that_is_none_is_told_from_one_that_may_not(answer: str, said: str) -> None:
    message = f"Model 'a:m' failed with status 403: {answer}"
    assert said in explained(ProviderFailed(message, fault="credentials", status=403), WELL, model="m")


def test_every_step_has_words_of_its_own() -> None:
    failed = ProviderFailed("Connection to model 'a:small' failed.", fault="unreachable")
    steps: tuple[ConnectivityStep, ...] = get_args(ConnectivityStep)
    told = {
        step: explained(failed, Reached(step=step, place="api.test:1", proxy="http://p"), model="m") for step in steps
    }
    assert len(set(told.values())) == len(steps)
    assert all("{" not in words for words in told.values())
    assert "api.test:1" in told["refused"]
    assert "'http://p'" in told["proxy"]
    assert unreached(WELL) == ""


@pytest.mark.parametrize("fault", get_args(ProviderFault))
def test_what_is_reached_and_fails_is_told_by_how(fault: ProviderFault) -> None:
    words = explained(ProviderFailed("It broke.", fault=fault), WELL, model="m")
    assert ("api.test" in words) != (fault == "proxy_password")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("certificate", "Does SSL_CERT_FILE name"),
        ("certificate_host", "is for another host name"),
        ("certificate_date", "this machine's clock"),
        ("proxy_password", "set http://USER:PASSWORD@HOST"),
        ("proxy_refused", "does not allow connections to api.test"),
    ],
)
def test_certificates_and_proxies_are_told_as_they_failed(fault: ProviderFault, said: str) -> None:
    """The check made afterwards opens no tunnel, so it cannot know."""
    way = Reached(step="reached", place="api.test", proxy="http://p")
    assert said in explained(ProviderFailed("It broke.", fault=fault), way, model="m")


OLD = '# mine\nmodel = "a:b"  # why\n\n[limits]\nmax_steps = 3 # few\n'


def test_a_model_is_written_and_all_else_stays() -> None:
    assert with_model("", "c:d") == 'model = "c:d"\n'
    assert with_model(OLD, "c:d") == OLD.replace('"a:b"', '"c:d"')
    assert with_model("[limits]\nmax_steps = 3\n", "c:d") == 'model = "c:d"\n[limits]\nmax_steps = 3\n'
    assert with_model("model = 'a:b'# why\r\nx = 1\r\n", "c:d") == 'model = "c:d"# why\r\nx = 1\r\n'
    assert with_model("x = 1\r\n", "c:d") == 'model = "c:d"\r\nx = 1\r\n'
    odd = 'c:"quoted" \\ name'
    assert tomllib.loads(with_model(OLD, odd))["model"] == odd


@pytest.mark.parametrize("text", ['"model" = "a:b"\n', 'model = """\na:b"""\n', 'x = """\nmodel = "1"\n"""\n'])
def test_a_config_that_cannot_be_read_by_its_lines_is_left_alone(text: str) -> None:
    with pytest.raises(ConfigInvalid, match=r'Add it by hand: model = "c:d"'):
        with_model(text, "c:d")


def test_a_server_is_added_behind_everything() -> None:
    server = Server(kind="anthropic", base_url="http://h:1/v1", api_key_env="H_API_KEY")
    new = with_server(OLD, "home", server)
    assert new.startswith(OLD.rstrip())
    assert tomllib.loads(new)["providers"] == {
        "home": {"kind": "anthropic", "base_url": "http://h:1/v1", "api_key_env": "H_API_KEY"}
    }
    twice = with_server(new, "work", Server(kind="openai-chat", base_url="http://w"))
    assert tomllib.loads(twice)["providers"].keys() == {"home", "work"}
    with pytest.raises(ConfigInvalid):
        with_server(new, "home", server)
    there = with_server(OLD.replace("\n", "\r\n"), "home", server)
    assert there.count("\n") == there.count("\r\n") == new.count("\n")
