"""The models that are known without a question: stored lists, favourites, and the table.

If a provider cannot be reached, only its own list is missing, and `missing` says why.

The lists of models that were fetched from providers, kept in the cache folder for a day.

A file that cannot be read, is damaged or belongs to another address counts as missing, and the next list replaces it.
No key is in a file or in its name: a list belongs to an address.

The models that the user marked as favourites, in a small file next to the sessions.

The config has no setting for them: the file is the only place, and `/model` writes it.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from pathlib import Path
from typing import Literal

import msgspec

from holdfast.config.settings import Limits
from holdfast.errors import ConfigInvalid, ModelUnusable, ProviderFailed, StorageFailed
from holdfast.providers.credentials.redaction import strip_credentials
from holdfast.providers.model_pages import ListedModel
from holdfast.providers.model_table import facts_of, model_names
from holdfast.providers.registry import ModelEndpoint, Provider, address_of
from holdfast.system.bounded_files import STATE_FILE, read_bounded
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


# --- favourites ---


class _Favourites(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the file: PROVIDER:MODEL, the oldest first."""

    models: tuple[str, ...] = ()


class Favourites:
    """The favourites in the file at `path`, which need not exist."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> tuple[str, ...]:
        """Return the favourites, the oldest first. Raise `ConfigInvalid` for an unreadable file."""
        try:
            raw = read_bounded(self._path, STATE_FILE)
            return tuple(dict.fromkeys(decode_json(raw, _Favourites).models))
        except FileNotFoundError:
            return ()
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise ConfigInvalid(
                f"Favourites file {str(self._path)!r} cannot be read: {why}. Fix it, or move it away to start again."
            ) from error

    def usable(self) -> tuple[tuple[str, ...], str]:
        """Return the favourites, and what is wrong with the file ("" if nothing; else there are none)."""
        try:
            return self.read(), ""
        except ConfigInvalid as error:
            return (), str(error)

    def toggle(self, model: str) -> tuple[str, ...]:
        """Mark a model, or unmark it, durably. Return the favourites. Raise `ConfigInvalid` or `StorageFailed`."""
        now = self.read()
        then = tuple(each for each in now if each != model) if model in now else (*now, model)
        try:
            make_folder(self._path.parent)
            replace_file(self._path, msgspec.json.format(msgspec.json.encode(_Favourites(then)), indent=1))
        except OSError as error:
            raise StorageFailed(
                f"Favourites file {str(self._path)!r} cannot be written: {error.strerror}. Nothing was changed. "
                "Free some disk space, or fix the permissions of its folder."
            ) from error
        return then


# --- known models ---

ListSource = Literal["provider", "cache", "table"]
"""Where a list comes from: fetched now, fetched earlier, or holdfast's table of models."""


class KnownModels(msgspec.Struct, frozen=True, kw_only=True):
    """The models of a provider. `missing` says why its list is not a fresh one from the provider; "" if it is.

    `unusable` counts the entries of its list that name no model.
    """

    provider: str
    models: tuple[ListedModel, ...]
    source: ListSource
    missing: str = ""
    unusable: int = 0


def models_at_hand(provider: Provider, address: str, lists: StoredLists) -> KnownModels:
    """Return the provider's models without a request; `address` is its base URL, "" if unknown."""
    stored = lists.get(provider.name, address) if address else None
    if stored is not None and stored.fresh:
        return KnownModels(provider=provider.name, models=stored.models, source="cache")
    known = {model.id: model for model in stored.models} if stored is not None else {}
    for name in (provider.model, *(name for name, _ in provider.overrides), *model_names(provider.name)):
        if name:
            known.setdefault(name, ListedModel(id=name))
    source: ListSource = "cache" if stored is not None else "table"
    return KnownModels(provider=provider.name, models=tuple(known.values()), source=source)


async def listed_models(
    target: ModelEndpoint, limits: Limits, lists: StoredLists, *, refresh: bool = False
) -> KnownModels:
    """Return the models of the target's provider, as listed within the last day (unless `refresh`) or now.

    If the request fails, return `models_at_hand` with the reason.
    """
    from holdfast.providers.model_list import fetch_models

    provider = target.provider
    address = target.address or address_of(provider, {})
    stored = lists.get(provider.name, address) if address and not refresh else None
    if stored is not None and stored.fresh:
        return KnownModels(provider=provider.name, models=stored.models, source="cache")
    if provider.through_pydantic_ai or not address:
        known = models_at_hand(provider, address, lists)
        return msgspec.structs.replace(known, missing=f"The models of {provider.name} could not be listed: no address.")
    try:
        page = await fetch_models(target, limits)
    except (ModelUnusable, ProviderFailed) as failed:
        return msgspec.structs.replace(models_at_hand(provider, address, lists), missing=str(failed))
    lists.keep(provider.name, address, page.models)
    return KnownModels(provider=provider.name, models=page.models, source="provider", unusable=page.unusable)


def with_facts(model: ListedModel, provider: Provider) -> ListedModel:
    """Return the model with the facts that the list omits; the user's config wins over the list."""
    name, override = f"{provider.name}:{model.id}", provider.overrides_of(model.id)
    facts = facts_of(name, kind=provider.kind, overrides={name: override})
    listed = override.input_price is None and model.input_price is not None
    rates = facts.prices.now() if facts.prices is not None and not listed else None
    return msgspec.structs.replace(
        model,
        window=override.context_window or model.window or facts.context_window,
        input_price=rates[0] if rates else model.input_price,
        output_price=rates[1] if rates else model.output_price,
    )
