"""The system keyring, through the library `keyring` (an optional extra).

Every call has a timeout: a locked keyring may open a dialog that the user does not see. Every failure becomes one
sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from holdfast.errors import ConfigInvalid
from holdfast.system.threads import run_within

SERVICE = "holdfast"
"""The service name of holdfast's keys in the keyring."""

_PATIENCE = 20.0
"""Seconds: the user may have to unlock the keyring."""

_INSTEAD = ", set the key's environment variable, or run `holdfast setup` to store the key in a file"

T = TypeVar("T")


def get(name: str) -> str:
    """Return the key stored under that variable's name. Raise `ConfigInvalid` if it is not available."""

    def work() -> str | None:
        import keyring  # 0.2 s, for those who use it

        return keyring.get_password(SERVICE, name)

    key = _run(work, _INSTEAD)
    if key is None:
        raise ConfigInvalid(
            f"Key {name!r} is missing from the keyring. Run `holdfast setup` again, or set {name} in the environment."
        )
    return key


def put(name: str, key: str) -> None:
    """Store a key. Raise `ConfigInvalid` on failure."""

    def work() -> None:
        import keyring  # 0.2 s, for those who use it

        keyring.set_password(SERVICE, name, key)

    _run(work, _INSTEAD)


def remove(name: str) -> None:
    """Remove a key, if it is there. Raise `ConfigInvalid` if the keyring does not work."""

    def work() -> None:
        import keyring  # 0.2 s, for those who use it

        if keyring.get_password(SERVICE, name) is not None:
            keyring.delete_password(SERVICE, name)

    _run(work)


def unavailable_reason() -> str:
    """Return why the keyring cannot store keys, "" if it can."""

    def work() -> bool:
        import keyring  # 0.2 s, for those who use it
        from keyring.backends import fail

        return isinstance(keyring.get_keyring(), fail.Keyring)

    try:
        return "no keyring service is running" if _run(work) else ""
    except ConfigInvalid as error:
        return str(error)


def _run(work: Callable[[], T], instead: str = "") -> T:
    """Run `work` on the keyring. Raise `ConfigInvalid` on failure or timeout."""
    try:
        from keyring.errors import KeyringError
    except ImportError as error:
        raise ConfigInvalid(
            f"The keyring needs the Python library `keyring` (extra holdfast[keyring]). Install it{instead}."
        ) from error
    try:
        return run_within(_PATIENCE, work)
    except TimeoutError as error:
        raise ConfigInvalid(
            f"Keyring did not answer within {_PATIENCE:g} s: it may be locked. Unlock it{instead}."
        ) from error
    except (KeyringError, OSError, RuntimeError) as error:
        raise ConfigInvalid(f"Keyring failed: {type(error).__name__}: {error}. Unlock it{instead}.") from error
