"""The options of one run, read once from its command line, the configs, the key file and the environment.

Every interface reads this one value. It has no live objects: a connection to a model is made from it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from holdfast.config.project_config import ProjectFile, nearest
from holdfast.config.project_decisions import Project
from holdfast.config.settings import Config, HookTable, Limits, McpTable, provider_limits, with_project
from holdfast.errors import ConfigInvalid, ModelUnusable, UsageError
from holdfast.providers.credentials.provider_keys import (
    KeyFile,
    Keys,
    ProviderKey,
    endpoint_with_key,
    keys_in_use,
    with_keys,
)
from holdfast.providers.credentials.redaction import secrets_of
from holdfast.providers.known_models import Favourites, KnownModels, StoredLists, listed_models, models_at_hand
from holdfast.providers.registry import (
    PROVIDERS,
    ModelEndpoint,
    Provider,
    Providers,
    address_of,
    known_providers,
    split,
)
from holdfast.questions import ALL_ANSWERS, QuestionRules
from holdfast.session.catalog import Catalog, SessionSummary
from holdfast.session.journal.model_settings import EFFORTS, ModelSettings
from holdfast.system.user_directories import brought_folders, homes
from holdfast.tool_calls import SKILL_TOOL, Mode, ToolSchema
from holdfast.typed_data import convert_value
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.project_trust import AskTrust, ask_about_claude, hook_files, trusted_project
from holdfast.ui.startup.session_rules import project_of, session_rules

if TYPE_CHECKING:
    from holdfast.agent.agent import Agent
    from holdfast.agent.debug_log.log import Log
    from holdfast.agent.events import Event
    from holdfast.agent.seam import Seam
    from holdfast.agent.turn.approval_prompt import ApprovalPrompt
    from holdfast.hooks.hook_set import HookSet
    from holdfast.host.plugins.contributions import PluginSlashCommand
    from holdfast.host.plugins.plugin_load import Plugins
    from holdfast.providers.known_windows import KnownWindows
    from holdfast.providers.model import Model
    from holdfast.session.journal.store import Reading, Store
    from holdfast.tools.mcp.connections import McpSettings
    from holdfast.tools.mcp.prompt_commands import ServerPrompt
    from holdfast.tools.tool import Toolbox
    from holdfast.tools.toolbox import LocalToolbox

DEMO = "demo"
"""The model of users without a configured one, in the full-screen UI only."""


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of one run in the folder `cwd`, or in the folder of the `resumed` session (None: a new session).

    `config` has the user's settings, overridden by the project's if trusted, then by the command line. `model` is ""
    if none is configured. `environ` is the run's own environment; stored keys are only in `keys`. `unread` is the
    problem with the key file, or "". `project` is the project's config if it is in use; `notices` are messages for the
    user, e.g. that it is ignored. `system` is the user's own system prompt of a new session, "" for holdfast's, and
    `instructions` end it. With `fork` the session is
    copied, with `choose` the user picks one. The screen sends `first_prompt` when it opens, unless it is "". `mcp` are
    the MCP servers, `plugins` the plug-ins, `hooks` the hooks, None if there are none.
    """

    cwd: Path
    environ: Mapping[str, str]
    model: str = ""
    arguments: Arguments = msgspec.field(default_factory=Arguments)
    config: Config = msgspec.field(default_factory=Config)
    limits: Limits = msgspec.field(default_factory=Limits)
    providers: Providers = msgspec.field(default_factory=lambda: PROVIDERS)
    keys: Keys = msgspec.field(default_factory=dict[str, ProviderKey])
    unread: str = ""
    notices: tuple[str, ...] = ()
    project: ProjectFile | None = None
    resumed: SessionSummary | None = None
    system: str = ""
    instructions: str = ""
    fork: bool = False
    choose: bool = False
    first_prompt: str = ""
    mcp: McpSettings | None = None
    plugins: Plugins | None = None
    hooks: HookSet | None = None

    @property
    def mode(self) -> Mode:
        return self.config.permission_mode

    @property
    def model_chosen(self) -> bool:
        """Return whether the command line names the model: a resumed session then does not keep its own."""
        return bool(self.arguments.model)

    @property
    def mode_chosen(self) -> bool:
        """Return whether the command line names the mode: a resumed session then does not keep its own."""
        return self.arguments.yolo or self.arguments.permission_mode is not None

    @property
    def chosen_settings(self) -> ModelSettings:
        """Return the settings on the command line."""
        return _settings(self.arguments)

    def settings_of(self, model: str) -> ModelSettings:
        """Return the settings of a new session with a model: the command line's, over the config's."""
        return self.chosen_settings.over(self.config.model_settings(model))

    def prepare(self, toolbox: LocalToolbox) -> None:
        """Configure a session's tools by the options. Call this before any tool is used."""
        from holdfast.ui.startup.toolbox_settings import prepare

        prepare(toolbox, self.config, self.environ)
        toolbox.may_ask(self.mcp)
        if self.plugins is not None:
            toolbox.add_tools(self.plugins.tools)

    @property
    def slash_commands(self) -> Mapping[str, PluginSlashCommand]:
        """Return the slash commands of plug-ins."""
        return {} if self.plugins is None else self.plugins.slash_commands

    def tools_of(self, model: str, *, has_user: bool = True) -> frozenset[str]:
        """Return the names of the tools of a new session with a model. `has_user` is whether a user can answer."""
        from holdfast.ui.startup.toolbox_settings import declared_tools

        rules = self.project_of(self.cwd).rules
        return declared_tools(
            model, self.config, rules, option=self.arguments.tools, has_user=has_user, added=self._added
        )

    @property
    def fallback(self) -> str:
        """Return the model that stands in for one that does not answer, "" if there is none."""
        return self.config.fallback_model or ""

    def project_of(self, cwd: Path) -> Project:
        """Return the decisions about calls in `cwd`: the user's approvals there, and every rule."""
        return project_of(self.environ, cwd, config=self.config, arguments=self.arguments)

    def new_agent(  # noqa: PLR0913 - everything that an interface connects to it
        self,
        *,
        store: Store,
        toolbox: Toolbox,
        project: Project,
        connect: Callable[[str], Awaitable[Model]],
        emit: Callable[[Event], None],
        ask: ApprovalPrompt | None,
        reading: Reading,
        offered: QuestionRules = ALL_ANSWERS,
        log: Log | None = None,
        seam: Seam | None = None,
    ) -> Agent:
        """Return an agent for a session with the run's limits and settings. `project` has the decisions for its folder.

        Every interface gets its agents from here. `seam` is what else takes part.
        """
        from holdfast.agent.agent import Agent  # 30 ms, which the first prompt takes and not the start
        from holdfast.agent.seam import NO_SEAM

        agent = Agent(
            ends_with_listener=True,
            store=store,
            toolbox=toolbox,
            connect=connect,
            mode=self.mode,
            on_approval=self.config.on_approval,
            emit=emit,
            ask=ask,
            offered=offered,
            limits=self.limits,
            context=self.config.context,
            window=self.windows.learned,
            project=project,
            debug=self.arguments.debug,
            log=log,
            reading=reading,
            providers=self.providers,
            defaults=self.settings_of,
            fallback=self.fallback,
            seam=seam or NO_SEAM,
        )
        agent.permissions.resume(chosen=self.mode_chosen)
        return agent

    @property
    def windows(self) -> KnownWindows:
        """Return the context windows of the models of this run."""
        from holdfast.providers.known_windows import KnownWindows  # 30 ms

        return KnownWindows(self.providers, self.environ, self.config.models, self.limits, self.endpoint)

    def remote_schemas(self) -> tuple[ToolSchema, ...]:
        """Return the tools that a new session declares for the run's MCP servers and plug-ins."""
        skill = self._skill_schema()
        if self.mcp is None and self.plugins is None and not skill:
            return ()
        rules = self.project_of(self.cwd).rules
        added = () if self.plugins is None else tuple(tool.schema for tool in self.plugins.tools.values())
        foreign = tuple(
            each for each in (*added, *skill) if self._is_wanted(each.name) and not rules.never_run(each.name)
        )
        if self.mcp is None:
            return foreign
        from holdfast.tools.mcp.tool_declarations import session_schemas

        schemas = session_schemas(self.mcp.servers, self.mcp.stored.all(self.mcp.servers))
        return (*foreign, *(each for each in schemas if not rules.never_run(each.name)))

    def _skill_schema(self) -> tuple[ToolSchema, ...]:
        """Return the tool that reads skills, if there is one that the model may use."""
        if not brought_folders("skills", Path(os.path.realpath(self.cwd)), self.environ):
            return ()
        from holdfast.skills.session_skills import SKILL_SCHEMA, SessionSkills

        skills = SessionSkills(Path(os.path.realpath(self.cwd)), self.environ, "")
        return (SKILL_SCHEMA,) if skills.find().skills() else ()

    @property
    def _added(self) -> tuple[str, ...]:
        """Return the names of the tools of plug-ins, and of the one that reads skills."""
        return (SKILL_TOOL, *(() if self.plugins is None else self.plugins.tools))

    def _is_wanted(self, added: str) -> bool:
        """Return whether a session may declare this tool of a plug-in: if tools are named, only if it is."""
        from holdfast.ui.startup.toolbox_settings import named_tools

        named = named_tools(self.arguments.tools, self.config, self._added)
        return named is None or added in named

    def prompt_commands(self) -> tuple[ServerPrompt, ...]:
        """Return the commands for the prompts of MCP servers whose lists are known."""
        if self.mcp is None:
            return ()
        from holdfast.tools.mcp.prompt_commands import known_commands

        return known_commands(self.mcp.stored.all(self.mcp.servers))

    @property
    def catalog(self) -> Catalog:
        """Return the catalog of sessions; with --no-session, that of temporary ones."""
        places = homes(self.environ)
        return Catalog(places.temporary_sessions if self.arguments.no_session else places.sessions)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return every spelling of every key that is known before the keyring is asked, for redaction."""
        return secrets_of(with_keys(self.environ, self.keys), self.providers)

    def endpoint(self, model: str) -> ModelEndpoint:
        """Return the endpoint for PROVIDER:MODEL, with its key from the keyring if needed. Raise `ModelUnusable`."""
        return endpoint_with_key(model, self.environ, self.providers, self.keys)

    @property
    def lists(self) -> StoredLists:
        """Return the models that providers listed before."""
        return StoredLists(homes(self.environ).model_lists)

    @property
    def favourites(self) -> Favourites:
        return Favourites(homes(self.environ).favourites)

    def providers_in_use(self, model: str) -> list[Provider]:
        """Return the provider of `model`, then those in the config, then those that have a key."""
        current = model.partition(":")[0]
        used = (
            each
            for name, each in self.providers.items()
            if name == current or each.key_variable in self.keys or name in self.config.providers
        )
        return sorted(used, key=lambda each: (each.name != current, each.name not in self.config.providers))

    def models_at_hand(self, provider: Provider) -> KnownModels:
        """Return the provider's models that are known without asking it."""
        return models_at_hand(provider, address_of(provider, self.environ), self.lists)

    async def listed_models(self, provider: Provider, *, refresh: bool = False) -> KnownModels:
        """Return the provider's own list of its models if it can be asked. Its key may come from the keyring."""
        try:
            target = msgspec.structs.replace(self.endpoint(f"{provider.name}:{provider.model or 'any'}"), model="")
        except ModelUnusable as error:
            return msgspec.structs.replace(self.models_at_hand(provider), missing=str(error))
        return await listed_models(target, self.limits.of(target.name), self.lists, refresh=refresh)


