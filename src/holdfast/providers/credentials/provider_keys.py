"""API keys of the providers: in the environment, in a key file that only its owner may read, or in the keyring.

The environment wins, and a stored key is only fetched when a run needs it: an unreadable key file or a locked keyring
does not stop what works without it. A stored key never enters the process's own environment, so no child process
inherits it.

The system keyring, through the library `keyring` (an optional extra).

Every call has a timeout: a locked keyring may open a dialog that the user does not see. Every failure becomes one
sentence.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeVar

import msgspec

from holdfast.errors import ConfigInvalid, ModelUnusable, StorageFailed
from holdfast.providers.registry import ModelEndpoint, Providers, resolve_endpoint, split
from holdfast.system.bounded_files import STATE_FILE, read_bounded
from holdfast.system.durable_files import make_folder, replace_file
from holdfast.system.threads import run_within
from holdfast.typed_data import decode_json

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


# --- provider keys ---

Source = Literal["environment", "keyring", "file"]
KeyPlace = Literal["keyring", "file"]


class ProviderKey(msgspec.Struct, frozen=True):
    """A key, and where it was found; the value of a key in the keyring is "" until it is fetched."""

    source: Source
    value: str

    def __repr__(self) -> str:
        return f"ProviderKey(source={self.source!r})"  # without the key

    @property
    def unfetched(self) -> bool:
        """Return whether the key is in the keyring and not fetched yet."""
        return self.source == "keyring" and not self.value


Keys = Mapping[str, ProviderKey]
"""Keys by the environment variable that holds each of them, or would."""


def keys_in_use(environ: Mapping[str, str], providers: Providers, stored: Keys) -> Keys:
    """Return the key in use for each provider: the one in the environment, else the stored one."""
    providers_by_variable = {each.key_variable: each for each in providers.values() if each.key_variable}
    from_environment = {
        name: ProviderKey("environment", key)
        for name, each in providers_by_variable.items()
        if (key := each.key_in(environ))
    }
    return MappingProxyType(
        {**{name: key for name, key in stored.items() if name in providers_by_variable}, **from_environment}
    )


def with_keys(environ: Mapping[str, str], keys: Keys) -> Mapping[str, str]:
    """Return the environment with all fetched keys added, to look keys up and to redact them."""
    return MappingProxyType({**environ, **{name: key.value for name, key in keys.items() if not key.unfetched}})


def with_keyring_value(keys: Keys, name: str | None) -> Keys:
    """Return the keys with this one fetched from the keyring if it is there. Raise `ConfigInvalid` on failure."""
    key = keys.get(name or "")
    if name is None or key is None or not key.unfetched:
        return keys
    return MappingProxyType({**keys, name: ProviderKey("keyring", get(name))})


def endpoint_with_key(name: str, environ: Mapping[str, str], providers: Providers, keys: Keys) -> ModelEndpoint:
    """Return the endpoint of `name` (PROVIDER:MODEL) with its key from `keys`. Raise `ModelUnusable`."""
    provider, _ = split(name, providers)
    try:
        known = with_keyring_value(keys, provider.key_variable)
    except ConfigInvalid as error:
        raise ModelUnusable(str(error)) from error
    return resolve_endpoint(name, with_keys(environ, known), providers)


class _StoredKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The content of the key file: keys by variable, which win, and the variables whose keys are in the keyring.

    `left` is no longer written: older versions listed there what a keyring did not delete. It counts as listed in
    `keyring`, so that `forget` removes it.
    """

    keys: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    keyring: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def without(self, name: str) -> _StoredKeys:
        keys = {each: value for each, value in self.keys.items() if each != name}
        return _StoredKeys(keys=keys, keyring=tuple(each for each in self.keyring if each != name))


