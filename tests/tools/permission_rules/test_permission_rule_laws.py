"""The syntax of rules, as Claude Code documents it: what is a rule, and which text, path or tool it means."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.errors import ConfigInvalid
from holdfast.tool_calls import Pattern
from holdfast.tools.permission_rules.command_pattern import command_matches
from holdfast.tools.permission_rules.path_pattern import path_fault, path_matches
from holdfast.tools.permission_rules.permission_rule import (
    LONGEST_RULE,
    names_tool,
    permission_rule,
    rule_for,
    unmatched,
)

TOOLS = {"bash", "read", "edit", "write", "grep", "glob", "fetch", "todo"}


@given(text=st.text(max_size=60))
@example(text="Bash(a)(b)")
@example(text="Bash(\n)")
@example(text="Read(\\")
@example(text="Read([)")
@example(text="Edit(" + "*a" * 900 + ")")
def test_whatever_is_written_is_a_rule_or_an_error_that_names_it(text: str) -> None:
    message = ""
    try:
        rule = permission_rule(text, "deny", source="the config", base="/p")
        assert rule.text == text.strip()
        assert rule.tool == rule.tool.lower()
    except ConfigInvalid as error:
        message = str(error)
    assert not message or re.fullmatch(
        r"Rule .* in the config cannot be used: .* Fix or remove it\.", message, re.DOTALL
    )


@pytest.mark.parametrize(
    ("text", "subject", "tool", "specifier"),
    [
        ("Bash", "command", "bash", ""),
        ("bash", "command", "bash", ""),
        ("BASH(*)", "command", "bash", ""),
        ("Bash(git commit *)", "command", "bash", "git commit *"),
        ("bash( npm run test:* )", "command", "bash", "npm run test:*"),
        ("Bash(echo (a) b)", "command", "bash", "echo (a) b"),
        ("Read(~/.zshrc)", "read", "read", "~/.zshrc"),
        ("Edit(src/**)", "edit", "edit", "src/**"),
        ("Write(docs/*.md)", "edit", "write", "docs/*.md"),
        ("MultiEdit", "edit", "multiedit", ""),
        ("WebFetch(domain:example.com)", "host", "fetch", "domain:example.com"),
        ("WebFetch(domain:*.example.com)", "host", "fetch", "domain:*.example.com"),
        ("WebSearch", "tool", "search", ""),
        ("TodoWrite", "tool", "todo", ""),
        ("mcp__github", "tool", "mcp__github", ""),
        ("mcp__github__create-issue", "tool", "mcp__github__create-issue", ""),
        ("Skill(deploy *)", "tool", "skill", "deploy *"),
    ],
)
def test_what_a_rule_is_about(text: str, subject: str, tool: str, specifier: str) -> None:
    rule = permission_rule(text, "allow", source="s")
    assert (rule.subject, rule.tool, rule.specifier) == (subject, tool, specifier)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is not TOOL or TOOL(SPECIFIER)"),
        ("Bash(", "it is not TOOL or TOOL(SPECIFIER)"),
        ("git commit *", "it is not TOOL or TOOL(SPECIFIER)"),
        ("Bash(a\nb)", "it is not TOOL or TOOL(SPECIFIER)"),
        ("Bash(" + "a" * LONGEST_RULE + ")", "it is not TOOL or TOOL(SPECIFIER)"),
        ("Bash()", "for every call write 'Bash'"),
        ("Read(!secret)", "a path with '!'"),
        ("Edit(../x)", "its path has '..'"),
        ("Read(a[)", "no pattern of .gitignore"),
        ("WebFetch(https://example.com)", "it names no host"),
        ("WebFetch(domain:example.com/x)", "it names no host"),
        ("WebFetch(domain:)", "it names no host"),
    ],
)
def test_what_is_no_rule(text: str, why: str) -> None:
    with pytest.raises(ConfigInvalid, match=re.escape(why)):
        permission_rule(text, "deny", source="s")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Bash(npm *)", ""),
        ("Grep", ""),
        ("Todo", ""),
        ("NotebookRead", "holdfast has no tool 'notebookread'"),
        ("Grep(src/**)", "only Bash, Read, Edit, Write and WebFetch take a specifier"),
        ("Skill(deploy)", "only Bash, Read, Edit, Write and WebFetch take a specifier"),
        ("mcp__github", ""),
    ],
)
def test_a_rule_that_matches_no_tool_says_why(text: str, why: str) -> None:
    assert unmatched(permission_rule(text, "deny", source="s"), TOOLS).startswith(why)
    assert bool(unmatched(permission_rule(text, "deny", source="s"), TOOLS)) == bool(why)


@pytest.mark.parametrize(
    ("pattern", "rule"),
    [
        (Pattern(effect="execute", text="npm test *"), "Bash(npm test *)"),
        (Pattern(effect="execute", text="git commit -m 'a * b'"), "Bash(git commit -m 'a \\* b')"),
        (Pattern(effect="write", text="src/**"), "Edit(./src/**)"),
        (Pattern(effect="read", text="docs.python.org"), "WebFetch(domain:docs.python.org)"),
    ],
)
def test_a_pattern_is_a_rule_of_the_command_line(pattern: Pattern, rule: str) -> None:
    assert rule_for(pattern) == rule
    assert permission_rule(rule, "allow", source="--allow").text == rule


@pytest.mark.parametrize(
    ("rule", "tool", "named"),
    [
        ("mcp__github", "mcp__github__list", True),
        ("mcp__github__*", "mcp__github__list", True),
        ("mcp__github__list", "mcp__github__list", True),
        ("mcp__github__list", "mcp__github__list_all", False),
        ("mcp__git", "mcp__github__list", False),
        ("Todo", "todo", True),
        ("todo", "bash", False),
        ("Skill(x)", "skill", False),
    ],
)
def test_which_tool_a_name_is(rule: str, tool: str, *, named: bool) -> None:
    assert names_tool(permission_rule(rule, "deny", source="s"), tool) == named


@pytest.mark.parametrize(
    ("specifier", "text", "matches"),
    [
        ("npm run build", "npm run build", True),
        ("npm run build", "npm run build --watch", False),
        ("npm run test:*", "npm run test", True),
        ("npm run test:*", "npm run test --watch", True),
        ("npm run test:*", "npm run test:unit", False),
        ("npm run test *", "npm run test", True),
        ("npm run test *", "npm run tests", False),
        ("npm run *", "npm run x", True),
        ("ls *", "ls -la", True),
        ("ls *", "lsof", False),
        ("ls*", "lsof", True),
        ("* --version", "node --version", True),
        ("* --version", "--version", False),
        ("git * main", "git push origin main", True),
        ("git * main", "git main", False),
        ("git * main *", "git push main", False),
        ("git * main *", "git push main x", True),
        ("echo \\*", "echo *", True),
        ("echo \\*", "echo a", False),
        ("a.c", "abc", False),
        ("a **", "a b", True),
        ("x * *", "x", False),
    ],
)
def test_which_command_a_text_means(specifier: str, text: str, *, matches: bool) -> None:
    assert command_matches(specifier, text) == matches


@given(
    pieces=st.lists(st.text("ab ", max_size=3), min_size=2, max_size=4), between=st.lists(st.text("ab x"), max_size=4)
)
def test_a_star_stands_for_anything(pieces: list[str], between: list[str]) -> None:
    text = pieces[0] + "".join(
        (between[at] if at < len(between) else "") + piece for at, piece in enumerate(pieces[1:])
    )
    assert command_matches("*".join(pieces), text)


def test_no_text_makes_a_match_slow() -> None:
    assert not command_matches("*a" * 30 + "b", "a" * 50_000)


@pytest.mark.parametrize(
    ("specifier", "path", "means"),
    [
        ("//etc/hosts", "/etc/hosts", True),
        ("//etc/**", "/etc/ssl/certs", True),
        ("//etc/**", "/etc", True),
        ("//etc/**", "/srv/work/etc/hosts", False),
        ("~/.zshrc", "/srv/me/.zshrc", True),
        ("~/.zshrc", "/srv/you/.zshrc", False),
        ("~/Documents/*.pdf", "/srv/me/Documents/a.pdf", True),
        ("~/Documents/*.pdf", "/srv/me/Documents/x/a.pdf", False),
        ("~/**", "/srv/me/.ssh/id", True),
        ("~", "/srv/me/.ssh/id", True),
        ("/src/**", "/settings/src/a.ts", True),
        ("/src/**", "/srv/work/src/a.ts", False),
        ("/src/*.ts", "/settings/src/x/a.ts", False),
        ("src/**", "/srv/work/src/x/a.ts", True),
        ("src/**", "/srv/work/lib/src/a.ts", False),
        ("./src/**", "/srv/work/src/a.ts", True),
        (".", "/srv/work/src/a.ts", True),
        ("**", "/srv/work", True),
        ("src", "/srv/work/src/a.ts", True),
        ("src", "/srv/work/lib/src/a.ts", True),
        ("*.env", "/srv/work/a/b.env", True),
        (".env", "/srv/work/a/.env", True),
        (".env", "/srv/work/a/.envrc", False),
        ("**/secrets/**", "/srv/work/a/secrets/b/c", True),
        ("*.env", "/elsewhere/b.env", False),
        ("#notes", "/srv/work/#notes", True),
        ("src/**", "/srv/work/src/../lib/a", False),
        ("src/**", "/srv/work/lib/../src/a", True),
    ],
)
def test_which_path_a_pattern_means(specifier: str, path: str, *, means: bool) -> None:
    assert path_fault(specifier) == ""
    assert path_matches(specifier, path, root="/srv/work", home="/srv/me", base="/settings") == means


@given(names=st.lists(st.from_regex(r"[a-z0-9_]{1,5}", fullmatch=True), min_size=1, max_size=4))
def test_a_folder_means_all_that_is_in_it_and_nothing_beside_it(names: list[str]) -> None:
    path = "/".join(names)
    for specifier in (f"./{path}", f"./{path}/**", f"//srv/work/{path}"):
        assert path_matches(specifier, f"/srv/work/{path}/x/y", root="/srv/work", home="/h", base="/b")
        assert not path_matches(specifier, f"/srv/work/{path}x/y", root="/srv/work", home="/h", base="/b")
        assert not path_matches(specifier, f"/srv/other/{path}/x", root="/srv/work", home="/h", base="/b")