def run_options(
    arguments: Arguments,
    environ: Mapping[str, str],
    *,
    user_config: Config,
    cwd: Path,
    resumed: SessionSummary | None = None,
    ask: AskTrust | None = None,
) -> RunOptions:
    """Return the options of a run. `ask` asks the user whether to trust the project's config.

    Raise `ConfigInvalid`, `UsageError`, or `StorageFailed` if the answer cannot be stored.
    """
    notices: list[str] = []
    folder = Path(resumed.cwd) if resumed is not None and resumed.cwd else cwd
    project = trusted_project(environ, folder, ask=ask, notify=notices.append)
    if user_config.permissions.claude_settings:
        ask_about_claude(environ, folder, ask=ask, notify=notices.append)
    config = _overridden(
        user_config if project is None else with_project(user_config, project.config()), arguments, resumed
    )
    plugins = _plugins(environ, user_config)
    if plugins is not None:
        notices += [each.sentence for each in plugins.faults]
    added: Providers = {} if plugins is None else plugins.providers
    providers = known_providers(config.providers, config.models, added=added)
    _settings(arguments)
    notices += session_rules(environ, folder, config=config, arguments=arguments).faults
    if arguments.tools is not None or config.tools is not None:
        from holdfast.ui.startup.toolbox_settings import check_tools

        check_tools(arguments, config, (SKILL_TOOL, *(() if plugins is None else plugins.tools)))
    mcp = _mcp(environ, folder, arguments, table=user_config.mcp, ask=ask, notify=notices.append)
    hooks = _hooks(environ, folder, arguments, table=user_config.hooks, ask=ask, notify=notices.append)
    _check_other_models(config, providers)
    stored_keys, unread = KeyFile(homes(environ).keys).usable()
    system, instructions = _own_instructions(arguments)
    return RunOptions(
        cwd=cwd,
        environ=environ,
        model=_model(arguments, resumed, config),
        arguments=arguments,
        config=config,
        limits=provider_limits(config, providers),
        providers=providers,
        keys=keys_in_use(environ, providers, stored_keys),
        unread=unread,
        notices=tuple(notices),
        project=project,
        resumed=resumed,
        system=system,
        instructions=instructions,
        fork=arguments.fork,
        first_prompt=arguments.first_prompt,
        mcp=mcp,
        plugins=plugins,
        hooks=hooks,
    )


