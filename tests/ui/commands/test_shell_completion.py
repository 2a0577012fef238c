"""What may come next on a line, and bash that completes it in a real terminal."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.agent.sessions import create
from holdfast.errors import UsageError
from holdfast.session.catalog import Catalog
from holdfast.ui.command_table import COMMANDS
from holdfast.ui.commands.completion import Candidate, candidates, known_candidates
from holdfast.ui.commands.completion.scripts import SCRIPTS
from holdfast.ui.main import main
from polling import HANGS


def of(metavar: str) -> Iterator[Candidate]:
    """Give one value for each metavar that is known."""
    values = {"ID": "20260101-abc", "PROVIDER:MODEL": "openai:big", "PROVIDER": "openai", "SETTING": "theme"}
    values["TRASHED-ID"] = "20250101-old"
    if metavar in values:
        yield Candidate(values[metavar])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("holdfast ", list(COMMANDS)),
        ("holdfast do", ["doctor"]),
        ("holdfast sessions re", ["rename", "restore"]),
        ("holdfast sessions p", ["push", "pull"]),
        ("holdfast sessions restore ", ["20250101-old"]),
        ("holdfast sessions pull ", []),
        ("holdfast sessions push 2026 --re", ["--repo"]),
        ("holdfast sessions verify --st", ["--store"]),
        ("holdfast sessions show 2026 ", []),
        ("holdfast sessions show 2026 --history --provider ", ["openai"]),
        ("holdfast sessions show ", ["20260101-abc"]),
        ("holdfast sessions show 2026", ["20260101-abc"]),
        ("holdfast sessions show nothing", []),
        ("holdfast sessions export --format mark", ["markdown"]),
        ("holdfast sessions import ", []),
        ("holdfast -r ", ["20260101-abc"]),
        ("holdfast -c --fo", ["--fork", "--fork-session"]),
        ("holdfast -m ", ["openai:big"]),
        ("holdfast --model=open", ["--model=openai:big"]),
        ("holdfast --model=open ", []),
        ("holdfast -p words --permission-mode pl", ["plan"]),
        ("holdfast --no-t", ["--no-trust-project"]),
        ("holdfast setup --forget ", ["openai"]),
        ("holdfast config ", ["path", "set", "unset", "edit"]),
        ("holdfast config set ", ["theme"]),
        ("holdfast config -m openai:big unset th", ["theme"]),
        ("holdfast config set theme ", []),
        ("holdfast config set --proj", ["--project"]),
        ("holdfast mcp ser", ["serve"]),
        ("holdfast mcp serve --fo", ["--folder"]),
        ("holdfast fleet ", ["init", "status"]),
        ("holdfast fleet status --", ["--help", "--store", "--json"]),
        ("holdfast worker --sl", ["--slots"]),
        ("holdfast worker --host ", []),
        ("holdfast serve --new", ["--new-token"]),
        ("holdfast doctor --format ", ["text", "json"]),
        ("holdfast completion z", ["zsh"]),
        ("holdfast completion --l", []),
        ("holdfast nonsense ", []),
        ("", list(COMMANDS)),
    ],
)
def test_what_may_come_next(line: str, expected: list[str]) -> None:
    assert [each.value for each in candidates(line, of)] == expected


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_options_that_say_what_they_do(command: str) -> None:
    found = {each.value: each.description for each in candidates(f"holdfast {command} --", of)}
    assert "--help" in found
    assert "==SUPPRESS==" not in found.values()


@pytest.mark.parametrize("command", ["fleet", "mcp", "sessions"])
def test_help_lists_every_action_of_a_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    actions = [each.value for each in candidates(f"holdfast {command} ", of)]
    with pytest.raises(SystemExit):
        main([command, "-h"])
    shown = capsys.readouterr().out
    assert [action for action in actions if not re.search(rf"^    {action} +\w", shown, re.MULTILINE)] == []


def test_the_first_help_page_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["-h"])
    shown = re.findall(r"^  holdfast ([a-z|]+)", capsys.readouterr().out, re.MULTILINE)
    assert {name for names in shown for name in names.split("|")} == set(COMMANDS)


def test_what_is_known_is_what_is_there(tmp_path: Path) -> None:
    environ = {"HOLDFAST_HOME": str(tmp_path)}
    text = 'model = "home:small"\n[providers.home]\nkind = "openai-chat"\nbase_url = "http://x"\n'
    (tmp_path / "config.toml").write_text(text)
    models = [each.value for each in known_candidates("PROVIDER:MODEL", environ)]
    assert models[0] == "home:small"
    assert "anthropic:claude-sonnet-5-5" in models
    assert "ollama:" in models
    assert "home" in [each.value for each in known_candidates("PROVIDER", environ)]
    assert "limits.max_steps" in [each.value for each in known_candidates("SETTING", environ)]
    catalog = Catalog(tmp_path / "sessions")
    existing, deleted = (create(catalog, cwd=tmp_path, model="ollama:tiny") for _ in range(2))
    for each in (existing, deleted):
        each.store.close()
    catalog.trash(deleted.id)
    assert [each.value for each in known_candidates("ID", environ)] == [existing.id]
    assert [each.value for each in known_candidates("TRASHED-ID", environ)] == [deleted.id]
    catalog.trash(existing.id)
    (tmp_path / "config.toml").write_text("model = ")
    assert list(known_candidates("PROVIDER:MODEL", environ)) == []
    assert list(known_candidates("ID", environ)) == []
    assert list(known_candidates("DIR", environ)) == []


def test_a_script_for_each_shell(capsys: pytest.CaptureFixture[str]) -> None:
    for shell, script in SCRIPTS.items():
        assert main(["completion", shell], {}) == 0
        assert capsys.readouterr().out == script
    assert main(["completion"], {}) == UsageError.exit_code
    assert 'eval "$(holdfast completion bash)"' in capsys.readouterr().err


BASH = """
PATH="$1:$PATH"
eval "$(holdfast completion bash)"
ask() {
    COMP_LINE="$1"; COMP_POINT=${#1}; COMP_WORDBREAKS=$' \\t\\n"\\'@><=;|&(:'
    _holdfast
    printf '%s|' "${COMPREPLY[@]}"; echo
}
ask 'holdfast sess'
ask 'holdfast -m anthropic:cl'
ask 'holdfast --model=anthropic:cl'
ask 'holdfast --permission-mode '
ask 'holdfast sessions import '
complete -p holdfast
"""


def test_bash_is_given_what_follows_the_ends_of_its_words(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    program = tmp_path / "holdfast"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m holdfast "$@"\n')
    program.chmod(0o700)
    environ = {**os.environ, "HOLDFAST_HOME": str(tmp_path)}
    command = [bash, "--norc", "--noprofile", "-c", BASH, "bash", str(tmp_path)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=HANGS, check=True)
    assert done.stdout.splitlines() == [
        "sessions|",
        "claude-sonnet-5-5|",
        "claude-sonnet-5-5|",
        "ask|accept-edits|plan|yolo|",
        "|",
        "complete -o bashdefault -o default -F _holdfast holdfast",
    ]
