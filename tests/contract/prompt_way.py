"""The way of a prompt, from Enter on the screen to the socket of its provider.

Traced in a real process on a pseudo-terminal, by `trace_program.py`. No class or module of holdfast is named here, so a
change of its inside changes the numbers and nothing else. For a list:
`PYTHONPATH=tests:bench python tests/contract/prompt_way.py`.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from trace_program import MARKER

import screen
from holdfast.testing.script import Say
from holdfast.testing.scripted_provider import ScriptedProvider
from polling import HANGS, eventually

PROGRAM = Path(__file__).with_name("trace_program.py")
ANSWER = "The answer is here."


class Call(NamedTuple):
    """A call that was handed the prompt."""

    file: str
    function: str


class Way(NamedTuple):
    """The calls that a prompt passes, in their order."""

    calls: Sequence[Call]

    @property
    def functions(self) -> int:
        """Return how many functions it passes."""
        return len(set(self.calls))

    @property
    def files(self) -> int:
        """Return in how many files they are."""
        return len({call.file for call in self.calls})

    @property
    def moves(self) -> int:
        """Return how often the next call is in another file; threads that work together change it a little."""
        return sum(one.file != other.file for one, other in pairwise(self.calls))


class Traced(NamedTuple):
    """What became of a prompt: its way to the provider, and the way of its lines to the terminal."""

    sent: bool
    out: Way
    drawn: Way


def traced(home: Path) -> Traced:
    """Type a prompt on the screen and return its ways, when it was sent, answered and drawn."""
    (home / "work").mkdir()
    report = home / "report"
    inherited = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
    with ScriptedProvider([[Say(ANSWER)]]) as provider:
        command = [sys.executable, str(PROGRAM), str(report), "-m", "openai-chat:m"]
        environ = {**inherited, "HOME": str(home), **provider.environ()}
        with screen.Terminal(command, environ=environ, cwd=home / "work") as terminal:
            terminal.seen(screen.PROMPT, timeout=HANGS)
            terminal.send(f"say {MARKER}".encode())
            terminal.seen(MARKER.encode(), timeout=HANGS)
            terminal.quiet(0.2)
            os.kill(terminal.pid, signal.SIGUSR1)
            eventually(Path(f"{report}.begun").exists)
            place = terminal.now
            terminal.send(screen.ENTER)
            provider.wait_requests(1, timeout=HANGS)
            terminal.seen(ANSWER.encode(), since=place, timeout=HANGS)
            terminal.quiet(0.2)
            os.kill(terminal.pid, signal.SIGUSR2)
            eventually(report.exists)
    (_, sent, _), *rows = (line.split(" ") for line in report.read_text(encoding="utf-8").splitlines())
    ways = {part: Way([Call(*row[:2]) for row in rows if row[2] == part]) for part in ("out", "drawn")}
    return Traced(sent == "True", ways["out"], ways["drawn"])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        found = traced(Path(folder))
    for name, way in (("way out", found.out), ("drawn", found.drawn)):
        lines = [f"{name}: {way.functions} functions, {way.files} files, {way.moves} moves"]
        lines += [f"  {call.file} {call.function}" for call in dict.fromkeys(way.calls)]
        sys.stdout.write("\n".join([*lines, ""]))