def _plugins(environ: Mapping[str, str], user_config: Config) -> Plugins | None:
    """Return the user's plug-ins. Without any, this costs one look for their folder."""
    if not (user_config.plugins.use or homes(environ).plugins.is_dir()):
        return None
    from holdfast.ui.startup.plugins_in_use import plugins_in_use

    return plugins_in_use(environ, user_config)


def _own_instructions(arguments: Arguments) -> tuple[str, str]:
    """Return the user's own system prompt, and the end of it, as the command line has them."""
    texts = (
        arguments.system_prompt,
        arguments.system_prompt_file,
        arguments.append_system_prompt,
        arguments.append_system_prompt_file,
    )
    if all(each is None for each in texts):
        return "", ""
    from holdfast.ui.startup.own_instructions import session_instructions, session_system

    return session_system(arguments), session_instructions(arguments)


def _mcp(
    environ: Mapping[str, str],
    cwd: Path,
    arguments: Arguments,
    *,
    table: McpTable,
    ask: AskTrust | None,
    notify: Callable[[str], None],
) -> McpSettings | None:
    configured = table.servers or table.read_claude or homes(environ).config.with_name("mcp.json").exists()
    if not (arguments.mcp_config or configured or nearest(cwd, ".mcp.json") is not None):
        return None
    from holdfast.ui.startup.mcp_servers import mcp_settings

    return mcp_settings(environ, cwd, arguments, table=table, ask=ask, notify=notify)


