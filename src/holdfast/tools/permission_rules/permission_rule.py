"""One rule about calls, in the syntax of Claude Code: `TOOL` or `TOOL(SPECIFIER)`.

`Bash(npm run test *)` is about commands, `Read(~/notes/**)` and `Edit(src/**)` are about files, and
`WebFetch(domain:example.com)` is about hosts. A name alone, also `mcp__SERVER` and `mcp__SERVER__TOOL`, is about each
call of that tool. Names are read in any case.

Laws (`tests/tools/permission_rules/test_permission_rule_laws.py`): whatever is written is either a rule or an error
that names it.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Literal

import msgspec

from holdfast.errors import ConfigInvalid
from holdfast.tool_calls import Pattern
from holdfast.tools.permission_rules.path_pattern import path_fault

RuleVerdict = Literal["deny", "ask", "allow"]
"""What a rule says about the calls that it matches. In this order the first match counts."""

Subject = Literal["command", "read", "edit", "host", "tool"]
"""What a rule is about: commands, files that are read or changed, hosts, or a tool by its name."""

LONGEST_RULE = 2000

_RULE = re.compile(r"([A-Za-z][\w.-]*(?:__\*)?)(?:\s*\((.*)\))?", re.DOTALL)
_HOST = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_.:-]*[a-z0-9_])?|\*")

_SUBJECTS = MappingProxyType(
    {
        "bash": "command",
        "read": "read",
        "edit": "edit",
        "write": "edit",
        "multiedit": "edit",
        "notebookedit": "edit",
        "webfetch": "host",
        "fetch": "host",
    }
)
_OWN_NAMES = MappingProxyType(
    {
        "webfetch": "fetch",
        "websearch": "search",
        "todowrite": "todo",
        "askuserquestion": "ask_user",
        "exitplanmode": "present_plan",
        "bashoutput": "task",
        "taskoutput": "task",
        "taskstop": "stop_task",
        "killshell": "stop_task",
    }
)
"""What Claude Code calls a tool, and what holdfast calls it."""


class PermissionRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule as read: `text` as it was written, in `source` (a file, or an option of the command line).

    `tool` is holdfast's name of the tool. `specifier` is "" for every call of it. `base` is the absolute folder from
    which a path that begins with one slash is read.
    """

    verdict: RuleVerdict
    text: str
    source: str
    subject: Subject
    tool: str
    specifier: str = ""
    base: str = "/"

    @property
    def shown(self) -> str:
        """Return the rule with its source, for people and models."""
        return f"`{self.text}` ({self.source})"


def permission_rule(text: str, verdict: RuleVerdict, *, source: str, base: str = "/") -> PermissionRule:
    """Return the rule written as `text`. Raise `ConfigInvalid` with the rule, its source and an example."""
    found = _RULE.fullmatch(text.strip())
    if found is None or len(text) > LONGEST_RULE or not text.isprintable():
        raise _invalid(text, source, "it is not TOOL or TOOL(SPECIFIER), such as 'Bash(git commit *)'")
    name, specifier = found[1].lower(), found[2]
    subject: Subject = _SUBJECTS.get(name, "tool")  # pyright: ignore[reportAssignmentType] - the values of the table
    specifier = None if specifier is None else specifier.strip()
    if specifier == "":
        raise _invalid(text, source, f"nothing is in its parentheses; for every call write {found[1]!r}")
    if specifier == "*" or specifier is None:
        specifier = ""
    elif why := _fault(subject, specifier):
        raise _invalid(text, source, why)
    tool = _OWN_NAMES.get(name, name)
    return PermissionRule(
        verdict=verdict, text=text.strip(), source=source, subject=subject, tool=tool, specifier=specifier, base=base
    )


def own_tool_name(name: str) -> str:
    """Return holdfast's name of the tool that the user names, in any case, as holdfast or as Claude Code calls it."""
    return _OWN_NAMES.get(name.lower(), name.lower())


def rule_for(pattern: Pattern) -> str:
    """Return the text of a rule that allows at least what a pattern does."""
    match pattern.effect:
        case "execute":
            known = pattern.text.removesuffix(" *").replace("*", "\\*")
            return f"Bash({known} *)" if pattern.text.endswith(" *") else f"Bash({known})"
        case "write":
            return f"Edit(./{pattern.text})"
        case "read":
            return f"WebFetch(domain:{pattern.text})"
        case "remote":
            return pattern.text


def unmatched(rule: PermissionRule, tools: AbstractSet[str]) -> str:
    """Return why a rule matches no call of these tools, "" if it may match one."""
    if rule.subject == "tool" and rule.specifier:
        return "only Bash, Read, Edit, Write and WebFetch take a specifier here"
    if rule.tool.startswith("mcp__"):  # servers come and go
        return ""
    if rule.subject != "tool" or rule.tool in tools:
        return ""
    return f"holdfast has no tool {rule.tool!r}"


def names_tool(rule: PermissionRule, tool: str) -> bool:
    """Return whether a rule without a specifier names the tool, or the server it belongs to.

    The name of a server has no two underscores in a row: what follows them in a rule is a tool.
    """
    if rule.specifier:
        return False
    name = tool.lower()
    if not rule.tool.startswith("mcp__"):
        return rule.tool == name
    named = rule.tool.removesuffix("__*")
    covers_more = named != rule.tool or "__" not in named.removeprefix("mcp__")
    return name == named or (covers_more and name.startswith(f"{named}__"))


def _fault(subject: Subject, specifier: str) -> str:
    match subject:
        case "command":
            return ""
        case "read" | "edit":
            return path_fault(specifier)
        case "host":
            kind, colon, host = specifier.partition(":")
            if kind == "domain" and colon and _HOST.fullmatch(host.strip()):
                return ""
            return "it names no host, such as 'WebFetch(domain:example.com)' (no scheme, port or path)"
        case "tool":
            return ""  # a rule of another program about its own tools: `unmatched` says so


def _invalid(text: str, source: str, why: str) -> ConfigInvalid:
    shown = text if len(text) <= 80 else f"{text[:80]}…"  # noqa: PLR2004 - enough to find it
    return ConfigInvalid(f"Rule {shown!r} in {source} cannot be used: {why}. Fix or remove it.")
