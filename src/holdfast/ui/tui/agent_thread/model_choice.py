"""The model that the user chose for the session, and the settings of its requests."""

from __future__ import annotations

from collections.abc import Callable

from holdfast import __version__
from holdfast.providers.protocols.setting_notes import setting_notes
from holdfast.providers.registry import Providers
from holdfast.session.conversation.fold import fold
from holdfast.session.journal import entries as e
from holdfast.session.journal.model_settings import Effort, ModelSettings


class ModelChoice:
    """The model, its settings, and the windows of all models that were connected."""

    def __init__(self, model: str, defaults: Callable[[str], ModelSettings], *, providers: Providers) -> None:
        """Start with `model`; `defaults` returns what the config sets for a model."""
        self.chosen = model
        """The model that the user chose; the status shows the fallback model while a turn uses that."""
        self.settings = defaults(model)
        """The settings of the next request."""
        self.windows: dict[str, int] = {}
        """The context window of each model that was connected, in tokens."""
        self._defaults = defaults
        self._providers = providers

    def choose(self, model: str) -> None:
        """Use `model` from now on; keep the settings that the user chose, take the others from its config."""
        if model != self.chosen:
            self.settings = self.settings.moved(self._defaults(self.chosen), self._defaults(model))
        self.chosen = model

    def effort_note(self, effort: Effort | None, model: str) -> str:
        """Return what is sent to `model` instead of this effort, "" if the effort is sent as it is."""
        from holdfast.tools.builtin.declarations import DECLARATIONS

        changed = e.ModelSettingsChanged(settings=ModelSettings(effort=effort))
        opened = e.SessionOpened(session="", cwd="", model=model, system="", tools=DECLARATIONS, version=__version__)
        return " ".join(setting_notes(fold((opened, changed)), self._providers))
