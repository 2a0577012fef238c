"""All rules of a session, and which of them a planned call matches.

A deny or ask rule matches a call if one part of it matches: one simple command of a line, however it is started, one
file of several, any name of a file, in any case. An allow rule must match all that it stands for, as it is written.

Laws (`tests/tools/permission_rules/test_rule_set_laws.py`): a rule that denies a command denies every line in which the
command stands; no allow rule allows a line of which one command is not allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from holdfast.system.file_names import folded_path
from holdfast.tools.approval.command_parts import CommandPart, CommandParts
from holdfast.tools.permission_rules.command_pattern import command_matches
from holdfast.tools.permission_rules.path_pattern import path_matches
from holdfast.tools.permission_rules.permission_rule import PermissionRule, RuleVerdict, Subject, names_tool
from holdfast.tools.tool import Plan


class RuleSet(msgspec.Struct, frozen=True, kw_only=True):
    """Rules, with the folders from which their paths count: of the session, and the user's home; both absolute."""

    rules: tuple[PermissionRule, ...] = ()
    root: str = "/"
    home: str = "/"

    def against(
        self, verdict: RuleVerdict, plan: Plan, line: CommandParts | None, *, tool: str
    ) -> PermissionRule | None:
        """Return the first deny or ask rule that matches a part of the call, None if none does.

        `line` are the parts of the plan's command, None if it has none. `tool` is the name of the tool.
        """
        return next((rule for rule in self._with(verdict) if self._is_against(rule, plan, line, tool)), None)

    def never_run(self, tool: str) -> bool:
        """Return whether a rule denies every call of a tool, so that there is no use in declaring it."""
        return any(not rule.specifier and _covers(rule, tool) for rule in self._with("deny"))

    def allow(self, plan: Plan, *, tool: str) -> bool:
        """Return whether rules allow all of a call that runs no command."""
        rules = tuple(self._with("allow"))
        if any(rule.subject == "tool" and names_tool(rule, tool) for rule in rules):
            return True
        if plan.effect == "remote":
            return False
        if plan.host:
            return any(_names_host(rule, plan.host) for rule in _with_subject(rules, "host"))
        if plan.effect == "write":
            return bool(plan.changes) and self.allow_change(*(change.path for change in plan.changes), plan.known_as)
        return plan.effect == "read" and bool(plan.reads) and all(self.allows_reading(path) for path in plan.reads)

    def allow_all_commands(self, tool: str) -> bool:
        """Return whether a rule allows every command."""
        rules = self._with("allow")
        return any(
            not rule.specifier and (rule.subject == "command" or (rule.subject == "tool" and names_tool(rule, tool)))
            for rule in rules
        )

    def allow_part(self, part: CommandPart) -> bool:
        """Return whether a rule allows one simple command, its redirections aside."""
        rules = tuple(_with_subject(self._with("allow"), "command"))
        return any(
            not each.specifier or any(command_matches(each.specifier, text) for text in part.texts) for each in rules
        )

    def allow_change(self, *paths: str) -> bool:
        """Return whether rules allow changing a file under all its names; "" is ignored."""
        rules = tuple(_with_subject(self._with("allow"), "edit"))
        return all(any(self._means(rule, path) for rule in rules) for path in filter(None, paths))

    def hides(self, path: str, *verdicts: RuleVerdict) -> bool:
        """Return whether a rule of one of these verdicts is about reading the file at an absolute path."""
        return any(self._means(rule, path) for rule in _with_subject(self.rules, "read") if rule.verdict in verdicts)

    def allows_host(self, host: str) -> bool:
        """Return whether a rule allows requests to a host."""
        return any(_names_host(rule, host) for rule in _with_subject(self._with("allow"), "host"))

    def allows_reading(self, path: str) -> bool:
        """Return whether a rule allows reading the file at an absolute path."""
        return any(self._means(rule, path) for rule in _with_subject(self._with("allow"), "read"))

    def _with(self, verdict: RuleVerdict) -> Iterator[PermissionRule]:
        return (rule for rule in self.rules if rule.verdict == verdict)

    def _is_against(  # noqa: PLR0911 - a return for each subject
        self, rule: PermissionRule, plan: Plan, line: CommandParts | None, tool: str
    ) -> bool:
        match rule.subject:
            case "tool":
                return names_tool(rule, tool)
            case "host":
                if any(_may_mean(rule, host) for host in plan.network):
                    return True
                return tool == rule.tool if not (rule.specifier or plan.host) else _names_host(rule, plan.host)
            case "command":
                return line is not None and (
                    not rule.specifier
                    or any(command_matches(folded_path(rule.specifier), folded_path(text)) for text in line.all_texts)
                )
            case "edit":
                changed = (*(change.path for change in plan.changes), plan.known_as)
                written = () if line is None else (path for part in line.parts for path in part.writes)
                if not rule.specifier and line is None:
                    return plan.effect == "write" and rule.tool in ("edit", tool)
                return any(self._means(rule, path) for path in (*changed, *written) if path)
            case "read":
                parts = () if line is None else line.parts
                found = {id(part.finds): part.finds for part in parts}.values()  # many may find the same
                read = plan.reads if line is None else {path for each in parts for path in each.reads}.union(*found)
                return any(self._means(rule, path) for path in read)

    def _means(self, rule: PermissionRule, path: str) -> bool:
        if not rule.specifier:
            return True
        absolute = path if path.startswith("/") else f"{self.root}/{path}"
        folds = rule.verdict != "allow"
        return path_matches(rule.specifier, absolute, root=self.root, home=self.home, base=rule.base, folds=folds)


NO_RULES = RuleSet()

_CHANGES_FILES = frozenset({"edit", "write", "apply_patch"})


def _covers(rule: PermissionRule, tool: str) -> bool:
    """Return whether a rule without a specifier is about each call of the tool, by its name."""
    if rule.subject == "edit" and rule.tool == "edit":
        return tool in _CHANGES_FILES
    return names_tool(rule, tool)


def _with_subject(rules: Iterable[PermissionRule], subject: Subject) -> Iterator[PermissionRule]:
    return (rule for rule in rules if rule.subject == subject)


def _names_host(rule: PermissionRule, host: str) -> bool:
    """Return whether a rule names the host: itself, `*.` and what is below a domain, or any."""
    if not host:
        return False
    pattern = rule.specifier.partition(":")[2].strip()
    if not rule.specifier or pattern == "*":
        return True
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern


def _may_mean(rule: PermissionRule, address: str) -> bool:
    """Return whether an address of a command, `host`, `*.domain` or `*`, with or without a port, may be the rule's."""
    name, _, port = address.lower().rpartition(":")
    host = (name if name and port.isdecimal() else address.lower()).strip("[]").rstrip(".")
    pattern = rule.specifier.partition(":")[2].strip().lower()
    if host == "*" or _names_host(rule, host):
        return True
    if not host.startswith("*."):
        return False
    below, named = host[1:], pattern.removeprefix("*")
    return named.endswith(below) or (pattern.startswith("*.") and below.endswith(named))