def _hooks(
    environ: Mapping[str, str],
    cwd: Path,
    arguments: Arguments,
    *,
    table: HookTable,
    ask: AskTrust | None,
    notify: Callable[[str], None],
) -> HookSet | None:
    """Return the hooks of a run. Without any, this costs one look for each file that may have some."""
    if not (table.rows or table.off or hook_files(environ, cwd)):
        return None
    from holdfast.ui.startup.hooks_in_use import hooks_in_use

    return hooks_in_use(environ, cwd, arguments, table=table, ask=ask, notify=notify)


def _model(arguments: Arguments, resumed: SessionSummary | None, config: Config) -> str:
    """Return the model of the run: from the command line, else the session, else the config, else ""."""
    return arguments.model or (resumed.model if resumed is not None else "") or config.model or ""


def _settings(arguments: Arguments) -> ModelSettings:
    """Return the settings on the command line. Raise `UsageError` for a value that no model accepts."""
    options: dict[str, object] = {
        "effort": arguments.effort,
        "temperature": arguments.temperature,
        "max_output": arguments.max_output,
        "service_tier": arguments.service_tier,
    }
    for name, value in options.items():
        try:
            convert_value({name: value}, ModelSettings)
        except msgspec.ValidationError:
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{option} {value} is invalid (expected {_EXPECTED[name]}).") from None
    return convert_value(options, ModelSettings)


