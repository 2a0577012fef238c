"""Runs lines in the wall around a place, below one program. Standard library and the package of the wall only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.append(sys.argv[1])

from holdfast.system.confinement.outer_wall import outer_words

INHERITED = 20
INSIDE = """
import json, subprocess, sys
place, lines = json.load(sys.stdin)
outputs = []
for line in lines:
    done = subprocess.run(
        ["/bin/bash", "-c", line], cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, check=False,
    )
    outputs.append(done.stdout.decode("utf-8", "replace"))
json.dump(outputs, sys.stdout)
"""
"""What the supervisor is in a real place: one program in the wall, which starts all commands."""


def main() -> None:
    request = json.load(sys.stdin)
    os.dup2(os.open(request["inherited"], os.O_RDONLY), INHERITED, inheritable=True)
    environ = {**os.environ, **request["environ"], "AGENT": str(os.getpid())}
    words = outer_words(
        Path(request["place"]),
        Path(request["own"]),
        placeholders=Path(request["placeholders"]),
        hidden=tuple(map(Path, request["hidden"])),
        network=request["network"],
        environ=environ,
    )
    done = subprocess.run(
        [*words, os.path.realpath(sys.executable), "-I", "-S", "-c", INSIDE],
        env=environ,
        input=json.dumps([request["place"], request["lines"]]).encode(),
        capture_output=True,
        check=False,
        pass_fds=(INHERITED,),
    )
    if done.returncode:
        sys.exit(done.stderr.decode("utf-8", "replace"))
    sys.stdout.buffer.write(done.stdout)


main()
