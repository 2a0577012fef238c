"""The program of holdfast's own search: says which files have a line that matches, in a process that can be ended.

It reads the names from stdin, each ended by a NUL, relative to where it runs. It writes the names of files in which
something was found, or that must be looked at again because they cannot be read or take too long. Then, after an empty
name, it writes how many it had no time for.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from holdfast.errors import ToolFailed
from holdfast.system.safe_paths import SafePath
from holdfast.tools.builtin.line_search import SearchDeadline, holds_match
from holdfast.tools.builtin.regular_expressions import compile_pattern

WORKER_PROGRAM = (
    "import sys; sys.path += sys.argv.pop(1).split(chr(0x1f)); "
    "from holdfast.tools.builtin.search_worker import main; main(sys.argv[1:])"
)
"""What the bare Python of the worker runs; the first argument are the folders of its modules."""
NAMES_MOST = 134_217_728
"""Bytes of names that are read."""


def main(words: list[str]) -> None:
    """Search for a pattern, with "i" or "" for its case, for so many seconds."""
    pattern, case, seconds = words
    compiled = compile_pattern(pattern, ignore_case=case == "i")
    names = sys.stdin.buffer.read(NAMES_MOST).split(b"\0")[:-1]
    here, deadline, out = Path.cwd(), SearchDeadline(float(seconds)), sys.stdout.buffer
    for at, raw in enumerate(names):
        if deadline.is_set():
            out.write(b"\0%d\0" % (len(names) - at))
            return
        name = os.fsdecode(raw)
        place = SafePath(anchor=here, parts=tuple(name.split("/")), name=name, outside=None)
        try:
            found = holds_match(compiled, place, deadline)
        except (OSError, ToolFailed):  # a TimeoutError of a slow line is one of these
            found = True
        if found:
            out.write(raw + b"\0")
            out.flush()
    out.write(b"\0" + b"0\0")
