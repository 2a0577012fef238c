"""`/model`: the favourites, the models that the provider in use lists, those known of other providers, and the demo.

How it works. The list opens at once with the models known locally. A thread fetches the list of the provider in use,
unless that was done within a day, and looks up windows and prices; then the list is replaced, and keeps its search and
highlight. If the provider cannot be reached, a line below the list says why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from holdfast.errors import UsageError
from holdfast.providers.known_models import KnownModels, with_facts
from holdfast.providers.model_pages import ListedModel
from holdfast.providers.registry import Provider
from holdfast.ui.startup.run_options import DEMO
from holdfast.ui.tui.choices import CommandTarget
from holdfast.ui.tui.settings.live_settings import pick_scope
from holdfast.ui.tui.widgets.pickers import Choice, Picker
from holdfast.ui.view.model_details import price_text, remark, window_text

_FAVOURITE = " ★"


def pick_model(target: CommandTarget) -> None:
    """Let the user choose another model, and mark favourites."""
    _ModelPicker(target).open()


class _ModelPicker:
    """The choices of one list, while it is open."""

    def __init__(self, target: CommandTarget) -> None:
        self._target = target
        self._options = target.controller.options
        self._current = target.controller.status.model
        self._in_use = self._options.providers_in_use(self._current)
        self._known = {each.name: self._options.models_at_hand(each) for each in self._in_use}
        self._favourites, self._unread_note = self._options.favourites.usable()
        self._picker: Picker | None = None

    def open(self) -> None:
        """Show the models known locally, and fetch the list of the provider in use."""
        self._picker = self._target.dialogs.pick(
            "Model (or type PROVIDER:MODEL)",
            self._choices(),
            self._use,
            on_cancel=self._closed,
            toggle=("marks a favourite", self._toggle),
            keep=("keeps it", self._keep),
            choice_for=self._choice_for,
        )
        self._target.dialogs.in_background(self._fetch, self._show_fetched)

    def _fetch(self) -> dict[str, KnownModels]:
        """Return the models of each provider in use, with windows and prices. May take seconds."""
        known = dict(self._known)
        for provider in self._in_use:
            if self._current.startswith(f"{provider.name}:"):
                known[provider.name] = asyncio.run(self._options.listed_models(provider))
        return {each.name: _complete(known[each.name], each) for each in self._in_use}

    def _show_fetched(self, known: dict[str, KnownModels]) -> None:
        self._known = known
        self._offer()

    def _offer(self) -> None:
        if self._picker is not None:
            notes = (self._unread_note, *(remark(each) for each in self._known.values()))
            self._picker.offer(self._choices(), "\n".join(filter(None, notes)))

    def _closed(self) -> None:
        self._picker = None

    def _use(self, chosen: str) -> None:
        self._closed()
        provider, _, model = chosen.partition(":")
        if chosen != DEMO and model == "MODEL" and not self._target.controller.providers[provider].model:
            self._target.composer.give_back(f"/model {provider}:")
        else:
            self._target.controller.use_model(chosen)

    def _choice_for(self, text: str) -> Choice | None:
        """Return the choice of the model that the text names; without a prefix, one of the provider in use."""
        provider = text.partition(":")[0]
        if provider not in self._target.controller.providers:
            provider = self._current.partition(":")[0]
            text = f"{provider}:{text}"
        usable = provider in self._target.controller.providers and not any(map(str.isspace, text))
        return Choice(text, text, "not in the list") if usable else None

    def _keep(self, chosen: str) -> None:
        """Let the user choose where the model is stored."""
        self._closed()
        pick_scope(self._target, "model", chosen)

    def _toggle(self, model: str) -> None:
        if model == DEMO or model.endswith(":MODEL"):
            raise UsageError("This is not a model of a provider, so it cannot be a favourite. Mark another one.")
        self._favourites = self._options.favourites.toggle(model)
        self._offer()

    def _choices(self) -> list[Choice]:
        """Return the choices: favourites, then the models of each provider in use, then an example of each other."""
        models = {f"{name}:{each.id}": each for name, known in self._known.items() for each in known.models}
        found = {name: self._choice(name, models.get(name)) for name in self._favourites}
        if self._current and self._current != DEMO and self._current not in models:
            found.setdefault(self._current, self._choice(self._current, None))
        providers = self._target.controller.providers
        for each in (*self._in_use, *(each for each in providers.values() if each not in self._in_use)):
            known = self._known.get(each.name)
            for model in known.models if known else ():
                name = f"{each.name}:{model.id}"
                found.setdefault(name, self._choice(name, model))
            if known is None or not known.models:
                found.setdefault(each.example, self._example(each))
        demo = Choice(DEMO, DEMO, "scripted: no key, no network", now=self._current == DEMO)
        return [*found.values(), demo]

    def _choice(self, name: str, model: ListedModel | None) -> Choice:
        details: Sequence[str] = ()
        if model is not None:
            details = window_text(model.window), price_text(model), model.title
        details_text = " · ".join(filter(None, ("in use" if name == self._current else "", *details)))
        mark = _FAVOURITE if name in self._favourites else ""
        return Choice(name, f"{name}{mark}", details_text, now=name == self._current)

    def _example(self, provider: Provider) -> Choice:
        return Choice(provider.example, provider.example, self._target.controller.provider_status(provider))


def _complete(known: KnownModels, provider: Provider) -> KnownModels:
    return msgspec.structs.replace(known, models=tuple(with_facts(each, provider) for each in known.models))
