"""Whether the user trusts a project's config and its Claude Code settings; asks once for each version."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import cast

import msgspec

from holdfast.config.permission_lists import ClaudeProject, claude_project
from holdfast.config.project_config import ProjectFile, nearest, project_file, read_settings_file
from holdfast.config.project_decisions import APPROVALS, Project
from holdfast.config.settings import PermissionLists, ProjectConfig, read_config
from holdfast.errors import ConfigInvalid
from holdfast.system.user_directories import brought_folders, homes
from holdfast.tool_calls import Pattern


def judge_project(environ: Mapping[str, str], cwd: Path, *, trusted: bool | None) -> None:
    """Store the decision of --trust-project about the project config of `cwd` as it is now. None: no decision.

    Called once, at the start of a run: the file may change later, and later changes must not become trusted. Raise
    `StorageFailed`.
    """
    if trusted is None:
        return
    with suppress(ConfigInvalid):  # reported when the settings are loaded
        file = project_file(cwd, homes(environ).config)
        if file is not None:
            file.config()
            project_decisions(environ, file.root).set_trust(file.digest, trusted=trusted)
    with suppress(ConfigInvalid):
        project = _claude_of(environ, cwd)
        if project is not None:
            claude_decisions(environ, project).set_trust(project.digest, trusted=trusted)
    with suppress(ConfigInvalid):
        path = nearest(cwd, ".mcp.json")
        if path is not None:
            servers = ProjectFile(path.parent, read_settings_file(path, "MCP config"))
            server_decisions(environ, path).set_trust(servers.digest, trusted=trusted)
    with suppress(ConfigInvalid):
        if read_config(homes(environ).config).mcp.read_claude:
            cast("Callable[..., None]", resolve_name(_JUDGE_CLAUDE_SERVERS))(environ, cwd, trusted=trusted)
    root = Path(os.path.realpath(cwd))
    if brought_folders("skills", root, environ) or brought_folders("commands", root, environ):
        cast("Callable[..., None]", resolve_name(_JUDGE_TEXTS))(environ, cwd, trusted=trusted)

    if hook_files(environ, cwd):
        cast("Callable[..., None]", resolve_name(_JUDGE_HOOKS))(environ, cwd, trusted=trusted)


_JUDGE_TEXTS = "holdfast.skills.trusted_texts:judge_texts"
"""What stores the decision about the skills and commands of a project that run commands."""
_JUDGE_HOOKS = "holdfast.ui.startup.hooks_in_use:judge_hooks"
"""What stores the decision about the hooks of a project."""
_JUDGE_CLAUDE_SERVERS = "holdfast.ui.startup.claude_trust:judge_claude_servers"
"""What stores the decision about the MCP servers of Claude Code."""

AskTrust = Callable[[Path, msgspec.Struct], bool]
"""Asks the user whether to trust the file at this path with these settings."""

TRUST_IT = "Review it, then run with --trust-project."


def trusted_project(
    environ: Mapping[str, str],
    cwd: Path,
    *,
    ask: AskTrust | None,
    notify: Callable[[str], None],
) -> ProjectFile | None:
    """Return the project config of `cwd`, None if it sets nothing or is not trusted; `notify` reports why.

    The user's stored decision about exactly this text counts. Without one, `ask` is called, if given, and the answer is
    stored. Raise `StorageFailed` if it cannot be stored.
    """
    if unread := project_decisions(environ, cwd).unread:
        notify(unread)
    try:
        file = project_file(cwd, homes(environ).config)
        config = file.config() if file is not None else None
    except ConfigInvalid as error:  # a broken project config must not stop the session
        notify(f"{error} The project config is ignored.")
        return None
    if file is None or config is None or config == ProjectConfig():  # it sets nothing
        return None
    decisions = project_decisions(environ, file.root)
    trusted = decisions.trusts(file.digest)
    if decisions.unread and file.root != cwd:
        notify(decisions.unread)
    if trusted is None and ask is not None and not decisions.unread:  # else the answer could not be stored
        trusted = ask(file.path, config)
        decisions.set_trust(file.digest, trusted=trusted)
    if trusted:
        return file
    notify(f"Ignoring untrusted project config {str(file.path)!r}. {TRUST_IT}")
    return None


def ask_about_claude(
    environ: Mapping[str, str], cwd: Path, *, ask: AskTrust | None, notify: Callable[[str], None]
) -> None:
    """Ask, as `trusted_project` does, whether to trust the allow rules in a project's settings of Claude Code.

    Raise `StorageFailed` if the answer cannot be stored.
    """
    try:
        project = _claude_of(environ, cwd)
    except ConfigInvalid:  # reported with the rules
        return
    allow = () if project is None else tuple(rule for rule in project.found.rules if rule.verdict == "allow")
    if project is None or not allow:
        return
    decisions = claude_decisions(environ, project)
    trusted = decisions.trusts(project.digest)
    path = project.files[0][0]
    if trusted is None and ask is not None and not decisions.unread:
        trusted = ask(path, PermissionLists(allow=tuple(rule.text for rule in allow)))
        decisions.set_trust(project.digest, trusted=trusted)
    if not trusted:
        notify(f"Ignoring the allow rules of untrusted settings {str(path)!r}. {TRUST_IT}")


def hook_files(environ: Mapping[str, str], cwd: Path) -> tuple[tuple[Path, bytes], ...]:
    """Return the settings of Claude Code that may have hooks, with their bytes: the user's first, then the project's.

    A file without the word, or one that cannot be read, has none.
    """
    home = environ.get("HOME", "")
    user = Path(home, ".claude", "settings.json") if home else None
    in_home = (user,) if user is not None and user.exists() else ()
    in_project = (nearest(cwd, str(Path(".claude", name))) for name in ("settings.json", "settings.local.json"))
    found: list[tuple[Path, bytes]] = []
    for path in dict.fromkeys((*in_home, *(each for each in in_project if each is not None and each != user))):
        with suppress(ConfigInvalid):  # reported with its rules
            raw = read_settings_file(path, "Settings")
            if b'"hooks"' in raw or b'"disableAllHooks"' in raw:
                found.append((path, raw))
    return tuple(found)


def hook_decisions(environ: Mapping[str, str], path: Path) -> Project:
    """Return the user's decisions about the hooks in a file: separate from those about anything else in it."""
    return Project(stored_decisions(environ), Path(f"{path}:hooks"))


