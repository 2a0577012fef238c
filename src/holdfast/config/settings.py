"""Settings and the paths of holdfast's files: flags override the config file, which overrides the defaults."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import msgspec

from holdfast.config.model_servers import Count, Dollars, ModelOverrides, ProviderLimits, Retries, Seconds, Server
from holdfast.config.setting_faults import SettingFault, setting_fault, without
from holdfast.config.undo_settings import UndoTable
from holdfast.errors import ConfigInvalid
from holdfast.session.conversation.context_settings import ContextSettings
from holdfast.session.journal.model_settings import (
    Effort,
    ModelSettings,
)
from holdfast.system.bounded_files import STATE_FILE, read_bounded
from holdfast.tool_calls import EditDialect, Effect, Mode, OnApproval, Pattern, SandboxMode, SearchName
from holdfast.tools.mcp_server_fields import McpServerFields
from holdfast.typed_data import convert_value, decode_toml

if TYPE_CHECKING:
    from holdfast.tools.toolbox import LocalToolbox

Tokens = Annotated[int, msgspec.Meta(ge=0)]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Limits of a turn, in seconds. None means no limit.

    The limits on events are generous because a reasoning model may think in silence: keep-alive bytes do not count
    as events. Before the first event, those of a server of the user's own (on this computer, or without a key) do: each
    gives it `first_event` more, up to `first_event_most`. `max_steps` counts the model requests of one turn, `attempts`
    those of one response, `retry_empty` those of them after a response that is no answer. `max_cost` is the known cost
    of a run, in US dollars, above which no further request is sent. `timeout` covers a whole turn, except the time in
    which an approval prompt waits. `providers` has the exceptions, by provider name.
    """

    max_steps: Count | None = 200
    max_cost: Dollars | None = None
    timeout: Seconds | None = None
    connect: Seconds = 10.0
    write: Seconds = 30.0
    pool: Seconds = 5.0
    first_event: Seconds = 180.0
    first_event_most: Seconds = 900.0
    idle_event: Seconds = 120.0
    attempts: Count = 4
    retry_empty: Retries = 1
    backoff: Seconds = 1.0
    longest_backoff: Seconds = 60.0
    stop_grace: Seconds = 0.7
    drop_wait: Seconds = 0.2
    providers: dict[str, ProviderLimits] = msgspec.field(default_factory=dict[str, ProviderLimits])

    def of(self, model: str) -> Limits:
        """Return the limits for a model, PROVIDER:MODEL."""
        exceptions = self.providers.get(model.partition(":")[0])
        return self if exceptions is None else msgspec.structs.replace(self, **msgspec.to_builtins(exceptions))


class Fetch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the tool `fetch` may access in addition to public addresses: networks such as 127.0.0.1 or 10.0.0.0/8."""

    addresses: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        from ipaddress import ip_network  # 4 ms that most runs do not need

        for each in self.addresses:
            ip_network(each)


class Search(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The service of the tool `search`, and its address if that is not the service's own."""

    service: SearchName
    address: str | None = None

    def __post_init__(self) -> None:
        from holdfast.tools.web_search.backends import address_fault

        if why := address_fault(self.service, self.address):
            raise ValueError(f"[search] cannot be used: {why}")


