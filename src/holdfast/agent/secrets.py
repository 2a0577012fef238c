"""Keys, hidden wherever they turn up: in an error, an address, a header that somebody quotes. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, urlsplit

from holdfast.agent.providers import PROVIDERS, Providers

HIDDEN = "[hidden]"

SHORTEST = 8
"""Characters of a key; what a local server takes for one ("none", "x") would blot out ordinary words."""

_NAMED = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)\Z")
_LOOKS = re.compile(
    r"\bsk-[\w*.-]{6,}"
    r"|\bAIza[\w-]{20,}"  # as Google's begin
    r"|(?:(?<=bearer )|(?<=basic ))(?=[^\s\"']*[\d=*])[\w.~+/=*-]{6,}"
    r"|(?<=authorization: )(?!bearer |basic )[^\s\"',;]+"
    r"|(?<=[?&]key=)[^&\s\"']+"
    r"|(?<=://)[^\s/\"'?#]+(?=@)",  # the user and password of an address
    re.IGNORECASE,
)


def secrets_of(environ: Mapping[str, str], providers: Providers = PROVIDERS) -> tuple[str, ...]:
    """Return what must never be written down, as it may be spelt: every provider's key, and what is named like one."""
    return spelt({value.strip() for name, value in environ.items() if is_secret(name, providers)})


def is_secret(variable: str, providers: Providers = PROVIDERS) -> bool:
    """Return whether a variable holds a provider's key, or is named like one that holds something secret."""
    keys = {name for provider in providers.values() for name in (provider.key_variable, provider.also_key_variable)}
    return variable in keys or bool(_NAMED.search(variable.upper()))


def spelt(keys: Iterable[str]) -> tuple[str, ...]:
    """Return the keys as they may be spelt, the longest first; what is too short to be one is left out."""
    forms = {form for key in keys for form in (key, quote(key, safe=""), json.dumps(key)[1:-1])}
    return tuple(sorted((each for each in forms if len(each) >= SHORTEST), key=len, reverse=True))


def hidden(text: str, secrets: tuple[str, ...]) -> str:
    """Return the text without any of the secrets, nor what looks like one."""
    if len(text) < SHORTEST:
        return text
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return _LOOKS.sub(HIDDEN, text)


def bare(address: str) -> str:
    """Return an address without its user, its password and what it asks."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{'?…' if parts.query else ''}"
