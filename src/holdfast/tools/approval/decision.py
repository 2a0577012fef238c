"""Decides whether a call may run, from its plan and the approval policy alone. No other code decides this.

The order: a deny rule, then the mode `yolo`, then what mode `plan` forbids, then an ask rule, then calls that are free
(need no approval), and last what the user allowed. In a line of commands every simple command must be free or allowed,
and so must every file it writes.

Laws (`tests/tools/permission_rules/test_rule_set_laws.py`): no mode and no allowance runs what a rule denies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from holdfast.system.secret_files import holds_secrets
from holdfast.tool_calls import Confined, Effect, Leaving, Mode, Pattern
from holdfast.tools.permission_rules.permission_rule import RuleVerdict
from holdfast.tools.permission_rules.rule_set import NO_RULES, RuleSet
from holdfast.tools.tool import Plan, Visibility

if TYPE_CHECKING:
    from holdfast.tools.approval.command_parts import CommandPart, CommandParts


class Policy(msgspec.Struct, frozen=True):
    """The approval mode, the patterns the user has allowed permanently, and the rules of settings and options."""

    mode: Mode
    patterns: tuple[Pattern, ...] = ()
    rules: RuleSet = NO_RULES


class Allow(msgspec.Struct, frozen=True):
    """The call may run: a command `confined` at this level, "" if as it is.

    `by_user` is whether the user, or a rule or pattern of theirs, allowed it, where that makes a difference.
    """

    confined: Confined = ""
    by_user: bool = False


class Ask(msgspec.Struct, frozen=True):
    """The user must decide; `why` is one sentence for them."""

    why: str


class Deny(msgspec.Struct, frozen=True):
    """The call may not run; the model reads `why`."""

    why: str


Decision = Allow | Ask | Deny

_DOES: dict[Effect, str] = {
    "read": "reads",
    "write": "changes files",
    "execute": "runs a command",
    "remote": "asks an MCP server, which may do anything",
}


def decide(  # noqa: PLR0911 - a return for each step of the order
    plan: Plan, policy: Policy, *, tool: str = ""
) -> Decision:
    """Return whether the planned call of `tool` may run.

    A plan that the model presents and a question that it asks are always the user's to decide. A deny rule counts in
    every mode. A path outside the workspace or a network host needs approval, except in mode `yolo` or by an allow
    rule. Mode `plan` allows only reading, whatever the user has allowed. A command whose parts all only read in the
    workspace is free in every mode.
    """
    line = _line(plan)
    if rule := policy.rules.against("deny", plan, line, tool=tool):
        return Deny(f"Rule {rule.shown} denies {plan.title!r}. It was not run. Continue without it, or ask the user.")
    if plan.is_for_the_user:
        presented = "The model presents a plan. Decide whether it is carried out."
        return Ask(presented if plan.question is None else plan.question.text)
    if policy.mode == "yolo":
        return _in_yolo(plan, line)
    can_only_read = plan.requested == "workspace" and "workspace" in plan.levels and plan.hides_secrets
    if (
        policy.mode == "plan"
        and plan.effect != "read"
        and not (line is not None and line.only_reads)
        and not can_only_read
    ):
        return Deny(
            f"Plan mode allows only reading: {plan.title!r} {_DOES[plan.effect]}{_more(line)}. "
            "It was not run. Continue reading, or present your plan: the user decides whether it is carried out."
        )
    if rule := policy.rules.against("ask", plan, line, tool=tool):
        return Ask(f"The call {plan.title!r} needs approval each time, by the rule {rule.shown}.")
    if line is None:
        why = _reason_to_ask(plan, policy, tool)
        return Ask(why) if why else Allow()
    why = _reason_to_ask_for_line(plan, line, policy, tool)
    if policy.mode == "plan" and can_only_read:
        return Allow("read")
    if plan.levels:
        return _confined(plan, line, policy, why, tool=tool)
    return Ask(why) if why else Allow()


def _in_yolo(plan: Plan, line: CommandParts | None) -> Decision:
    """Return the decision where nothing is asked: a sandbox that the user requires still holds, except to leave it."""
    if line is None or not plan.sandbox_required or plan.leaves:
        return Allow()
    if level := granted(plan):
        return Allow(level)
    if line.only_reads and not plan.network and "read" in plan.levels and plan.hides_secrets:
        return Allow("read")
    return Ask(
        f"The call {plan.title!r} runs a command that cannot be confined as it asks on this machine, and the setting "
        "'sandbox' requires a sandbox."
    )


def granted(plan: Plan, answer: Leaving = "") -> Confined:
    """Return the level at which a command runs that was allowed: as the `answer` says, "" if as the plan asks."""
    level = answer or plan.requested
    return level if level != "outside" and level in plan.levels else ""


def _confined(  # noqa: PLR0911 - a return for each step
    plan: Plan, line: CommandParts, policy: Policy, why: str, *, tool: str
) -> Decision:
    """Return the decision about a command that can be confined; `why` is the reason to ask, apart from the wall.

    What neither the user nor a rule of theirs allowed runs where it can only read. What a rule or pattern names runs in
    the workspace, and reaches the addresses that are allowed. Accepted edits are written inside the wall.
    """
    if plan.leaves:
        return Ask(f"The call {plan.title!r} runs a command outside the sandbox. The model says why: {plan.leaves}")
    if why:
        return Ask(why)
    strange = [host for host in plan.network if not _allows_host(host, policy)]
    if strange:
        return Ask(f"The call {plan.title!r} runs a command that reaches {', '.join(map(repr, strange))}.")
    nothing_allowed = Policy("ask", rules=RuleSet(root=policy.rules.root))
    judged = not _reason_to_ask_for_line(plan, line, nothing_allowed, "")
    without_mode = Policy("ask", policy.patterns, policy.rules)
    by_user = not judged and not _reason_to_ask_for_line(plan, line, without_mode, tool)
    if not by_user and not plan.hides_secrets:
        return Ask(f"The call {plan.title!r} runs a command: {plan.cannot_hide or _TOO_MANY}.")
    if plan.network and not by_user:
        if policy.mode == "plan" or not policy.rules.allow_all_commands(tool):
            hosts = ", ".join(map(repr, plan.network))
            return Ask(f"The call {plan.title!r} runs a command that may write the workspace and reaches {hosts}.")
        by_user = True
    if policy.mode == "plan":
        return Allow("read", by_user)  # nothing is written then, whatever the user has allowed
    if judged and not plan.network:
        return Allow("read")
    level = granted(plan)
    if not level and not by_user:
        return Ask(f"The call {plan.title!r} runs a command that writes, {NOT_CONFINED_HERE}.")
    return Allow(level, by_user)


HOLDS_SECRETS = "which holds secrets"
NOT_CONFINED_HERE = "which is not confined on this machine"
"""Of a command that accepted edits would allow inside a wall: only a rule about its files allows it without one."""

_TOO_MANY = "more files lie in the workspace than holdfast looks at for secrets to hide"


def _allows_host(host: str, policy: Policy) -> bool:
    """Return whether the user allowed requests to a host."""
    return Pattern(effect="read", text=host) in policy.patterns or policy.rules.allows_host(host)


def read_filter(plan: Plan, policy: Policy, *, tool: str = "") -> Callable[[str], Visibility]:
    """Return what a call may show of the file at an absolute path.

    A search is approved by the folder where it starts. Files below it that rules deny or ask about are left out, and so
    is what files with secrets contain. If an ask rule matches the call itself, the user has answered it, and ask rules
    hide nothing more; so it is with a secret that the call itself names.
    """
    ask_rules_apply = policy.mode != "yolo" and policy.rules.against("ask", plan, None, tool=tool) is None
    verdicts: tuple[RuleVerdict, ...] = ("deny", "ask") if ask_rules_apply else ("deny",)
    has_rules = has_read_rules(policy)

    def visibility(path: str) -> Visibility:
        if has_rules and policy.rules.hides(path, *verdicts):
            return "nothing"
        if policy.mode == "yolo" or not holds_secrets(path) or path in plan.reads or policy.rules.allows_reading(path):
            return "all"
        return "name"

    return visibility


def has_read_rules(policy: Policy) -> bool:
    """Return whether a rule may hide a file from a search."""
    return any(rule.subject == "read" and rule.verdict != "allow" for rule in policy.rules.rules)


def may_tell(plan: Plan, policy: Policy) -> bool:
    """Return whether the model may be told, unasked, what the files contain that the plan reads."""
    verdicts: tuple[RuleVerdict, ...] = ("deny",) if policy.mode == "yolo" else ("deny", "ask")
    return not any(policy.rules.hides(path, *verdicts) for path in plan.reads) and (
        policy.mode == "yolo" or not _secret(plan, policy)
    )


def _secret(plan: Plan, policy: Policy) -> str:
    """Return the first file with secrets that a plan reads and no rule allows to read, "" if there is none."""
    found = (path for path in plan.reads if holds_secrets(path) and not policy.rules.allows_reading(path))
    return next(found, "")


def _reason_to_ask(plan: Plan, policy: Policy, tool: str) -> str:
    """Return why the user must be asked about a call that runs no command, "" if it may run."""
    from holdfast.tools.approval.patterns import changes_autorun_file, patterns_allow

    by_itself = changes_autorun_file(plan)
    secret = _secret(plan, policy)
    if plan.outside is None and plan.effect == "read" and not plan.host and not secret:
        return ""  # a request also sends something to the host
    if (
        plan.outside is None
        and plan.effect == "write"
        and policy.mode == "accept-edits"
        and plan.changes
        and not by_itself
        and not secret
    ):
        return ""
    if patterns_allow(plan, policy.patterns) or (not by_itself and policy.rules.allow(plan, tool=tool)):
        return ""
    if secret and plan.outside is None:
        does = "changes" if plan.effect == "write" else "reads"
        itself = ", and other programs run or obey it by themselves" if by_itself else ""
        return f"The call {plan.title!r} {does} {_in_workspace(secret, policy)!r}, {HOLDS_SECRETS}{itself}."
    return _question(plan, by_itself=by_itself)


def _in_workspace(path: str, policy: Policy) -> str:
    """Return a path as the user knows it: from the workspace on."""
    return path.removeprefix(f"{policy.rules.root.rstrip('/')}/")


def _reason_to_ask_for_line(plan: Plan, line: CommandParts, policy: Policy, tool: str) -> str:
    """Return why the user must be asked about a call that runs a line of commands, "" if it may run."""
    if policy.rules.allow_all_commands(tool):
        return ""
    where = "" if plan.outside is None else f" outside the workspace, at {plan.outside!r}"
    if line.unclear:
        return f"The call {plan.title!r} runs a command{where} that holdfast cannot judge: {line.unclear}"
    reasons = tuple(
        dict.fromkeys(filter(None, (_reason_to_ask_for_part(part, line, plan, policy) for part in line.parts)))
    )
    if not reasons and line.parts and plan.outside is None:
        return ""
    more = f": {_join_reasons(reasons)}" if reasons else ""
    return f"The call {plan.title!r} runs a command{where}{more}."


_REASONS = 3
_UNKNOWN = " is not known to only read"


def _join_reasons(reasons: tuple[str, ...]) -> str:
    """Return the reasons as one sentence, in which programs that are not known stand together."""
    names = [reason.removesuffix(_UNKNOWN) for reason in reasons if reason.endswith(_UNKNOWN)]
    others = [reason for reason in reasons if not reason.endswith(_UNKNOWN)]
    if len(names) > 1:
        shown, left = names[:_REASONS], len(names) - _REASONS
        last = f"{left} more" if left > 0 else shown.pop()
        names = [f"{', '.join(shown)} and {last} are not known to only read"]
    elif names:
        names = [f"{names[0]}{_UNKNOWN}"]
    shown, left = [*names, *others][:_REASONS], len(names) + len(others) - _REASONS
    return "; ".join(shown) + (f"; and {left} more" if left > 0 else "")


def _reason_to_ask_for_part(part: CommandPart, line: CommandParts, plan: Plan, policy: Policy) -> str:
    """Return why one simple command of a line is neither free nor allowed, "" if it is."""
    from holdfast.tools.approval.patterns import pattern_allows_part, pattern_allows_write

    # What a program finds by itself is hidden from it where commands are confined.
    found = [path for path in part.reads if holds_secrets(path)] if plan.levels and plan.hides_secrets else part.secrets
    secrets = [path for path in found if not policy.rules.allows_reading(path)]
    free = not part.more and part.outside is None and not secrets
    if not free and not policy.rules.allow_part(part):
        inside = plan.outside is None and line.outside is None
        if not (policy.mode != "plan" and inside and pattern_allows_part(part, policy.patterns)):
            if part.more or part.outside is not None:
                return part.more or f"it reads {part.outside!r} outside the workspace"
            return f"it reads {_in_workspace(secrets[0], policy)!r}, {HOLDS_SECRETS}"
    if part.unknown:
        return part.unknown
    for path in part.writes:
        inside = not path.startswith("/")
        free = policy.mode == "accept-edits" and inside
        by_pattern = inside and pattern_allows_write(path, policy.patterns)
        from holdfast.tools.workspace.autorun_files import runs_by_itself

        if runs_by_itself(path):
            return f"it writes {path!r}, which other programs run or obey by themselves"
        if policy.mode == "plan" or not (free or by_pattern or policy.rules.allow_change(path)):
            return f"it writes {path!r}" + ("" if inside else ", outside the workspace")
    return ""


def _line(plan: Plan) -> CommandParts | None:
    if not plan.command:
        return None
    from holdfast.tools.approval.command_analysis import plan_line

    return plan_line(plan)


def _more(line: CommandParts | None) -> str:
    """Return in a few words what makes a line more than reading, "" if nothing is known."""
    if line is None:
        return ""
    more = line.unclear or next(
        (part.more or part.unknown or f"it writes {part.writes[0]!r}" for part in line.parts if not part.only_reads), ""
    )
    return f" ({more.rstrip('.')})" if more else ""


def _question(plan: Plan, *, by_itself: bool) -> str:
    if plan.host and plan.effect != "remote":
        return f"The call {plan.title!r} asks {plan.host!r} over the network."
    where = "" if plan.outside is None else f" outside the workspace, at {plan.outside!r}"
    itself = plan.effect == "write" and by_itself
    that = " that other programs run or obey by themselves" if itself else ""
    that += f" (as {plan.known_as!r})" if itself and plan.known_as else ""
    return f"The call {plan.title!r} {_DOES[plan.effect]}{that}{where}."
