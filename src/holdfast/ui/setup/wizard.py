"""The questions of the set-up, what is tried, and what is written."""

from __future__ import annotations

import asyncio
import importlib.util
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args
from urllib.parse import urlsplit

from holdfast.agent.connecting import preload
from holdfast.agent.keys import Key, KeyFile, Place, asked, found, with_keys
from holdfast.agent.providers import (
    PROVIDERS,
    Provider,
    Providers,
    Target,
    asked_at,
    is_address,
    known_providers,
    target,
)
from holdfast.agent.reaching import reached
from holdfast.agent.secrets import bare, hidden, secrets_of
from holdfast.agent.sites import address_of, overriding, site_of
from holdfast.agent.trying import tried
from holdfast.config import Kind, Server, homes, read_config
from holdfast.errors import ConfigInvalid, ModelUnusable, ProviderFailed, StorageFailed
from holdfast.session.disk import make_folder, write_whole
from holdfast.text import literal
from holdfast.ui import asking
from holdfast.ui.setup.config_text import with_model, with_server
from holdfast.ui.setup.failures import explained
from holdfast.ui.table import home

OTHER = "other"

PATIENCE = 5.0
"""Seconds in which it is looked at why nothing came."""

_KINDS: Mapping[str, str] = {
    "openai-chat": "Chat Completions, as nearly all of them",
    "openai-responses": "OpenAI's Responses",
    "anthropic": "Anthropic's Messages",
    "bedrock": "the same, as Amazon Bedrock has it",
    "gemini": "Google's Gemini",
    "mistral": "Mistral's chat",
}
Again = Literal["again", "key", "model", "provider", "keep", "leave"]

