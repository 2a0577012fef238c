"""The lists of models that were fetched from providers, kept in the cache folder for a day.

A file that cannot be read, is damaged or belongs to another address counts as missing, and the next list replaces it.
No key is in a file or in its name: a list belongs to an address.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from pathlib import Path
from typing import Literal

import msgspec

from holdfast.providers.credentials.redaction import strip_credentials
from holdfast.providers.model_lists.pages import ListedModel
from holdfast.system.durable_files import make_folder, replace_file
from holdfast.typed_data import decode_json

LIFETIME = 24 * 3600
"""Seconds after which the provider is asked again."""

_LONGEST = 16 * 1024 * 1024


class StoredList(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A provider's list of models, and the Unix time `at` which it was fetched."""

    format: Literal[1] = 1
    provider: str
    address: str
    at: float
    models: tuple[ListedModel, ...]

    @property
    def fresh(self) -> bool:
        """Return whether it is younger than a day; a time in the future is not."""
        return 0 <= time.time() - self.at < LIFETIME


class StoredLists:
    """The lists below `folder`, which need not exist."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, provider: str, address: str) -> StoredList | None:
        """Return the list of a provider at an address, however old; None if there is none that can be read."""
        try:
            stored = decode_json(_read(self.path(provider, address)), StoredList)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return stored if (stored.provider, stored.address) == (provider, strip_credentials(address)) else None

    def keep(self, provider: str, address: str, models: tuple[ListedModel, ...]) -> None:
        """Store a list, if the disk allows it."""
        stored = StoredList(provider=provider, address=strip_credentials(address), at=time.time(), models=models)
        with contextlib.suppress(OSError):  # a full or read-only disk: the provider is asked each time
            make_folder(self._folder)
            replace_file(self.path(provider, address), msgspec.json.encode(stored))

    def path(self, provider: str, address: str) -> Path:
        """Return the file for a provider at an address, without its credentials."""
        digest = hashlib.blake2b(strip_credentials(address).encode(), digest_size=8).hexdigest()
        return self._folder / f"{provider}-{digest}.json"


def _read(path: Path) -> bytes:
    """Return the content of a plain file that is not too long. Raise `OSError`."""
    with open(path, "rb", opener=_without_blocking) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("not a file")
        data = file.read(_LONGEST + 1)
    if len(data) > _LONGEST:
        raise OSError("too long")
    return data


def _without_blocking(path: str, flags: int) -> int:
    """Open a file without waiting for the writer of a named pipe."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
