"""Configures the tools of a session by the config of its run."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from holdfast.config.settings import Config, configure_tools
from holdfast.errors import UsageError
from holdfast.providers.credentials.provider_keys import KeyFile, ProviderKey, with_keyring_value
from holdfast.system.user_directories import homes
from holdfast.tools.permission_rules.rule_set import RuleSet
from holdfast.tools.toolbox import LocalToolbox
from holdfast.tools.web_search.backends import KEY_VARIABLES, SearchBackend, address_of_backend
from holdfast.ui.startup.arguments import Arguments


def prepare(toolbox: LocalToolbox, config: Config, environ: Mapping[str, str]) -> None:
    """Configure the tools by the config. Call this before any is used. `environ` is the run's own environment."""
    configure_tools(toolbox, config)
    if (backend := search_backend(config, environ)) is not None:
        toolbox.may_search(backend)


def declared_tools(
    model: str, config: Config, rules: RuleSet, *, option: str | None, has_user: bool, added: Collection[str] = ()
) -> frozenset[str]:
    """Return the names of the tools of a new session with a model: those named, but none that a rule always denies.

    `option` is --tools, None if it is not given. `has_user` is whether a user can answer in the session.
    `added` are the tools of plug-ins.
    """
    from holdfast.providers.model_table import window_of
    from holdfast.tools.tool_choice import chosen_tools

    chosen = chosen_tools(
        model,
        dialect=config.edit_tool,
        search=config.search is not None,
        only=named_tools(option, config, added),
        window=window_of(model, config.models) or config.context.window,
        has_user=has_user,
    )
    return frozenset(name for name in chosen if not rules.never_run(name))


def check_tools(arguments: Arguments, config: Config, added: Collection[str]) -> None:
    """Raise `UsageError` if --tools or the setting names an unknown tool, or --tools is for a session that exists."""
    if arguments.tools is not None and (arguments.continue_ or arguments.resume is not None):
        raise UsageError(
            "--tools is for new sessions: a session keeps the tools that it began with. Leave out -c, -r and --fork, "
            "or forbid a tool with --deny."
        )
    named_tools(arguments.tools, config, added)


def named_tools(option: str | None, config: Config, added: Collection[str]) -> frozenset[str] | None:
    """Return the tools that --tools or the setting names, None for all that suit; `added` are those of plug-ins."""
    names = config.tools if option is None else option.split(",")
    if names is None:
        return None
    from holdfast.tools.tool_choice import wanted_tools

    source = "Setting 'tools'" if option is None else "--tools"
    return wanted_tools(names, source=source, search=config.search is not None, added=added)


def search_backend(config: Config, environ: Mapping[str, str]) -> SearchBackend | None:
    """Return the configured search service, None if there is none. Its key is looked up when it is used."""
    search = config.search
    if search is None:
        return None
    variable = KEY_VARIABLES.get(search.service)

    def key() -> str:
        found = search_key(config, environ)
        if variable is None or found is None or found.value:
            return "" if found is None else found.value
        return with_keyring_value({variable: found}, variable)[variable].value

    return SearchBackend(name=search.service, address=address_of_backend(search.service, search.address), key=key)


def search_key(config: Config, environ: Mapping[str, str]) -> ProviderKey | None:
    """Return the key of the configured search service as it is stored, None if there is none or none is needed.

    The environment wins. Raise `ConfigInvalid` if the stored keys cannot be read.
    """
    search = config.search
    variable = None if search is None else KEY_VARIABLES.get(search.service)
    if variable is None:
        return None
    if value := environ.get(variable, "").strip():
        return ProviderKey("environment", value)
    return KeyFile(homes(environ).keys).read().get(variable)
