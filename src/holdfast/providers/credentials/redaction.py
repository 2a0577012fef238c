"""Redact API keys wherever they appear: in errors, URLs, quoted headers. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, urlsplit

from holdfast.config.model_servers import HeaderVariable
from holdfast.providers.catalog import PROVIDERS, Providers

HIDDEN = "[hidden]"

_SHORTEST = 8
"""Characters. Placeholder keys of local servers ("none", "x") are shorter; redacting them would garble the text."""

_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)\Z")
_KEY_PATTERN = re.compile(
    r"\bsk-[\w*.-]{6,}"
    r"|\bAIza[\w-]{20,}"  # the prefix of Google's keys
    r"|(?:(?<=bearer )|(?<=basic ))(?=[^\s\"']*[\d=*])[\w.~+/=*-]{6,}"
    r"|(?<=authorization: )(?!bearer |basic )[^\s\"',;]+"
    r"|(?<=[?&]key=)[^&\s\"']+"
    r"|(?<=://)[^\s/\"'?#]+(?=@)",  # user and password of a URL
    re.IGNORECASE,
)


def secrets_of(environ: Mapping[str, str], providers: Providers = PROVIDERS) -> tuple[str, ...]:
    """Return every spelling of every secret: provider keys, and variables named like secrets."""
    return spellings({value.strip() for name, value in environ.items() if is_secret(name, providers)})


def is_secret(variable: str, providers: Providers = PROVIDERS) -> bool:
    """Return whether a variable holds a provider's key, or has a name that suggests a secret."""
    return variable in key_variables(providers) or bool(_SECRET_NAME.search(variable.upper()))


def key_variables(providers: Providers) -> set[str]:
    """Return the variables of the providers' keys and secret headers."""
    names = {name for each in providers.values() for name in (each.key_variable, each.also_key_variable) if name}
    headers = (value for each in providers.values() for value in each.all_headers)
    return names | {value.env for value in headers if isinstance(value, HeaderVariable)}


def spellings(keys: Iterable[str]) -> tuple[str, ...]:
    """Return every spelling of the keys, longest first, without those too short to be keys."""
    forms = {form for key in keys for form in (key, quote(key, safe=""), json.dumps(key)[1:-1])}
    return tuple(sorted((each for each in forms if len(each) >= _SHORTEST), key=len, reverse=True))


def redact(text: str, secrets: tuple[str, ...]) -> str:
    """Return the text with all secrets, and everything that looks like a key, redacted."""
    if len(text) < _SHORTEST:
        return text
    return _KEY_PATTERN.sub(HIDDEN, _without(text, secrets))


def _without(text: str, secrets: tuple[str, ...]) -> str:
    """Return the text without any character of a secret, in whatever order they are given.

    To replace one after the other would leave the rest of a secret that begins, or overlaps, with another.
    """
    spans = sorted(span for secret in secrets for span in _places(text, secret))
    if not spans:
        return text
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        if start > at or not pieces:
            pieces += [text[at:start], HIDDEN]
        at = max(at, end)
    return "".join([*pieces, text[at:]])


def _places(text: str, secret: str) -> Iterator[tuple[int, int]]:
    at = text.find(secret)
    while at >= 0:
        yield at, at + len(secret)
        at = text.find(secret, at + 1)


def strip_credentials(address: str) -> str:
    """Return an address without user, password and query; of what is no URL, nothing."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return HIDDEN
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{'?…' if parts.query else ''}"