class PermissionLists(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Rules about calls, each as it is written: `holdfast.tools.permission_rules` reads them."""

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class PermissionSettings(PermissionLists, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The user's own rules, and whether those in the settings of Claude Code count too."""

    claude_settings: bool = True


NotifyKind = Literal["bell", "osc", "off"]
"""How the screen calls the user: by a bell, by a desktop notification (OSC 9 or 777), or not at all."""


KeyChoice = Literal["normal", "vim"]
"""How the prompt is edited."""

ScreenKind = Literal["full", "inline", "plain"]
"""Where the conversation is shown: on the whole screen, in the terminal's history, or as lines of text only."""


class Interface(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The interface without -p: `screen` is where it is shown, `keys` is how the prompt is edited."""

    screen: ScreenKind = "full"
    keys: KeyChoice = "normal"


class McpServerTable(McpServerFields, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An MCP server. Times are in seconds. A `disabled` server is not used."""

    disabled: bool = False


class McpTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The user's MCP servers by name, and whether those of Claude Code are read too, once the user trusts them."""

    read_claude: bool = False
    servers: dict[str, McpServerTable] = msgspec.field(default_factory=dict[str, McpServerTable])


class HookRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename={"condition": "if"}):
    """A hook: a `command` for the calls whose tool `matcher` names. With `args` it is run without a shell.

    `timeout` is in seconds. One that is `background` is not waited for. `if` is a rule about the call.
    """

    command: str
    matcher: str = ""
    args: tuple[str, ...] | None = None
    timeout: Seconds | None = None
    background: bool = False
    condition: str = ""


Hooks = tuple[HookRow, ...]


class HookTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename="pascal"):
    """The user's hooks by event. With `off` no hook runs, with `read_claude` those of Claude Code run unasked too."""

    off: bool = msgspec.field(default=False, name="off")
    read_claude: bool = msgspec.field(default=False, name="read_claude")
    session_start: Hooks = ()
    user_prompt_submit: Hooks = ()
    pre_tool_use: Hooks = ()
    permission_request: Hooks = ()
    post_tool_use: Hooks = ()
    post_tool_use_failure: Hooks = ()
    stop: Hooks = ()
    pre_compact: Hooks = ()
    notification: Hooks = ()
    session_end: Hooks = ()

    @property
    def rows(self) -> dict[str, Hooks]:
        """Return the hooks by the name of their event, those events only that have any."""
        named = {
            "SessionStart": self.session_start,
            "UserPromptSubmit": self.user_prompt_submit,
            "PreToolUse": self.pre_tool_use,
            "PermissionRequest": self.permission_request,
            "PostToolUse": self.post_tool_use,
            "PostToolUseFailure": self.post_tool_use_failure,
            "Stop": self.stop,
            "PreCompact": self.pre_compact,
            "Notification": self.notification,
            "SessionEnd": self.session_end,
        }
        return {event: hooks for event, hooks in named.items() if hooks}


PluginName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_.-]{1,64}\Z")]


class PluginTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The plug-ins of installed packages to `use`, and those of any kind that are `off`, by name."""

    use: tuple[PluginName, ...] = ()
    off: tuple[PluginName, ...] = ()


TestCommand = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


class ReceiptTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Receipts: `tests` are commands that run your tests, and `line` is whether a turn ends with one on the screen."""

    tests: tuple[TestCommand, ...] = ()
    line: bool = True


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The content of `config.toml`. `models` is by PROVIDER:MODEL.

    `sandbox` is whether commands run in a sandbox: "auto", if one works here.

    `title_model` writes the titles of sessions; with None the first prompts are the titles. `fallback_model` stands in,
    for one turn, for a `model` that does not answer. `on_approval` applies where no user can be asked. With `wake`,
    a background task that ends by itself while nothing runs begins a turn. With `undo`, what files were before a call
    is kept with the session, as much as its table says. `edit_tool` is how a new session edits
    files: "auto" uses the way its model was trained on. `tools` are the only tools of new sessions, None for all that
    suit. `statusline` is a shell command whose first line of output
    replaces the facts in the status line. With `mouse`, the screen takes the mouse. With `show_thinking`, the
    screen shows thinking as it streams. `theme` is one of `/theme`; with None it follows the background. `keys` are
    the keys of actions, by the action's name.
    """

    model: str | None = None
    effort: Effort | None = None
    fallback_model: str | None = None
    title_model: str | None = None
    permission_mode: Mode = "ask"
    on_approval: OnApproval = "deny"
    sandbox: SandboxMode = "auto"
    pid_namespace: bool = False
    wake: bool = False
    undo: bool | UndoTable = True
    edit_tool: EditDialect = "auto"
    tools: tuple[str, ...] | None = None
    statusline: str | None = None
    mouse: bool = True
    theme: str | None = None
    show_thinking: bool = False
    notify: NotifyKind = "bell"
    ui: Interface = msgspec.field(default_factory=Interface)
    keys: dict[str, str | tuple[str, ...]] = msgspec.field(default_factory=dict[str, str | tuple[str, ...]])
    permissions: PermissionSettings = msgspec.field(default_factory=PermissionSettings)
    limits: Limits = msgspec.field(default_factory=Limits)
    context: ContextSettings = msgspec.field(default_factory=ContextSettings)
    fetch: Fetch = msgspec.field(default_factory=Fetch)
    search: Search | None = None
    mcp: McpTable = msgspec.field(default_factory=McpTable)
    plugins: PluginTable = msgspec.field(default_factory=PluginTable)
    receipt: ReceiptTable = msgspec.field(default_factory=ReceiptTable)
    hooks: HookTable = msgspec.field(default_factory=HookTable)
    providers: dict[str, Server] = msgspec.field(default_factory=dict[str, Server])
    models: dict[str, ModelOverrides] = msgspec.field(default_factory=dict[str, ModelOverrides])

    def __post_init__(self) -> None:
        for name in self.models:
            provider, _, model = name.partition(":")
            if not provider or not model:
                raise ValueError(f'Model {name!r} names no provider (expected [models."PROVIDER:MODEL"])')
        if self.fallback_model is not None and self.fallback_model == self.model:
            raise ValueError(f"`fallback_model` is `model` itself, {self.model!r} (expected another model)")

    @property
    def undo_table(self) -> UndoTable:
        """Return how much is kept of files."""
        return self.undo if isinstance(self.undo, UndoTable) else UndoTable()

    def model_settings(self, model: str) -> ModelSettings:
        """Return the settings of the config for PROVIDER:MODEL: the model's own, else the general ones."""
        overrides = self.models.get(model, ModelOverrides())
        effort = self.effort if overrides.effort is None else overrides.effort
        return ModelSettings(
            effort=effort,
            temperature=overrides.temperature,
            max_output=overrides.max_output,
            service_tier=overrides.service_tier,
        )


