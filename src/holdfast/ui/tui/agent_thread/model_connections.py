"""Connections to the models of a run: by its options or, for `demo`, in this process."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pkgutil import resolve_name
from typing import TYPE_CHECKING, cast

from holdfast.providers.connect import connect
from holdfast.providers.credentials.redaction import spellings
from holdfast.providers.model import Model
from holdfast.providers.registry import ModelEndpoint, Provider, resolve_endpoint, split
from holdfast.system.threads import in_daemon
from holdfast.ui.startup.run_options import DEMO, RunOptions

if TYPE_CHECKING:
    from holdfast.agent.debug_log.log import Log
    from holdfast.testing.scripted_provider import ScriptedProvider

_DEMO_ENDPOINT = "openai-chat:demo"
_DEMO_PROVIDER = "holdfast.ui.tui.agent_thread.demo_provider:demo_provider"
"""What makes the demo's provider: 30 ms, not before it is asked for."""


class Connections:
    """Connections to models by name; the demo's provider starts with its first connection."""

    def __init__(self, options: RunOptions) -> None:
        self._options = options
        self._imported = False
        self._keys_in_use: dict[str, None] = {}  # they may come from the keyring
        self._demo: ScriptedProvider | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return every known key, for redaction."""
        return (*self._options.secrets, *spellings(self._keys_in_use))

    def check(self, name: str) -> None:
        """Raise `ModelUnusable`, with the reason, if a model of this name cannot be used.

        The keyring, which may be slow, is not contacted before the first request.
        """
        if name == DEMO:
            return
        key = self._options.keys.get(split(name, self._options.providers)[0].key_variable or "")
        if key is None or not key.unfetched:
            self._options.endpoint(name)

    def has_key(self, provider: Provider) -> bool:
        """Return whether the provider's key is available."""
        return provider.key_variable in self._options.keys

    def provider_status(self, provider: Provider) -> str:
        """Return the missing environment variable, as in "X is not set", else the provider's address."""
        if provider.key_variable and not self.has_key(provider):
            return f"{provider.key_variable} is not set"
        return provider.address or ""

    async def connect(self, name: str, log: Log | None) -> Model:
        """Return a connection. Raise `ModelUnusable`."""
        gc.disable()  # garbage collection during imports would block the screen
        try:
            return await connect(await in_daemon(lambda: self._target(name)), self._options.limits.of(name), log=log)
        finally:
            if not self._imported:
                gc.freeze()  # imports stay
                self._imported = True
            gc.enable()

    def close(self) -> None:
        """Stop the scripted provider, if it was started."""
        if self._demo is not None:
            self._demo.__exit__(None, None, None)
            self._demo = None

    def _target(self, name: str) -> ModelEndpoint:
        if name != DEMO:
            found = self._options.endpoint(name)
            self._keys_in_use[(found.key or "").strip()] = None
            return found
        if self._demo is None:
            start = cast("Callable[[], ScriptedProvider]", resolve_name(_DEMO_PROVIDER))
            self._demo = start().__enter__()
        return resolve_endpoint(_DEMO_ENDPOINT, self._demo.environ())
