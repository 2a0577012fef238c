"""Prepares the tools of a session by the options of its run."""

from __future__ import annotations

from holdfast.providers.credentials.provider_keys import KeyFile, ProviderKey, with_keyring_value
from holdfast.system.user_directories import homes
from holdfast.tools.toolbox import LocalToolbox
from holdfast.tools.web_search.backends import KEY_VARIABLES, SearchBackend, address_of_backend
from holdfast.ui.startup.run_options import RunOptions


def prepare(toolbox: LocalToolbox, options: RunOptions) -> None:
    """Have the tools work as the options say. Call this before any is used."""
    if options.config.pid_namespace:
        toolbox.contain()
    toolbox.may_fetch(options.config.fetch.addresses)
    if (backend := search_backend(options)) is not None:
        toolbox.may_search(backend)


def search_backend(options: RunOptions) -> SearchBackend | None:
    """Return the configured search service, None if there is none. Its key is looked up when it is asked."""
    search = options.config.search
    if search is None:
        return None
    variable = KEY_VARIABLES.get(search.service)

    def key() -> str:
        found = search_key(options)
        if variable is None or found is None or found.value:
            return "" if found is None else found.value
        return with_keyring_value({variable: found}, variable)[variable].value

    return SearchBackend(name=search.service, address=address_of_backend(search.service, search.address), key=key)


def search_key(options: RunOptions) -> ProviderKey | None:
    """Return the key of the configured search service as it is stored, None if there is none or none is needed.

    The environment wins. Raise `ConfigInvalid` if the stored keys cannot be read.
    """
    search = options.config.search
    variable = None if search is None else KEY_VARIABLES.get(search.service)
    if variable is None:
        return None
    if own := options.environ.get(variable, "").strip():
        return ProviderKey("environment", own)
    return KeyFile(homes(options.environ).keys).read().get(variable)
