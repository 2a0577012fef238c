"""A copy of the working tree with its own Python, in which one mutant at a time is tried.

Two rules. The working tree is only read. Whatever a test starts imports the copy's source: the copy's Python knows no
other, so it needs no variable that a child could be started without.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import venv
import xml.etree.ElementTree as ET
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Literal

from listed import Mutant

_FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/\S+?::.+?)(?: - .*)?$", re.MULTILINE)
_HANGS = "+++ Timeout +++"  # what pytest-timeout prints before it ends the process

How = Literal["passed", "failed", "hangs", "broken"]


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run of some tests ended; `first` is the first that failed, `said` what pytest said."""

    how: How
    seconds: float
    first: str = ""
    said: str = ""


class Copy:
    """A copy of the files that git knows or would take, in `folder`."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._tree = folder / "tree"
        self._scratch = folder / "t"  # short: sockets are made below it
        self._report = folder / "report.xml"
        self._times = count(int(time.time()) - 10_000_000, 2)
        for name in _files(root):
            path = self._tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, path, follow_symlinks=False)
        for command in (["init", "-q"], ["add", "-A"]):  # tests ask git for the files
            subprocess.run(["git", *command], cwd=self._tree, check=True)
        self._python = self._own_python()

    def _own_python(self) -> Path:
        """Make a Python in the copy that finds its source and what this one has installed; this one's source it not."""
        place = self._tree / ".venv"
        venv.create(place, symlinks=True)
        installed = [path for path in sys.path if Path(path).name in {"site-packages", "dist-packages"}]
        (sites,) = (place / "lib").glob("python*/site-packages")
        (sites / "copy.pth").write_text("".join(f"{path}\n" for path in (self._tree / "src", *installed)))
        python = place / "bin/python"
        command = [python, "-I", "-c", "import holdfast; print(holdfast.__file__)"]
        told = subprocess.run(command, cwd="/", check=True, capture_output=True, text=True).stdout.strip()
        if Path(told) != self._tree / "src/holdfast/__init__.py":
            raise RuntimeError(f"Copy imports {told} (expected its own source).")
        return python

    @contextmanager
    def changed(self, mutant: Mutant) -> Generator[None]:
        """Have the mutant in the copy."""
        path = self._tree / mutant.file
        before = path.read_text(encoding="utf-8")
        self._write(path, mutant.applied(before))
        try:
            yield
        finally:
            self._write(path, before)

    def _write(self, path: Path, text: str) -> None:
        """Write a module; no two of its texts have one time, by which Python knows compiled ones."""
        path.write_text(text, encoding="utf-8")
        at = next(self._times)
        os.utime(path, (at, at))

    def run(self, tests: Sequence[str], *, within: float, to_the_end: bool = False) -> Ran:
        """Run tests, up to the first that fails or to the end; what does not end in time hangs."""
        command = [str(self._python), "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
        command += [f"--basetemp={self._scratch}", f"--junitxml={self._report}", *(() if to_the_end else ("-x",))]
        known = {name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "PYTHON"))}
        known["HOLDFAST_HANGS"] = "30"  # what a mutant keeps from happening is not waited for any longer
        known["HOLDFAST_TIER"] = "wider"  # which cases of a matrix and examples of a law kill a mutant is chance
        self._report.unlink(missing_ok=True)
        began = time.monotonic()
        with subprocess.Popen(
            [*command, *tests],
            cwd=self._tree,
            env=known,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                said, _ = process.communicate(timeout=within)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                said, _ = process.communicate()
                return Ran("hangs", time.monotonic() - began, said=said)
        seconds = time.monotonic() - began
        first = next(iter(_FAILED.findall(said)), "")
        if _HANGS in said:
            return Ran("hangs", seconds, first, said)
        how: dict[int, How] = {0: "passed", 1: "failed"}
        return Ran(how.get(process.returncode, "broken"), seconds, first, said)

    def took(self) -> dict[str, float | None]:
        """Return how long each test took that the last run ran, by `path::name`, None if it failed; none skipped."""
        found: dict[str, float | None] = {}
        for case in ET.parse(self._report).iter("testcase"):
            if case.find("skipped") is None:
                path = case.get("classname", "").replace(".", "/")
                failed = case.find("failure") is not None or case.find("error") is not None
                found[f"{path}.py::{case.get('name')}"] = None if failed else float(case.get("time", "0"))
        return found


def _files(root: Path) -> list[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.split("\0")
    return [name for name in dict.fromkeys(names) if name and (root / name).is_file()]
