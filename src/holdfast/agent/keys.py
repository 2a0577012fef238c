"""The keys of providers: in the environment, or kept in a file that only its owner may read, or in the keyring.

Two rules. The environment wins, and what is kept is only asked for what a run needs: a file or a keyring that cannot be
read keeps nobody from the rest. A kept key never comes into the process's own environment, so nothing started has it.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import msgspec

from holdfast.agent.providers import Providers, Target, split, target
from holdfast.errors import ConfigInvalid, ModelUnusable, StorageFailed
from holdfast.session.disk import make_folder, write_whole

Source = Literal["environment", "keyring", "file"]
Place = Literal["keyring", "file"]


@dataclass(frozen=True, slots=True)
class Key:
    """A key, and where it was found; the value of one in the keyring is "" until it is asked for."""

    source: Source
    value: str = field(repr=False)

    @property
    def unasked(self) -> bool:
        """Return whether only the keyring knows it."""
        return self.source == "keyring" and not self.value


Keys = Mapping[str, Key]
"""Keys by the variable that holds each, or would."""


def found(environ: Mapping[str, str], providers: Providers, kept: Keys) -> Keys:
    """Return the key that counts for each provider that has one: the environment's, else the one that is `kept`."""
    wanted = {each.key_variable: each for each in providers.values() if each.key_variable}
    own = {name: Key("environment", key) for name, each in wanted.items() if (key := each.key_in(environ))}
    return MappingProxyType({**{name: key for name, key in kept.items() if name in wanted}, **own})


def with_keys(environ: Mapping[str, str], keys: Keys) -> Mapping[str, str]:
    """Return the environment as it would be with the keys in it that are known, to look keys up and to hide them."""
    return MappingProxyType({**environ, **{name: key.value for name, key in keys.items() if not key.unasked}})


def asked(keys: Keys, name: str | None) -> Keys:
    """Return the keys with that one known, from the keyring if it is there; raises `ConfigInvalid` if it is not."""
    key = keys.get(name or "")
    if name is None or key is None or not key.unasked:
        return keys
    from holdfast.agent import vault  # noqa: PLC0415 - slow, and few keep a key there

    return MappingProxyType({**keys, name: Key("keyring", vault.get(name))})


def aimed(name: str, environ: Mapping[str, str], providers: Providers, keys: Keys) -> Target:
    """Return what `name` (PROVIDER:MODEL) stands for, with its key out of `keys`; raises `ModelUnusable`."""
    provider, _ = split(name, providers)
    try:
        known = asked(keys, provider.key_variable)
    except ConfigInvalid as error:
        raise ModelUnusable(str(error)) from error
    return target(name, with_keys(environ, known), providers)


