"""A command of the command line that a plug-in adds: looked for when the first word is none of holdfast's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, cast

from holdfast.errors import ConfigInvalid, HoldfastError, ToolFailed
from holdfast.system.user_directories import homes
from holdfast.text import error_text

if TYPE_CHECKING:
    from holdfast.host.plugins.contributions import SurfaceHosts

_USERS_HOSTS = "holdfast.ui.library.surface_hosts:UsersHosts"
"""What opens the sessions of a plug-in's surface."""


def plugin_command(name: str, environ: Mapping[str, str]) -> Callable[[list[str]], int] | None:
    """Return what runs the command, None if no plug-in has it: the word then begins a prompt."""
    places = homes(environ)
    if not (places.plugins.is_dir() or places.config.exists()):
        return None
    from holdfast.config.settings import read_config

    try:
        config = read_config(places.config)
    except ConfigInvalid:  # the run that follows reports it
        return None
    if not (places.plugins.is_dir() or config.plugins.use):
        return None
    from holdfast.host.plugins.contributions import PluginSurface
    from holdfast.ui.startup.plugins_in_use import plugins_in_use

    command = plugins_in_use(environ, config).commands.get(name)
    if command is None:
        return None

    def run(words: list[str]) -> int:
        try:
            if isinstance(command, PluginSurface):
                hosts = cast("Callable[[Mapping[str, str]], SurfaceHosts]", resolve_name(_USERS_HOSTS))(environ)
                code = cast("object", command.drive(words, hosts))
            else:
                code = cast("object", command.main(words, environ))
        except HoldfastError:
            raise
        except Exception as error:  # the boundary of plug-ins
            raise ToolFailed(f"Command {name!r} of a plug-in failed: {error_text(error)}. Fix the plug-in.") from error
        if not isinstance(code, int) or code not in range(256):
            raise ToolFailed(f"Command {name!r} of a plug-in returned {code!r} (expected an exit code, 0 to 255).")
        return code

    return run
