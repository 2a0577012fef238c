"""A client written in JavaScript: it gets lines of JSON that say what to do, and prints lines of what came of it."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from polling import HANGS

BUILD = Path(__file__).parents[2] / "build"


def missing(modules: Path, packages: Iterable[str], target: str) -> str:
    """Return why a client cannot be run, "" if it can; `make TARGET` installs its packages."""
    if shutil.which("node") is None:
        return "node is not installed"
    return "" if all((modules / each).is_dir() for each in packages) else f"run `make {target}` first"


class NodeClient:
    """A script that runs; `seen` is called with each of its lines."""

    def __init__(
        self,
        script: Path,
        *arguments: str,
        environ: Mapping[str, str],
        cwd: Path,
        seen: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self.process = subprocess.Popen(
            ["node", str(script), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ, cwd=cwd
        )
        self.lines: list[dict[str, Any]] = []
        self._seen = seen
        self._rest = b""

    def ask(self, **wish: Any) -> dict[str, Any]:
        """Have something done, and return what came of it."""
        looked = len(self.lines)
        self.tell(**wish)
        return self.until(lambda line: "done" in line or "failed" in line, looked)

    def tell(self, **wish: Any) -> None:
        """Say what to do."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(wish).encode() + b"\n")
        self.process.stdin.flush()

    def until(self, found: Callable[[dict[str, Any]], bool], looked: int = 0) -> dict[str, Any]:
        """Return the first line behind the first `looked` of which this is true."""
        end = time.monotonic() + HANGS
        while True:
            for line in self.lines[looked:]:
                looked += 1
                if found(line):
                    return line
            assert time.monotonic() < end, f"no such line came; the last were {self.lines[-3:]}"
            assert self.more(), f"the client has ended; its last lines were {self.lines[-3:]}"

    def more(self) -> bool:
        """Take what comes within a moment. Return whether more may come."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], 0.1)[0]:
            return True
        chunk = os.read(self.process.stdout.fileno(), 1 << 16)
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        for each in whole:
            line = json.loads(each)
            if self._seen is not None:
                self._seen(line)
            self.lines.append(line)
        return bool(chunk)

    def close(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
