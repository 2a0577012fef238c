"""The keys of providers: in the environment, or kept in a file that only its owner may read, or in the keyring.

Two rules. The environment wins. A kept key never comes into the process's own environment, so that nothing that is
started has it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import msgspec

from holdfast.agent.providers import Providers
from holdfast.errors import ConfigInvalid, StorageFailed
from holdfast.session.disk import make_folder, write_whole

Source = Literal["environment", "keyring", "file"]
Place = Literal["keyring", "file"]


@dataclass(frozen=True, slots=True)
class Key:
    """A key, and where it was found."""

    source: Source
    value: str = field(repr=False)


Keys = Mapping[str, Key]
"""Keys by the variable that holds each, or would."""


def found(environ: Mapping[str, str], providers: Providers, kept: Keys) -> Keys:
    """Return the key that counts for each provider that has one: the environment's, else the one that is `kept`."""
    wanted = {each.key_variable: each for each in providers.values() if each.key_variable}
    own = {name: Key("environment", key) for name, each in wanted.items() if (key := each.key_in(environ))}
    return MappingProxyType({**{name: key for name, key in kept.items() if name in wanted}, **own})


def with_keys(environ: Mapping[str, str], keys: Keys) -> Mapping[str, str]:
    """Return the environment as it would be with the keys in it, to look keys up and to hide them."""
    return MappingProxyType({**environ, **{name: key.value for name, key in keys.items()}})


class _Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the file holds: keys by their variables, and the variables of those that are in the keyring."""

    keys: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    keyring: tuple[str, ...] = ()


class KeyFile:
    """The file of kept keys at `path`, which need not exist; it also says which keys the keyring has."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Keys:
        """Return what is kept; raises `ConfigInvalid` if that cannot be read, or if others can read it too."""
        kept = self._read()
        keys = {name: Key("file", value) for name, value in kept.keys.items()}
        if kept.keyring:
            from holdfast.agent import vault  # noqa: PLC0415 - slow, and few keep a key there

            keys |= {name: Key("keyring", vault.get(name)) for name in kept.keyring}
        return MappingProxyType(keys)

    def keep(self, name: str, value: str, *, place: Place) -> None:
        """Keep a key, durably, in that place and no other; raises `StorageFailed`, or `ConfigInvalid`."""
        kept = self._read()
        keys, ring = {**kept.keys, name: value}, tuple(each for each in kept.keyring if each != name)
        if place == "keyring":
            from holdfast.agent import vault  # noqa: PLC0415 - slow, and few keep a key there

            vault.put(name, value)
            keys.pop(name)
            ring = (*ring, name)
        self._write(_Kept(keys=keys, keyring=ring))

    def forget(self, name: str) -> bool:
        """Return whether a key was kept, which it is no longer; raises `StorageFailed`, or `ConfigInvalid`."""
        kept = self._read()
        if name in kept.keyring:
            from holdfast.agent import vault  # noqa: PLC0415 - slow, and few keep a key there

            vault.remove(name)
        elif name not in kept.keys:
            return False
        keys = {each: value for each, value in kept.keys.items() if each != name}
        self._write(_Kept(keys=keys, keyring=tuple(each for each in kept.keyring if each != name)))
        return True

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
                "Correct its permissions, or move it away and run: holdfast setup."
            ) from error
        if mode & 0o077:
            raise ConfigInvalid(
                f"File of keys {str(self.path)!r} is open to others (mode {mode:04o}), 0600 was expected. "
                f"Close it with: chmod 600 {self.path}. If others use this machine, have new keys made."
            )
        try:
            return msgspec.json.decode(raw, type=_Kept)
        except msgspec.DecodeError as error:  # which quotes nothing of what it read
            raise ConfigInvalid(
                f"File of keys {str(self.path)!r} is not as it was written: {error}. "
                "Move it away and run: holdfast setup."
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
