"""Settings and where things are kept: flags win over the config file, the file over the defaults."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from holdfast.calls import Effect, Mode, Pattern
from holdfast.errors import ConfigInvalid

Seconds = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class ProviderLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The bounds of one provider, where they are not those of all; None means the same."""

    connect: Seconds | None = None
    write: Seconds | None = None
    pool: Seconds | None = None
    first_event: Seconds | None = None
    idle_event: Seconds | None = None
    attempts: Count | None = None
    backoff: Seconds | None = None
    longest_backoff: Seconds | None = None


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The bounds of a turn; times in seconds. None means no bound.

    The deadlines on events are generous because a reasoning model may think in silence: keep-alive bytes do not count
    as events. `max_steps` counts model requests of one turn, `attempts` those of one response; `timeout` is a whole
    turn's, without the time in which a person is asked. `providers` are exceptions, by the provider's name.
    """

    max_steps: Count | None = 200
    timeout: Seconds | None = None
    connect: Seconds = 10.0
    write: Seconds = 30.0
    pool: Seconds = 5.0
    first_event: Seconds = 180.0
    idle_event: Seconds = 120.0
    attempts: Count = 4
    backoff: Seconds = 1.0
    longest_backoff: Seconds = 60.0
    stop_grace: Seconds = 0.7
    drop_wait: Seconds = 0.2
    providers: dict[str, ProviderLimits] = msgspec.field(default_factory=dict[str, ProviderLimits])

    def of(self, model: str) -> Limits:
        """Return the limits for a model, PROVIDER:MODEL."""
        own = self.providers.get(model.partition(":")[0])
        return self if own is None else msgspec.structs.replace(self, **msgspec.to_builtins(own))


Tokens = Annotated[int, msgspec.Meta(ge=0)]


class Context(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is sent of a long conversation.

    With `prune`, old outputs are left out where that saves `prune_least` tokens; not the newest `prune_protect` tokens
    of them, nor those of the newest `prune_turns` turns. With `compact`, what is older than the newest `compact_keep`
    tokens is summed up when `compact_at` of the window, less room for an answer, is full; `window` is that of a model
    of which it is not known, 0 if it is not known either.
    """

    prune: Literal["auto", "off"] = "auto"
    prune_protect: Tokens = 40_000
    prune_least: Tokens = 20_000
    prune_turns: Count = 2
    compact: Literal["auto", "off"] = "auto"
    window: Tokens = 0
    compact_at: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.85
    compact_keep: Tokens = 20_000


class Fetch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the tool `fetch` may ask beside public addresses: networks, as 127.0.0.1 or 10.0.0.0/8."""

    addresses: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        from ipaddress import ip_network  # noqa: PLC0415 - 4 ms that most need not

        for each in self.addresses:
            ip_network(each)


Kind = Literal["openai-responses", "openai-chat", "mistral", "anthropic", "bedrock", "gemini"]
"""The protocols that a server can speak."""


class Server(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A provider of the person's own: protocol, address, and the variable that holds its key if it wants one.

    `images` says whether its models can see.
    """

    kind: Kind
    base_url: str
    api_key_env: str | None = None
    images: bool = True
    limits: ProviderLimits | None = None


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What `config.toml` may say."""

    model: str | None = None
    permission_mode: Mode = "ask"
    pid_namespace: bool = False
    limits: Limits = msgspec.field(default_factory=Limits)
    context: Context = msgspec.field(default_factory=Context)
    fetch: Fetch = msgspec.field(default_factory=Fetch)
    providers: dict[str, Server] = msgspec.field(default_factory=dict[str, Server])


class Allowed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What may be done without asking: commands, ` *` behind one for any more words; files, or `FOLDER/**`; hosts."""

    run: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    fetch: tuple[str, ...] = ()

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """Return the same, as patterns."""
        kinds: tuple[tuple[Effect, tuple[str, ...]], ...]
        kinds = (("execute", self.run), ("write", self.write), ("read", self.fetch))
        return tuple(Pattern(effect=effect, text=text) for effect, texts in kinds for text in texts)