class KeyFile:
    """The key file at `path`, which need not exist. It also lists which keys the keyring holds."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Keys:
        """Return the stored keys. Raise `ConfigInvalid` if the file cannot be read, or if other users can read it.

        The keyring is not contacted: a locked or missing keyring must not stop what works without it.
        """
        stored = self._read()
        ring = {name: ProviderKey("keyring", "") for name in stored.keyring}
        return MappingProxyType({**ring, **{name: ProviderKey("file", value) for name, value in stored.keys.items()}})

    def usable(self) -> tuple[Keys, str]:
        """Return the stored keys, and what is wrong with the file ("" if nothing; else none of its keys is used)."""
        try:
            return self.read(), ""
        except ConfigInvalid as error:
            return MappingProxyType({}), f"{error} Its keys are not used."

    def repair(self) -> str:
        """Make the key file usable: restrict its permissions, or set it aside. Return what was done, "" if nothing.

        No content is lost. Raise `StorageFailed`.
        """
        if not self.usable()[1]:
            return ""
        with suppress(OSError):  # another user may own it; it is then set aside
            self.path.chmod(0o600)
        if not self.usable()[1]:
            return f"Key file {str(self.path)!r} is now readable only by you."
        target = next(each for each in map(self._aside, count(1)) if not os.path.lexists(each))
        try:
            self.path.rename(target)
        except OSError as error:
            raise StorageFailed(
                f"Key file {str(self.path)!r} cannot be set aside: {error.strerror}. Move it away by hand."
            ) from error
        return f"Key file {str(self.path)!r} was unusable; it was moved to {str(target)!r}."

    def _aside(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    def keep(self, name: str, value: str, *, place: KeyPlace) -> None:
        """Store a key durably, in this place only. Raise `StorageFailed` or `ConfigInvalid`."""
        stored = self._read()
        if place == "keyring":
            put(name, value)
            rest = stored.without(name)
            self._write(_StoredKeys(keys=rest.keys, keyring=(*rest.keyring, name)))
            return
        keys = {**stored.keys, name: value}
        self._write(_StoredKeys(keys=keys, keyring=stored.keyring))
        if name in stored.keyring:
            with suppress(ConfigInvalid):  # it stays listed, so that `forget` removes it
                remove(name)
                self._write(_StoredKeys(keys=keys, keyring=stored.without(name).keyring))

    def forget(self, name: str) -> bool:
        """Remove a stored key. Return whether there was one. Raise `StorageFailed` or `ConfigInvalid`.

        The file's copy is removed first. If the keyring then fails, the key stays listed as stored there.
        """
        stored = self._read()
        if name not in stored.keys and name not in stored.keyring:
            return False
        if name in stored.keyring:
            if name in stored.keys:
                self._write(_StoredKeys(keys=stored.without(name).keys, keyring=stored.keyring))
            try:
                remove(name)
            except ConfigInvalid as error:
                raise ConfigInvalid(f"Key {name!r} was not deleted. {error} After that, run this again.") from error
        self._write(stored.without(name))
        return True

    def _read(self) -> _StoredKeys:
        try:
            mode = stat.S_IMODE(self.path.stat().st_mode)
            raw = read_bounded(self.path, STATE_FILE)
        except FileNotFoundError:
            return _StoredKeys()
        except OSError as error:
            raise ConfigInvalid(
                f"Key file {str(self.path)!r} cannot be read: {error.strerror}. "
                "Fix that, or run `holdfast setup`, which sets it aside."
            ) from error
        if mode & 0o077:
            raise ConfigInvalid(
                f"Key file {str(self.path)!r} is readable by other users (mode {mode:04o}, expected 0600). "
                f"Run: chmod 600 {shlex.quote(str(self.path))}. If other people use this machine, "
                "replace the keys."
            )
        try:
            stored = decode_json(raw, _StoredKeys)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:  # their messages quote no content
            raise ConfigInvalid(
                f"Key file {str(self.path)!r} is damaged: {error}. "
                "Run `holdfast setup`, which sets it aside and starts a new one."
            ) from error
        return _StoredKeys(keys=stored.keys, keyring=tuple(dict.fromkeys((*stored.keyring, *stored.left))))

    def _write(self, stored: _StoredKeys) -> None:
        try:
            make_folder(self.path.parent)
            replace_file(self.path, msgspec.json.format(msgspec.json.encode(stored), indent=1))
        except OSError as error:
            raise StorageFailed(
                f"Key file {str(self.path)!r} cannot be written: {error.strerror}. "
                "Nothing was changed. Free some disk space, or fix the permissions of its folder."
            ) from error
