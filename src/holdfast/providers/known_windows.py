"""The context window of a model, from whatever knows it: the config, the table, its server, or a stored list."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from holdfast.config.settings import Limits
from holdfast.errors import ModelUnusable
from holdfast.providers.known_models import StoredLists
from holdfast.providers.learned_windows import learned_window
from holdfast.providers.model_table import Overrides, window_of
from holdfast.providers.registry import ModelEndpoint, Providers, address_of, is_own_server
from holdfast.system.user_directories import homes


class KnownWindows(msgspec.Struct, frozen=True):
    """The windows of the models of one run, by PROVIDER:MODEL. `endpoint` may raise `ModelUnusable`."""

    providers: Providers
    environ: Mapping[str, str]
    overrides: Overrides
    limits: Limits
    endpoint: Callable[[str], ModelEndpoint]

    def at_hand(self, name: str) -> int:
        """Return the window of a model in tokens, 0 if it is unknown. No server is asked."""
        if window := window_of(name, self.overrides) or learned_window(name):
            return window
        prefix, _, model = name.partition(":")
        provider = self.providers.get(prefix)
        if provider is None:
            return 0
        stored = StoredLists(homes(self.environ).model_lists).get(prefix, address_of(provider, self.environ))
        return next((each.window for each in stored.models if each.id == model), 0) if stored is not None else 0

    def learned(self, name: str) -> int:
        """Return the window of a model; if it is unknown, ask its server if that is the user's own."""
        provider = self.providers.get(name.partition(":")[0])
        known = window_of(name, self.overrides)
        if known or provider is None or not is_own_server(provider, self.environ):
            return known or self.at_hand(name)
        from holdfast.providers.window_question import ask_window

        try:
            return ask_window(self.endpoint(name), self.limits.of(name)) or self.at_hand(name)
        except ModelUnusable:  # the request that follows says why
            return 0
