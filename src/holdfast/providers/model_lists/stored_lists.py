"""The lists of models that were fetched from providers, kept in the cache folder for a day.

A file that cannot be read, is damaged or belongs to another address counts as missing, and the next list replaces it.
No key is in a file or in its name: a list belongs to an address.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from pathlib import Path
from typing import Literal

import msgspec

from holdfast.providers.credentials.redaction import strip_credentials
from holdfast.providers.model_lists.pages import ListedModel
from holdfast.system.bounded_files import read_bounded
from holdfast.system.durable_files import make_folder, replace_file
from holdfast.typed_data import decode_json

LIFETIME = 24 * 3600
"""Seconds after which the provider is asked again."""

LARGEST_MODEL_LIST = 16 * 1024 * 1024
"""Bytes of a stored list."""


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
            stored = decode_json(read_bounded(self.path(provider, address), LARGEST_MODEL_LIST), StoredList)
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
