"""What a run is to work on, from its options and the configs: session, folder, providers and limits.

The same for every interface.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from holdfast.agent.keys import KeyFile, Keys, aimed, found, with_keys
from holdfast.agent.project import ProjectFile, project_file
from holdfast.agent.providers import Providers, Target, known_providers
from holdfast.agent.remembered import APPROVALS, Project
from holdfast.calls import Mode, Pattern
from holdfast.config import Config, Limits, ProjectConfig, homes, with_project
from holdfast.errors import ConfigInvalid, SessionUnknown, UsageError
from holdfast.session.catalog import Catalog, Summary
from holdfast.ui.arguments import Arguments

DEMO = "demo"
"""What the screen takes for the model of those who have none yet."""


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
        return summary if summary.cwd else msgspec.structs.replace(summary, cwd=str(cwd))  # it is lost with its entry
    if not arguments.continue_:
        return None
    latest = catalog.latest(cwd, free=free and not arguments.fork)
    if latest is None:
        raise SessionUnknown(
            f"Folder {str(cwd)!r} has no session to continue, at least one was expected. "
            "Begin one without -c, or name one with -r ID: holdfast sessions list."
        )
    return latest


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a run goes by: its config, with what the project says where that is trusted, and what follows from it.

    `environ` has the keys in it that are kept in a file; it is to look things up in, and never handed to a program.
    `keys` also names those that the keyring has; `unread` is what is wrong with the file of keys, "" if nothing is.
    """

    config: Config
    providers: Providers
    limits: Limits
    mode: Mode
    environ: Mapping[str, str]
    keys: Keys
    unread: str

    def aimed(self, model: str) -> Target:
        """Return what PROVIDER:MODEL stands for, asking the keyring if its key is there; raises `ModelUnusable`."""
        return aimed(model, self.environ, self.providers, self.keys)


def settings_of(
    arguments: Arguments, environ: Mapping[str, str], *, own: Config, project: ProjectConfig | None
) -> Settings:
    """Return what a run goes by; `own` is the person's config. Raises `ConfigInvalid`."""
    config = with_project(own, project) if project is not None else own
    providers = known_providers(config.providers)
    kept, unread = KeyFile(homes(environ).keys).usable()
    keys = found(environ, providers, kept)
    return Settings(
        config=config,
        providers=providers,
        limits=limits_of(config, arguments, providers),
        mode="yolo" if arguments.yolo else arguments.permission_mode or config.permission_mode,
        environ=with_keys(environ, keys),
        keys=keys,
        unread=unread,
    )


def given_of(arguments: Arguments) -> dict[str, object]:
    """Return what the options set, by the names of the settings."""
    mode = "yolo" if arguments.yolo else arguments.permission_mode
    named = {"limits.max_steps": arguments.max_steps, "limits.timeout": arguments.timeout}
    return {"model": arguments.model, "permission_mode": mode, **named}


def judge_project(environ: Mapping[str, str], cwd: Path, *, trusted: bool | None) -> None:
    """Remember what an option says of the project of `cwd` as it is now; None says nothing.

    For the beginning of a run, once: what settles its settings judges nothing, whatever the file has become meanwhile.
    Raises `StorageFailed`.
    """
    if trusted is None:
        return
    with suppress(ConfigInvalid):  # said when the settings are settled
        file = project_file(cwd, homes(environ).config)
        if file is not None:
            file.config()
            _decisions(environ, file.root).judge(file.digest, trusted=trusted)


TRUST_IT = "Look at it, then start with --trust-project to obey it."


def project_config(
    environ: Mapping[str, str],
    cwd: Path,
    *,
    ask: Callable[[ProjectFile, ProjectConfig], bool] | None,
    say: Callable[[str], None],
) -> ProjectConfig | None:
    """Return what the project of `cwd` says, None if that is nothing, or not to be obeyed: then it is said why.

    What a person answered to this very text counts; if they never did they are asked, where there is somebody to `ask`,
    and that is remembered. Raises `StorageFailed` if it cannot be.
    """
    if unread := _decisions(environ, cwd).unread:
        say(unread)
    try:
        file = project_file(cwd, homes(environ).config)
        config = file.config() if file is not None else None
    except ConfigInvalid as error:  # whoever wrote it must not keep anybody from working here
        say(f"{error} It is ignored.")
        return None
    if file is None or config is None or config == ProjectConfig():  # which sets nothing
        return None
    decisions = _decisions(environ, file.root)
    trusted = decisions.trusts(file.digest)
    if decisions.unread and file.root != cwd:
        say(decisions.unread)
    if trusted is None and ask is not None and not decisions.unread:  # where no answer could be kept
        trusted = ask(file, config)
        decisions.judge(file.digest, trusted=trusted)
    if trusted:
        return config
    say(f"The config of this project, {str(file.path)!r}, is not trusted and ignored. {TRUST_IT}")
    return None


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
    """Return what is allowed for good in the folder `cwd`, also by its project's own config where that is trusted."""
    return Project(homes(environ).sessions.with_name(APPROVALS), cwd, granted=_granted(environ, cwd))


def _decisions(environ: Mapping[str, str], root: Path) -> Project:
    return Project(homes(environ).sessions.with_name(APPROVALS), root)


def _granted(environ: Mapping[str, str], cwd: Path) -> tuple[Pattern, ...]:
    """Return what the project's config allows in `cwd`: files are meant from its own folder, so only there."""
    try:
        file = project_file(cwd, homes(environ).config)
        if file is None or not _decisions(environ, file.root).trusts(file.digest):
            return ()
        patterns = file.config().allow.patterns
    except ConfigInvalid:  # said when the run began
        return ()
    return tuple(each for each in patterns if each.effect != "write" or file.root == cwd)
