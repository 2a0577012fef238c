"""What a command does every day works inside the walls, and what a wall refuses is refused with a true answer."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import walls
from holdfast.system.confinement.description import Level
from skips import require
from walls import Wall

SERVER = """python3 - <<'PROGRAM'
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b"served")).start()
print(socket.create_connection(server.getsockname()).recv(100))
PROGRAM"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return walls.hostile_folder(tmp_path / "work", os.geteuid())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("echo x > new.txt && cat new.txt", "x"),
        ("git -c user.name=a -c user.email=a@b.org commit --allow-empty -qm two && git log --oneline | wc -l", "2"),
        ("git add b.txt && git stash -q && git status --short | head -1", ""),
        ("rm conftest.py; printf 'def test(): pass' > test_x.py; python3 -m unittest -q test_x; echo ran", "ran"),
        (SERVER, "served"),
        ("f=$(mktemp) && echo made > $f && cat $f", "made"),
        ("echo hi > >(tee log); sleep 0.1; cat log", "hi"),
        ("(sleep 0.1; echo late > late.txt) & wait; cat late.txt", "late"),
        ("exit 3", ""),
        ("kill -9 $$", ""),
        ("cat <<X | sort\nb\na\nX", "a\nb"),
        ("mkfifo $TMPDIR/p; (echo through > $TMPDIR/p &); cat $TMPDIR/p", "through"),
        ("python3 -c 'import multiprocessing as m; q = m.Queue(); q.put(7); print(q.get())'", "7"),
        ("timeout 0.1 sleep 5; echo $?", "124"),
        ("ls /proc/self/fd | wc -l", "4"),
    ],
)
def test_usual_work_at_level_workspace(folder: Path, line: str, expected: str) -> None:
    (ran,) = Wall(folder=folder, kind="bwrap", level="workspace").run(line)
    assert ran.did_start
    assert expected in ran.output
    assert ran.code == {"exit 3": 3, "kill -9 $$": 137}.get(line, 0)


@pytest.mark.parametrize(("signal", "code"), [("TERM", 143), ("SEGV", 139), ("KILL", 137)])
def test_a_command_that_a_signal_ends_has_its_own_output_and_no_word_of_the_wall(
    folder: Path, signal: str, code: int
) -> None:
    line = f"echo out; echo error >&2; kill -{signal} $$"
    (ran,) = Wall(folder=folder, kind="bwrap", level="workspace").run(line)
    assert (ran.output, ran.code) == ("out\nerror\n", code)


@pytest.mark.parametrize("level", ["workspace", "network"])
def test_npm_runs_a_script(folder: Path, level: Level) -> None:
    require("npm")
    (folder / "ws/package.json").write_text('{"name": "x", "version": "1.0.0", "scripts": {"test": "node -e 6*7 -p"}}')
    (ran,) = Wall(folder=folder, kind="bwrap", level=level).run("npm test")
    assert (ran.code, "42" in ran.output) == (0, True), ran.output


def test_pytest_runs(folder: Path) -> None:
    (folder / "ws/conftest.py").unlink()
    (folder / "ws/test_it.py").write_text("def test_it(tmp_path):\n    (tmp_path / 'x').write_text('x')\n")
    wall = Wall(folder=folder, kind="bwrap", level="workspace", sees_disk=True)
    for package in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        origin = importlib.util.find_spec(package)
        assert origin is not None
        assert origin.origin is not None
        shutil.copytree(Path(origin.origin).parent, folder / "ws/packages" / package)
    interpreter = os.path.realpath(sys.executable)  # the environment of the tests may lie where no command sees it
    (ran,) = wall.run(f"PYTHONPATH=packages {interpreter} -m pytest -q test_it.py")
    assert "1 passed" in ran.output


@pytest.mark.parametrize("kind", ["bwrap", "landlock"])
def test_usual_questions_at_level_read(folder: Path, kind: walls.WallKind) -> None:
    lines = {
        "git status --short | head -1": "??",
        "git log --oneline | wc -l": "1",
        "git diff | head -1": "",
        "cat a.txt | wc -l": "2",
        "grep -n two *.txt | wc -l": "2",
        "ls -a": "a.txt",
        "find . -name c.txt": "sub/c.txt",
        "python3 -c 'print(6*7)'": "42",
        "echo hi > $TMPDIR/x && cat $TMPDIR/x": "hi",
        "sort <(echo b; echo a) | head -1": "a",
        "id -u": str(os.geteuid()),
        "getent passwd root | cut -d: -f1": "root",
        "timeout 0.1 sleep 5; echo $?": "124",
        "echo x > /dev/null && echo fine": "fine",
    }
    for (line, expected), ran in zip(
        lines.items(), Wall(folder=folder, kind=kind, level="read").run(*lines), strict=True
    ):
        assert expected in ran.output, (line, ran)
        assert ran.code == 0, (line, ran)


