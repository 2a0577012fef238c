"""Laws of what runs unasked where commands can be confined: every mode, wall, argument, answer and kind of rule."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from holdfast.tool_calls import Confined, Leaving, Mode, Pattern
from holdfast.tools.approval.command_analysis import command_parts
from holdfast.tools.approval.decision import Allow, Ask, Decision, Deny, Policy, decide, granted
from holdfast.tools.permission_rules.permission_rule import RuleVerdict, permission_rule
from holdfast.tools.permission_rules.rule_set import RuleSet
from holdfast.tools.tool import Plan, ToolContext, ToolOutput

MODES: tuple[Mode, ...] = get_args(Mode)
LANDLOCK: tuple[Confined, ...] = ("read",)
BUBBLEWRAP: tuple[Confined, ...] = ("read", "workspace", "network")
COMMANDS = (
    "ls", "cat a.txt | wc -l", "make test", "echo x > out.txt", "echo x > .git/config", "cat /etc/passwd", "ls $(",
    "eval x", "make test && ls", "cat .env", "env X=1 make", "curl example.org",
)  # fmt: skip
HOST = "example.org"
NETWORKS = ((), (HOST,), ("evil.org",), ("*",), ("*.org",), (HOST, "evil.org"), (f"{HOST}:22",), ("EXAMPLE.ORG",))
ALLOWED: dict[str, tuple[tuple[str, ...], tuple[Pattern, ...]]] = {
    "nothing": ((), ()),
    "every command": (("Bash",), ()),
    "some commands": (("Bash(make *)", f"WebFetch(domain:{HOST})"), ()),
    "a host": ((f"WebFetch(domain:{HOST})",), ()),
    "every host": (("WebFetch",), ()),
    "patterns": ((), (Pattern(effect="execute", text="make *"), Pattern(effect="read", text=HOST))),
}


async def _never(_: ToolContext) -> ToolOutput:
    raise AssertionError("deciding must not run")


def plan(
    command: str,
    levels: tuple[Confined, ...],
    *,
    network: tuple[str, ...] = (),
    leaves: str = "",
    required: bool = False,
    hides: bool = True,
) -> Plan:
    line = command_parts(command, root="/srv/work")
    return Plan(
        effect="execute", title=command, run=_never, command=command, line=line, levels=levels, network=network,
        leaves=leaves, sandbox_required=required, hides_secrets=hides,
    )  # fmt: skip


def policy(mode: Mode, allowed: str = "nothing", **verdicts: str) -> Policy:
    texts, patterns = ALLOWED[allowed]
    kinds: dict[str, RuleVerdict] = {"deny": "deny", "ask": "ask"}
    written = [permission_rule(text, "allow", source="the config") for text in texts]
    written += [permission_rule(text, kinds[verdict], source="the config") for verdict, text in verdicts.items()]
    return Policy(mode, patterns, RuleSet(rules=tuple(written), root="/srv/work", home="/srv/me"))


def decided(planned: Plan, by: Policy) -> Decision:
    return decide(planned, by, tool="bash")


def is_lawful(  # noqa: PLR0911 - a return for each mode and level
    planned: Plan, mode: Mode, allowed: str, decision: Decision
) -> bool:
    """Return whether what is allowed unasked is no more than the user allowed by mode, rule or pattern."""
    if not isinstance(decision, Allow):
        return True
    if mode == "yolo":
        is_free = not planned.sandbox_required or bool(planned.leaves)
        return is_free or decision.confined != ""
    if planned.leaves:
        return False
    if mode == "plan":
        return decision.confined == "read"
    hosts = {"every host": {*planned.network}, "nothing": set[str](), "every command": set[str]()}.get(allowed, {HOST})
    if not hosts.issuperset(planned.network):
        return False
    rules = allowed in ("every command", "some commands", "patterns")
    match decision.confined:
        case "read":
            return not planned.network
        case "workspace":
            return rules or mode == "accept-edits"
        case "network":
            return rules and decision.by_user
        case _:
            return rules and decision.by_user and "workspace" not in planned.levels


def test_nothing_runs_unasked_beyond_what_the_user_allowed() -> None:
    arguments = product(COMMANDS, (LANDLOCK, BUBBLEWRAP), NETWORKS, ("", "why"), (False, True), (False, True))
    plans = [
        plan(command, levels, network=network, leaves=leaves, required=required, hides=hides)
        for command, levels, network, leaves, required, hides in arguments
    ]
    seen: set[str] = set()
    for mode, allowed in product(MODES, ALLOWED):
        by = policy(mode, allowed)
        for planned in plans:
            decision = decided(planned, by)
            seen.add(f"{type(decision).__name__} {decision.confined if isinstance(decision, Allow) else ''}")
            assert is_lawful(planned, mode, allowed, decision), (mode, allowed, planned, decision)
    assert seen == {"Allow ", "Allow read", "Allow workspace", "Allow network", "Ask ", "Deny "}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("levels", [LANDLOCK, BUBBLEWRAP])
def test_a_deny_rule_wins_over_every_argument_mode_and_allowance(mode: Mode, levels: tuple[Confined, ...]) -> None:
    for command, network, leaves, allowed in product(COMMANDS, NETWORKS, ("", "why"), ALLOWED):
        planned = plan(command, levels, network=network, leaves=leaves)
        assert isinstance(decided(planned, policy(mode, allowed, deny="Bash")), Deny)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("rule", "network", "is_denied"),
    [
        ("WebFetch(domain:evil.org)", "evil.org", True),
        ("WebFetch(domain:evil.org)", "EVIL.org.", True),
        ("WebFetch(domain:evil.org)", "evil.org:8080", True),
        ("WebFetch(domain:evil.org)", "*", True),
        ("WebFetch(domain:evil.org)", "*:22", True),
        ("WebFetch(domain:evil.org)", "*.org", True),
        ("WebFetch(domain:*.evil.org)", "a.evil.org", True),
        ("WebFetch(domain:*.evil.org)", "*.a.evil.org", True),
        ("WebFetch(domain:*.evil.org)", "*.org", True),
        ("WebFetch", "good.org", True),
        ("WebFetch(domain:evil.org)", "good.org", False),
        ("WebFetch(domain:evil.org)", "notevil.org", False),
        ("WebFetch(domain:evil.org)", "*.evil.org", False),
        ("WebFetch(domain:*.evil.org)", "evil.org", False),
        ("WebFetch(domain:*.evil.org)", "*.good.org", False),
    ],
)
def test_a_deny_rule_of_a_host_holds_for_the_addresses_of_a_command(
    mode: Mode, rule: str, network: str, *, is_denied: bool
) -> None:
    planned = plan("ls", BUBBLEWRAP, network=(network,))
    assert isinstance(decided(planned, policy(mode, "every command", deny=rule)), Deny) is is_denied
    if is_denied and mode != "yolo":
        assert isinstance(decided(planned, policy(mode, "every command", ask=rule)), Ask)


def test_a_required_sandbox_holds_in_yolo_where_only_reading_can_be_confined() -> None:
    by = policy("yolo")
    assert decided(plan("ls", LANDLOCK, required=True), by) == Allow("read")
    decision = decided(plan("make", LANDLOCK, required=True), by)
    assert isinstance(decision, Ask)
    assert "the setting 'sandbox' requires a sandbox" in decision.why
    assert decided(plan("make", BUBBLEWRAP, required=True), by) == Allow("workspace")
    assert decided(plan("make", BUBBLEWRAP, required=True, network=("a.b",)), by) == Allow("network")
    assert decided(plan("make", BUBBLEWRAP, required=True, leaves="why"), by) == Allow()
    assert decided(plan("make", LANDLOCK), by) == Allow()


@pytest.mark.parametrize("answer", get_args(Leaving))
def test_an_answer_gives_a_level_of_the_wall_and_never_more_than_it_says(answer: Leaving) -> None:
    for network, leaves in product(NETWORKS, ("", "why")):
        planned = plan("make", BUBBLEWRAP, network=network, leaves=leaves)
        level = granted(planned, answer)
        asked_outside = (answer or planned.requested) == "outside"
        assert (level == "") is asked_outside
        assert level in ("", answer or planned.requested)
