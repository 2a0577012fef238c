"""A client written in JavaScript: it gets lines of JSON that say what to do, and prints lines of what came of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from line_reader import LineReader


class NodeClient:
    """A script that runs; `on_line` is called with each of its lines."""

    def __init__(
        self,
        script: Path,
        *arguments: str,
        environ: Mapping[str, str],
        cwd: Path,
        on_line: Callable[[dict[str, Any]], object] = lambda _: None,
    ) -> None:
        self.process = subprocess.Popen(
            ["node", str(script), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ, cwd=cwd
        )
        assert self.process.stdout is not None
        reader = LineReader(self.process.stdout.fileno(), on_line)
        self.lines, self.until, self.more = reader.lines, reader.until, reader.more

    def ask(self, **wish: Any) -> dict[str, Any]:
        """Send a line that says what to do, and return the line with its result."""
        start = len(self.lines)
        self.send(**wish)
        return self.until(lambda line: "done" in line or "failed" in line, start)

    def send(self, **wish: Any) -> None:
        """Send a line that says what to do, without waiting for its result."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(wish).encode() + b"\n")
        self.process.stdin.flush()

    def close(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
