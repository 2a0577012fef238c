"""Configures the tools of a session by the config of its run."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.config.settings import Config
from holdfast.providers.credentials.provider_keys import KeyFile, ProviderKey, with_keyring_value
from holdfast.system.user_directories import homes
from holdfast.tools.toolbox import LocalToolbox
from holdfast.tools.web_search.backends import KEY_VARIABLES, SearchBackend, address_of_backend


def prepare(toolbox: LocalToolbox, config: Config, environ: Mapping[str, str]) -> None:
    """Configure the tools by the config. Call this before any is used. `environ` is the run's own environment."""
    if config.pid_namespace:
        toolbox.contain()
    toolbox.confine(config.sandbox)
    toolbox.may_fetch(config.fetch.addresses)
    if (backend := search_backend(config, environ)) is not None:
        toolbox.may_search(backend)


def search_backend(config: Config, environ: Mapping[str, str]) -> SearchBackend | None:
    """Return the configured search service, None if there is none. Its key is looked up when it is used."""
    search = config.search
    if search is None:
        return None
    variable = KEY_VARIABLES.get(search.service)

    def key() -> str:
        found = search_key(config, environ)
        if variable is None or found is None or found.value:
            return "" if found is None else found.value
        return with_keyring_value({variable: found}, variable)[variable].value

    return SearchBackend(name=search.service, address=address_of_backend(search.service, search.address), key=key)


def search_key(config: Config, environ: Mapping[str, str]) -> ProviderKey | None:
    """Return the key of the configured search service as it is stored, None if there is none or none is needed.

    The environment wins. Raise `ConfigInvalid` if the stored keys cannot be read.
    """
    search = config.search
    variable = None if search is None else KEY_VARIABLES.get(search.service)
    if variable is None:
        return None
    if value := environ.get(variable, "").strip():
        return ProviderKey("environment", value)
    return KeyFile(homes(environ).keys).read().get(variable)
