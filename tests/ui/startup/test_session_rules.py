"""Which rules a session has: from where, in which order, and what of a project counts before it is trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from holdfast.config.settings import Config, PermissionLists, PermissionSettings
from holdfast.errors import ConfigInvalid, UsageError
from holdfast.tools.approval.decision import Allow, Ask, Deny, Policy, decide
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from holdfast.ui.startup.arguments import Arguments, parser
from holdfast.ui.startup.project_trust import ask_about_claude, judge_project
from holdfast.ui.startup.run_options import run_options
from holdfast.ui.startup.session_rules import project_of, session_rules


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "me").mkdir()
    return {"HOLDFAST_HOME": str(tmp_path / "home"), "HOME": str(tmp_path / "me")}


def claude(folder: Path, name: str = "settings.json", **lists: list[str]) -> Path:
    path = folder / ".claude" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"permissions": lists}))
    return path


def options(*words: str) -> Arguments:
    return parser().parse_args(words, namespace=Arguments())


def texts(environ: Mapping[str, str], cwd: Path, *words: str, config: Config | None = None) -> list[tuple[str, str]]:
    found = session_rules(environ, cwd, config=config or Config(), arguments=options(*words))
    return [(rule.verdict, rule.text) for rule in found.rules]


def test_every_source_counts(tmp_path: Path, environ: dict[str, str]) -> None:
    claude(tmp_path, deny=["Bash(a)"])
    claude(tmp_path, "settings.local.json", ask=["Bash(b)"])
    claude(tmp_path / "me", allow=["Bash(c)"])
    (tmp_path / ".holdfast").mkdir()
    (tmp_path / ".holdfast" / "config.toml").write_text('[permissions]\ndeny = ["Bash(d)"]\nallow = ["Bash(e)"]\n')
    config = Config(permissions=PermissionSettings(allow=("Bash(f)",), ask=("Bash(g)",), deny=("Bash(h)",)))
    assert texts(environ, tmp_path, "--allow", "Bash(i)", "--deny", "Bash(j)", "--deny", "Read", config=config) == [
        ("deny", "Bash(j)"),
        ("deny", "Read"),
        ("allow", "Bash(i)"),
        ("deny", "Bash(h)"),
        ("ask", "Bash(g)"),
        ("allow", "Bash(f)"),
        ("deny", "Bash(d)"),
        ("deny", "Bash(a)"),
        ("ask", "Bash(b)"),
        ("allow", "Bash(c)"),
    ], "what the project allows is missing: nobody trusts it yet"
    judge_project(environ, tmp_path, trusted=True)
    assert ("allow", "Bash(e)") in texts(environ, tmp_path)
    without = Config(permissions=PermissionSettings(claude_settings=False))
    assert texts(environ, tmp_path, config=without) == [("deny", "Bash(d)"), ("allow", "Bash(e)")]


def test_what_a_project_allows_waits_for_trust_in_exactly_these_bytes(tmp_path: Path, environ: dict[str, str]) -> None:
    questions: list[tuple[Path, msgspec.Struct]] = []
    notices: list[str] = []

    def yes(path: Path, settings: msgspec.Struct) -> bool:
        questions.append((path, settings))
        return True

    path = claude(tmp_path, allow=["Bash(make *)"], deny=["Bash(rm *)"])
    assert texts(environ, tmp_path) == [("deny", "Bash(rm *)")]
    ask_about_claude(environ, tmp_path, ask=None, notify=notices.append)
    assert len(notices) == 1
    assert notices[0].startswith("Ignoring the allow rules of untrusted settings ")
    for _ in range(2):
        ask_about_claude(environ, tmp_path, ask=yes, notify=notices.append)
    assert questions == [(path, PermissionLists(allow=("Bash(make *)",)))], "asked once"
    assert texts(environ, tmp_path) == [("deny", "Bash(rm *)"), ("allow", "Bash(make *)")]
    claude(tmp_path, allow=["Bash(make *)", "Bash(curl *)"])
    assert texts(environ, tmp_path) == []
    claude(tmp_path, ask=["Bash(make *)"])
    ask_about_claude(environ, tmp_path, ask=yes, notify=notices.append)
    assert len(questions) == 1, "what allows nothing is not asked about"
    assert len(notices) == 1


def test_trust_in_the_config_of_before_stays(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / ".holdfast").mkdir()
    (tmp_path / ".holdfast" / "config.toml").write_text('[allow]\nrun = ["make"]\n')
    judge_project(environ, tmp_path, trusted=True)
    claude(tmp_path, allow=["Bash(curl *)"])
    project = project_of(environ, tmp_path, config=Config(), arguments=Arguments())
    assert [each.text for each in project.patterns] == ["make"]
    assert project.rules.rules == ()


@pytest.mark.parametrize("rule", ["Bash(", "Skill(x)", "NoSuchTool"])
def test_an_option_that_matches_nothing_is_an_error(tmp_path: Path, environ: dict[str, str], rule: str) -> None:
    for option in ("--allow", "--deny"):
        with pytest.raises(UsageError, match=r"(?:Correct|Fix) or remove it\."):
            run_options(options(option, rule), environ, user_config=Config(), cwd=tmp_path)


def test_a_rule_of_the_own_config_that_is_none_is_an_error(tmp_path: Path, environ: dict[str, str]) -> None:
    config = Config(permissions=PermissionSettings(deny=("Bash(rm *",)))
    with pytest.raises(ConfigInvalid, match=r"Rule .Bash\(rm \*. in .* cannot be used"):
        run_options(Arguments(), environ, user_config=config, cwd=tmp_path)


def test_a_rule_of_a_project_that_is_none_is_reported_and_the_others_count(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    claude(tmp_path, deny=["Bash(rm *", "Bash(curl *)"])
    options = run_options(Arguments(), environ, user_config=Config(), cwd=tmp_path)
    (notice,) = options.notices
    assert notice.startswith("Rule 'Bash(rm *' in ")
    project = options.project_of(tmp_path)
    assert [rule.text for rule in project.rules.rules] == ["Bash(curl *)"]


def test_paths_count_from_the_folder_of_their_settings(tmp_path: Path, environ: dict[str, str]) -> None:
    async def never(_: ToolContext) -> ToolOutput:
        raise AssertionError

    (tmp_path / ".git").mkdir()
    inner = tmp_path / "inner"
    inner.mkdir()
    claude(tmp_path, deny=["Read(/notes)", "Read(~/mine)"], ask=["Read(here)"])
    project = project_of(environ, inner, config=Config(), arguments=Arguments())

    def decided(path: Path) -> type:
        plan = Plan(effect="read", title="read it", run=never, reads=(str(path),))
        return type(decide(plan, Policy("ask", rules=project.rules), tool="read"))

    assert decided(tmp_path / "notes") is Deny
    assert decided(tmp_path / "me" / "mine") is Deny
    assert decided(inner / "a" / "here") is Ask
    assert decided(inner / "notes") is Allow
