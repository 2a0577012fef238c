"""Runs holdfast and reports what a marked prompt passes through: `python trace_program.py FILE WORDS...`.

A function counts if one of its arguments holds the marker, as text, as bytes, in a container or in a struct, or if its
object does so directly: what was given to an object is passed to its methods too. The trace begins at SIGUSR1, and the
way out ends at the first call outside of holdfast that gets bytes with the marker, which is the HTTP client. What
draws the prompt is traced until SIGUSR2; then the report is written, a line for each call: file, function, part.
"""

import signal
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import cast

import holdfast

MARKER = "zqmarkerzq"
SOURCE = f"{Path(holdfast.__file__).parent}/"
DEPTH, WIDTH = 5, 60
"""How deep, and how far into a container, the marker is looked for."""
OBJECT_DEPTH = 2
"""How deep it is looked for in the object of a method."""


def contents(value: object) -> Iterator[object]:
    """Yield what a container, a struct or a dataclass holds."""
    if isinstance(value, tuple | list | set | frozenset | deque):
        yield from islice(tuple(cast("Iterable[object]", value)), WIDTH)
    elif isinstance(value, dict):
        yield from islice(tuple(cast("Mapping[object, object]", value).values()), WIDTH)
    elif not isinstance(value, type):
        fields = getattr(value, "__struct_fields__", None) or getattr(value, "__dataclass_fields__", ())
        yield from (getattr(value, name, None) for name in fields)


def holds_marker(value: object, depth: int) -> bool:
    """Return whether the value is or contains a text with the marker."""
    if isinstance(value, str):
        return MARKER in value
    if isinstance(value, bytes | bytearray):
        return MARKER.encode() in value
    return depth > 0 and any(holds_marker(each, depth - 1) for each in contents(value))


def object_holds_marker(value: object) -> bool:
    """Return whether an attribute of the object is or contains a text with the marker."""
    attributes = tuple(getattr(value, "__dict__", {}).values())
    return any(holds_marker(each, OBJECT_DEPTH) for each in attributes) or holds_marker(value, OBJECT_DEPTH)


class Trace:
    """The calls on the way of the prompt, as a profile function."""

    def __init__(self) -> None:
        self.on = False
        self.sent = False
        self.handed_over = False
        """Whether another thread has the prompt."""
        self.step_draws = False
        """Whether the present step of the screen's loop began after that: it draws the prompt."""
        self.rows: list[tuple[str, str, str]] = []

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """Look at a call."""
        del argument
        if not self.on or event != "call":
            return
        code = frame.f_code
        main = threading.current_thread() is threading.main_thread()
        if main and code.co_name == "_run" and code.co_filename.endswith("asyncio/events.py"):
            self.step_draws = self.handed_over
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if not code.co_filename.startswith(SOURCE):
            if not self.sent and any(self._is_marked_bytes(frame.f_locals.get(name)) for name in names):
                self.sent = True
        elif (code.co_name == "<lambda>" or code.co_name[0] != "<") and (main or not self.sent):
            values = frame.f_locals
            if any(
                object_holds_marker(values.get(name)) if name == "self" else holds_marker(values.get(name), DEPTH)
                for name in names
            ):
                self.handed_over |= not main
                part = "drawn" if main and self.step_draws else "out"
                self.rows.append((code.co_filename.removeprefix(SOURCE), code.co_qualname, part))

    @staticmethod
    def _is_marked_bytes(value: object) -> bool:
        return isinstance(value, bytes | bytearray) and MARKER.encode() in value


def trace_run(file: str) -> int:
    """Run holdfast with the trace, and return its exit code."""
    trace = Trace()

    def begin(number: int, frame: FrameType | None) -> None:
        del number, frame
        trace.on = True
        Path(f"{file}.begun").touch()

    def report(number: int, frame: FrameType | None) -> None:
        del number, frame
        trace.on = False
        rows = [f"sent {trace.sent} -", *(" ".join(row) for row in trace.rows)]
        Path(f"{file}~").write_text("\n".join(rows), encoding="utf-8")
        Path(f"{file}~").replace(file)

    threading.setprofile(trace)
    sys.setprofile(trace)
    signal.signal(signal.SIGUSR1, begin)
    signal.signal(signal.SIGUSR2, report)
    from holdfast.ui.main import main

    return main()


if __name__ == "__main__":
    report_file = sys.argv.pop(1)
    sys.exit(trace_run(report_file))
