"""Rules against calls: a denial is not hidden by quotes, starters or company, and an allowance does not spread."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.tool_calls import FileChange, Mode
from holdfast.tools.approval.command_analysis import command_parts
from holdfast.tools.approval.decision import Allow, Ask, Decision, Deny, Policy, decide, read_filter
from holdfast.tools.permission_rules.permission_rule import PermissionRule, RuleVerdict, permission_rule
from holdfast.tools.permission_rules.rule_set import RuleSet
from holdfast.tools.tool import Plan, ToolContext, ToolOutput

MODES: tuple[Mode, ...] = ("ask", "accept-edits", "plan", "yolo")


async def _never(_: ToolContext) -> ToolOutput:
    raise AssertionError("deciding must not run")


def runs(command: str) -> Plan:
    line = command_parts(command, root="/srv/work")
    return Plan(effect="execute", title="run", run=_never, command=command, line=line)


def writes(path: str, *, known_as: str = "") -> Plan:
    change = FileChange(path=path, before=None, after="0" * 64)
    outside = path if path.startswith("/") else None
    return Plan(effect="write", title="edit", run=_never, changes=(change,), known_as=known_as, outside=outside)


def reads(*paths: str) -> Plan:
    outside = next((path for path in paths if not path.startswith("/srv/work/")), None)
    return Plan(effect="read", title="read", run=_never, reads=paths, outside=outside)


def fetches(host: str) -> Plan:
    return Plan(effect="read", title="fetch", run=_never, host=host)


def rules(**texts: str | tuple[str, ...]) -> RuleSet:
    """Return rules by their verdict: `rules(deny="Bash", allow=("Read", "Edit"))`."""
    created: list[PermissionRule] = []
    verdicts: tuple[RuleVerdict, ...] = ("deny", "ask", "allow")
    for verdict in verdicts:
        written = texts.get(verdict, ())
        created += [
            permission_rule(text, verdict, source="the config", base="/settings")
            for text in ((written,) if isinstance(written, str) else written)
        ]
    return RuleSet(rules=tuple(created), root="/srv/work", home="/srv/me")


def decided(plan: Plan, these: RuleSet, mode: Mode = "ask", *, tool: str = "bash") -> Decision:
    return decide(plan, Policy(mode, rules=these), tool=tool)


@pytest.mark.parametrize("mode", MODES)
def test_deny_wins_over_ask_over_allow_and_binds_in_every_mode(mode: Mode) -> None:
    every = rules(deny="Bash(git push *)", ask="Bash(git *)", allow="Bash(git push origin)")
    denied = decided(runs("git push origin"), every, mode)
    assert isinstance(denied, Deny)
    assert "Rule `Bash(git push *)` (the config) denies 'run'. It was not run." in denied.why
    decision = decided(runs("git status"), every, mode)
    assert isinstance(decision, Allow if mode == "yolo" else Ask)
    if isinstance(decision, Ask):
        assert "by the rule `Bash(git *)` (the config)" in decision.why


@pytest.mark.parametrize(
    "command",
    [
        "rm -r build",
        "rm",
        "ls && rm -r build",
        "rm -r build | cat",
        "'rm' -r build",
        '"r"m -r build',
        "r\\m -r build",
        "/bin/rm -r build",
        "A=b rm -r build",
        "env A=b rm -r build",
        "sudo -n rm -r build",
        "nohup nice -n 5 rm -r build &",
        "timeout 5 rm -r build",
        "ls | xargs rm",
        "find . -name x -exec rm {} ;",
        "bash -c 'rm -r build'",
        "bash -lc 'ls; rm -r build'",
        "sh -c \"bash -c 'rm -r build'\"",
        "sudo bash -c 'rm -r build'",
        "echo $(rm -r build)",
        'echo "$(rm -r build)"',
        "(cd a; rm -r build)",
        "if true; then rm -r build; fi",
        "cat <(rm -r build)",
        "rm -r build > out.txt",
        "eval 'rm -r build'",
        "command rm -r build",
        "f() { rm -r build; }; f",
    ],
)
def test_a_denied_command_is_found_in_company_behind_starters_and_in_scripts(command: str) -> None:
    for mode in MODES:
        assert isinstance(decided(runs(command), rules(deny="Bash(rm *)"), mode), Deny), command
    assert isinstance(decided(runs(command), rules(ask="Bash(rm:*)", allow="Bash")), Ask)


@pytest.mark.parametrize("command", ["echo rm -r build", "git rm x", "ls rm", "grep -r 'rm -r' src", "rmdir x"])
def test_what_only_looks_like_a_denied_command_is_not_one(command: str) -> None:
    assert not isinstance(decided(runs(command), rules(deny="Bash(rm *)")), Deny)


safe = st.sampled_from(["make test", "npm run build", "git commit -m x", "docker compose up"])
other = st.sampled_from(["rm -r x", "curl -o x example.org", "python x.py", "./run.sh", "git push"])
join = st.sampled_from([" && ", " || ", "; ", " | ", "\n", " & "])


@given(commands=st.lists(st.tuples(join, st.one_of(safe, other)), min_size=1, max_size=4))
@example(commands=[("; ", "make test"), (" | ", "rm -r x")])
def test_an_allowance_does_not_spread_to_other_commands_of_the_line(commands: list[tuple[str, str]]) -> None:
    line = "".join(between * bool(at) + text for at, (between, text) in enumerate(commands))
    allowed = rules(allow=("Bash(make test *)", "Bash(npm run *)", "Bash(git commit:*)", "Bash(docker compose up)"))
    every = all(text in ("make test", "npm run build", "git commit -m x", "docker compose up") for _, text in commands)
    assert isinstance(decided(runs(line), allowed), Allow if every else Ask), line
    assert isinstance(decided(runs(line), allowed, "plan"), Deny)
    assert isinstance(decided(runs(line), rules(allow="Bash")), Allow)


@pytest.mark.parametrize(
    ("command", "rule", "decision"),
    [
        ("npm test > out.txt", "Bash(npm test)", Ask),
        ("npm test > /dev/null 2>&1", "Bash(npm test)", Allow),
        ("npm test > out.txt", ("Bash(npm test)", "Edit(out.txt)"), Allow),
        ("npm test > /tmp/out.txt", ("Bash(npm test)", "Edit(//tmp/**)"), Allow),
        ("npm test | tee out.txt", ("Bash(npm test)", "Edit(out.txt)"), Allow),
        ("npm test > .git/hooks/pre-commit", ("Bash(npm test)", "Edit"), Ask),
        ("A=b npm test", "Bash(npm test)", Ask),
        ("A=b npm test", "Bash(A=b npm test)", Allow),
        ("env npm test", "Bash(npm test)", Ask),
        ("bash -c 'npm test'", "Bash(npm test)", Ask),
        ("'npm' test", "Bash(npm test)", Allow),
        ("npm 'te st'", "Bash(npm te st)", Ask),
        ("npm test $(curl example.org)", "Bash(npm test *)", Ask),
        ("npm test $(ls)", "Bash(npm test *)", Allow),
        ("cat /etc/hosts", "Bash(cat *)", Allow),
        ("git push --force", "Bash(git *)", Allow),
        ("f() { ls; }; f", "Bash(f)", Ask),
    ],
)
def test_an_allow_rule_means_the_command_as_it_is_written(
    command: str, rule: str | tuple[str, ...], decision: type
) -> None:
    assert isinstance(decided(runs(command), rules(allow=rule)), decision)


def test_rules_about_files() -> None:
    these = rules(
        deny=("Read(.env)", "Edit(/locked/**)"), ask="Read(~/**)", allow=("Read(//etc/hosts)", "Edit(src/**)")
    )
    assert isinstance(decided(reads("/srv/work/a/.env"), these, "yolo", tool="read"), Deny)
    assert isinstance(decided(reads("/srv/work/a/b"), these, tool="read"), Allow)
    assert isinstance(decided(reads("/etc/hosts"), these, tool="read"), Allow)
    assert isinstance(decided(reads("/etc/hosts", "/etc/passwd"), these, tool="read"), Ask)
    assert isinstance(decided(reads("/srv/me/x"), these, tool="grep"), Ask)
    assert isinstance(decided(writes("src/a.py"), these, tool="edit"), Allow)
    assert isinstance(decided(writes("src/a.py"), these, "plan", tool="edit"), Deny)
    assert isinstance(decided(writes("lib/a.py"), these, tool="edit"), Ask)
    assert isinstance(decided(writes("/settings/locked/a"), these, "yolo", tool="write"), Deny)
    assert isinstance(decided(writes("src/.git/hooks/x"), these, tool="edit"), Ask)
    assert isinstance(decided(writes("src/a", known_as=".envrc"), these, tool="edit"), Ask)
    assert isinstance(decided(writes("src/a", known_as="lib/a"), these, tool="edit"), Ask), "both names must be allowed"
    for command in ("cat a/.env", "head -3 < .env", "cd a && cat .env"):
        assert isinstance(decided(runs(command), these, "yolo"), Deny), command
    assert isinstance(decided(runs("echo x > /settings/locked/a"), these, "yolo"), Deny)


def test_rules_about_hosts() -> None:
    these = rules(deny="WebFetch(domain:*.evil.org)", allow=("WebFetch(domain:docs.python.org)",))
    assert isinstance(decided(fetches("docs.python.org"), these, "plan", tool="fetch"), Allow)
    assert isinstance(decided(fetches("python.org"), these, tool="fetch"), Ask)
    assert isinstance(decided(fetches("x.docs.python.org"), these, tool="fetch"), Ask)
    assert isinstance(decided(fetches("a.b.evil.org"), these, "yolo", tool="fetch"), Deny)
    assert isinstance(decided(fetches("evil.org"), these, tool="fetch"), Ask)
    assert isinstance(decided(fetches("anything"), rules(allow="WebFetch"), tool="fetch"), Allow)


def test_rules_about_tools_by_name() -> None:
    plan = Plan(effect="read", title="todo", run=_never)
    assert isinstance(decided(plan, rules(deny="TodoWrite"), "yolo", tool="todo"), Deny)
    assert isinstance(decided(plan, rules(ask="todo"), tool="todo"), Ask)
    assert isinstance(decided(plan, rules(deny="todo"), tool="read"), Allow)
    acts = Plan(effect="execute", title="act", run=_never)
    assert isinstance(decided(acts, rules(allow="mcp__db"), tool="mcp__db__query"), Allow)
    assert isinstance(decided(acts, rules(allow="mcp__db"), "plan", tool="mcp__db__query"), Deny)
    assert isinstance(decided(acts, rules(allow="mcp__d"), tool="mcp__db__query"), Ask)
    for mode in MODES:
        assert isinstance(decided(writes("a"), rules(deny="Edit"), mode, tool="write"), Deny)
        assert isinstance(decided(writes("a"), rules(deny="Write"), mode, tool="write"), Deny)
        assert isinstance(decided(runs("ls"), rules(deny="Bash"), mode), Deny)
    assert not isinstance(decided(writes("a"), rules(deny="Write"), tool="edit"), Deny)


@pytest.mark.parametrize("mode", MODES)
def test_below_the_folder_of_a_search_nothing_denied_is_shown(mode: Mode) -> None:
    these = rules(deny=("Read(*.env)", "Bash"), ask="Read(src/**)", allow="Read")
    may_read = read_filter(reads("/srv/work"), Policy(mode, rules=these), tool="grep")
    assert [may_read(f"/srv/work/{path}") for path in ("a.py", "deep/x.env", "DEEP/X.ENV", "src/a.py")] == [
        "all",
        "nothing",
        "nothing",
        "all" if mode == "yolo" else "nothing",
    ]
    answered = read_filter(reads("/srv/work/src/below"), Policy(mode, rules=these), tool="grep")
    assert [answered(f"/srv/work/src/below/{path}") for path in ("a.py", "x.env")] == ["all", "nothing"]


@pytest.mark.parametrize("mode", MODES)
def test_a_search_shows_the_names_of_files_with_secrets_and_no_more(mode: Mode) -> None:
    secret, plain = "/srv/work/deploy/id_rsa", "/srv/work/deploy/id_rsa.pub"
    search = read_filter(reads("/srv/work"), Policy(mode), tool="grep")
    assert [search(secret), search(plain)] == ["all" if mode == "yolo" else "name", "all"]
    allowed = read_filter(reads("/srv/work"), Policy(mode, rules=rules(allow="Read(deploy/*)")), tool="grep")
    assert allowed(secret) == "all"
    named = read_filter(reads(secret), Policy(mode), tool="grep")
    assert named(secret) == "all"  # the call itself named it, so the user was asked


@given(
    path=st.sampled_from(["/srv/work/a", "/srv/work/src/a.env", "/srv/work/.env", "/etc/x"]),
    mode=st.sampled_from(MODES),
)
def test_what_a_search_may_show_is_what_read_may_open(path: str, mode: Mode) -> None:
    these = rules(deny=("Read(.env)", "Read(//etc/**)"), ask="Read(src/*.env)")
    may_read = read_filter(reads("/srv/work"), Policy(mode, rules=these), tool="grep")
    opened = decided(reads(path), these, mode, tool="read")
    ruled = isinstance(opened, Deny) or (isinstance(opened, Ask) and "by the rule" in opened.why)
    assert (may_read(path) == "nothing") == ruled
