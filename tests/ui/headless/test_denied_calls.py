"""What a run says of the calls that it denied: each with the option that would have allowed it, and it would have."""

from __future__ import annotations

import shlex

import msgspec
import pytest

from holdfast.questions import older_question
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.session.model_notices import ONLY_USER_DECIDES
from holdfast.tool_calls import Confined, Effect, FileChange, Mode, Pattern
from holdfast.tools.approval.command_analysis import command_parts
from holdfast.tools.approval.decision import Allow, Ask, Policy, decide
from holdfast.tools.approval.patterns import suggest_patterns
from holdfast.tools.approval.question import question_of
from holdfast.tools.permission_rules.permission_rule import PermissionRule, permission_rule
from holdfast.tools.permission_rules.rule_set import RuleSet
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from holdfast.ui.headless.denied_calls import DeniedCalls, allow_advice, option_for

ROOT = "/srv/work"
PATTERNS: dict[Effect, Pattern] = {
    "execute": Pattern(effect="execute", text="make test *"),
    "write": Pattern(effect="write", text="out/**"),
    "read": Pattern(effect="read", text="example.org"),
    "remote": Pattern(effect="remote", text="mcp__srv__look"),
}


async def _never(_: ToolContext) -> ToolOutput:
    raise AssertionError("deciding must not run")


def runs(command: str) -> Plan:
    line = command_parts(command, root=ROOT)
    return Plan(effect="execute", title="run", run=_never, command=command, line=line)


def writes(path: str) -> Plan:
    return Plan(effect="write", title="edit", run=_never, changes=(FileChange(path=path, before=None, after="0" * 64),))


def asked(*patterns: Pattern, call: str = "c") -> e.ApprovalAsked:
    return e.ApprovalAsked(call=call, question=older_question(call, "It needs approval.", patterns))


def policy_with(option: str) -> Policy:
    """Return the policy of a run with this option, as the command line reads it."""
    mode: Mode = "ask"
    rules: list[PermissionRule] = []
    words = shlex.split(option)
    for name, value in zip(words[::2], words[1::2], strict=True):
        if name == "--permission-mode":
            assert value == "accept-edits"
            mode = "accept-edits"
        else:
            assert name == "--allow"
            rules.append(permission_rule(value, "allow", source="--allow", base=ROOT))
    return Policy(mode, rules=RuleSet(rules=tuple(rules), root=ROOT, home="/srv/me"))


@pytest.mark.parametrize(
    ("plan", "tool", "option"),
    [
        (runs("make test"), "bash", "--allow 'Bash(make test *)'"),
        (runs("touch a && mkdir b"), "bash", "--allow 'Bash(touch *)' --allow 'Bash(mkdir *)'"),
        (runs("make test > out/log.txt"), "bash", "--allow 'Bash(make test *)' --allow 'Edit(./out/**)'"),
        (runs("echo x > out/log.txt"), "bash", "--permission-mode accept-edits"),
        (writes("src/a.py"), "edit", "--permission-mode accept-edits"),
    ],
    ids=["a command", "two commands", "a command and a file", "a file of a command", "a file"],
)
def test_the_option_that_is_named_would_have_allowed_the_call(plan: Plan, tool: str, option: str) -> None:
    assert isinstance(decide(plan, Policy("ask"), tool=tool), Ask)
    named = option_for(asked(*suggest_patterns(plan).patterns))
    assert named == option
    assert decide(plan, policy_with(named), tool=tool) == Allow()


def test_where_no_wall_lets_a_command_write_a_rule_about_its_file_is_named() -> None:
    plan = msgspec.structs.replace(runs("echo x > out/log.txt"), levels=("read",), hides_secrets=True)
    asks = decide(plan, Policy("accept-edits"), tool="bash")
    assert isinstance(asks, Ask)
    question = e.ApprovalAsked(call="c", question=question_of(plan, mode="ask", why=asks.why, call="c"))
    assert option_for(question) == "--allow 'Edit(./out/**)'"
    assert decide(plan, policy_with(option_for(question)), tool="bash") == Allow("", by_user=True)


@pytest.mark.parametrize("first", PATTERNS)
@pytest.mark.parametrize("second", PATTERNS)
def test_of_two_patterns_each_is_named_unless_both_are_for_files(first: Effect, second: Effect) -> None:
    option = option_for(asked(PATTERNS[first], PATTERNS[second]))
    if first == second == "write":
        assert option == "--permission-mode accept-edits"
    else:
        assert option.count("--allow ") == 2
        assert "accept-edits" not in option


def test_without_a_pattern_only_yolo_is_left() -> None:
    assert (option_for(asked()), allow_advice(None)) == ("-y", "Use -y, which runs everything")
    assert allow_advice(asked(PATTERNS["write"])) == (
        "Use --permission-mode accept-edits, or -y, which runs everything"
    )


def test_each_denied_call_is_listed_with_its_own_option_until_the_next_prompt() -> None:
    calls = {
        "a": CallPart(id="a", name="bash", arguments='{"command": "make test"}'),
        "b": CallPart(id="b", name="write", arguments='{"path": "b.txt", "content": ""}'),
        "c": CallPart(id="c", name="ask", arguments="{}"),
        "d": CallPart(id="d", name="bash", arguments='{"command": "ls"}'),
    }
    denied = DeniedCalls()
    entries: list[e.Entry] = [
        e.PromptAccepted(turn=1, text="go"),
        e.ResponseEnded(step=1, model="m:m", parts=tuple(calls.values()), usage=Usage()),
        asked(PATTERNS["execute"], call="a"),
        asked(PATTERNS["write"], call="b"),
        asked(call="c"),
        e.CallEnded(call="a", outcome="denied", text="no"),
        e.CallEnded(call="b", outcome="denied", text="no"),
        e.CallEnded(call="c", outcome="denied", text=next(iter(ONLY_USER_DECIDES))),
        e.CallEnded(call="d", outcome="ok", text=""),
    ]
    for entry in entries:
        denied.add(entry)
    assert [each.line for each in denied.found] == [
        "bash make test (allow it with --allow 'Bash(make test *)')",
        "write b.txt (allow it with --permission-mode accept-edits)",
        "ask",
    ]
    denied.add(e.PromptAccepted(turn=2, text="again"))
    assert denied.found == ()


def test_the_options_for_a_command_that_names_hosts_let_it_reach_them() -> None:
    """The pattern alone would ask again, about the host."""
    hosts = ("pypi.org", "files.pythonhosted.org")
    plan = msgspec.structs.replace(runs("make test"), levels=("read", "workspace", "network"), network=hosts)
    named = option_for(asked(*suggest_patterns(plan).patterns))
    assert named.count("WebFetch(domain:") == len(hosts)
    assert decide(plan, policy_with(named), tool="bash") == Allow("network", by_user=True)
    short = option_for(asked(Pattern(effect="execute", text="make test *")))
    assert isinstance(decide(plan, policy_with(short), tool="bash"), Ask)


def test_no_option_but_yolo_lets_a_command_leave_the_sandbox() -> None:
    levels: tuple[Confined, ...] = ("read", "workspace", "network")
    plan = msgspec.structs.replace(runs("make test"), levels=levels, leaves="It needs the display.")
    assert option_for(asked(*suggest_patterns(plan).patterns)) == "-y"
    assert isinstance(decide(plan, policy_with("--allow 'Bash(make test *)'"), tool="bash"), Ask)
    assert decide(plan, Policy("yolo"), tool="bash") == Allow()
