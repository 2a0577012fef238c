"""Where a line of commands runs, against all that may allow it: rules, remembered patterns, and that it only reads."""

from __future__ import annotations

from itertools import product

import pytest

from holdfast.tool_calls import Mode, Pattern
from holdfast.tools.approval.command_analysis import command_parts
from holdfast.tools.approval.decision import Allow, Ask, Deny, Policy, decide
from holdfast.tools.permission_rules.permission_rule import permission_rule
from holdfast.tools.permission_rules.rule_set import RuleSet
from holdfast.tools.tool import Plan, ToolContext, ToolOutput

ROOT, ELSEWHERE = "/srv/work", "/srv/else"
ASKING: tuple[Mode, ...] = ("ask", "accept-edits")
READ_ONLY = ("ls", "cat a.txt | head -3", "git status", "cd src && ls", "x=1; ls", "LC_ALL=C sort a.txt", "true")
REMEMBERED = tuple(Pattern(effect="execute", text=text) for text in ("make test *", "ls *", "git status *"))
PROXIES = ("http_proxy", "https_proxy", "all_proxy")
VARIABLES = ("x", *PROXIES, "editor", "_x1")
PROGRAMS = ("ls", "cat a.txt", "git status", "make test")


async def _never(_: ToolContext) -> ToolOutput:
    raise AssertionError("deciding must not run")


def runs(command: str, outside: str | None = None) -> Plan:
    """Return the plan of a line that starts in the workspace, or in a folder outside it."""
    line = command_parts(command, root=ROOT)
    assert not line.unclear
    return Plan(effect="execute", title="run", run=_never, command=command, line=line, outside=outside)


def allowing(*texts: str) -> RuleSet:
    rules = tuple(permission_rule(text, "allow", source="the config", base="/settings") for text in texts)
    return RuleSet(rules=rules, root=ROOT, home="/srv/me")


@pytest.mark.parametrize("command", READ_ONLY)
@pytest.mark.parametrize("patterns", [(), REMEMBERED], ids=["none remembered", "some remembered"])
def test_a_line_that_only_reads_is_free_in_the_workspace_alone(command: str, patterns: tuple[Pattern, ...]) -> None:
    for mode in (*ASKING, "plan"):
        assert decide(runs(command), Policy(mode, patterns)) == Allow()
        asked = decide(runs(command, ELSEWHERE), Policy(mode, patterns))
        assert isinstance(asked, Ask)
        assert f"runs a command outside the workspace, at {ELSEWHERE!r}" in asked.why
    assert decide(runs(command, ELSEWHERE), Policy("yolo", patterns)) == Allow()


@pytest.mark.parametrize(
    ("way", "line_outside"),
    [("", False), ("cd src && ", False), (f"cd {ELSEWHERE} && ", True), ("cd .. && ", True), ("cd src/../.. ; ", True)],
)
@pytest.mark.parametrize("outside", [None, ELSEWHERE])
def test_what_is_remembered_counts_in_the_workspace_and_what_a_rule_allows_where_the_rules_let_it_go(
    way: str, *, line_outside: bool, outside: str | None
) -> None:
    plan = runs(f"{way}make test", outside)
    for mode, by_pattern, make, cd in product(ASKING, (False, True), (False, True), (False, True)):
        policy = Policy(
            mode,
            REMEMBERED if by_pattern else (),
            allowing(*["Bash(make *)"] * make, *["Bash(cd *)"] * cd),
        )
        goes = cd or not line_outside
        may = outside is None and goes and (make or (by_pattern and not line_outside))
        assert isinstance(decide(plan, policy, tool="bash"), Allow if may else Ask), policy
        denied = decide(plan, Policy("plan", policy.patterns, policy.rules), tool="bash")
        assert isinstance(denied, Deny), "plan mode only reads, whatever is allowed"


def test_a_remembered_command_is_named_where_it_does_not_count() -> None:
    decision = decide(runs(f"cd {ELSEWHERE} && make test"), Policy("ask", REMEMBERED, allowing("Bash(cd *)")))
    assert decision == Ask("The call 'run' runs a command: 'make' is not known to only read.")


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_variable_that_a_program_gets_is_asked_about_whatever_its_case(variable: str, program: str) -> None:
    for name, before, mode in product((variable, variable.upper()), ("", "cd src; ", "ls | "), ASKING):
        asked = decide(runs(f"{before}{name}=a:1 {program}"), Policy(mode, REMEMBERED))
        assert isinstance(asked, Ask)
        assert f"it sets the variable {name}, which may change what programs do" in asked.why
        assert isinstance(decide(runs(f"{before}{name}=a:1 {program}"), Policy("plan", REMEMBERED)), Deny)


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_lower_case_variable_of_the_shell_alone_is_free_and_another_is_not(variable: str) -> None:
    """The shell hands a variable that was exported before to its programs: one that names a proxy is not its own."""
    alone = decide(runs(f"{variable}=1; ls"), Policy("ask"))
    assert isinstance(alone, Ask) if variable in PROXIES else alone == Allow()
    assert isinstance(decide(runs(f"{variable.upper()}=1; ls"), Policy("ask")), Ask)
