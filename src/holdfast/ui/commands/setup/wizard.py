"""The setup: its questions, its test request, and the files that it writes."""

from __future__ import annotations

import asyncio
import importlib.util
import re
from collections.abc import Iterator, Mapping
from typing import Literal, get_args
from urllib.parse import urlsplit

import msgspec

from holdfast.config.model_servers import ProtocolKind, Server
from holdfast.config.settings import Config, read_config
from holdfast.config.settings_file import SettingsFile
from holdfast.config.toml_edit import with_setting
from holdfast.errors import ConfigInvalid, ModelUnusable, ProviderFailed
from holdfast.providers.connect import preload
from holdfast.providers.connectivity import check_provider, smoke_request
from holdfast.providers.credentials.provider_keys import (
    KeyFile,
    KeyPlace,
    ProviderKey,
    keys_in_use,
    with_keyring_value,
    with_keys,
)
from holdfast.providers.credentials.redaction import redact, secrets_of, strip_credentials
from holdfast.providers.registry import (
    PROVIDERS,
    ModelEndpoint,
    Provider,
    Providers,
    address_of,
    info_of,
    is_address,
    is_own_server,
    known_providers,
    overriding_variable,
    resolve_base_url,
    resolve_endpoint,
)
from holdfast.system.bounded_files import STATE_FILE, read_bounded
from holdfast.system.user_directories import homes
from holdfast.text import literal
from holdfast.ui.commands import questions
from holdfast.ui.commands.provider_failures import failure_explanation
from holdfast.ui.view.columns import home

OTHER = "other"

_KINDS: Mapping[str, str] = {
    "openai-chat": "Chat Completions (most servers)",
    "openai-responses": "OpenAI's Responses",
    "anthropic": "Anthropic's Messages",
    "bedrock": "Anthropic Messages via Amazon Bedrock",
    "gemini": "Google's Gemini",
    "mistral": "Mistral Chat",
}
_MOST_OFFERED = 20
"""Models that are shown to choose from."""

_LIST_WITHIN = 3.0
"""Seconds to connect to a server for its list."""

NextStep = Literal["again", "key", "model", "provider", "keep", "leave"]

_NEXT_STEPS: Mapping[NextStep, str] = {
    "again": "retry",
    "key": "another key",
    "model": "another model",
    "provider": "another provider",
    "keep": "save anyway",
    "leave": "cancel without changes",
}


class SetupChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The user's choices. `server` is a new server that is not in the config yet, `key` a key to store, else ""."""

    provider: Provider
    model: str
    server: Server | None = None
    key: str = ""
    place: KeyPlace = "file"

    def __repr__(self) -> str:
        return f"SetupChoice(name={self.name!r}, server={self.server!r}, place={self.place!r})"  # without the key

    @property
    def name(self) -> str:
        """Return PROVIDER:MODEL."""
        return f"{self.provider.name}:{self.model}"