_EXPECTED = {
    "effort": f"one of {', '.join(EFFORTS)}",
    "temperature": "a number from 0 to 2",
    "max_output": "a number of tokens, at least 1",
    "service_tier": "letters, digits, '-' and '_'",
}


def providers_of(config: Config, environ: Mapping[str, str]) -> Providers:
    """Return the providers of the user's config, with those of plug-ins. Raise `ConfigInvalid`."""
    plugins = _plugins(environ, config)
    return known_providers(config.providers, config.models, added={} if plugins is None else plugins.providers)


def check_config(config: Config, environ: Mapping[str, str]) -> None:
    """Raise `ConfigInvalid` if no run can start with the user's config, though each setting in it is valid."""
    providers = providers_of(config, environ)
    _check_other_models(config, providers)
    provider_limits(config, providers)


def _check_other_models(config: Config, providers: Providers) -> None:
    """Raise `ConfigInvalid` if the fallback or title model has an unknown provider. Keys are looked up when needed."""
    for what, name in (("Fallback", config.fallback_model), ("Title", config.title_model)):
        if name is None:
            continue
        try:
            split(name, providers)
        except ModelUnusable as error:
            raise ConfigInvalid(f"{what} model cannot be used. {error}") from error


def _overridden(config: Config, arguments: Arguments, resumed: SessionSummary | None) -> Config:
    """Return the config with the settings of the command line, for a new session or the `resumed` one.

    Raise `UsageError` for a limit that is not positive, and for a fallback that is the model itself.
    """
    limits = {"max_steps": arguments.max_steps, "max_cost": arguments.max_cost, "timeout": arguments.timeout}
    for name, value in limits.items():
        if value is not None and not 0 < value <= (float("inf") if name == "timeout" else sys.float_info.max):
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{option} must be greater than 0, not {value!r}.")
    model, fallback = arguments.model or config.model, arguments.fallback_model or config.fallback_model
    if arguments.fallback_model:
        model = _model(arguments, resumed, config) or None
        if fallback == model:
            raise UsageError(f"--fallback-model {fallback!r} is the model itself. Choose another model.")
    elif fallback == model:
        fallback = None  # the configured fallback is the model of this run
    return msgspec.structs.replace(
        config,
        model=model,
        fallback_model=fallback,
        effort=arguments.effort or config.effort,
        on_approval=arguments.on_approval or config.on_approval,
        sandbox=arguments.sandbox or config.sandbox,
        permission_mode="yolo" if arguments.yolo else arguments.permission_mode or config.permission_mode,
        limits=msgspec.structs.replace(
            config.limits, **{name: value for name, value in limits.items() if value is not None}
        ),
    )
