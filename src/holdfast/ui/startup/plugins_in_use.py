"""The plug-ins of the user: those in the folder beside the config, and those that the config names."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.config.settings import Config, read_config
from holdfast.host.plugins.plugin_load import Plugins, load_plugins
from holdfast.system.user_directories import homes
from holdfast.ui.command_table import COMMANDS


def plugins_in_use(environ: Mapping[str, str], config: Config | None = None) -> Plugins:
    """Return the plug-ins, by the user's config. Raise `ConfigInvalid` if it cannot be read and is not given."""
    places = homes(environ)
    table = (read_config(places.config) if config is None else config).plugins
    return load_plugins(places.plugins, table.use, table.off, frozenset(COMMANDS))
