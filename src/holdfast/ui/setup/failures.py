"""Why a provider did not answer, in words, and what to do about it. Pure.

Two rules. It is told by what was seen: the status, or the step at which the way there ended. What the provider itself
said is said too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus

from holdfast.agent.reaching import Reached, Step
from holdfast.errors import ProviderFailed

_STATUS: Mapping[int, str] = {
    400: "The request was refused. Is it a model of this provider that can be talked to?",
    401: "The key is wrong: mistyped, revoked, or another provider's.",
    402: "The account has no credit left.",
    403: "The key is known, but may not use this model, from here or at all.",
    404: "There is no model {model!r} for this key, or the address is not the protocol's. Look at the provider's list.",
    407: "The proxy {proxy} wants a user and a password: http://USER:PASSWORD@HOST in its variable.",
    429: "The key is used too often, or its account has no credit left.",
}

_REFUSED = re.compile(
    r"\b(?:key|token|credential)s?\b.{0,60}?\b(?:not valid|invalid|incorrect|expired|revoked|malformed)\b"
    r"|\b(?:invalid|incorrect|expired|revoked|malformed|unknown)\b.{0,30}?\b(?:key|token|credential)s?\b",
    re.IGNORECASE,
)
"""What is said of a key that is none, where the status is that of one which may not do a thing."""

_STEPS: Mapping[Step, str] = {
    "name": "The name of {place} is not known here. Is there a network, and is the address spelt right?",
    "refused": "Nobody listens at {place}. Is the server running, and is its address right?",
    "route": "There is no way from here to {place}. Is there a network?",
    "time": "{place} does not answer. Is there a firewall in between, or a proxy that HTTPS_PROXY should name?",
    "date": "The certificate of {place} is not valid today. Is the clock of this machine right?",
    "untrusted": "The certificate of {place} is not trusted here. Does SSL_CERT_FILE name that of a company's proxy?",
    "tls": "{place} does not speak TLS. Is its address http://…, and not https://…?",
    "proxy": "The proxy {proxy} cannot be reached. Is its variable (HTTPS_PROXY) right?",
}


def explained(failed: ProviderFailed, way: Reached, *, model: str) -> str:
    """Return why the model did not answer; `way` is how far one came when it was looked at afterwards."""
    proxy = repr(way.proxy) if way.proxy else "in between"
    words = _words(failed, way).format(place=way.place, proxy=proxy, model=model)
    return f"{words}\n  It was said: {_said(str(failed))}"


def unreached(way: Reached) -> str:
    """Return at which step the way to a server ended, in words; "" if it did not."""
    return _STEPS.get(way.step, "").format(place=way.place, proxy=repr(way.proxy))


def _words(failed: ProviderFailed, way: Reached) -> str:
    if failed.status is not None:
        if failed.fault == "credentials" and (failed.status != HTTPStatus.FORBIDDEN or _REFUSED.search(str(failed))):
            return _STATUS[HTTPStatus.UNAUTHORIZED]  # Google says so with 400
        ours = "Its server has a fault or is overloaded. Try again in a minute."
        return _STATUS.get(failed.status, ours if failed.retryable else "The request was refused.")
    if way.step != "reached":
        return _STEPS[way.step]
    if failed.fault == "silent":
        return (
            "{place} can be reached, but said nothing in time. A model that is loaded first takes a while: try again."
        )
    if failed.fault == "unreachable":
        through = " The proxy {proxy} may not let it through." if way.proxy else ""
        return f"{{place}} can be reached, but the connection broke.{through} Try again."
    return "What answers at {place} does not speak the provider's protocol. Is the address right, down to its path?"


def _said(message: str) -> str:
    """Return the message without what to do in the middle of a session."""
    return re.sub(r"\.? (?:Check the (?:network|key)|Say 'go on'|Wait and say|The same request).*$", ".", message)