class Wizard:
    """Asks until a model answers or the user gives up. Writes nothing before `write` is called."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Read the existing configuration. Raise `ConfigInvalid` if it cannot be read."""
        self._environ = environ
        self._path = homes(environ).config
        self._config = read_config(self._path)
        self._file = KeyFile(homes(environ).keys)
        self._providers = known_providers(self._config.providers)
        self._stored_keys, self._unread = self._file.usable()

    def run(self) -> SetupChoice | None:
        """Return the choices, None if there are none. Raise `EOFError` or `KeyboardInterrupt` if the user cancels."""
        if self._unread:
            print(literal(f"{self._unread}\nThe setup repairs that when it ends. Nothing is lost.\n"))
        chosen = self._model(self._key(self._provider()))
        while True:
            failed = self._test_model(chosen)
            if failed is None:
                return self._with_key_place(chosen)
            match self._ask_next_step(chosen, failed):
                case "again":
                    pass
                case "key":
                    chosen = self._key(msgspec.structs.replace(chosen, key=""))
                case "model":
                    chosen = self._model(chosen)
                case "provider":
                    chosen = self._model(self._key(self._provider()))
                case "keep":
                    return self._with_key_place(chosen)
                case "leave":
                    return None

    # --- the questions ------------------------------------------------------------------------------------------

    def _provider(self) -> SetupChoice:
        names = [*self._providers, OTHER]
        descriptions = [self._description(each) for each in self._providers.values()]
        keys = keys_in_use(self._environ, self._providers, self._stored_keys)
        usable = [each.name for each in self._providers.values() if each.key_variable in keys]
        configured = (self._config.model or "").partition(":")[0]
        default = next((name for name in (configured, *usable) if name in names), names[0])
        while True:
            print("Which provider?")
            name = questions.ask_choice("Number or name", names, descriptions=[*descriptions, "your own server"],
                                 default=default)  # fmt: skip
            if name == OTHER:
                return self._new_server()
            try:
                resolve_base_url(self._providers[name], self._environ)
            except ModelUnusable as error:
                print(literal(f"{error}\n"))
                continue
            return SetupChoice(provider=self._providers[name], model="")

    def _description(self, provider: Provider) -> str:
        key = keys_in_use(self._environ, self._providers, self._stored_keys).get(provider.key_variable or "")
        known = f" (key: {_where(key)})" if key else ""
        return f"{info_of(provider).title}{known}"

    def _new_server(self) -> SetupChoice:
        """Return a server that is not in the config yet. Each answer is checked before the next question."""
        while not is_address(address := questions.ask_line("Base URL, e.g. http://localhost:8080/v1")):
            print("Not a valid URL: it must begin with http:// or https:// and have no spaces.")
        usual = re.sub(r"[^a-z0-9-]+", "-", (urlsplit(address).hostname or "").lower()).strip("-")
        print("Which protocol?")
        kinds: tuple[ProtocolKind, ...] = get_args(ProtocolKind)
        typed = questions.ask_choice("Number or name", kinds, descriptions=[_KINDS.get(each, "") for each in kinds],
                              default="openai-chat")  # fmt: skip
        kind: ProtocolKind = next(each for each in kinds if each == typed)
        server = Server(kind=kind, base_url=address)
        while why := self._unusable_name(name := questions.ask_line("Name (used as PREFIX:model)", usual), server):
            print(literal(why))
        needs_key = questions.ask_yes_no("Does it need an API key?")
        server = msgspec.structs.replace(server, api_key_env=self._variable(name) if needs_key else None)
        return SetupChoice(provider=known_providers({name: server})[name], model="", server=server)

    def _unusable_name(self, name: str, server: Server) -> str:
        """Return why a server cannot have this name, "" if it can."""
        if name in self._providers:
            return f"A provider {name!r} already exists. Choose another name."
        try:
            known_providers({name: server})
        except ConfigInvalid:
            return "A name may have letters, digits, '.', '_' and '-'."
        return ""

    def _variable(self, name: str) -> str:
        """Return an environment variable for a new server's key: valid in a shell, and not used by a provider."""
        known = (*PROVIDERS.values(), *self._providers.values())
        used = {*(each.key_variable for each in known), *(each.also_key_variable for each in known)}
        variable = f"{re.sub('[^A-Z0-9]+', '_', name.upper())}_API_KEY"
        while variable in used or variable[0].isdecimal():
            variable = f"SERVER_{variable}"
        return variable

    def _key(self, chosen: SetupChoice) -> SetupChoice:
        """Return the choices with a key: existing or typed now."""
        provider = chosen.provider
        if provider.key_variable is None:
            return chosen
        existing = self._existing_key(chosen)
        if existing is not None and existing.source == "environment":
            print(f"\nUsing the key in {provider.key_variable} from the environment, which overrides any other.")
            return chosen
        if get := info_of(provider).keys:
            print(f"\nCreate a key at {get}")
        hint = f"; Enter to use the one in the {existing.source}" if existing else ""
        while True:
            typed = questions.ask_hidden(f"API key (hidden{hint})")
            if not typed and existing:
                return chosen
            try:
                self._target(msgspec.structs.replace(chosen, model="any", key=typed))
            except ModelUnusable:
                print("A key has no spaces. Paste the complete key and nothing else.")
            else:
                return msgspec.structs.replace(chosen, key=typed)

    def _existing_key(self, chosen: SetupChoice) -> ProviderKey | None:
        """Return the existing key. If the keyring fails, print why and return None."""
        variable = chosen.provider.key_variable
        keys = keys_in_use(self._environ, self._known(chosen), self._stored_keys)
        try:
            keys = with_keyring_value(keys, variable)
        except ConfigInvalid as error:
            print(literal(f"\n{error}"))
            return None
        key = keys.get(variable or "")
        if variable and key and key.source == "keyring":
            self._stored_keys = {**self._stored_keys, variable: key}
        return key

    def _model(self, chosen: SetupChoice) -> SetupChoice:
        preload(self._target(msgspec.structs.replace(chosen, model="any")))
        provider, _, model_name = (self._config.model or "").partition(":")
        usual = model_name if provider == chosen.provider.name else chosen.provider.model
        listed = self._listed(chosen)
        if len(listed) == 1:
            usual = usual or listed[0]
        for number, name in enumerate(listed[:_MOST_OFFERED], 1):
            print(literal(f"  {number:>2}  {name}"))
        if len(listed) > _MOST_OFFERED:
            print(f"      and {len(listed) - _MOST_OFFERED} more: holdfast models {chosen.provider.name}")
        example = listed[0] if listed else usual or "qwen3-coder"
        while True:
            model = questions.ask_line(f"\nModel of {chosen.provider.name}", chosen.model or usual)
            if model.isdecimal() and 1 <= int(model) <= len(listed[:_MOST_OFFERED]) and model not in listed:
                return msgspec.structs.replace(chosen, model=listed[int(model) - 1])
            if not model:
                print(literal(f"Type a model's name, for example {example}."))
            elif not model.isprintable() or " " in model:
                print("A model name has no spaces. Type it as in the provider's list of models.")
            else:
                return msgspec.structs.replace(chosen, model=model.removeprefix(f"{chosen.provider.name}:"))

    def _listed(self, chosen: SetupChoice) -> tuple[str, ...]:
        """Return the models that a server of the user's own lists; none, with a line that says why, if it does not."""
        environ = self._environ_with(chosen)
        if not is_own_server(chosen.provider, environ):
            return ()
        from holdfast.providers.model_list import fetch_models

        target = msgspec.structs.replace(self._target(msgspec.structs.replace(chosen, model="any")), model="")
        limits = msgspec.structs.replace(self._config.limits.of(chosen.name), connect=_LIST_WITHIN)
        try:
            page = asyncio.run(fetch_models(target, limits))
        except (ProviderFailed, ModelUnusable) as failed:
            print(literal(f"\n{redact(str(failed), secrets_of(environ, self._known(chosen)))}"))
            return ()
        print(f"\nModels at {literal(strip_credentials(address_of(chosen.provider, environ)))}:")
        return tuple(each.id for each in page.models)

    def _with_key_place(self, chosen: SetupChoice) -> SetupChoice:
        """Return the choices with the place for the key. Ask only if there is a keyring."""
        if not chosen.key or importlib.util.find_spec("keyring") is None:
            return chosen
        from holdfast.providers.credentials.provider_keys import unavailable_reason

        if why := unavailable_reason():
            print(f"(The key is stored in a file: {why}.)")
            return chosen
        print("Where should the key be stored?")
        places: tuple[KeyPlace, ...] = ("file", "keyring")
        descriptions = [f"{home(str(self._file.path))}, readable only by you", "the system keyring"]
        typed = questions.ask_choice("Number or name", places, descriptions=descriptions, default="keyring")
        return msgspec.structs.replace(chosen, place=next(each for each in places if each == typed))

    def _ask_next_step(self, chosen: SetupChoice, failed: ProviderFailed) -> NextStep:
        existing = keys_in_use(self._environ, self._known(chosen), {}).get(chosen.provider.key_variable or "")
        can_change_key = chosen.provider.key_variable is not None and existing is None
        choices: list[NextStep] = [each for each in _NEXT_STEPS if each != "key" or can_change_key]
        usual: NextStep = "model" if failed.fault in ("rejected", "redirected", "web_page") else "again"
        usual = "key" if failed.fault == "credentials" and can_change_key else usual
        print("\nWhat now?")
        typed = questions.ask_choice(
            "Number or name", choices, descriptions=[_NEXT_STEPS[each] for each in choices], default=usual
        )
        return next(each for each in choices if each == typed)

    # --- the test request ---------------------------------------------------------------------------------------

    def _test_model(self, chosen: SetupChoice) -> ProviderFailed | None:
        """Send a test request. Return the failure, already printed, or None if the model answered."""
        environ = self._environ_with(chosen)
        by = overriding_variable(chosen.provider, environ)
        at = f" at {strip_credentials(address_of(chosen.provider, environ))} ({by})" if by else ""
        print(literal(f"\nTesting {chosen.name}{at} …"), flush=True)
        endpoint = self._target(chosen)
        try:
            seconds = asyncio.run(smoke_request(endpoint, self._config.limits.of(chosen.name)))
        except ProviderFailed as failed:
            way = asyncio.run(check_provider(chosen.provider, environ))
            words = failure_explanation(failed, way, model=chosen.model)
            words = redact(words, secrets_of(environ, self._known(chosen)))
            print(f"Failed. {literal(words)}")
            return failed
        except ModelUnusable as error:
            print(f"Failed. {literal(str(error))}")
            return ProviderFailed(str(error), fault="rejected")
        print(f"OK ({seconds:.1f} s)\n")
        return None

    def _target(self, chosen: SetupChoice) -> ModelEndpoint:
        return resolve_endpoint(chosen.name, self._environ_with(chosen), self._known(chosen))

    def _known(self, chosen: SetupChoice) -> Providers:
        return {**self._providers, chosen.provider.name: chosen.provider}

    def _environ_with(self, chosen: SetupChoice) -> Mapping[str, str]:
        keys = dict(self._stored_keys)
        if chosen.key and chosen.provider.key_variable:
            keys[chosen.provider.key_variable] = ProviderKey("file", chosen.key)
        return with_keys(self._environ, keys_in_use(self._environ, self._known(chosen), keys))

    # --- the files ----------------------------------------------------------------------------------------------

    def write(self, chosen: SetupChoice) -> Iterator[str]:
        """Write the key, then the config, and yield a line for each. Raise `StorageFailed` or `ConfigInvalid`."""
        settings = {("model",): chosen.name}
        if (server := chosen.server) is not None:
            fields = {"kind": server.kind, "base_url": server.base_url, "api_key_env": server.api_key_env}
            settings |= {("providers", chosen.provider.name, key): value for key, value in fields.items() if value}

        def edit(text: str) -> str:
            for path, value in settings.items():
                text = with_setting(text, path, value)
            return text

        before = read_bounded(self._path, STATE_FILE).decode() if self._path.exists() else ""
        edit(before)  # raises before a key is stored
        if done := self._file.repair():
            yield done
        if chosen.key and chosen.provider.key_variable:
            self._file.keep(chosen.provider.key_variable, chosen.key, place=chosen.place)
            file = f"{home(str(self._file.path))}, readable only by you"
            yield f"Key:    stored in {'the keyring' if chosen.place == 'keyring' else file}"
        SettingsFile(self._path, Config).change(edit)
        yield f"Config: {home(str(self._path))}, model = {chosen.name}"


def _where(key: ProviderKey) -> str:
    return {"environment": "in the environment", "file": "stored", "keyring": "in the keyring"}[key.source]
