"""The rules of a session, from the command line, the user's config, the project and Claude Code's settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from holdfast.config.permission_lists import (
    FoundRules,
    claude_project,
    found_rules,
    user_claude_rules,
)
from holdfast.config.project_config import project_file
from holdfast.config.project_decisions import Project
from holdfast.config.settings import Config, PermissionLists
from holdfast.errors import ConfigInvalid, UsageError
from holdfast.system.user_directories import homes
from holdfast.tools.permission_rules.permission_rule import PermissionRule, unmatched
from holdfast.tools.permission_rules.rule_set import RuleSet
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.project_trust import claude_decisions, granted_patterns, project_decisions, stored_decisions


def project_of(environ: Mapping[str, str], cwd: Path, *, config: Config, arguments: Arguments) -> Project:
    """Return the decisions about calls in `cwd`: the user's approvals there, and every rule.

    `config` is the user's, with the command line's settings.
    """
    home = user_home(environ)
    rules = RuleSet(
        rules=session_rules(environ, cwd, config=config, arguments=arguments).rules,
        root=str(cwd),
        home=str(home) if home is not None else "/",
    )
    return Project(stored_decisions(environ), cwd, granted=granted_patterns(environ, cwd), rules=rules)


def session_rules(environ: Mapping[str, str], cwd: Path, *, config: Config, arguments: Arguments) -> FoundRules:
    """Return all rules that apply in `cwd`, those of the command line first. Rules that allow must be trusted."""
    found = option_rules(arguments, cwd) + user_rules(environ, config) + _project_rules(environ, cwd)
    if config.permissions.claude_settings:
        found += _claude_rules(environ, cwd) + user_claude_rules(user_home(environ))
    return found


def option_rules(arguments: Arguments, cwd: Path) -> FoundRules:
    """Return the rules of --allow and --deny. Raise `UsageError` for one that is invalid or matches nothing."""
    found = FoundRules()
    for option, lists in (
        ("--deny", PermissionLists(deny=tuple(arguments.deny or ()))),
        ("--allow", PermissionLists(allow=tuple(arguments.allow or ()))),
    ):
        these = found_rules(lists, source=option, base=cwd)
        for fault in these.faults:
            raise UsageError(fault)
        for rule in these.rules:
            if why := rule_note(rule):
                raise UsageError(f"{option} {rule.text!r} matches nothing: {why}. Correct or remove it.")
        found += these
    return found


def user_rules(environ: Mapping[str, str], config: Config) -> FoundRules:
    """Return the rules of the user's config. Raise `ConfigInvalid` for one that is invalid."""
    path = homes(environ).config
    found = found_rules(config.permissions, source=str(path), base=path.parent)
    for fault in found.faults:
        raise ConfigInvalid(fault)
    return found


def rule_note(rule: PermissionRule) -> str:
    """Return why a rule matches no call of holdfast's tools, "" if it may match one."""
    from holdfast.tools.builtin.declarations import DECLARATIONS

    return unmatched(rule, {schema.name for schema in DECLARATIONS})


def user_home(environ: Mapping[str, str]) -> Path | None:
    """Return the user's home, None if it is not known."""
    home = environ.get("HOME", "")
    return Path(home) if home.startswith("/") else None


def _project_rules(environ: Mapping[str, str], cwd: Path) -> FoundRules:
    try:
        file = project_file(cwd, homes(environ).config)
        lists = file.config().permissions if file is not None else None
    except ConfigInvalid:  # reported at the start of the run
        return FoundRules()
    if file is None or lists is None:
        return FoundRules()
    found = found_rules(lists, source=str(file.path), base=file.root)
    return found if project_decisions(environ, file.root).trusts(file.digest) else found.unless_allowing


def _claude_rules(environ: Mapping[str, str], cwd: Path) -> FoundRules:
    try:
        project = claude_project(cwd, user_home(environ))
    except ConfigInvalid as error:
        return FoundRules(faults=(f"{error} Its rules are not used.",))
    if project is None:
        return FoundRules()
    return project.found if claude_decisions(environ, project).trusts(project.digest) else project.found.unless_allowing
