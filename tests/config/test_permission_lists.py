"""Rules in settings files: what is read of Claude Code's, from where, and what is said of the rest."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from holdfast.config.permission_lists import FoundRules, claude_project, found_rules, user_claude_rules
from holdfast.config.settings import PermissionLists
from holdfast.errors import ConfigInvalid


def written(folder: Path, permissions: object, name: str = "settings.json") -> Path:
    path = folder / ".claude" / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(json.dumps({"permissions": permissions, "hooks": {"Stop": []}, "model": "opus"}))
    return path


def texts(found: FoundRules) -> list[tuple[str, str]]:
    return [(rule.verdict, rule.text) for rule in found.rules]


def test_each_list_of_both_files_is_read_and_nothing_else(tmp_path: Path) -> None:
    one = written(
        tmp_path,
        {
            "allow": ["Bash(npm test)"],
            "deny": ["Read(.env)", 7, "Bash("],
            "defaultMode": "bypassPermissions",
            "additionalDirectories": ["/"],
        },
    )
    two = written(tmp_path, {"ask": ["Bash(git push *)"]}, "settings.local.json")
    project = claude_project(tmp_path, None)
    assert project is not None
    found = project.found
    assert texts(found) == [("deny", "Read(.env)"), ("allow", "Bash(npm test)"), ("ask", "Bash(git push *)")]
    assert {rule.source for rule in found.rules} == {str(one), str(two)}
    assert {rule.base for rule in found.rules} == {str(tmp_path)}
    assert len(found.faults) == 2, "what is no rule is said"
    assert all(str(one) in fault for fault in found.faults)
    assert texts(found.unless_allowing) == [("deny", "Read(.env)"), ("ask", "Bash(git push *)")]


def test_the_nearest_up_to_the_root_of_the_repository_counts_and_not_the_home(tmp_path: Path) -> None:
    written(tmp_path, {"deny": ["Bash"]})
    inner = tmp_path / "repository" / "a"
    inner.mkdir(parents=True)
    assert claude_project(inner, None) is None
    (tmp_path / "repository" / ".git").mkdir()
    written(tmp_path / "repository", {"deny": ["Read"]})
    found = claude_project(inner, None)
    assert found is not None
    assert found.root == tmp_path / "repository"
    assert claude_project(tmp_path, tmp_path) is None
    assert texts(user_claude_rules(tmp_path)) == [("deny", "Bash")]
    assert user_claude_rules(tmp_path / "repository" / "a") == user_claude_rules(None) == FoundRules()


def test_any_byte_of_either_file_is_another_digest(tmp_path: Path) -> None:
    digests: set[str] = set()
    for allow, local in (["a"], []), (["b"], []), (["a"], ["b"]), ([], ["a"]):
        written(tmp_path, {"allow": allow})
        written(tmp_path, {"allow": local}, "settings.local.json")
        project = claude_project(tmp_path, None)
        assert project is not None
        digests.add(project.digest)
    assert len(digests) == 4


@pytest.mark.parametrize("content", ["{", "[]", '{"permissions": []}', '{"permissions": {"allow": "Bash"}}', "\ud800"])
def test_what_cannot_be_read_is_said_and_allows_nothing(tmp_path: Path, content: str) -> None:
    path = written(tmp_path, {})
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    for found in (user_claude_rules(tmp_path), getattr(claude_project(tmp_path, None), "found", None)):
        assert found is not None
        assert found.rules == ()
        assert len(found.faults) == 1
        assert "Its rules are not used." in found.faults[0]


def test_a_file_that_is_none_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    os.mkfifo(tmp_path / ".claude" / "settings.json")
    with pytest.raises(ConfigInvalid, match="not a regular file"):
        claude_project(tmp_path, None)
    assert "not a regular file" in user_claude_rules(tmp_path).faults[0]


def test_settings_without_permissions_have_no_rules(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text('{"model": "opus"}')
    project = claude_project(tmp_path, None)
    assert project is not None
    assert project.found == FoundRules()


def test_deny_comes_before_ask_before_allow() -> None:
    lists = PermissionLists(allow=("Bash",), ask=("Read",), deny=("Edit",))
    found = found_rules(lists, source="s", base=Path("/p"))
    assert [rule.verdict for rule in found.rules] == ["deny", "ask", "allow"]
