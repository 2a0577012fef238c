"""What the set-up says of a failure."""

from __future__ import annotations

from typing import get_args

import pytest

from holdfast.errors import ProviderFailed, ProviderFault
from holdfast.providers.connectivity import ConnectivityResult, ConnectivityStep
from holdfast.ui.commands.provider_failures import failure_explanation, unreachable_reason

WELL = ConnectivityResult(step="reached", place="api.test")


@pytest.mark.parametrize(
    ("status", "fault", "reason"),
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
def test_a_status_is_explained_and_the_providers_message_quoted(status: int, fault: ProviderFault, reason: str) -> None:
    failed = ProviderFailed("Model 'a:small' answered: no.", fault=fault, status=status)
    words = failure_explanation(failed, WELL, model="small")
    assert reason in words
    assert words.endswith("\n  Provider's message: Model 'a:small' answered: no.")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("Invalid token.", "The key is wrong"),
        ("The security token included in the request is expired.", "The key is wrong"),
        ("API key not valid. Please pass a valid API key.", "The key is wrong"),
        ("Your API key does not have permission to use the specified resource.", "may not use this model"),
        ("The caller does not have permission.", "may not use this model"),
        ("Country, region, or territory not supported.", "may not use this model"),
    ],
)
def test_a_wrong_key_is_distinguished_from_one_without_permission(answer: str, reason: str) -> None:
    message = f"Model 'a:m' failed with status 403: {answer}"
    assert reason in failure_explanation(ProviderFailed(message, fault="credentials", status=403), WELL, model="m")


def test_every_step_has_its_own_words() -> None:
    failed = ProviderFailed("Connection to model 'a:small' failed.", fault="unreachable")
    steps: tuple[ConnectivityStep, ...] = get_args(ConnectivityStep)
    explanations = {
        step: failure_explanation(
            failed, ConnectivityResult(step=step, place="api.test:1", proxy="http://p"), model="m"
        )
        for step in steps
    }
    assert len(set(explanations.values())) == len(steps)
    assert all("{" not in words for words in explanations.values())
    assert "api.test:1" in explanations["refused"]
    assert "'http://p'" in explanations["proxy"]
    assert unreachable_reason(WELL) == ""


@pytest.mark.parametrize("fault", get_args(ProviderFault))
def test_every_fault_but_the_proxys_password_names_the_address(fault: ProviderFault) -> None:
    words = failure_explanation(ProviderFailed("It broke.", fault=fault), WELL, model="m")
    assert ("api.test" in words) != (fault == "proxy_password")


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("certificate", "Does SSL_CERT_FILE name"),
        ("certificate_host", "is for another host name"),
        ("certificate_date", "this machine's clock"),
        ("proxy_password", "set http://USER:PASSWORD@HOST"),
        ("proxy_refused", "does not allow connections to api.test"),
    ],
)
def test_certificates_and_proxies_are_reported_as_they_failed(fault: ProviderFault, reason: str) -> None:
    """The check made afterwards opens no tunnel, so it cannot know."""
    way = ConnectivityResult(step="reached", place="api.test", proxy="http://p")
    assert reason in failure_explanation(ProviderFailed("It broke.", fault=fault), way, model="m")