_SAYS: Mapping[Again, str] = {
    "again": "try the same once more",
    "key": "another key",
    "model": "another model",
    "provider": "another provider",
    "keep": "write it down all the same",
    "leave": "leave, and change nothing",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What was chosen: `server` is one of the person's own that is not in the config yet, `key` one to be kept."""

    provider: Provider
    model: str
    server: Server | None = None
    key: str = field(default="", repr=False)
    place: Place = "file"

    @property
    def name(self) -> str:
        """Return PROVIDER:MODEL."""
        return f"{self.provider.name}:{self.model}"


class Wizard:
    """Asks until a model answers or the person has had enough; writes only when it is told to."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Look at what is there; raises `ConfigInvalid` if that cannot be read."""
        self._environ = environ
        self._path = homes(environ).config
        self._config = read_config(self._path)
        self._file = KeyFile(homes(environ).keys)
        self._providers = known_providers(self._config.providers)
        self._kept, self._unread = self._file.usable()

    def run(self) -> Chosen | None:
        """Return what was chosen, None if that is nothing; raises `EOFError` or `KeyboardInterrupt` if they leave."""
        if self._unread:
            print(literal(f"{self._unread}\nThe end of this set-up mends that, and loses nothing.\n"))
        chosen = self._model(self._key(self._provider()))
        while True:
            failed = self._tried(chosen)
            if failed is None:
                return self._placed(chosen)
            match self._what_now(chosen, failed):
                case "again":
                    pass
                case "key":
                    chosen = self._key(replace(chosen, key=""))
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
        keys = found(self._environ, self._providers, self._kept)
        usable = [each.name for each in self._providers.values() if each.key_variable in keys]
        configured = (self._config.model or "").partition(":")[0]
        default = next((name for name in (configured, *usable) if name in names), names[0])
        while True:
            print("Which provider?")
            name = asking.one_of("Number or name", names, says=[*says, "a server that speaks one of the protocols"],
                                 default=default)  # fmt: skip
            if name == OTHER:
                return self._own_server()
            try:
                asked_at(self._providers[name], self._environ)
            except ModelUnusable as error:
                print(literal(f"{error}\n"))
                continue
            return Chosen(provider=self._providers[name], model="")

    def _says(self, provider: Provider) -> str:
        key = found(self._environ, self._providers, self._kept).get(provider.key_variable or "")
        known = f" (key: {_where(key)})" if key else ""
        return f"{site_of(provider).title}{known}"

    def _own_server(self) -> Chosen:
        while True:
            address = asking.line("Its address, as in http://localhost:8080/v1")
            if not is_address(address):
                print("That is no address of a server: it begins with http:// or https://, and has no spaces.")
                continue
            host = urlsplit(address).hostname or ""
            usual = re.sub(r"[^a-z0-9-]+", "-", host.lower()).strip("-")
            print("Which protocol?")
            kinds: tuple[Kind, ...] = get_args(Kind)
            typed = asking.one_of("Number or name", kinds, says=[_KINDS.get(each, "") for each in kinds],
                                  default="openai-chat")  # fmt: skip
            kind: Kind = next(each for each in kinds if each == typed)
            name = asking.line("A name for it, to stand before its models", usual)
            wants = asking.yes("Does it want a key?")
            server = Server(kind=kind, base_url=address, api_key_env=self._variable(name) if wants else None)
            if name in self._providers:
                print(literal(f"There is a provider {name!r} already. Choose another name."))
                continue
            try:
                provider = known_providers({name: server})[name]
            except ConfigInvalid as error:
                print(literal(str(error)))
                continue
            return Chosen(provider=provider, model="", server=server)

    def _variable(self, name: str) -> str:
        """Return the variable of a new server's key: one that a shell can set, and no other provider's."""
        known = (*PROVIDERS.values(), *self._providers.values())
        taken = {*(each.key_variable for each in known), *(each.also_key_variable for each in known)}
        variable = f"{re.sub('[^A-Z0-9]+', '_', name.upper())}_API_KEY"
        while variable in taken or variable[0].isdecimal():
            variable = f"SERVER_{variable}"
        return variable

    def _key(self, chosen: Chosen) -> Chosen:
        """Return what was chosen with a key: the environment's, the one that is kept, or one that is typed now."""
        provider = chosen.provider
        if provider.key_variable is None:
            return chosen
        there = self._there(chosen)
        if there is not None and there.source == "environment":
            print(f"\nIts key is taken from {provider.key_variable} in the environment, which wins over any other.")
            return chosen
        if get := site_of(provider).keys:
            print(f"\nKeys are made at {get}")
        hint = f"; Enter for the one in the {there.source}" if there else ""
        while True:
            typed = asking.hidden(f"Key (it is not shown{hint})")
            if not typed and there:
                return chosen
            try:
                self._target(replace(chosen, model="any", key=typed))
            except ModelUnusable:
                print("A key is one word of letters, digits and signs. Copy all of it, and nothing else.")
            else:
                return replace(chosen, key=typed)

    def _there(self, chosen: Chosen) -> Key | None:
        """Return the key that is there already; of a keyring that does not give it, it is said why."""
        variable = chosen.provider.key_variable
        keys = found(self._environ, self._known(chosen), self._kept)
        try:
            keys = asked(keys, variable)
        except ConfigInvalid as error:
            print(literal(f"\n{error}"))
            return None
        key = keys.get(variable or "")
        if variable and key and key.source == "keyring":
            self._kept = {**self._kept, variable: key}
        return key

    def _model(self, chosen: Chosen) -> Chosen:
        preload(self._target(replace(chosen, model="any")))
        provider, _, own = (self._config.model or "").partition(":")
        usual = own if provider == chosen.provider.name else chosen.provider.model
        while True:
            model = asking.line(f"\nModel of {chosen.provider.name}", chosen.model or usual)
            if model.isprintable() and model:
                return replace(chosen, model=model.removeprefix(f"{chosen.provider.name}:"))
            print("The name of a model is a word, as the provider's list of models spells it.")

    def _placed(self, chosen: Chosen) -> Chosen:
        """Return what was chosen with where its key is to be kept; asked only where there is a keyring."""
        if not chosen.key or importlib.util.find_spec("keyring") is None:
            return chosen
        from holdfast.agent.vault import lacks  # noqa: PLC0415 - slow, and an extra

        if why := lacks():
            print(f"(Kept in a file, since {why}.)")
            return chosen
        print("Where is the key to be kept?")
        places: tuple[Place, ...] = ("file", "keyring")
        says = [f"{home(str(self._file.path))}, which only you can read", "the keyring of this system"]
        typed = asking.one_of("Number or name", places, says=says, default="keyring")
        return replace(chosen, place=next(each for each in places if each == typed))

    def _what_now(self, chosen: Chosen, failed: ProviderFailed) -> Again:
        ours = found(self._environ, self._known(chosen), {}).get(chosen.provider.key_variable or "")
        wants = chosen.provider.key_variable is not None and ours is None
        choices: list[Again] = [each for each in _SAYS if each != "key" or wants]
        usual: Again = "model" if failed.fault == "rejected" else "again"
        usual = "key" if failed.fault == "credentials" and wants else usual
        print("\nWhat now?")
        typed = asking.one_of("Number or name", choices, says=[_SAYS[each] for each in choices], default=usual)
        return next(each for each in choices if each == typed)

    # --- what is tried ------------------------------------------------------------------------------------------

    def _tried(self, chosen: Chosen) -> ProviderFailed | None:
        """Return why the model did not answer, said already, None if it did."""
        environ = self._with(chosen)
        by = overriding(chosen.provider, environ)
        at = f" at {bare(address_of(chosen.provider, environ))} ({by})" if by else ""
        print(literal(f"\nAsking {chosen.name}{at} for one word …"), flush=True)
        aimed = self._target(chosen)
        try:
            seconds = asyncio.run(tried(aimed, self._config.limits.of(chosen.name)))
        except ProviderFailed as failed:
            way = asyncio.run(reached(address_of(chosen.provider, environ), environ, patience=PATIENCE))
            words = explained(failed, way, model=chosen.model)
            words = hidden(words, secrets_of(environ, self._known(chosen)))
            print(f"That did not work. {literal(words)}")
            return failed
        except ModelUnusable as error:
            print(f"That did not work. {literal(str(error))}")
            return ProviderFailed(str(error), fault="rejected")
        print(f"It works: the answer took {seconds:.1f} s.\n")
        return None

    def _target(self, chosen: Chosen) -> Target:
        return target(chosen.name, self._with(chosen), self._known(chosen))

    def _known(self, chosen: Chosen) -> Providers:
        return {**self._providers, chosen.provider.name: chosen.provider}

    def _with(self, chosen: Chosen) -> Mapping[str, str]:
        kept = dict(self._kept)
        if chosen.key and chosen.provider.key_variable:
            kept[chosen.provider.key_variable] = Key("file", chosen.key)
        return with_keys(self._environ, found(self._environ, self._known(chosen), kept))

    # --- what is written ----------------------------------------------------------------------------------------

    def write(self, chosen: Chosen) -> Iterator[str]:
        """Write the key, then the config, and yield what was written; raises `StorageFailed`, or `ConfigInvalid`."""
        text = self._path.read_bytes().decode() if self._path.exists() else ""  # with the line ends that it has
        server = chosen.server
        new = with_server(text, chosen.provider.name, server) if server else text
        new = with_model(new, chosen.name)
        if mended := self._file.mend():
            yield mended
        if chosen.key and chosen.provider.key_variable:
            self._file.keep(chosen.provider.key_variable, chosen.key, place=chosen.place)
            file = f"{home(str(self._file.path))}, which only you can read"
            yield f"Key:    kept in {'the keyring' if chosen.place == 'keyring' else file}"
        real = self._path.resolve()
        try:
            make_folder(real.parent)
            write_whole(real, new.encode())
        except OSError as error:
            raise StorageFailed(
                f"Config {str(real)!r} cannot be written: {error.strerror}, a place for the model's name was expected. "
                "Correct its permissions, or free some space."
            ) from error
        yield f"Config: {home(str(self._path))}, model = {chosen.name}"


def _where(key: Key) -> str:
    return {"environment": "in the environment", "file": "kept here", "keyring": "in the keyring"}[key.source]
