"""A workspace in which ordinary looking commands lead out: by links, programs, and lists of files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from holdfast.tools.approval.command_analysis import command_parts
from holdfast.tools.approval.decision import Allow, Policy, decide
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from holdfast.tools.workspace.command_files import disk_surroundings

SECRET = "TOPSECRET-5309"


class HostileFolder:
    """A workspace `ws` next to a folder `outside`. What prints `SECRET` read a file outside, or one with secrets."""

    def __init__(self, base: Path) -> None:
        self.base = base.resolve()
        self.ws = self.base / "ws"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.base / "home"),
            "TERM": "dumb",
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        for folder in ("ws/sub", "outside/d", "home/.ssh"):
            (self.base / folder).mkdir(parents=True)
        (self.base / "outside/plain.txt").write_text(f"{SECRET}\n")
        (self.base / "outside/d/deep-name.txt").write_text(f"{SECRET}\n")
        (self.base / "home/.ssh/id_rsa").write_text(f"{SECRET}\n")
        for name, text in {
            "a.txt": "one two\n",
            "b.txt": "two three\n",
            "sub/c.txt": "three\n",
            "j.json": '{"a": 1}\n',
            ".env": f"KEY={SECRET}\n",
            "evil.py": "open('PWNED', 'w')\n",
            "evil.sh": "touch PWNED\n",
            "list": f"{self.base}/outside/plain.txt\n",
            "list0": f"{self.base}/outside/plain.txt\0",
        }.items():
            (self.ws / name).write_text(text)
        (self.ws / "link").symlink_to("../outside/plain.txt")
        (self.ws / "data").symlink_to("../outside/d")
        (self.ws / "sub/out").symlink_to("../../outside")
        for command in ("init -q", "add a.txt", "-c user.name=a -c user.email=a@b commit -qm one"):
            subprocess.run(["git", *command.split()], cwd=self.ws, env=self.environ, check=True, timeout=60)

    def filled(self, line: str) -> str:
        """Return a line with the folder above the workspace in the place of `$B`."""
        return line.replace("$B", str(self.base))

    def run(self, line: str, *, before: tuple[str, ...] = ()) -> str:
        """Run a line as a command of the model would be, after the words `before`; return what it printed."""
        done = subprocess.run(
            [*before, "timeout", "10", "/bin/bash", "--norc", "-c", line],
            cwd=self.ws,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=60,
        )
        return done.stdout.decode(errors="replace")

    def contents(self) -> dict[str, tuple[int, int]]:
        """Return what every file is, but those of git: its size and when it was changed."""
        return {
            str(path): (path.lstat().st_size, path.lstat().st_mtime_ns)
            for path in self.base.rglob("*")
            if ".git" not in path.parts and not path.is_dir()
        }


async def _never(_: ToolContext) -> ToolOutput:
    raise AssertionError("deciding must not run")


def is_free(folder: HostileFolder, line: str, mode: str = "ask") -> bool:
    """Return whether a line runs unasked in the hostile workspace."""
    root = str(folder.ws)
    parts = command_parts(line, root=root, folder=root, around=disk_surroundings(is_confined=True))
    plan = Plan(effect="execute", title="run", run=_never, command=line, line=parts)
    return decide(plan, Policy("plan" if mode == "plan" else "ask")) == Allow()
