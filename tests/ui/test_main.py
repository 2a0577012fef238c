"""The command in a plain but odd situation: one clear sentence and its exit code, never a bug to report."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.ui.command_table import COMMANDS
from holdfast.ui.main import main
from holdfast.ui.startup.first_prompt import parsed_arguments
from polling import HANGS
from skips import needs

ASK = ("-m", "openai-chat:m", "-p", "go")
NO_KEY = "No API key for openai-chat"
full = needs("linux")


def run(shell: str, *arguments: str, cwd: str | Path, **environ: str) -> tuple[int, str, str]:
    """Run holdfast through a line of shell."""
    known = {name: os.environ[name] for name in ("PATH", "HOME", "HOLDFAST_HOME", "PYTHONPATH") if name in os.environ}
    done = subprocess.run(
        ["sh", "-c", shell, "sh", sys.executable, "-m", "holdfast", *arguments],
        cwd=cwd,
        env={**known, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS,
    )
    return done.returncode, done.stdout, done.stderr


def test_programs_are_started_so_that_ctrl_z_cannot_freeze_the_shell(tmp_path: Path) -> None:
    """Behind a vfork, CPython waits for a child that the signal stopped before its exec."""
    call = f"main({[*ASK]!r}, environ={{'HOLDFAST_HOME': {str(tmp_path)!r}}})"
    code = f"import subprocess; from holdfast.ui.main import main; {call}; print(subprocess._USE_VFORK)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=HANGS)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("shell", "arguments", "code", "message"),
    [
        ('exec "$@" <&-', ASK, 2, NO_KEY),
        ('exec "$@" >&-', ASK, 2, NO_KEY),
        ('exec "$@" >&-', ("sessions", "list"), 0, ""),
        ('exec "$@" 2>&-', ASK, 2, ""),
        ('exec "$@" <&- >&- 2>&-', ASK, 2, ""),
        pytest.param('exec "$@" 2>/dev/full', ASK, 2, "", marks=full),
        pytest.param('exec "$@" >/dev/full', ("sessions", "list"), 1, "No space left on device", marks=full),
        *(
            pytest.param('PYTHONUNBUFFERED=1 exec "$@" >/dev/full', words, 1, "Cannot write to standard", marks=full)
            for words in (("--version",), ("sessions", "list"), ("config",), ("completion", "bash"))
        ),
    ],
)
def test_streams_that_are_closed_or_full(
    shell: str, arguments: tuple[str, ...], code: int, message: str, tmp_path: Path
) -> None:
    ended, _, complaint = run(shell, *arguments, cwd=tmp_path)
    assert (ended, complaint.count("\n")) == (code, 1 if message else 0), complaint
    assert message in complaint


@pytest.mark.parametrize("arguments", [("--version",), ("sessions", "list"), ("completion", "bash")])
def test_a_reader_that_left_is_no_bug(arguments: tuple[str, ...], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "holdfast", *arguments]
    reads, writes = os.pipe()
    os.close(reads)
    try:
        done = subprocess.run(command, cwd=tmp_path, stdout=writes, stderr=subprocess.PIPE, check=False, timeout=HANGS)
    finally:
        os.close(writes)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_folder_whose_name_cannot_be_written_down_leaves_no_session(tmp_path: Path, holdfast_home: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff"
    try:
        os.mkdir(folder)  # noqa: PTH102 - a name of bytes
    except OSError:
        pytest.skip("this file system takes no such name")
    code, _, complaint = run('exec "$@"', *ASK, cwd=os.fsdecode(folder), OPENAI_API_KEY="k")
    assert code == 2
    assert "is not valid UTF-8" in complaint
    assert list((holdfast_home / "sessions").iterdir()) == []


def test_a_home_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    code, _, complaint = run('exec "$@"', *ASK, cwd=tmp_path, OPENAI_API_KEY="k", HOLDFAST_HOME="loop/home")
    assert code in (1, 2)
    assert "cannot be" in complaint
    assert "Internal error" not in complaint


def test_two_sessions_at_once_are_a_contradiction(tmp_path: Path) -> None:
    code, _, complaint = run('exec "$@"', "-c", "-r", "x", "-p", "go", cwd=tmp_path)
    assert code == 2
    assert "Options --continue and --resume 'x' conflict" in complaint


def test_the_demo_is_for_the_screen(tmp_path: Path) -> None:
    code, out, complaint = run('exec "$@"', "-m", "demo", "-p", "hello", cwd=tmp_path)
    assert (code, out) == (2, "")
    assert "Model 'demo' is available only on the screen." in complaint


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("seutp",), "Did you mean: holdfast setup?"),
        (("sesions", "list"), "Did you mean: holdfast sessions? To send it as a prompt: holdfast -- "),
        (("-m", "openai:m", "config"), "Did you mean: holdfast config?"),
        (("fix my tests",), 'For one turn without a screen: holdfast -p "…".'),
        (("--modle", "x", "fix it"), "Unknown option '--modle'. Did you mean: holdfast --model?"),
        (("-p", "fix", "my", "tests"), "Unexpected argument 'my'. Quote the prompt"),
    ],
)
def test_words_that_are_no_command_get_a_hint_at_what_was_meant(
    words: tuple[str, ...], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words, {}) == 2
    complaint = capsys.readouterr().err
    assert hint in complaint
    assert complaint.count("\n") == 1


def test_words_that_belong_to_no_option_are_the_first_prompt() -> None:
    """Quoted or not, before or behind options; all behind `--` is one, even a command or an option."""
    for words, prompt in (
        (["fix the tests"], "fix the tests"),
        (["fix", "my", "-c", "tests"], "fix my tests"),
        (["-r", "20261122", "check it"], "check it"),
        (["--", "sessions"], "sessions"),
        (["-c", "--", "-p", "x"], "-p x"),
        (["explain this"], "explain this"),
        ([], ""),
    ):
        assert parsed_arguments(words, tuple(COMMANDS)).first_prompt == prompt
