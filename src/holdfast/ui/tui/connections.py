"""How the models of a run are reached: by environment and config, or, for `demo`, in this process."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.agent.connecting import connect
from holdfast.agent.keys import Keys, aimed
from holdfast.agent.log import Log
from holdfast.agent.model import Model
from holdfast.agent.providers import PROVIDERS, Provider, Providers, Target, split, target
from holdfast.agent.secrets import secrets_of, spelt
from holdfast.config import Limits
from holdfast.tools.thread import in_daemon
from holdfast.ui.choosing import DEMO

if TYPE_CHECKING:
    from holdfast.testing.provider import ScriptedProvider

_BEHIND = "openai-chat:demo"


class Connections:
    """Connections to models by their names; the demo's provider begins when it is first asked."""

    def __init__(
        self, environ: Mapping[str, str], limits: Limits, providers: Providers = PROVIDERS, *, keys: Keys | None = None
    ) -> None:
        """Look keys up in `environ`, and those that the keyring has, as `keys` say, there."""
        self._ring = {name: key for name, key in (keys or {}).items() if key.unasked}
        self.providers = providers
        self.environ = environ
        self._limits = limits
        self._imported = False
        self._used: dict[str, None] = {}  # keys that models were reached with; the environment may not have them
        self._trial: ScriptedProvider | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return what must never be shown or written down: every key there is, as far as it is known."""
        return (*secrets_of(self.environ, self.providers), *spelt(self._used))

    def check(self, name: str) -> None:
        """Return if a model of that name could be asked; raises `ModelUnusable` saying what is missing.

        The keyring, which may have to be waited for, is not asked before the model is.
        """
        if name != DEMO and split(name, self.providers)[0].key_variable not in self._ring:
            target(name, self.environ, self.providers)

    def has_key(self, provider: Provider) -> bool:
        """Return whether the key that the provider wants is there."""
        return provider.key_variable in self._ring or bool(provider.key_in(self.environ))

    def lacks(self, provider: Provider) -> str:
        """Return what has to be done before the provider can be used, where it is if nothing has to."""
        if provider.key_variable and not self.has_key(provider):
            return f"{provider.key_variable} is not set"
        return provider.address or ""

    async def connect(self, name: str, log: Log | None) -> Model:
        """Return a connection; raises `ModelUnusable`."""
        gc.disable()  # looking through what is imported for garbage would take longer, and hold up the screen
        try:
            return await connect(await in_daemon(lambda: self._target(name)), self._limits.of(name), log=log)
        finally:
            if not self._imported:
                gc.freeze()  # what was imported stays
                self._imported = True
            gc.enable()

    def close(self) -> None:
        """End the scripted provider, if it was ever asked."""
        if self._trial is not None:
            self._trial.__exit__(None, None, None)
            self._trial = None

    def _target(self, name: str) -> Target:
        if name != DEMO:
            found = aimed(name, self.environ, self.providers, self._ring)
            self._used[(found.key or "").strip()] = None
            return found
        if self._trial is None:
            from holdfast.ui.tui.trial import provider  # noqa: PLC0415 - 30 ms, not before it is asked for

            self._trial = provider().__enter__()
        return target(_BEHIND, self._trial.environ())
