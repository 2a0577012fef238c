"""`holdfast config set`, `unset` and `path`: as the user runs them, on the user's file and on the project's."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from holdfast.config.project_config import CONFIG_PATH
from holdfast.ui.main import main
from holdfast.ui.settings.setting_catalog import COMMON, form, setting_path


def run(home: Path, *arguments: str) -> int:
    return main(["config", *arguments], {"HOLDFAST_HOME": str(home)})


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")


MINE = '# mine\nmodel = "openai:gpt-5.5"  # for now\n\n[limits]\nmax_steps = 9 # few\n'


def test_a_setting_is_changed_in_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.toml"
    path.write_text(MINE)
    assert run(tmp_path, "set", "limits.max_steps", "50") == 0
    assert run(tmp_path, "set", "theme", "nord") == 0
    assert run(tmp_path, "set", "permissions.allow", '["Bash(ls:*)"]') == 0
    assert run(tmp_path, "set", "mouse", "false") == 0
    assert run(tmp_path, "unset", "mouse") == 0
    assert path.read_text() == (
        '# mine\nmodel = "openai:gpt-5.5"  # for now\ntheme = "nord"\n\n[limits]\nmax_steps = 50 # few\n\n'
        '[permissions]\nallow = ["Bash(ls:*)"]\n'
    )
    assert f"limits.max_steps = 50 in {path}" in capsys.readouterr().out
    assert run(tmp_path) == 0
    assert "50" in capsys.readouterr().out


def test_a_key_is_checked_with_the_others_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "set", "keys.new-line", '["ctrl+n", "enter"]') == 2
    assert "enter is the only key of send" in capsys.readouterr().err
    assert run(tmp_path, "set", "keys.send", "ctrl+s") == 0
    assert run(tmp_path, "set", "keys.new-line", '["ctrl+n", "enter"]') == 0
    assert run(tmp_path, "set", "keys.history", "ctrl+s") == 2
    assert "ctrl+s is the key of send too" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("limits.max_steps", "abc", "expected a whole number, at least 1"),
        ("limits.max_steps", "0", "expected a whole number, at least 1"),
        ("limits.max_steps", "9" * 5_000, "expected a whole number, at least 1"),
        ("limits.timeout", "[" * 5_000, "expected a number"),
        ("wake", "9" * 5_000, "expected true or false"),
        ("limits.max_cost", "-1", "expected a number, greater than 0"),
        ("context.compact_at", "2", "expected a number, greater than 0 and at most 1"),
        ("permission_mode", "never", "expected one of accept-edits, ask, plan, yolo"),
        ("mouse", "yes", "expected true or false"),
        ("permissions.deny", "rm", "expected a list of texts"),
        ("limits.maxsteps", "3", "Did you mean limits.max_steps?"),
        ("limits", "3", "Unknown setting 'limits'"),
        ("no such", "3", "is not the name of a setting"),
        ("model", "nobody:x", "Unknown provider 'nobody'"),
        ("fallback_model", "openai:gpt-5.5", "expected another model"),
        ("providers.mine.kind", "mistral", "missing required field `base_url`"),
    ],
)
def test_what_a_setting_cannot_be_is_said_and_nothing_changes(
    tmp_path: Path, name: str, value: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(MINE)
    assert run(tmp_path, "set", name, value) == 2
    assert message in capsys.readouterr().err
    assert path.read_text() == MINE


def test_a_project_has_its_own_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is at the root of the repository, and what the user wrote there is what the user trusts."""
    path = tmp_path / "project" / CONFIG_PATH
    assert run(tmp_path, "set", "effort", "high", "--project") == 0
    assert run(tmp_path, "set", "permission_mode", "plan", "--project") == 0
    assert tomllib.loads(path.read_text()) == {"effort": "high", "permission_mode": "plan"}
    capsys.readouterr()
    assert run(tmp_path) == 0
    out = capsys.readouterr().out
    assert "trusted" in out
    assert f'effort                     "high"  {path}:1' in " ".join(out.split("  ")) or f"{path}:1" in out
    assert run(tmp_path, "path", "--project") == 0
    assert capsys.readouterr().out == f"{path}\n"
    assert run(tmp_path, "set", "theme", "nord", "--project") == 2
    assert run(tmp_path, "set", "permission_mode", "yolo", "--project") == 2
    err = capsys.readouterr().err
    assert "A project's config cannot set theme. Set it for the user." in err
    assert "expected one of accept-edits, ask, plan. Nothing" in err


def test_a_project_that_is_not_trusted_is_not_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "project" / CONFIG_PATH
    path.parent.mkdir()
    path.write_text('permission_mode = "accept-edits"\n')
    assert run(tmp_path, "set", "effort", "high", "--project") == 2
    assert "is not trusted, so it was not changed." in capsys.readouterr().err
    assert path.read_text() == 'permission_mode = "accept-edits"\n'
    assert run(tmp_path, "set", "effort", "high", "--project", "--trust-project") == 0
    assert tomllib.loads(path.read_text()) == {"permission_mode": "accept-edits", "effort": "high"}


def test_a_file_that_is_broken_is_left_alone_and_its_line_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.toml"
    path.write_text("mouse = true\ntheme = \n")
    assert run(tmp_path, "set", "mouse", "false") == 2
    assert "line 2" in capsys.readouterr().err
    assert path.read_text() == "mouse = true\ntheme = \n"


@pytest.mark.parametrize("words", [["set", "mouse"], ["unset"], ["unset", "a", "b"], ["edit", "x"], ["--project"]])
def test_what_is_missing_is_said(tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, *words) == 2
    assert "Usage: holdfast config" in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMON)
def test_what_people_change_is_a_setting(name: str) -> None:
    assert form(setting_path(name)).expected
