"""The keyring of the system, by the library `keyring`, which is an extra of ours.

Two rules. Nobody waits for it without a bound: locked, it asks a person in a window that nobody may see. What goes
wrong in it is one sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from holdfast.errors import ConfigInvalid
from holdfast.tools.thread import within

SERVICE = "holdfast"
"""The name under which the keyring shows our keys."""

PATIENCE = 20.0
"""Seconds: a person may have to unlock it."""

_INSTEAD = ", or set the key's variable in the environment, or run holdfast setup and keep it in a file"

T = TypeVar("T")


def get(name: str) -> str:
    """Return the key that is kept under that variable's name; raises `ConfigInvalid` if it cannot be had."""

    def work() -> str | None:
        import keyring  # noqa: PLC0415 - 0.2 s, for those who use it

        return keyring.get_password(SERVICE, name)

    key = _asked(work, _INSTEAD)
    if key is None:
        raise ConfigInvalid(
            f"Key {name!r} is not in the keyring, where holdfast setup had put it. Run holdfast setup again, or set "
            f"{name} in the environment."
        )
    return key


def put(name: str, key: str) -> None:
    """Keep a key; raises `ConfigInvalid` if that cannot be done."""

    def work() -> None:
        import keyring  # noqa: PLC0415 - 0.2 s, for those who use it

        keyring.set_password(SERVICE, name, key)

    _asked(work, _INSTEAD)


def remove(name: str) -> None:
    """Remove a key, if it is there; raises `ConfigInvalid` if the keyring cannot be asked."""

    def work() -> None:
        import keyring  # noqa: PLC0415 - 0.2 s, for those who use it

        if keyring.get_password(SERVICE, name) is not None:
            keyring.delete_password(SERVICE, name)

    _asked(work)


def lacks() -> str:
    """Return why no key can be kept in a keyring, "" if one can."""

    def work() -> bool:
        import keyring  # noqa: PLC0415 - 0.2 s, for those who use it
        from keyring.backends import fail  # noqa: PLC0415 - likewise

        return isinstance(keyring.get_keyring(), fail.Keyring)

    try:
        return "no keyring runs here" if _asked(work) else ""
    except ConfigInvalid as error:
        return str(error)


def _asked(work: Callable[[], T], instead: str = "") -> T:
    """Return what the keyring says; raises `ConfigInvalid` if it says nothing in time, or that it cannot."""
    try:
        from keyring.errors import KeyringError  # noqa: PLC0415 - likewise
    except ImportError as error:
        raise ConfigInvalid(
            f"Keyring cannot be used without the library `keyring`, the extra holdfast[keyring] was expected. "
            f"Install it{instead}."
        ) from error
    try:
        return within(PATIENCE, work)
    except TimeoutError as error:
        raise ConfigInvalid(
            f"Keyring did not answer within {PATIENCE:g} s, an unlocked one was expected. Unlock it{instead}."
        ) from error
    except (KeyringError, OSError, RuntimeError) as error:
        raise ConfigInvalid(
            f"Keyring cannot be used: {type(error).__name__}: {error}, an unlocked one was expected. "
            f"Unlock it{instead}."
        ) from error
