"""Whether a project's own config is trusted, and asking for it once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from holdfast.config.project_config import ProjectFile, project_file
from holdfast.config.project_decisions import APPROVALS, Project
from holdfast.config.settings import ProjectConfig
from holdfast.errors import ConfigInvalid
from holdfast.system.user_directories import homes
from holdfast.tool_calls import Pattern


def judge_project(environ: Mapping[str, str], cwd: Path, *, trusted: bool | None) -> None:
    """Store the trust decision of an option for the project config of `cwd` as it is now; None: no decision.

    Called once, at the start of a run: the file may change later, and later changes must not become trusted. Raise
    `StorageFailed`.
    """
    if trusted is None:
        return
    with suppress(ConfigInvalid):  # reported when the settings are loaded
        file = project_file(cwd, homes(environ).config)
        if file is not None:
            file.config()
            _decisions(environ, file.root).set_trust(file.digest, trusted=trusted)


TRUST_IT = "Review it, then run with --trust-project."


def trusted_project(
    environ: Mapping[str, str],
    cwd: Path,
    *,
    ask: Callable[[ProjectFile, ProjectConfig], bool] | None,
    say: Callable[[str], None],
) -> ProjectFile | None:
    """Return the project config of `cwd`, None if it sets nothing or is not trusted; `say` reports why.

    The user's stored decision about exactly this text counts. Without one, `ask` is called, if given, and the answer is
    stored. Raise `StorageFailed` if it cannot be stored.
    """
    if unread := _decisions(environ, cwd).unread:
        say(unread)
    try:
        file = project_file(cwd, homes(environ).config)
        config = file.config() if file is not None else None
    except ConfigInvalid as error:  # a broken project config must not stop the session
        say(f"{error} The project config is ignored.")
        return None
    if file is None or config is None or config == ProjectConfig():  # it sets nothing
        return None
    decisions = _decisions(environ, file.root)
    trusted = decisions.trusts(file.digest)
    if decisions.unread and file.root != cwd:
        say(decisions.unread)
    if trusted is None and ask is not None and not decisions.unread:  # else the answer could not be stored
        trusted = ask(file, config)
        decisions.set_trust(file.digest, trusted=trusted)
    if trusted:
        return file
    say(f"Ignoring untrusted project config {str(file.path)!r}. {TRUST_IT}")
    return None


def project_of(environ: Mapping[str, str], cwd: Path) -> Project:
    """Return what is always allowed in `cwd`, including by its project's own config if trusted."""
    return Project(homes(environ).sessions.with_name(APPROVALS), cwd, granted=_granted(environ, cwd))


def _decisions(environ: Mapping[str, str], root: Path) -> Project:
    return Project(homes(environ).sessions.with_name(APPROVALS), root)


def _granted(environ: Mapping[str, str], cwd: Path) -> tuple[Pattern, ...]:
    """Return what the project config allows in `cwd`: its file patterns are relative to its folder, so only there."""
    try:
        file = project_file(cwd, homes(environ).config)
        if file is None or not _decisions(environ, file.root).trusts(file.digest):
            return ()
        patterns = file.config().allow.patterns
    except ConfigInvalid:  # reported at the start of the run
        return ()
    return tuple(each for each in patterns if each.effect != "write" or file.root == cwd)
