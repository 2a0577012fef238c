"""A hostile folder and the walls around a command in it, as this user and as another one; what a test of walls needs.

The commands run through `wall_program.py`, in a process with one thread. As another user it is another
Python, if this one is in a folder that only its user may enter.
"""

from __future__ import annotations

import functools
import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import holdfast
from holdfast.system.confinement.description import Level, WallKind
from holdfast.system.confinement.probe import probe_walls
from holdfast.tools.process.environment import child_environment
from skips import require

NOBODY = 65534
SECRET = "TOPSECRET"
NEIGHBOUR = "neighbour-of-the-workspace"
"""The name of a folder that no output may contain."""

_PROGRAM = Path(__file__).with_name("wall_program.py")
SOURCES = Path(holdfast.__file__).parents[1]
_OLDEST = (3, 11)


@functools.cache
def working() -> frozenset[WallKind]:
    """Return the walls that work here."""
    return frozenset(each.kind for each in probe_walls(dict(os.environ)) if each.obstacle is None)


def need(kind: WallKind) -> None:
    """Skip the test, by name, if that wall does not work here."""
    if kind != "none":
        require("bubblewrap" if kind == "bwrap" else kind)
        assert kind in working(), f"{kind} does not confine here: see holdfast doctor sandbox"


@functools.cache
def python_for(user: int) -> str:
    """Return a Python that the user may run, "" if there is none."""
    for each in dict.fromkeys((sys.executable, "/usr/bin/python3", "/usr/local/bin/python3")):
        # setpriv may start a program in a folder that is closed to the user; it finds nothing there then.
        check = (
            f"import os, sys; sys.path.append({str(SOURCES)!r}); import holdfast; "
            f"sys.exit(sys.version_info < {_OLDEST} or not os.access(os.path.realpath(sys.executable), os.X_OK))"
        )
        if Path(each).exists() and as_user(user, [each, "-I", "-S", "-c", check], None).returncode == 0:
            return each
    return ""


def need_user(user: int) -> None:
    """Skip the test, by name, unless commands can run as that user."""
    if user == os.geteuid():
        return
    require("root")
    require("python of others")


def this_user() -> int:
    """Return the user that runs the tests."""
    return os.geteuid()


def users() -> tuple[int, ...]:
    """Return the users to try as: this one, and another one without its rights."""
    return tuple(dict.fromkeys((os.geteuid(), NOBODY)))


def another_user() -> int:
    """Return the user of another one's commands if this is root, else this user."""
    return NOBODY if os.geteuid() == 0 else os.geteuid()


def as_user(user: int, words: Sequence[str], given: bytes | None) -> subprocess.CompletedProcess[bytes]:
    """Return how a program ended that ran as that user."""
    other = () if user == os.geteuid() else ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--")
    return subprocess.run([*other, *words], input=given, capture_output=True, check=False, cwd="/")


@dataclass(frozen=True, slots=True)
class Ran:
    """How a line ended inside."""

    code: int
    output: str
    did_start: bool
    timed_out: bool
    refused: list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wall:
    """A wall around commands in the workspace `folder`/ws."""

    folder: Path
    kind: WallKind
    level: Level
    user: int = field(default_factory=os.geteuid)
    sees_disk: bool = False
    masks: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    inherited: str = ""
    hosts: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()

    @property
    def workspace(self) -> Path:
        return self.folder / "ws"

    def run(
        self,
        *lines: str,
        seconds: float = 120.0,
        environ: dict[str, str] | None = None,
        before: Sequence[str] = (),
    ) -> list[Ran]:
        """Return how each line ended, one after the other in one wall; `before` are words before the whole program."""
        need(self.kind)
        need_user(self.user)
        request: dict[str, Any] = {
            "kind": self.kind,
            "level": self.level,
            "cwd": str(self.workspace),
            "roots": [str(self.workspace)],
            "temporary": str(self.folder / "temporary"),
            "placeholders": str(self.folder / "masks"),
            "masks": self.masks,
            "fixed": self.fixed,
            "sees_disk": self.sees_disk,
            "programs": self.programs,
            "environ": {**child_environment(os.environ), "HOME": str(self.folder / "home"), **(environ or {})},
            "lines": lines,
            "inherited": self.inherited,
            "hosts": self.hosts,
            "networks": self.networks,
            "seconds": seconds,
        }
        words = [*before, python_for(self.user), "-I", "-S", "-X", "utf8", str(_PROGRAM), str(SOURCES)]
        done = as_user(self.user, words, json.dumps(request).encode())
        assert done.returncode == 0, done.stderr.decode()
        return [Ran(**each) for each in json.loads(done.stdout)]

    def output(self, line: str) -> str:
        """Return what a line prints."""
        (ran,) = self.run(line)
        assert ran.did_start, ran.output
        return ran.output


def hostile_folder(folder: Path, user: int) -> Path:
    """Make a workspace with links outward, secrets, programs that act and a repository; return `folder`."""
    folder.mkdir(exist_ok=True)
    for name in ("ws/sub", "ws/-o", "outside/d", "home/.ssh", f"{NEIGHBOUR}/x", "temporary", "masks"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    ws = folder / "ws"
    texts = {
        "a.txt": "one\ntwo\n",
        "b.txt": "two\nthree\n",
        "sub/c.txt": "three\n",
        "j.json": '{"a": 1}\n',
        ".env": f"KEY={SECRET}\n",
        "evil.py": "open('PWNED', 'w').close()\n",
        "evil.sh": "#!/bin/sh\ntouch PWNED\n",
        "evil.js": "require('fs').writeFileSync('PWNED', '')\n",
        "evil.awk": 'BEGIN { system("touch PWNED") }\n',
        "Makefile": "all:\n\ttouch PWNED\n",
        "conftest.py": "open('PWNED', 'w').close()\n",
        "package.json": '{"name": "x", "version": "1.0.0", "scripts": {"test": "node evil.js"}}\n',
        "list": f"{folder}/outside/plain.txt\n",
        "list0": f"{folder}/outside/plain.txt\0",
    }
    for name, text in texts.items():
        (ws / name).write_text(text)
    (ws / "evil.sh").chmod(0o755)
    (folder / "outside/plain.txt").write_text(f"{SECRET}\n")
    (folder / "home/.ssh/id_rsa").write_text(f"{SECRET}\n")
    for name, target in {"link": "../outside/plain.txt", "data": "../outside/d", "sub/out": "../../outside"}.items():
        if not (ws / name).is_symlink():
            (ws / name).symlink_to(target)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(ws)]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "a.txt"], check=True)
    subprocess.run([*git, "commit", "-qm", "one"], check=True)
    for each in (folder, *folder.rglob("*")):
        if os.geteuid() == 0:
            os.chown(each, user, user, follow_symlinks=False)
    return folder


def snapshot(folder: Path) -> dict[str, object]:
    """Return what a command could have changed in a folder: entries, contents, modes, times, owners."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content: object = None
        if path.is_symlink():
            content = str(path.readlink())
        elif path.is_file():
            content = path.read_bytes()
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_uid, status.st_mtime_ns, content)
    return found


def listening(path: str | None = None) -> socket.socket:
    """Return a listening socket: at a path, or without one a TCP socket on the loopback."""
    if path is None:
        return socket.create_server(("127.0.0.1", 0))
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    found.bind(path)
    found.listen()
    return found


def was_reached(listener: socket.socket) -> bool:
    """Return whether a connection came."""
    listener.settimeout(0.05)
    try:
        listener.accept()[0].close()
    except TimeoutError:
        return False
    return True