class Allowed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Calls allowed without asking: commands (` *` at the end allows more arguments), files or `FOLDER/**`, hosts."""

    run: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    fetch: tuple[str, ...] = ()

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """Return all of them as patterns."""
        kinds: tuple[tuple[Effect, tuple[str, ...]], ...]
        kinds = (("execute", self.run), ("write", self.write), ("read", self.fetch))
        return tuple(Pattern(effect=effect, text=text) for effect, texts in kinds for text in texts)


class ProjectLimits(ProviderLimits, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Limits that a project's config may set. None: the limit of the user's config applies."""

    max_steps: Count | None = None
    timeout: Seconds | None = None


class ProjectConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The content of a project's own config, used only if trusted. It cannot set keys, addresses or processes."""

    model: str | None = None
    effort: Effort | None = None
    permission_mode: Literal["ask", "accept-edits", "plan"] | None = None
    limits: ProjectLimits = msgspec.field(default_factory=ProjectLimits)
    allow: Allowed = msgspec.field(default_factory=Allowed)
    permissions: PermissionLists = msgspec.field(default_factory=PermissionLists)


def with_project(config: Config, project: ProjectConfig) -> Config:
    """Return the config with the project's settings in place of the user's."""
    model = project.model or config.model
    return msgspec.structs.replace(
        config,
        model=model,
        effort=project.effort or config.effort,
        fallback_model=None if config.fallback_model == model else config.fallback_model,  # it needs none
        permission_mode=project.permission_mode or config.permission_mode,
        limits=msgspec.structs.replace(config.limits, **msgspec.to_builtins(project.limits)),
    )


Settings = TypeVar("Settings", Config, ProjectConfig)


def read_config(path: Path) -> Config:
    """Read the config file; without one, return the defaults. Raise `ConfigInvalid` with file, key and reason."""
    try:
        raw = read_bounded(path, STATE_FILE)
    except FileNotFoundError:
        return Config()
    except NotADirectoryError as error:
        raise ConfigInvalid(
            f"Config {str(path)!r} is in no folder: {error.strerror}. Set HOLDFAST_HOME to a folder, or unset it."
        ) from error
    except OSError as error:
        raise ConfigInvalid(
            f"Config {str(path)!r} cannot be read: {error.strerror}. Fix that, or move it away to use the defaults."
        ) from error
    return decoded(raw, Config, name=str(path))


