"""Commands of a session without bubblewrap, and without any wall: what runs, what asks, and what is said."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

import walls
from confined_session import Fate, Request
from hidden_programs import path_without
from holdfast.tool_calls import SandboxMode

TESTS = Path(__file__).parents[1]
PATHS = str(TESTS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("ws", "own", "outside"):
        (tmp_path / name).mkdir()
    (tmp_path / "ws/a.txt").write_text("one\n")
    (tmp_path / "outside/plain.txt").write_text(f"{walls.SECRET}\n")
    return tmp_path


def without_bubblewrap(folder: Path, *, landlock: bool) -> tuple[list[str], dict[str, str]]:
    """Return words before a Python program, and its environment, in which there is no bubblewrap, or no wall at all."""
    if landlock:
        walls.need("landlock")
    words = [] if landlock else [sys.executable, str(TESTS / "no_landlock.py")]
    programs = folder / "programs"
    path = str(programs) if programs.exists() else path_without(programs, "bwrap")
    return words, {**os.environ, "PATH": path, "PYTHONPATH": PATHS}


def fates(folder: Path, request: Request, *, landlock: bool) -> list[Fate]:
    words, environ = without_bubblewrap(folder, landlock=landlock)
    return session(request, words, environ)


def session(request: Request, words: list[str], environ: dict[str, str]) -> list[Fate]:
    done = subprocess.run(
        [*words, sys.executable, str(TESTS / "confined_session.py")],
        input=msgspec.json.encode(request),
        capture_output=True,
        env=environ,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return msgspec.json.decode(done.stdout, type=list[Fate])


def test_with_landlock_alone_what_only_reads_is_confined_and_what_a_rule_allows_is_not(folder: Path) -> None:
    commands = ["cat a.txt", "echo x > b.txt", "touch c.txt", "ls"]
    request = Request(folder=str(folder), mode="accept-edits", commands=commands, allow=["Bash(touch *)"])
    read, written, touched, listed = fates(folder, request, landlock=True)
    assert (read.outcome, read.confined, read.asked) == ("ok", "read", "")
    assert read.text.startswith("one\n")
    assert (written.outcome, written.confined) == ("denied", None)
    assert "writes, which is not confined on this machine" in written.asked
    assert (touched.outcome, touched.confined, touched.asked) == ("ok", "", "")
    assert "a.txt\nc.txt" in listed.text
    assert "Only commands that read are confined (by Landlock): bubblewrap is not installed" in written.notice


def test_with_landlock_alone_a_command_that_the_user_allowed_runs_as_it_is(folder: Path) -> None:
    request = Request(folder=str(folder), mode="ask", commands=["cat ../outside/plain.txt; touch d"], answer=True)
    (fate,) = fates(folder, request, landlock=True)
    assert (fate.outcome, fate.confined) == ("ok", "")
    assert fate.asked
    assert walls.SECRET in fate.text
    assert (folder / "ws/d").exists()


@pytest.mark.parametrize("landlock", [True, False])
def test_without_bubblewrap_plan_mode_denies_what_is_more_than_reading(folder: Path, *, landlock: bool) -> None:
    request = Request(folder=str(folder), mode="plan", commands=["cat a.txt", "make test"], allow=["Bash(make *)"])
    read, made = fates(folder, request, landlock=landlock)
    assert (read.outcome, read.confined) == ("ok", "read" if landlock else "")
    assert (made.outcome, made.confined, made.asked) == ("denied", None, "")
    assert "Plan mode allows only reading" in made.text


def test_secrets_beside_too_many_files_make_a_command_ask_with_landlock_alone(folder: Path) -> None:
    many = folder / "ws/many"
    many.mkdir()
    for number in range(2_100):
        (many / f"{number}.txt").touch()
    commands = ["cat a.txt", "ls many", "touch c.txt"]
    free = fates(folder, Request(folder=str(folder), mode="ask", commands=commands[:1]), landlock=True)
    assert [(each.outcome, each.confined) for each in free] == [("ok", "read")], "without a secret one grant is enough"
    (many / ".env").write_text(f"KEY={walls.SECRET}\n")
    request = Request(folder=str(folder), mode="ask", commands=commands, allow=["Bash(touch *)"])
    read, listed, touched = fates(folder, request, landlock=True)
    for each in (read, listed):
        assert (each.outcome, each.confined) == ("denied", None)
        assert (
            f"the secrets in {str(many)!r} cannot be hidden from it, for too many files lie beside them" in each.asked
        )
    assert (touched.outcome, touched.confined, touched.asked) == ("ok", "", "")


def test_with_no_wall_only_what_is_proven_to_read_runs_unasked_and_the_first_question_says_why(folder: Path) -> None:
    commands = ["cat a.txt", "cat ../outside/plain.txt", "echo x > b.txt", "python3 x.py", "touch c.txt"]
    request = Request(folder=str(folder), mode="accept-edits", commands=commands, allow=["Bash(touch *)"])
    read, outside, written, program, touched = fates(folder, request, landlock=False)
    assert (read.outcome, read.confined, read.asked) == ("ok", "", "")
    assert (outside.outcome, outside.confined) == ("denied", None)
    assert "outside the workspace" in outside.asked
    assert (written.outcome, written.confined, written.asked) == ("ok", "", "")
    assert (program.outcome, program.confined) == ("denied", None)
    assert (touched.outcome, touched.confined, touched.asked) == ("ok", "", "")
    # Not with the first command, which ran unasked: the user would not have seen it.
    assert [each.notice.partition(":")[0] for each in (outside, program)] == ["Commands are not confined", ""]


def with_a_shim(folder: Path) -> str:
    """Make a shim `python3` in the place of others, which runs what the workspace names; return its folder."""
    programs = folder / "ws/evil"
    programs.write_text("#!/bin/sh\necho evil ran\ntouch PWNED\n")
    programs.chmod(0o755)
    (folder / "ws/.tool-versions").write_text("python path:evil\n")
    shims = Path(tempfile.mkdtemp(prefix="holdfast-shims-", dir="/usr/local"))
    (shims / "python3").write_text('#!/bin/bash\nread _ version < .tool-versions\nexec ./${version#path:} "$@"\n')
    (shims / "python3").chmod(0o755)
    shims.chmod(0o755)
    return str(shims)


@pytest.mark.parametrize("wall", ["bwrap", "landlock", "none"])
def test_a_shim_that_reads_the_project_runs_inside_a_wall_or_asks(folder: Path, wall: walls.WallKind) -> None:
    """As those of pyenv, rbenv and asdf do: `python3 --version` is then a program of the workspace."""
    walls.need(wall)
    walls.need_user(0)
    shims = with_a_shim(folder)
    try:
        words, environ = without_bubblewrap(folder, landlock=wall == "landlock")
        if wall == "bwrap":
            words, environ = [], {**os.environ, "PYTHONPATH": PATHS}
        environ["PATH"] = f"{shims}:{environ['PATH']}"
        commands = ["python3 --version", "cat a.txt", "find . -name a.txt -exec python3 --version {} +"]
        shim, read, found = session(Request(folder=str(folder), mode="ask", commands=commands), words, environ)
    finally:
        shutil.rmtree(shims)
    assert (read.outcome, read.asked) == ("ok", "")
    assert found.outcome == "denied"
    assert not (folder / "ws/PWNED").exists()
    if wall == "none":
        assert (shim.outcome, shim.confined) == ("denied", None)
        assert "'python3' is a script or launcher that may run another program" in shim.asked
    else:
        assert (shim.confined, shim.asked) == ("read", "")
        assert "evil ran" in shim.text


@pytest.mark.parametrize(("sandbox", "landlock", "outcome"), [("require", False, "failed"), ("off", True, "ok")])
def test_a_sandbox_that_is_required_and_missing_lets_nothing_run(
    folder: Path, sandbox: SandboxMode, outcome: str, *, landlock: bool
) -> None:
    request = Request(folder=str(folder), mode="yolo", commands=["touch c.txt"], sandbox=sandbox)
    (fate,) = fates(folder, request, landlock=landlock)
    assert (fate.outcome, (folder / "ws/c.txt").exists()) == (outcome, outcome == "ok")
    assert ("sandbox is 'require', and no sandbox works here" in fate.text) == (sandbox == "require")


def test_doctor_says_that_no_wall_works(folder: Path) -> None:
    words, environ = without_bubblewrap(folder, landlock=False)
    command = [*words, sys.executable, "-m", "holdfast", "doctor", "sandbox"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "bubblewrap is not installed" in done.stdout
    assert "the kernel has no Landlock" in done.stdout


def test_root_in_a_closed_folder_of_another_user_reads_by_landlock(folder: Path) -> None:
    walls.need_user(0)
    walls.need("bwrap")
    walls.need("landlock")
    for path in (folder / "ws", folder / "ws/a.txt"):
        os.chown(path, walls.NOBODY, walls.NOBODY)
        path.chmod(0o700 if path.is_dir() else 0o600)
    commands = ["cat a.txt", "cat ../outside/plain.txt > c.txt", "touch d.txt"]
    request = Request(folder=str(folder), mode="ask", commands=commands, allow=["Bash(touch *)"])
    read, written, touched = session(request, [], {**os.environ, "PYTHONPATH": PATHS})
    assert (read.outcome, read.confined, read.asked) == ("ok", "read", "")
    assert read.text.startswith("one\n")
    assert (written.outcome, written.confined) == ("denied", None)
    assert f"belongs to user {walls.NOBODY}" in written.notice
    assert (touched.outcome, touched.confined, touched.asked) == ("ok", "", "")
    assert (folder / "ws/d.txt").exists()


def test_a_wall_is_tried_inside_the_namespace_of_the_supervisor(folder: Path) -> None:
    """As root bubblewrap makes no namespace in another: Landlock it is. Other users have both walls."""
    walls.need("bwrap")
    walls.need("landlock")
    request = Request(
        folder=str(folder),
        mode="ask",
        commands=["cat a.txt", "touch c.txt", "echo $$ > d.txt"],
        allow=["Bash(touch *)"],
    )
    environ = {**os.environ, "PYTHONPATH": PATHS}
    read, touched, written = session(msgspec.structs.replace(request, contained=True), [], environ)
    assert (read.outcome, read.confined, read.asked) == ("ok", "read", "")
    assert (touched.outcome, touched.asked) == ("ok", "")
    assert (folder / "ws/c.txt").exists()
    is_root = folder.stat().st_uid == 0
    assert touched.confined == ("" if is_root else "workspace")
    assert ("pid_namespace = true" in written.notice) == is_root
