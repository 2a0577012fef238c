"""The questions of the setup, its test request, and what it writes."""

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
from holdfast.providers.connectivity import check_provider
from holdfast.providers.credentials.provider_keys import (
    KeyFile,
    KeyPlace,
    ProviderKey,
    keys_in_use,
    with_keyring_value,
    with_keys,
)
from holdfast.providers.credentials.redaction import redact, secrets_of, strip_credentials
from holdfast.providers.provider_info import address_of, info_of, overriding_variable
from holdfast.providers.registry import (
    PROVIDERS,
    ModelEndpoint,
    Provider,
    Providers,
    is_address,
    known_providers,
    resolve_base_url,
    resolve_endpoint,
)
from holdfast.providers.smoke_request import smoke_request
from holdfast.system.user_directories import homes
from holdfast.text import literal
from holdfast.ui.commands import questions
from holdfast.ui.commands.provider_failures import explained
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
Again = Literal["again", "key", "model", "provider", "keep", "leave"]

_SAYS: Mapping[Again, str] = {
    "again": "retry",
    "key": "another key",
    "model": "another model",
    "provider": "another provider",
    "keep": "save anyway",
    "leave": "cancel without changes",
}


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The choices: `server` is a new server that is not in the config yet, `key` a key to store."""

    provider: Provider
    model: str
    server: Server | None = None
    key: str = ""
    place: KeyPlace = "file"

    def __repr__(self) -> str:
        return f"Chosen(name={self.name!r}, server={self.server!r}, place={self.place!r})"  # without the key

    @property
    def name(self) -> str:
        """Return PROVIDER:MODEL."""
        return f"{self.provider.name}:{self.model}"


class Wizard:
    """Asks until a model answers or the user gives up; writes only when `write` is called."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Read the existing configuration. Raise `ConfigInvalid` if it cannot be read."""
        self._environ = environ
        self._path = homes(environ).config
        self._config = read_config(self._path)
        self._file = KeyFile(homes(environ).keys)
        self._providers = known_providers(self._config.providers)
        self._kept, self._unread = self._file.usable()

    def run(self) -> Chosen | None:
        """Return the choices, None if there are none. Raise `EOFError` or `KeyboardInterrupt` if the user cancels."""
        if self._unread:
            print(literal(f"{self._unread}\nThis setup repairs that at its end, without losing anything.\n"))
        chosen = self._model(self._key(self._provider()))
        while True:
            failed = self._tried(chosen)
            if failed is None:
                return self._placed(chosen)
            match self._what_now(chosen, failed):
                case "again":
                    pass
                case "key":
                    chosen = self._key(msgspec.structs.replace(chosen, key=""))
                case "model":
                    chosen = self._model(chosen)
                case "provider":
                    chosen = self._model(self._key(self._provider()))
                case "keep":
                    return self._placed(chosen)
                case "leave":
                    return None

    # --- the questions ------------------------------------------------------------------------------------------

    def _provider(self) -> Chosen:
        names = [*self._providers, OTHER]
        says = [self._says(each) for each in self._providers.values()]
        keys = keys_in_use(self._environ, self._providers, self._kept)
        usable = [each.name for each in self._providers.values() if each.key_variable in keys]
        configured = (self._config.model or "").partition(":")[0]
        default = next((name for name in (configured, *usable) if name in names), names[0])
        while True:
            print("Which provider?")
            name = questions.one_of("Number or name", names, says=[*says, "your own server"],
                                 default=default)  # fmt: skip
            if name == OTHER:
                return self._own_server()
            try:
                resolve_base_url(self._providers[name], self._environ)
            except ModelUnusable as error:
                print(literal(f"{error}\n"))
                continue
            return Chosen(provider=self._providers[name], model="")

    def _says(self, provider: Provider) -> str:
        key = keys_in_use(self._environ, self._providers, self._kept).get(provider.key_variable or "")
        known = f" (key: {_where(key)})" if key else ""
        return f"{info_of(provider).title}{known}"

    def _own_server(self) -> Chosen:
        while True:
            address = questions.ask_line("Base URL, e.g. http://localhost:8080/v1")
            if not is_address(address):
                print("Not a valid URL: it must begin with http:// or https:// and have no spaces.")
                continue
            host = urlsplit(address).hostname or ""
            usual = re.sub(r"[^a-z0-9-]+", "-", host.lower()).strip("-")
            print("Which protocol?")
            kinds: tuple[ProtocolKind, ...] = get_args(ProtocolKind)
            typed = questions.one_of("Number or name", kinds, says=[_KINDS.get(each, "") for each in kinds],
                                  default="openai-chat")  # fmt: skip
            kind: ProtocolKind = next(each for each in kinds if each == typed)
            name = questions.ask_line("Name (used as PREFIX:model)", usual)
            wants = questions.yes("Does it need an API key?")
            server = Server(kind=kind, base_url=address, api_key_env=self._variable(name) if wants else None)
            if name in self._providers:
                print(literal(f"A provider {name!r} already exists. Choose another name."))
                continue
            try:
                provider = known_providers({name: server})[name]
            except ConfigInvalid as error:
                print(literal(str(error)))
                continue
            return Chosen(provider=provider, model="", server=server)

    def _variable(self, name: str) -> str:
        """Return the environment variable for a new server's key: valid in a shell, and no other provider's."""
        known = (*PROVIDERS.values(), *self._providers.values())
        taken = {*(each.key_variable for each in known), *(each.also_key_variable for each in known)}
        variable = f"{re.sub('[^A-Z0-9]+', '_', name.upper())}_API_KEY"
        while variable in taken or variable[0].isdecimal():
            variable = f"SERVER_{variable}"
        return variable

    def _key(self, chosen: Chosen) -> Chosen:
        """Return the choices with a key: from the environment, stored, or typed now."""
        provider = chosen.provider
        if provider.key_variable is None:
            return chosen
        there = self._there(chosen)
        if there is not None and there.source == "environment":
            print(f"\nUsing the key in {provider.key_variable} from the environment, which overrides any other.")
            return chosen
        if get := info_of(provider).keys:
            print(f"\nCreate a key at {get}")
        hint = f"; Enter to use the one in the {there.source}" if there else ""
        while True:
            typed = questions.ask_hidden(f"API key (hidden{hint})")
            if not typed and there:
                return chosen
            try:
                self._target(msgspec.structs.replace(chosen, model="any", key=typed))
            except ModelUnusable:
                print("A key has no spaces. Paste the whole key and nothing else.")
            else:
                return msgspec.structs.replace(chosen, key=typed)

    def _there(self, chosen: Chosen) -> ProviderKey | None:
        """Return the existing key; if the keyring does not return it, print why."""
        variable = chosen.provider.key_variable
        keys = keys_in_use(self._environ, self._known(chosen), self._kept)
        try:
            keys = with_keyring_value(keys, variable)
        except ConfigInvalid as error:
            print(literal(f"\n{error}"))
            return None
        key = keys.get(variable or "")
        if variable and key and key.source == "keyring":
            self._kept = {**self._kept, variable: key}
        return key

    def _model(self, chosen: Chosen) -> Chosen:
        preload(self._target(msgspec.structs.replace(chosen, model="any")))
        provider, _, own = (self._config.model or "").partition(":")
        usual = own if provider == chosen.provider.name else chosen.provider.model
        while True:
            model = questions.ask_line(f"\nModel of {chosen.provider.name}", chosen.model or usual)
            if model.isprintable() and model:
                return msgspec.structs.replace(chosen, model=model.removeprefix(f"{chosen.provider.name}:"))
            print("A model name has no spaces. Type it as in the provider's list of models.")

    def _placed(self, chosen: Chosen) -> Chosen:
        """Return the choices with the place for the key; asks only if there is a keyring."""
        if not chosen.key or importlib.util.find_spec("keyring") is None:
            return chosen
        from holdfast.providers.credentials.system_keyring import unavailable_reason  # noqa: PLC0415 - slow, and an extra

        if why := unavailable_reason():
            print(f"(The key is stored in a file: {why}.)")
            return chosen
        print("Where should the key be stored?")
        places: tuple[KeyPlace, ...] = ("file", "keyring")
        says = [f"{home(str(self._file.path))}, readable only by you", "the system keyring"]
        typed = questions.one_of("Number or name", places, says=says, default="keyring")
        return msgspec.structs.replace(chosen, place=next(each for each in places if each == typed))

    def _what_now(self, chosen: Chosen, failed: ProviderFailed) -> Again:
        ours = keys_in_use(self._environ, self._known(chosen), {}).get(chosen.provider.key_variable or "")
        wants = chosen.provider.key_variable is not None and ours is None
        choices: list[Again] = [each for each in _SAYS if each != "key" or wants]
        usual: Again = "model" if failed.fault in ("rejected", "redirected") else "again"
        usual = "key" if failed.fault == "credentials" and wants else usual
        print("\nWhat now?")
        typed = questions.one_of("Number or name", choices, says=[_SAYS[each] for each in choices], default=usual)
        return next(each for each in choices if each == typed)

    # --- what is tried ------------------------------------------------------------------------------------------

    def _tried(self, chosen: Chosen) -> ProviderFailed | None:
        """Return why the model did not answer, already printed; None if it did."""
        environ = self._with(chosen)
        by = overriding_variable(chosen.provider, environ)
        at = f" at {strip_credentials(address_of(chosen.provider, environ))} ({by})" if by else ""
        print(literal(f"\nTesting {chosen.name}{at} …"), flush=True)
        endpoint = self._target(chosen)
        try:
            seconds = asyncio.run(smoke_request(endpoint, self._config.limits.of(chosen.name)))
        except ProviderFailed as failed:
            way = asyncio.run(check_provider(chosen.provider, environ))
            words = explained(failed, way, model=chosen.model)
            words = redact(words, secrets_of(environ, self._known(chosen)))
            print(f"Failed. {literal(words)}")
            return failed
        except ModelUnusable as error:
            print(f"Failed. {literal(str(error))}")
            return ProviderFailed(str(error), fault="rejected")
        print(f"OK ({seconds:.1f} s)\n")
        return None

    def _target(self, chosen: Chosen) -> ModelEndpoint:
        return resolve_endpoint(chosen.name, self._with(chosen), self._known(chosen))

    def _known(self, chosen: Chosen) -> Providers:
        return {**self._providers, chosen.provider.name: chosen.provider}

    def _with(self, chosen: Chosen) -> Mapping[str, str]:
        kept = dict(self._kept)
        if chosen.key and chosen.provider.key_variable:
            kept[chosen.provider.key_variable] = ProviderKey("file", chosen.key)
        return with_keys(self._environ, keys_in_use(self._environ, self._known(chosen), kept))

    # --- what is written ----------------------------------------------------------------------------------------

    def write(self, chosen: Chosen) -> Iterator[str]:
        """Write the key, then the config, and yield what was written. Raise `StorageFailed` or `ConfigInvalid`."""
        settings = {("model",): chosen.name}
        if (server := chosen.server) is not None:
            said = {"kind": server.kind, "base_url": server.base_url, "api_key_env": server.api_key_env}
            settings |= {("providers", chosen.provider.name, key): value for key, value in said.items() if value}

        def edit(text: str) -> str:
            for path, value in settings.items():
                text = with_setting(text, path, value)
            return text

        edit(self._path.read_bytes().decode() if self._path.exists() else "")  # raises before a key is stored
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