class ProjectLimits(ProviderLimits, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The bounds of a turn that a project says; None means those that hold anyway."""

    max_steps: Count | None = None
    timeout: Seconds | None = None


class ProjectConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a project's own config may say, where it is trusted: nothing of keys, addresses or processes."""

    model: str | None = None
    permission_mode: Literal["ask", "accept-edits", "plan"] | None = None
    limits: ProjectLimits = msgspec.field(default_factory=ProjectLimits)
    allow: Allowed = msgspec.field(default_factory=Allowed)


def with_project(config: Config, project: ProjectConfig) -> Config:
    """Return the config with what the project says in place of what it says."""
    return msgspec.structs.replace(
        config,
        model=project.model or config.model,
        permission_mode=project.permission_mode or config.permission_mode,
        limits=msgspec.structs.replace(config.limits, **msgspec.to_builtins(project.limits)),
    )


Settings = TypeVar("Settings", Config, ProjectConfig)


KEYS = "holdfast-keys.json"
"""The name of the file of kept keys, which no tool of a model opens, wherever it is."""


def holds_keys(name: str) -> bool:
    """Return whether a file of that name holds kept keys: also one half written that was left, or one put aside."""
    return name == KEYS or name.startswith((f"{KEYS}.", f".{KEYS}."))


class Homes(msgspec.Struct, frozen=True):
    """Where things are: `config` is the file, `sessions` the folder of session folders. They need not exist."""

    config: Path
    sessions: Path

    @property
    def keys(self) -> Path:
        """Return the file of kept keys, beside the sessions: a folder of settings is more often shown to others."""
        return self.sessions.with_name(KEYS)


def homes(environ: Mapping[str, str]) -> Homes:
    """Return the places for `environ`: all below HOLDFAST_HOME if it is set, else the XDG directories."""
    if home := environ.get("HOLDFAST_HOME"):
        root = Path(home).expanduser().absolute()
        return Homes(config=root / "config.toml", sessions=root / "sessions")
    from platformdirs import PlatformDirs  # noqa: PLC0415 - 4 ms that HOLDFAST_HOME saves

    dirs = PlatformDirs("holdfast", appauthor=False)
    return Homes(config=dirs.user_config_path / "config.toml", sessions=dirs.user_state_path / "sessions")


def read_config(path: Path) -> Config:
    """Return what the file says, the defaults if there is none; raises `ConfigInvalid` naming file, key and reason."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return Config()
    except OSError as error:
        raise ConfigInvalid(
            f"Config {str(path)!r} cannot be read: {error.strerror}, a readable file was expected. "
            "Correct its permissions, or move it away to use the defaults."
        ) from error
    return decoded(raw, Config, name=str(path))


def decoded(raw: bytes, kind: type[Settings], *, name: str) -> Settings:
    """Return what the config `name` says; raises `ConfigInvalid` naming file, key and reason."""
    try:
        return msgspec.toml.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        raise ConfigInvalid(
            f"Config {name!r} has a setting that is not allowed: {error}. {_near(str(error), kind)}"
            "Correct or remove that setting."
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigInvalid(
            f"Config {name!r} is not valid TOML: {error}. Correct that line, or move the file away."
        ) from error


def _near(error: str, config: type[Config | ProjectConfig]) -> str:
    """Return the known setting that an unknown one may stand for, as a sentence; "" if the error is another."""
    unknown = re.search(r"unknown field `([^`]+)`", error)
    if unknown is None:
        return ""
    own = {name for kind in (Config, Limits, Fetch, Context, Server) for name in kind.__struct_fields__}
    projects = {name for kind in (ProjectConfig, ProjectLimits, Allowed) for name in kind.__struct_fields__}
    if config is ProjectConfig and unknown[1] in own - projects:
        return "Only your own config may say that, not a project's. "
    near = difflib.get_close_matches(unknown[1], sorted(projects if config is ProjectConfig else own), n=1)
    return f"Did you mean {near[0]!r}? " if near else ""
