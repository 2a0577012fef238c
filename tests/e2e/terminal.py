"""A terminal for tests: holdfast in a real pseudo-terminal, what it draws read back by pyte, keys sent as bytes."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import pyte

from launcher import COLD, PRODUCT, Process, launcher
from polling import HANGS

# pyte takes these for something else: kitty's and xterm's keyboard modes, requests for modes, and synchronized output.
_UNKNOWN = re.compile(rb"\x1b\[[<>=?][0-9;]*[um]|\x1b\[\?[0-9;]*\$p|\x1b\[\?2026[hl]")
_FRAMES = b"\x1b[?2026$p"
_TIOCGPTPEER = 0x5441
"""Opens the other side of a pseudo-terminal (Linux's asm-generic/ioctls.h)."""
_QUESTION = re.compile(rb"\x1b\[(?:\?2026\$p|5n)")
_FRAME_ENDS = 1.0
"""Seconds after which a terminal shows a frame that has not ended."""
_SETTLED = 0.15
_FRAME = 0.03
"""Seconds within which the rest of a frame arrives."""
_LOOK = 0.02
"""Seconds after which is looked again for what no drawing announces."""


@dataclass(frozen=True, slots=True)
class Key:
    """The bytes a terminal sends for a key."""

    ESC = b"\x1b"
    ENTER = b"\r"
    ALT_ENTER = b"\x1b\r"
    NEW_LINE = b"\n"
    TAB = b"\t"
    SHIFT_TAB = b"\x1b[Z"
    UP = b"\x1b[A"
    DOWN = b"\x1b[B"
    END = b"\x1b[F"
    CTRL_END = b"\x1b[1;5F"
    PAGE_UP = b"\x1b[5~"
    PAGE_DOWN = b"\x1b[6~"
    CTRL_C = b"\x03"
    CTRL_D = b"\x04"
    CTRL_O = b"\x0f"
    CTRL_R = b"\x12"
    CTRL_V = b"\x16"


class Terminal:
    """A program in a pseudo-terminal of `columns` x `lines`; leave the block and every process of it is ended.

    With `warm`, it is holdfast with the arguments `argv`, forked from a process that has imported it.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        columns: int = 100,
        lines: int = 30,
        warm: bool = False,
        screen: pyte.Screen | None = None,
    ) -> None:
        self.screen = screen or pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self._lock = threading.Lock()
        self._drawn = threading.Condition(self._lock)
        self._text: str | None = None  # what is on the screen, if it was asked for since something was drawn
        self._reads = 0
        self.raw = bytearray()
        """Every byte it wrote."""
        self._in_frame = False  # the program has begun to draw a frame, and has not ended it (mode 2026)
        self.answers_after: float | None = 0
        """Seconds after which the terminal says that it has drawn what came; None if never."""
        self.began = time.monotonic()
        self._status: int | None = None
        self._forked: Process | None = None
        environ = {"TERM": "xterm-256color", "COLORTERM": "truecolor", **env}
        size = struct.pack("HHHH", lines, columns, 0, 0)
        if warm and not COLD:
            self.descriptor, theirs = pty.openpty()
            self.settings = termios.tcgetattr(self.descriptor)
            """What the terminal was set to before the program began."""
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
            files = (theirs, theirs, theirs)
            self._forked = launcher().start(PRODUCT, tuple(argv), cwd=cwd, environ=environ, files=files, terminal=True)
            self.pid = self._forked.pid
            os.close(theirs)
        else:
            command = [sys.executable, "-m", "holdfast", *argv] if warm else list(argv)
            self.pid, self.descriptor = pty.fork()
            if self.pid == 0:
                os.chdir(cwd)
                os.execve(command[0], command, environ)
            self.settings = termios.tcgetattr(self.descriptor)  # a Python that starts is later than this line
            fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, size)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is None:
            self.kill(signal.SIGKILL)
            self.wait()
        self._reader.join(HANGS)
        os.close(self.descriptor)
        if error is not None:
            error.add_note(self.text())

    # --- what it does -------------------------------------------------------------------------------------------

    def send(self, keys: bytes | str) -> None:
        """Type."""
        os.write(self.descriptor, keys.encode() if isinstance(keys, str) else keys)

    def line(self, text: str) -> None:
        """Type a line, send it, and return when the program has read its Enter: what follows is another read."""
        self.send(text)
        self.wait_for(lambda: text[-20:] in self.text(), f"{text!r} in the composer")
        self.send(Key.ENTER)
        self.wait_for(self._is_read, f"the Enter of {text!r} read")

    def _is_read(self) -> bool:
        """Return whether the program has read all that was typed, or has ended."""
        if self.ended():
            return True
        theirs = fcntl.ioctl(self.descriptor, _TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY)
        try:
            return not select.select([theirs], [], [], 0)[0]
        finally:
            os.close(theirs)

    def paste(self, text: str) -> None:
        """Paste, as a terminal with bracketed paste does."""
        self.send(b"\x1b[200~" + text.encode() + b"\x1b[201~")

    def resize(self, columns: int, lines: int) -> None:
        """Change the size."""
        with self._lock:
            self.screen.resize(lines, columns)
            self._text = None
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal to the program alone."""
        os.kill(self.pid, number)

    @property
    def work(self) -> float:
        """Return how many seconds of CPU the program has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait(self, timeout: float = HANGS) -> int:
        """Return how it ended: its exit code, or the negative of the signal that killed it."""
        self.wait_for(self.ended, "its end", timeout=timeout)
        self._reader.join(1.0)  # its last words come before the end of the terminal; what it left may hold that open
        assert self._status is not None
        return self._status

    def ended(self) -> bool:
        """Return whether it has ended."""
        if self._status is None and self._forked is not None:
            with suppress(TimeoutError):
                self._status = self._forked.wait(0)
        elif self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status is not None

    # --- what it shows ------------------------------------------------------------------------------------------

    def text(self) -> str:
        """Return what is on the screen, its lines without the blanks at their ends; no half of a frame."""
        with self._drawn:
            self._drawn.wait_for(lambda: not self._in_frame, _FRAME_ENDS)
            if self._text is None:
                self._text = "\n".join(line.rstrip() for line in self.screen.display).rstrip()
            return self._text

    def wait_text(self, pattern: str, *, timeout: float = HANGS) -> re.Match[str]:
        """Return the match once the screen shows something of that pattern; raises `TimeoutError`."""
        found: list[re.Match[str]] = []

        def seen() -> bool:
            match = re.search(pattern, self.text())
            found[:] = [match] if match else []
            return bool(match)

        self.wait_for(seen, f"the pattern {pattern!r}", timeout=timeout)
        return found[0]

    def wait_absent(self, pattern: str, *, timeout: float = HANGS) -> None:
        """Return once the screen shows nothing of that pattern, and it is no half of a frame.

        A frame that moves the pattern to another line clears the first line before it writes the second one. Raises
        `TimeoutError`.
        """

        def absent() -> bool:
            if re.search(pattern, self.text()):
                return False
            time.sleep(_FRAME)
            return not re.search(pattern, self.text())

        self.wait_for(absent, f"no {pattern!r}", timeout=timeout)

    def wait_for(self, seen: Callable[[], bool], what: str, *, timeout: float = HANGS) -> None:
        """Return once `seen`; raises `TimeoutError` with the screen."""
        until = time.monotonic() + timeout
        reads = self._reads
        while not seen():
            if time.monotonic() > until:
                msg = f"Timed out after {timeout:g} s (expected {what}). On the screen:\n{self.text()}"
                raise TimeoutError(msg)
            with self._drawn:
                self._drawn.wait_for(lambda: self._reads != reads, _LOOK)  # noqa: B023 - it is called here
                reads = self._reads

    def settle(self) -> str:
        """Return the screen once nothing was drawn for a moment."""
        size = -1
        while size != len(self.raw):
            size = len(self.raw)
            time.sleep(_SETTLED)
        return self.text()

    def _read(self) -> None:
        unfinished = unanswered = b""
        while True:
            try:
                select.select([self.descriptor], [], [])
                data = os.read(self.descriptor, 65_536)
            except OSError:  # the last process of the terminal is gone
                return
            if not data:
                return
            unanswered = self._answer_all(unanswered + data)
            with self._lock:
                self.raw += data
                data = unfinished + data
                cut = data.rfind(b"\x1b", max(0, len(data) - 32))  # a sequence may come in two reads
                data, unfinished = (data[:cut], data[cut:]) if cut >= 0 and not _ended(data[cut:]) else (data, b"")
                begun, ended = data.rfind(b"\x1b[?2026h"), data.rfind(b"\x1b[?2026l")
                self._in_frame = begun > ended or (self._in_frame and ended < 0)
                self._stream.feed(_UNKNOWN.sub(b"", data))
                self._text = None
                self._reads += 1
                self._drawn.notify_all()

    def _answer_all(self, output: bytes) -> bytes:
        """Answer the questions in what it wrote, and return what may be the beginning of another one."""
        end = 0
        for question in _QUESTION.finditer(output):
            end = question.end()
            if question[0] == _FRAMES:
                self._answer(b"\x1b[?2026;2$y")  # it knows frames, and none is open
            elif self.answers_after:
                threading.Timer(self.answers_after, self._answer, (b"\x1b[0n",)).start()
            elif self.answers_after is not None:
                self._answer(b"\x1b[0n")
        return output[end:][1 - len(_FRAMES) :]

    def _answer(self, answer: bytes) -> None:
        with suppress(OSError):  # it is closed
            os.write(self.descriptor, answer)


def _ended(sequence: bytes) -> bool:
    return re.match(rb"\x1b(\[[0-?]*[ -/]*[@-~]|[^\[])", sequence) is not None