def stored_decisions(environ: Mapping[str, str]) -> Path:
    """Return the folder with the user's decisions about all projects."""
    return homes(environ).sessions.with_name(APPROVALS)


def project_decisions(environ: Mapping[str, str], root: Path) -> Project:
    """Return the user's decisions about the project at `root`."""
    return Project(stored_decisions(environ), root)


def claude_decisions(environ: Mapping[str, str], project: ClaudeProject) -> Project:
    """Return the user's decisions about a project's Claude Code settings: separate from those about its config."""
    return Project(stored_decisions(environ), project.root / ".claude")


def server_decisions(environ: Mapping[str, str], path: Path) -> Project:
    """Return the user's decisions about the MCP servers in the project's file at `path`: separate ones too."""
    return Project(stored_decisions(environ), path)


def claude_server_decisions(environ: Mapping[str, str], path: Path, project: str) -> Project:
    """Return the user's decisions about the MCP servers of Claude Code for a project, or for all if `project` is ""."""
    return server_decisions(environ, Path(f"{path}:{project}") if project else path)


def granted_patterns(environ: Mapping[str, str], cwd: Path) -> tuple[Pattern, ...]:
    """Return the patterns that the project config allows in `cwd`. File patterns apply only in the config's folder."""
    try:
        file = project_file(cwd, homes(environ).config)
        if file is None or not project_decisions(environ, file.root).trusts(file.digest):
            return ()
        patterns = file.config().allow.patterns
    except ConfigInvalid:  # reported at the start of the run
        return ()
    return tuple(each for each in patterns if each.effect != "write" or file.root == cwd)


def _claude_of(environ: Mapping[str, str], cwd: Path) -> ClaudeProject | None:
    home = environ.get("HOME", "")
    return claude_project(cwd, Path(home) if home else None)