@pytest.mark.parametrize("kind", ["bwrap", "landlock"])
def test_a_tracked_secret_is_refused_and_git_sees_no_change(folder: Path, kind: walls.WallKind) -> None:
    git = ["git", "-C", str(folder / "ws"), "-c", "user.name=a", "-c", "user.email=a@b.org"]
    os.utime(folder / "ws/.env", (1_000_000_000, 1_000_000_000))  # git reads what changed in the index's own second
    subprocess.run([*git, "add", ".env"], check=True)
    subprocess.run([*git, "commit", "-qm", "two"], check=True)
    wall = Wall(folder=folder, kind=kind, level="read", masks=(str(folder / "ws/.env"),))
    status, diff, cat, size = wall.run("git status --short -uno", "git diff", "cat .env", "stat -c %s .env")
    assert (status.output, diff.output) == ("", "")
    assert "Permission denied" in cat.output
    assert size.output.strip() == str((folder / "ws/.env").stat().st_size)


@pytest.mark.parametrize("kind", ["bwrap", "landlock"])
def test_the_name_of_a_secret_is_listed_and_neither_its_text_nor_a_secret_folder_is_shown(
    folder: Path, kind: walls.WallKind
) -> None:
    walls.need(kind)
    (folder / "ws/sub/.ssh").mkdir()
    (folder / "ws/sub/.ssh/id_rsa").write_text(f"{walls.SECRET}\n")
    masks = (str(folder / "ws/.env"), str(folder / "ws/sub/.ssh"))
    wall = Wall(folder=folder, kind=kind, level="read", masks=masks)
    above, text, inside = wall.run("ls -A; find . -name '.env'", "cat .env", "ls -RA sub/.ssh; cat sub/.ssh/id_rsa")
    assert text.output == "cat: .env: Permission denied\n"
    assert "id_rsa" not in inside.output.replace("cat: sub/.ssh/id_rsa: Permission denied", "")
    assert inside.output.count("Permission denied") == 2
    if kind == "bwrap":  # Landlock grants no names in a folder above a secret one
        assert {".env", "./.env"} <= set(above.output.splitlines())
    else:
        assert "id_rsa" not in above.output


def test_programs_that_list_processes_see_the_machine(folder: Path) -> None:
    looking = Wall(folder=folder, kind="bwrap", level="read", programs=("ps",))
    assert f" {os.getpid()} " in looking.output("ps ax -o pid,comm | sed 's/^/ /'")
    assert "Permission denied" in looking.output(f"cat /proc/{os.getpid()}/environ")
    assert f" {os.getpid()} " not in Wall(folder=folder, kind="bwrap", level="read").output("ps ax -o pid,comm")


def test_programs_that_list_sockets_see_those_of_the_machine(folder: Path) -> None:
    require("ss")
    with walls.listening() as listener:
        port = listener.getsockname()[1]
        assert f":{port}" in Wall(folder=folder, kind="bwrap", level="read", programs=("ss",)).output("ss -ltn")


def test_what_is_written_beside_a_secret_and_git_s_settings_is_kept(folder: Path) -> None:
    wall = Wall(folder=folder, kind="bwrap", level="workspace", masks=(str(folder / "ws/.env"),))
    write, config = wall.run("echo x > sub/new && mv a.txt z.txt", "git config x.y z")
    assert write.code == 0
    assert (folder / "ws/z.txt").exists()
    assert config.code != 0


def test_the_working_folder_may_be_below_the_workspace_and_a_link(folder: Path) -> None:
    link = folder / "linked"
    link.symlink_to(folder / "ws")
    assert (link / "sub").is_dir()
    assert Wall(folder=folder, kind="bwrap", level="read").output("cd sub && cat c.txt") == "three\n"


@pytest.mark.parametrize("kind", ["bwrap", "landlock"])
def test_nothing_is_inherited(folder: Path, kind: walls.WallKind) -> None:
    wall = Wall(folder=folder, kind=kind, level="read", inherited=str(folder / "outside/plain.txt"))
    assert "Bad file descriptor" in wall.output("cat <&20")