class _Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the file holds: keys by their variables, and the variables of those that are in the keyring.

    `left` are those that the keyring has yet to give up; nobody uses what it has of them.
    """

    keys: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    keyring: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def without(self, name: str) -> _Kept:
        """Return what is kept without that key, which may be left in the keyring."""
        keys = {each: value for each, value in self.keys.items() if each != name}
        left = tuple(dict.fromkeys((*self.left, name))) if name in self.keyring else self.left
        return _Kept(keys=keys, keyring=tuple(each for each in self.keyring if each != name), left=left)


class KeyFile:
    """The file of kept keys at `path`, which need not exist; it also says which keys the keyring has."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Keys:
        """Return what is kept; raises `ConfigInvalid` if that cannot be read, or if others can read it too.

        The keyring is not asked: locked or gone it must not keep anybody from what they can do without it.
        """
        kept = self._read()
        ring = {name: Key("keyring", "") for name in kept.keyring}
        return MappingProxyType({**ring, **{name: Key("file", value) for name, value in kept.keys.items()}})

    def usable(self) -> tuple[Keys, str]:
        """Return what is kept, and what is wrong with the file: "" if nothing is, else none of its keys is used."""
        try:
            return self.read(), ""
        except ConfigInvalid as error:
            return MappingProxyType({}), f"{error} None of its keys is used."

    def mend(self) -> str:
        """Return what was done so that keys can be kept: the file closed to others, or put aside; "" if it was well.

        Nothing in it is lost. Raises `StorageFailed`.
        """
        if not self.usable()[1]:
            return ""
        with suppress(OSError):  # it may be somebody else's, and is put aside then
            self.path.chmod(0o600)
        if not self.usable()[1]:
            return f"File of keys {str(self.path)!r} is closed to others now."
        aside = next(each for each in map(self._aside, count(1)) if not os.path.lexists(each))
        try:
            self.path.rename(aside)
        except OSError as error:
            raise StorageFailed(
                f"File of keys {str(self.path)!r} cannot be put aside: {error.strerror}, a folder of yours was "
                "expected. Move it away by hand."
            ) from error
        return f"File of keys {str(self.path)!r} could not be used, and is {str(aside)!r} now."

    def _aside(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    def keep(self, name: str, value: str, *, place: Place) -> None:
        """Keep a key, durably, in that place and no other; raises `StorageFailed`, or `ConfigInvalid`."""
        kept = self._read().without(name)
        if place == "file":
            self._write(msgspec.structs.replace(kept, keys={**kept.keys, name: value}))
            with suppress(ConfigInvalid):  # it stays listed, for `forget` to find
                self._take_out(name)
            return
        from holdfast.agent import vault  # noqa: PLC0415 - slow, and few keep a key there

        vault.put(name, value)
        left = tuple(each for each in kept.left if each != name)
        self._write(msgspec.structs.replace(kept, keyring=(*kept.keyring, name), left=left))

    def forget(self, name: str) -> bool:
        """Return whether a key was kept, which is used no longer; raises `StorageFailed`, or `ConfigInvalid`.

        What the keyring does not give up is not used either, and raises.
        """
        kept = self._read()
        if name not in kept.keys and name not in kept.keyring and name not in kept.left:
            return False
        self._write(kept.without(name))
        try:
            self._take_out(name)
        except ConfigInvalid as error:
            raise ConfigInvalid(
                f"Key {name!r} is not used any more, but may still be in the keyring: {error} Then "
                "run this again. Or remove it there by hand: it is holdfast's, and has that name."
            ) from error
        return True

    def _take_out(self, name: str) -> None:
        """Remove a key that is left in the keyring, if it is; raises `StorageFailed`, or `ConfigInvalid`."""
        kept = self._read()
        if name in kept.left:
            from holdfast.agent import vault  # noqa: PLC0415 - slow, and few keep a key there

            vault.remove(name)
            self._write(msgspec.structs.replace(kept, left=tuple(each for each in kept.left if each != name)))

    def _read(self) -> _Kept:
        try:
            with open(self.path, "rb", opener=_waiting_for_nobody) as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                raw = file.read()
        except FileNotFoundError:
            return _Kept()
        except OSError as error:
            raise ConfigInvalid(
                f"File of keys {str(self.path)!r} cannot be read: {error.strerror}, a file of yours was expected. "
                "Correct its permissions, or run holdfast setup, which puts it aside."
            ) from error
        if mode & 0o077:
            raise ConfigInvalid(
                f"File of keys {str(self.path)!r} is open to others (mode {mode:04o}), 0600 was expected. "
                f"Close it with: chmod 600 {shlex.quote(str(self.path))}. If others use this machine, have new keys "
                "made."
            )
        try:
            return msgspec.json.decode(raw, type=_Kept)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:  # which quote nothing of what they read
            raise ConfigInvalid(
                f"File of keys {str(self.path)!r} is not as it was written: {error}. "
                "Run holdfast setup, which puts it aside and begins a new one."
            ) from error

    def _write(self, kept: _Kept) -> None:
        try:
            make_folder(self.path.parent)
            write_whole(self.path, msgspec.json.format(msgspec.json.encode(kept), indent=1))
        except OSError as error:
            raise StorageFailed(
                f"File of keys {str(self.path)!r} cannot be written: {error.strerror}, a place for a key was expected. "
                "Nothing was changed; free some space, or correct the permissions of its folder."
            ) from error


def _waiting_for_nobody(path: str, flags: int) -> int:
    """Open a file without waiting for somebody to write to a pipe."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
