"""What to do about a failure, as each surface lets the user do it.

A message says what failed and why; the code that raises it does not know where it is shown, so its `fault` names the
advice. Advice is about now: it is shown when something fails, and is not journalled with the failure. A journal is read
later, perhaps on another surface, by a user who has long continued; what older versions journalled is shown as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.errors import Fault, HoldfastError

_NETWORK: Mapping[Fault, str] = {
    "certificate": (
        "If your network or your server has its own certificate authority, set SSL_CERT_FILE to its certificate file."
    ),
    "certificate_host": "Use the host name for which the certificate was issued in the provider's base URL.",
    "certificate_date": "Check this machine's clock; if it is right, the server needs a new certificate.",
    "proxy_password": "Set HTTPS_PROXY (or the proxy variable you use) to http://USER:PASSWORD@HOST:PORT.",
    "proxy_refused": "Ask for this host to be allowed on the proxy, or exempt it with NO_PROXY.",
}
"""Advice about settings outside of holdfast: the same on every surface."""

COMMAND_LINE: Mapping[Fault, str] = {
    **_NETWORK,
    "rejected": (
        "The same request would fail again: go back to before it (holdfast -c, then /rewind), "
        "or choose another model with -m PROVIDER:MODEL."
    ),
    "too_long": (
        "Shorten the conversation (holdfast -c, then /compact or /rewind), "
        "or choose a model with a larger context window."
    ),
    "credentials": "Check the key (`holdfast config` shows its source) and its access to this model.",
    "no_credit": "Add credit at the provider, or choose another model with -m PROVIDER:MODEL. Nothing was lost.",
    "not_available": (
        "Use an account or a network that the provider serves, or choose another model with -m PROVIDER:MODEL."
    ),
    "rate_limited": 'When the limit allows more: holdfast -c -p "continue". Nothing was lost.',
    "overloaded": 'Wait a moment, then: holdfast -c -p "continue". Nothing was lost.',
    "unreachable": 'Check the network and the base URL, then: holdfast -c -p "continue". Nothing was lost.',
    "silent": (
        'Try again: holdfast -c -p "continue", or choose another model with -m PROVIDER:MODEL. Nothing was lost.'
    ),
    "cut": 'Try again: holdfast -c -p "continue". Nothing was lost.',
    "malformed": (
        'Try again: holdfast -c -p "continue", or choose another model with -m PROVIDER:MODEL. Nothing was lost.'
    ),
    "empty": 'Try again: holdfast -c -p "continue", or choose another model with -m PROVIDER:MODEL. Nothing was lost.',
    "periodic": "Choose another model with -m PROVIDER:MODEL, or a higher temperature, then continue with -c.",
    "flood": "Check the model's server, or choose another model with -m PROVIDER:MODEL, then continue with -c.",
    "redirected": "If the new address is right, set it as the provider's base URL, in the config or its variable.",
    "web_page": "Check the provider's base URL, in the config or its variable: the API is at another address or path.",
    "not_loaded": "Try again when this machine is less busy.",
    "no_key": "Or run `holdfast setup`. To try holdfast without a key: holdfast demo.",
    "no_session": "See them all: holdfast sessions list.",
    "session_in_use": "Close it, use --fork to continue in a copy, or view it read-only.",
    "file_exists": "Choose another name, or replace it with --force.",
    "nothing_to_compact": "Continue, or start a new session.",
}
"""For a user at a shell."""

SCREEN: Mapping[Fault, str] = {
    **_NETWORK,
    "rejected": (
        "The same request would fail again: go back to before it with /rewind, or choose another model with /model."
    ),
    "too_long": "Shorten it with /compact or /rewind, or choose a model with a larger context window.",
    "credentials": "Check the key (/config shows its source) and its access to this model.",
    "no_credit": "Add credit at the provider, or choose another model with /model. Nothing was lost.",
    "not_available": "Use an account or a network that the provider serves, or choose another model with /model.",
    "rate_limited": "When the limit allows more, type 'continue'. Nothing was lost.",
    "overloaded": "Wait a moment, then type 'continue'. Nothing was lost.",
    "unreachable": "Check the network and the base URL, then type 'continue'. Nothing was lost.",
    "silent": "Type 'continue' to try again, or choose another model with /model. Nothing was lost.",
    "cut": "Type 'continue' to try again. Nothing was lost.",
    "malformed": "Type 'continue' to try again, or choose another model with /model. Nothing was lost.",
    "empty": "Type 'continue' to try again, or choose another model with /model. Nothing was lost.",
    "periodic": "Choose another model with /model, or a higher temperature, then type 'continue'.",
    "flood": "Check the model's server, or choose another model with /model, then type 'continue'.",
    "redirected": "If the new address is right, set it as the provider's base URL, in the config or its variable.",
    "web_page": "Check the provider's base URL, in the config or its variable: the API is at another address or path.",
    "not_loaded": "Try again when this machine is less busy.",
    "no_key": "Or type /setup. To try it without a key: /model demo.",
    "no_session": "See them all: /resume.",
    "session_in_use": "Close it, or /resume it and continue in a copy, or read it.",
    "file_exists": "Choose another name: /export NAME.",
    "nothing_to_compact": "Continue, or start a new session with /new.",
}
"""For a user at the full screen."""

EDITOR: Mapping[Fault, str] = {
    **_NETWORK,
    "rejected": (
        "The same request would fail again: choose another model, or open the session in a terminal and /rewind it."
    ),
    "too_long": "Shorten the conversation with /compact, or choose a model with a larger context window.",
    "credentials": "Check the key (`holdfast config` shows its source) and its access to this model.",
    "no_credit": "Add credit at the provider, or choose another model. Nothing was lost.",
    "not_available": "Use an account or a network that the provider serves, or choose another model.",
    "rate_limited": "When the limit allows more, send 'continue'. Nothing was lost.",
    "overloaded": "Wait a moment, then send 'continue'. Nothing was lost.",
    "unreachable": "Check the network and the base URL, then send 'continue'. Nothing was lost.",
    "silent": "Send 'continue' to try again, or choose another model. Nothing was lost.",
    "cut": "Send 'continue' to try again. Nothing was lost.",
    "malformed": "Send 'continue' to try again, or choose another model. Nothing was lost.",
    "empty": "Send 'continue' to try again, or choose another model. Nothing was lost.",
    "periodic": "Choose another model, or a higher temperature, then send 'continue'.",
    "flood": "Check the model's server, or choose another model, then send 'continue'.",
    "redirected": "If the new address is right, set it as the provider's base URL, in the config or its variable.",
    "web_page": "Check the provider's base URL, in the config or its variable: the API is at another address or path.",
    "not_loaded": "Try again when this machine is less busy.",
    "no_key": "Or run `holdfast setup` in a terminal.",
    "no_session": "See them all: holdfast sessions list.",
    "session_in_use": "Close it there, then open it again.",
    "file_exists": "Choose another name.",
    "nothing_to_compact": "Continue, or start a new session.",
}
"""For a user of an editor that drives holdfast."""


def with_advice(error: HoldfastError, advice: Mapping[Fault, str]) -> str:
    """Return the message of the error, and what to do about it."""
    return str(error) if error.fault is None else f"{error} {advice[error.fault]}"
