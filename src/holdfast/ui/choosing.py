"""What a run is to work on, from its options and the config: session, folder, providers and limits.

The same for every interface.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from holdfast.agent.providers import Providers
from holdfast.agent.remembered import APPROVALS, Project
from holdfast.config import Config, Limits, homes
from holdfast.errors import ConfigInvalid, SessionUnknown, UsageError
from holdfast.session.catalog import Catalog, Summary
from holdfast.ui.arguments import Arguments


def chosen(catalog: Catalog, arguments: Arguments, *, cwd: Path, free: bool = True) -> Summary | None:
    """Return the session that -c or -r names, None if a new one is meant; raises `UsageError` or `SessionUnknown`.

    Raises `SessionBusy` if it is to be `free`, which a copy does not need, and another process holds it.
    """
    if arguments.fork and not (arguments.continue_ or arguments.resume):
        raise UsageError("Option --fork needs a session to copy, -c or -r ID was expected. Add one of them.")
    if arguments.continue_ and arguments.resume is not None:
        raise UsageError(
            f"Option --continue contradicts --resume {arguments.resume!r}, one of them was expected. Leave one out."
        )
    if arguments.resume == "":
        raise UsageError("Option --resume names no session, an ID was expected. See: holdfast sessions list.")
    if arguments.resume is not None:
        summary = catalog.find(arguments.resume, free=free and not arguments.fork)
        if arguments.cwd is not None and summary.cwd and Path(summary.cwd) != cwd:
            raise UsageError(
                f"Folder {str(cwd)!r} is not where session {summary.id!r} works, {summary.cwd!r} was expected. "
                "Leave -C out, or begin a new session there."
            )
        return summary
    if not arguments.continue_:
        return None
    latest = catalog.latest(cwd, free=free and not arguments.fork)
    if latest is None:
        raise SessionUnknown(
            f"Folder {str(cwd)!r} has no session to continue, at least one was expected. "
            "Begin one without -c, or name one with -r ID: holdfast sessions list."
        )
    return latest


def limits_of(config: Config, arguments: Arguments, providers: Providers) -> Limits:
    """Return the limits of a run: those of the config file, but for what an option says."""
    limits = config.limits
    for name in limits.providers.keys() - providers.keys():
        raise ConfigInvalid(
            f"Limits of provider {name!r} are nobody's, one of {', '.join(providers)} was expected. Correct the name."
        )
    own = {name: server.limits for name, server in config.providers.items() if server.limits is not None}
    for name in limits.providers.keys() & own.keys():
        raise ConfigInvalid(
            f"Limits of provider {name!r} are in the config twice, once was expected. Keep those in "
            f"[providers.{name}.limits]."
        )
    limits = msgspec.structs.replace(limits, providers={**limits.providers, **own})
    given = {"max_steps": arguments.max_steps, "timeout": arguments.timeout}
    for name, value in given.items():
        if value is not None and not value > 0:
            option = "--" + name.replace("_", "-")
            raise UsageError(f"Option {option} {value!r} is not positive, a number above 0 was expected. Correct it.")
    try:
        return msgspec.structs.replace(limits, **{key: value for key, value in given.items() if value is not None})
    except msgspec.ValidationError as error:
        raise ConfigInvalid(f"Limits are not usable: {error}. Correct the option.") from error


def folder(cwd: str | None) -> Path:
    """Return the folder to work in, absolute and resolved; raises `UsageError` if -C names none."""
    path = Path(cwd or ".")
    try:
        resolved = path.resolve(strict=True)
    except OSError as error:
        raise UsageError(
            f"Folder {str(path)!r} cannot be used: {error.strerror}, an existing folder was expected. Correct -C."
        ) from error
    if not resolved.is_dir():
        raise UsageError(f"Folder {str(path)!r} is not a folder, one was expected. Correct -C.")
    return resolved


def project_of(environ: Mapping[str, str], cwd: Path) -> Project:
    """Return what is allowed for good in the folder `cwd`; raises `ConfigInvalid` if that cannot be read."""
    return Project(homes(environ).sessions.with_name(APPROVALS), cwd)
