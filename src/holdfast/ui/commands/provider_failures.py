"""Explains why a provider did not answer, and what to do about it. Pure.

The explanation follows from evidence: the status, or the step at which the connection failed. The provider's own
message is shown too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus

from holdfast.errors import Fault, ProviderFailed
from holdfast.providers.connectivity import ConnectivityResult, ConnectivityStep

_STATUS: Mapping[int, str] = {
    400: "The request was refused. Is this a chat model of this provider?",
    401: "The key is wrong: mistyped, revoked, or for another provider.",
    402: "The account has no credit left.",
    403: "The key is valid, but may not use this model, at least not from your location.",
    404: "This key has no model {model!r}, or the base URL is wrong. See the provider's list of models.",
    429: "The key has reached its rate limit. Its account may also have no credit left.",
}

_REFUSED = re.compile(
    r"\b(?:key|token|credential)s?\b.{0,60}?\b(?:not valid|invalid|incorrect|expired|revoked|malformed)\b"
    r"|\b(?:invalid|incorrect|expired|revoked|malformed|unknown)\b.{0,30}?\b(?:key|token|credential)s?\b",
    re.IGNORECASE,
)
"""Recognizes messages about an invalid key under a status that normally means missing permission."""

_STEPS: Mapping[ConnectivityStep, str] = {
    "unknown": "{place} was not reached, or its answer broke off. Is the network up? Try again.",
    "address": "{said}",
    "environment": "{said} Nothing was sent.",
    "name": "The host name {place} was not found. Is the network up, and is the base URL correct?",
    "refused": "Connection refused at {place}. Is the server running, and is the base URL correct?",
    "route": "No route to {place}. Is the network up?",
    "time": "{place} does not answer. Is there a firewall, or a proxy that HTTPS_PROXY should name?",
    "certificate_date": "The certificate of {place} is not valid today. Is this machine's clock correct?",
    "certificate_host": "The certificate of {place} is for another host name. Is the base URL correct?",
    "certificate": "The certificate of {place} is not trusted. Does SSL_CERT_FILE name the company proxy's?",
    "tls": "{place} does not speak TLS. Should the base URL begin with http:// instead of https://?",
    "proxy": "The proxy {proxy} does not let holdfast through. Is its variable, {variable}, correct?",
}

_PROXY: Mapping[Fault, str] = {
    "proxy_password": "The proxy {proxy} needs a user and a password: set http://USER:PASSWORD@HOST in its variable.",
    "proxy_refused": "The proxy {proxy} does not allow connections to {place}. Should NO_PROXY name that host?",
}


def failure_explanation(failed: ProviderFailed, way: ConnectivityResult, *, model: str) -> str:
    """Return why the model did not answer. `way` is the result of a connectivity check made after the failure."""
    proxy = repr(way.proxy) if way.proxy else "in between"
    words = _words(failed, way).format(
        place=way.place, proxy=proxy, said=way.detail, model=model, variable=way.proxy_variable
    )
    return f"{words}\n  Provider's message: {failed}"


def unreachable_reason(way: ConnectivityResult) -> str:
    """Return a sentence about the step at which the connection to a server failed, "" if it did not."""
    return _STEPS.get(way.step, "").format(
        place=way.place, proxy=repr(way.proxy), said=way.detail, variable=way.proxy_variable
    )


def _words(failed: ProviderFailed, way: ConnectivityResult) -> str:
    match failed.fault:
        case "certificate" | "certificate_host" | "certificate_date":
            return _STEPS[failed.fault]
        case "proxy_password" | "proxy_refused":
            return _PROXY[failed.fault]
        case "no_credit":
            return "The account at {place} has no credit left. Add some there; the key itself is valid."
        case "not_available":
            return (
                "The provider at {place} does not serve this account, or not from your location. Its message says why."
            )
        case _:
            return _other_words(failed, way)


def _other_words(failed: ProviderFailed, way: ConnectivityResult) -> str:
    if failed.status is not None:
        if failed.fault == "credentials" and (failed.status != HTTPStatus.FORBIDDEN or _REFUSED.search(str(failed))):
            return _STATUS[HTTPStatus.UNAUTHORIZED]  # Google sends 400 for this
        ours = "The provider's server has an error or is overloaded. Try again in a minute."
        return _STATUS.get(failed.status, ours if failed.retryable else "The request was refused.")
    if way.step != "reached":
        return _STEPS[way.step]
    if failed.fault == "silent":
        return "{place} is reachable, but did not answer in time. A local model may have to load first: try again."
    if failed.fault == "unreachable":
        through = " The proxy {proxy} may be blocking it." if way.proxy else ""
        return f"{{place}} is reachable, but the connection broke.{through} Try again."
    return "The server at {place} does not speak the provider's protocol. Is the base URL correct, including its path?"