def decoded(raw: bytes, kind: type[Settings], *, name: str) -> Settings:
    """Decode the config called `name`. Raise `ConfigInvalid` with file, key and reason."""
    try:
        return decode_toml(raw, kind)
    except msgspec.ValidationError as error:
        fault = _fault(str(error), _tables(raw), kind, raw, name)
        raise ConfigInvalid(
            f"Config {name!r} has an invalid setting: {fault.words}. {_near(fault, kind)}Fix or remove that setting."
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigInvalid(
            f"Config {name!r} is not valid TOML: {error}. Fix that line, or move the file away."
        ) from error


def usable_config(path: Path) -> tuple[Config, tuple[str, ...]]:
    """Return the config without what is wrong in it, and what that is; the defaults if it cannot be read at all."""
    try:
        return read_config(path), ()
    except ConfigInvalid as error:
        problems = [str(error)]
    try:
        raw = read_bounded(path, STATE_FILE)
        settings = _tables(raw)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return Config(), tuple(problems)
    for number in range(_MOST_FAULTS):
        try:
            return convert_value(settings, Config), tuple(problems)
        except msgspec.ValidationError as error:
            fault = _fault(str(error), settings, Config, raw, str(path))
            if number:
                problems.append(f"{fault.words}. {_near(fault, Config)}Fix or remove that setting.")
            settings = without(settings, fault)
    return Config(), tuple(problems)


_MOST_FAULTS = 50


def _tables(raw: bytes) -> dict[str, object]:
    return decode_toml(raw, dict[str, object])


def _fault(error: str, settings: dict[str, object], kind: type, raw: bytes, name: str) -> SettingFault:
    return setting_fault(error, settings, kind, text=raw.decode("utf-8", "replace"), file=Path(name).name)


_ELSEWHERE = {
    "mcp_servers": "MCP servers belong in [mcp.servers.NAME]; or run: holdfast mcp add NAME -- COMMAND. ",
    "mcpServers": "MCP servers belong in [mcp.servers.NAME]; or run: holdfast mcp add NAME -- COMMAND. ",
    "servers": "MCP servers belong in [mcp.servers.NAME], model servers in [providers.NAME]. ",
    "model_providers": "Model servers belong in [providers.NAME]. ",
    "approval_policy": "How holdfast asks is permission_mode. ",
    "sandbox_mode": "Whether commands are confined is sandbox. ",
}
"""Names from the configs of other programs, and what they are here."""


def _near(fault: SettingFault, config: type[Config | ProjectConfig]) -> str:
    """Return a hint for an unknown setting, as a sentence; "" for any other error."""
    unknown = fault.unknown
    if not unknown:
        return ""
    user_settings = {
        name
        for kind in (
            Config,
            Interface,
            PermissionSettings,
            Limits,
            Fetch,
            Search,
            ContextSettings,
            McpTable,
            McpServerTable,
            PluginTable,
            ReceiptTable,
            UndoTable,
            Server,
            ModelOverrides,
        )
        for name in kind.__struct_fields__
    }
    project_settings = {
        name for kind in (ProjectConfig, ProjectLimits, Allowed, PermissionLists) for name in kind.__struct_fields__
    }
    if config is ProjectConfig and unknown in user_settings - project_settings:
        return "Only your own config may set this, not a project's. "
    if config is Config and not fault.path and unknown in _ELSEWHERE:
        return _ELSEWHERE[unknown]
    near = difflib.get_close_matches(
        unknown, sorted(project_settings if config is ProjectConfig else user_settings), n=1
    )
    if near and near[0] == unknown:
        return f"The setting {unknown!r} belongs in another table. "
    return f"Did you mean {near[0]!r}? " if near else ""


def provider_limits(config: Config, providers: Collection[str]) -> Limits:
    """Return the limits of the config, with those of each provider. Raise `ConfigInvalid`."""
    limits = config.limits
    for name in limits.providers.keys() - set(providers):
        raise ConfigInvalid(
            f"Unknown provider {name!r} in [limits.providers] (expected one of {', '.join(providers)}). "
            "Fix the name in config.toml."
        )
    servers = {name: server.limits for name, server in config.providers.items() if server.limits is not None}
    for name in limits.providers.keys() & servers.keys():
        raise ConfigInvalid(
            f"Limits of provider {name!r} are set twice in the config. Keep those in [providers.{name}.limits]."
        )
    return msgspec.structs.replace(limits, providers={**limits.providers, **servers})


def configure_tools(toolbox: LocalToolbox, config: Config) -> None:
    """Set the sandbox of commands, and the addresses that `fetch` may reach. Call this before any tool is used."""
    if config.pid_namespace:
        toolbox.contain()
    toolbox.confine(config.sandbox)
    toolbox.may_fetch(config.fetch.addresses)
