"""What a program's session takes from the user: by where its session is (decision 0096).

A session in a folder of the author's stands alone: it has the user's keys, providers, limits and sandbox. One among the
user's own obeys what every session there obeys: their rules, approvals, MCP servers and plug-ins, and their tools.
"""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, cast

import msgspec

from holdfast.config.project_decisions import Project
from holdfast.config.settings import Config, Limits, provider_limits, read_config
from holdfast.providers.credentials.provider_keys import KeyFile, Keys, endpoint_with_key, keys_in_use
from holdfast.providers.registry import ModelEndpoint, Providers, known_providers
from holdfast.session.catalog import SessionSummary
from holdfast.system.user_directories import homes
from holdfast.tool_calls import ToolSchema
from holdfast.tools.toolbox import LocalToolbox
from holdfast.ui.library.library_plan import SessionPlan

if TYPE_CHECKING:
    from holdfast.host.plugins.contributions import PluginSlashCommand
    from holdfast.tools.mcp.connections import McpSettings
    from holdfast.tools.mcp.prompt_commands import ServerPrompt

_ASK_NEW_SERVERS = "holdfast.ui.startup.mcp_servers:lists_of_new_servers"
"""What asks servers for tools that are not known yet."""


def _nothing() -> dict[str, PluginSlashCommand]:
    return {}


class PlaceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the session has beside what the program gave it.

    `project` has the rules and approvals, `remote` are tools of MCP servers and plug-ins, `tools` returns the names
    of holdfast's own tools for a model; `prepare` configures the toolbox.
    """

    environ: Mapping[str, str]
    config: Config
    model: str = ""
    providers: Providers
    keys: Keys
    limits: Limits
    prepare: Callable[[LocalToolbox], None]
    project: Project | None = None
    remote: tuple[ToolSchema, ...] = ()
    tools: Callable[[str], frozenset[str]] | None = None
    server_prompts: Callable[[], tuple[ServerPrompt, ...]] = tuple
    slash_commands: Mapping[str, PluginSlashCommand] = msgspec.field(default_factory=_nothing)

    def endpoint(self, model: str) -> ModelEndpoint:
        """Return where a model is. Raises `ModelUnusable`."""
        return endpoint_with_key(model, self.environ, self.providers, self.keys)

    def allowed(self, names: frozenset[str]) -> frozenset[str]:
        """Return the tools without those that a rule always denies."""
        project = self.project
        return names if project is None else frozenset(name for name in names if not project.rules.never_run(name))


def standing_alone(environ: Mapping[str, str]) -> PlaceSettings:
    """Return the settings of a session in a folder of the author's."""
    from holdfast.config.settings import configure_tools

    places = homes(environ)
    config = read_config(places.config)
    providers = known_providers(config.providers, config.models)
    return PlaceSettings(
        environ=environ,
        config=config,
        providers=providers,
        keys=keys_in_use(environ, providers, KeyFile(places.keys).usable()[0]),
        limits=provider_limits(config, providers),
        prepare=lambda toolbox: configure_tools(toolbox, config),
    )


async def among_the_users_own(
    plan: SessionPlan, cwd: Path, environ: Mapping[str, str], resumed: SessionSummary | None
) -> PlaceSettings:
    """Return the settings of a session of the user's: what a run of holdfast in that folder has.

    What a run would tell the user, such as a plug-in that is not in use, is a Python warning. MCP servers whose tools
    are not known yet are asked; nothing is open or held while that lasts.
    """
    from holdfast.ui.startup.arguments import Arguments
    from holdfast.ui.startup.run_options import run_options

    arguments = Arguments()
    arguments.prompt = None if plan.asks_user else ""  # without a user to ask, no server can ask the user either
    user_config = read_config(homes(environ).config)
    options = run_options(arguments, environ, user_config=user_config, cwd=cwd, resumed=resumed)
    for notice in filter(None, (*options.notices, options.unread)):
        warnings.warn(notice, stacklevel=2)
    if options.mcp is not None and resumed is None and plan.named is None:
        await cast("Callable[[McpSettings, Path], Awaitable[None]]", resolve_name(_ASK_NEW_SERVERS))(options.mcp, cwd)
    return PlaceSettings(
        environ=environ,
        config=options.config,
        model=options.model,
        providers=options.providers,
        keys=options.keys,
        limits=options.limits,
        prepare=options.prepare,
        project=options.project_of(cwd),
        remote=options.remote_schemas(),
        tools=lambda model: options.tools_of(model, has_user=plan.asks_user),
        server_prompts=options.prompt_commands,
        slash_commands=options.slash_commands,
    )
