"""The full screen, measured through a real pseudo-terminal: what is seen, and when.

Two rules. Nothing is asked of the program but through its keys. A moment is the one at which its bytes were read.
"""

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
from contextlib import ExitStack
from itertools import count, pairwise
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import msgspec

from history import conversation
from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import SessionOpened
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.testing.script import Action, Call, Hold, ReceivedRequest, Say, Wait
from holdfast.testing.scripted_provider import ScriptedProvider
from pairs import AtMost, Comparison, paired, percentile
from startup import most_memory

PYTHON = sys.executable
HOLDFAST = str(Path(PYTHON).with_name("holdfast"))
DRAWS = (PYTHON, "-c", "import textual.app, textual.widgets; print('sk holdfast to do', flush=True); input()")
"""The least that a program on Textual must import, said with the words by which a prompt is known."""

COLUMNS, LINES = 120, 40
MODEL = "openai-chat:m"

PROMPT = b"sk holdfast to do"  # its first letter is under the cursor
STOPPING, IDLE = b"stopping", b"shift+tab to cycle"
ESC, ENTER, PAGE_UP, PAGE_DOWN = b"\x1b", b"\r", b"\x1b[5~", b"\x1b[6~"

SITUATIONS = (("while it streams", b"talk", b"writing"), ("while a command runs", b"run", b"running"))
"""What a stop is measured in, the prompt that leads to it, and the word by which it is seen."""

CPU_OF_PROMPT = 0.36
ACKNOWLEDGED = 0.15
USABLE = 1.0
GAP = 0.1
MEMORY = 256 * 1024 * 1024
SOON = 30.0

TOKEN = 4
RATE = 2_000
BURST = 40  # tokens that come at a time, as they do in the packets of a network


class Moment(NamedTuple):
    """A moment on the clock, and the CPU seconds that the program had taken by then."""

    at: float
    cpu: float


class Terminal:
    """A program in a pseudo-terminal; leaving the block kills it."""

    def __init__(self, argv: Sequence[str], *, environ: Mapping[str, str], cwd: Path) -> None:
        self.begun = time.monotonic()
        self._cpu: float | None = None
        self._read: list[tuple[Moment, int]] = []  # when, and how much had been read then
        self._output = bytearray()
        self._changed = threading.Condition()
        self.pid, self._descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(argv[0], list(argv), {**environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"})
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._reader.join(SOON)
        os.close(self._descriptor)

    def kill(self) -> float:
        """End the program and return the CPU seconds it took."""
        if self._cpu is None:
            os.kill(self.pid, signal.SIGKILL)
            _, _, usage = os.wait4(self.pid, 0)
            self._cpu = usage.ru_utime + usage.ru_stime
        return self._cpu

    @property
    def cpu(self) -> float:
        """Return the CPU seconds of all threads so far, from the system's clock for that process."""
        return time.clock_gettime((~self.pid << 3) | 2)

    @property
    def most_memory(self) -> int:
        """Return the most memory it had, in bytes."""
        return most_memory(self.pid)

    @property
    def now(self) -> int:
        """Return how many bytes were read so far: a place to look from."""
        return len(self._output)

    def send(self, keys: bytes) -> float:
        """Type, and return when."""
        moment = time.monotonic()
        os.write(self._descriptor, keys)
        return moment

    def seen(self, *patterns: bytes, since: int = 0, timeout: float = SOON) -> float:
        """Return when the first of the patterns had been written, at or after place `since`."""

        def place() -> int | None:
            ends = [at + len(each) for each in patterns if (at := self._output.find(each, since)) >= 0]
            return min(ends, default=None)

        with self._changed:
            if not self._changed.wait_for(lambda: place() is not None, timeout):
                raise AssertionError(f"{patterns} did not come: {bytes(self._output[-2000:])!r}")
            end = place()
            assert end is not None
            return next(moment.at for moment, size in self._read if size >= end)

    def quiet(self, seconds: float) -> None:
        """Return when nothing was written for so long."""
        with self._changed:
            while self._changed.wait(seconds):
                pass

    def writes(self, since: int) -> list[tuple[Moment, bytes]]:
        """Return what was read from a place on, piece by piece, with the moment of each."""
        with self._changed:
            begins = [0, *(size for _, size in self._read)]
            return [
                (moment, bytes(self._output[begin:size]))
                for begin, (moment, size) in zip(begins, self._read, strict=False)
                if begin >= since
            ]

    def _listen(self) -> None:
        query = b""  # a question may come in two reads
        while True:
            try:
                select.select([self._descriptor], [], [])
                data = os.read(self._descriptor, 1 << 20)
                moment = Moment(time.monotonic(), self.cpu)
            except OSError:  # the last process of the terminal has exited
                return
            os.write(self._descriptor, b"\x1b[0n" * (query + data).count(b"\x1b[5n"))  # as every terminal answers
            query = (query + data)[-3:]
            with self._changed:
                self._output += data
                self._read.append((moment, len(self._output)))
                self._changed.notify_all()


def prompting(scratch: Path, *, rounds: int) -> list[Comparison]:
    """Compare the prompt on the screen with half a second of CPU, and with importing what draws it."""
    environ = screen_environ(scratch)
    ours, theirs = paired(
        lambda: _until_prompt((HOLDFAST,), environ, scratch),
        lambda: _until_prompt(DRAWS, environ, scratch),
        rounds=rounds,
    )
    return [
        Comparison(
            what="prompt on the screen, CPU",
            against=f"{CPU_OF_PROMPT:g} s",
            ours=[cpu for _, cpu in ours],
            theirs=[CPU_OF_PROMPT] * rounds,
            aim=AtMost(ratio=1),
        ),
        Comparison(
            what="prompt on the screen, wall",
            against="import textual",
            ours=[wall for wall, _ in ours],
            theirs=[wall for wall, _ in theirs],
            aim=AtMost(ratio=2.5),
        ),
    ]


def _until_prompt(command: Sequence[str], environ: Mapping[str, str], cwd: Path) -> tuple[float, float]:
    """Return the wall and the CPU time until the prompt is seen."""
    with Terminal(command, environ=environ, cwd=cwd) as terminal:
        wall = terminal.seen(PROMPT) - terminal.begun
        return wall, terminal.kill()


def stopping(scratch: Path, *, rounds: int) -> list[Comparison]:
    """Compare ESC until its effect is seen with what the user takes for at once, in two situations."""
    rows: list[Comparison] = []
    with ExitStack() as stack:
        provider = stack.enter_context(ScriptedProvider(after=_long_work))
        terminal = stack.enter_context(_yolo(scratch, provider))
        terminal.seen(PROMPT)
        for what, prompt, sign in SITUATIONS:
            seen: list[float] = []
            usable: list[float] = []
            for number in range(rounds + 1):
                place = terminal.now
                terminal.send(prompt + ENTER)
                terminal.seen(sign, since=place)
                time.sleep(0.05 + 0.007 * (number % 15))  # at every moment of a frame
                place = terminal.now
                pressed = terminal.send(ESC)
                acknowledged = terminal.seen(STOPPING, IDLE, since=place)
                idle = terminal.seen(IDLE, since=place)
                if number:  # the first one pays for imports
                    seen.append(acknowledged - pressed)
                    usable.append(idle - pressed)
            rows += [
                _row(f"ESC {what}, {name}, p{percent} of {rounds}", percentile(values, percent), aim)
                for name, values, aim in (("on the screen", seen, ACKNOWLEDGED), ("next prompt", usable, USABLE))
                for percent in (50, 99)
            ]
    return rows


def _long_work(request: ReceivedRequest) -> list[Action]:
    if '"run"' in str(request.messages[-1]).replace("'", '"'):
        return [Call("bash", {"command": "echo up; sleep 60"})]
    return [Say(_markdown(40_000), delay=0.005), Hold("for ever")]


def streaming(scratch: Path, *, seconds: float) -> list[Comparison]:
    """Compare a fast answer with the time it took, and what one sees of it with what looks smooth."""
    text = _markdown(int(seconds * RATE * TOKEN))
    size = BURST * TOKEN
    bursts: list[Action] = [
        action
        for at in range(0, len(text), size)
        for action in (Say(text[at : at + size], chunk=TOKEN), Wait(BURST / RATE - BURST * _COST))
    ]
    with ExitStack() as stack:
        provider = stack.enter_context(ScriptedProvider([[Say("Ready.")], bursts]))
        terminal = stack.enter_context(_yolo(scratch, provider))
        terminal.seen(PROMPT)
        place = terminal.now
        terminal.send(b"warm up" + ENTER)  # who streams first pays for imports
        terminal.seen(b"esc to interrupt", since=place)
        terminal.seen(IDLE, since=place)
        terminal.quiet(0.3)
        place, before = terminal.now, terminal.cpu
        terminal.send(b"pour" + ENTER)
        provider.wait_requests(2, timeout=SOON)
        begun = time.monotonic()
        provider.wait_idle(timeout=seconds * 10)
        sent = time.monotonic()
        shown = terminal.seen(_LAST, since=place)
        cpu = terminal.cpu - before
        terminal.seen(IDLE, since=place)
        moments = list(_progress(terminal.writes(place)))
        memory = terminal.most_memory
    took = sent - begun
    what = f"stream of {len(text) / TOKEN / took:,.0f} tokens a second for {took:.0f} s"
    gaps = [later.at - earlier.at for earlier, later in pairwise(moments)]
    work = [later.cpu - earlier.cpu for earlier, later in pairwise(moments)]
    return [
        Comparison(what=f"{what}, CPU", against="its length", ours=[cpu], theirs=[took], aim=AtMost(ratio=0.8)),
        _row("stream, between frames, p99", percentile(gaps, 99), GAP),
        _row("stream, between frames, worst", max(gaps), GAP),
        _row("stream, between frames, most CPU", max(work), GAP),
        _row("stream, until its last word is seen", max(0.0, shown - sent), GAP),
        _memory("stream", memory),
    ]


def _row(what: str, ours: float, aim: float) -> Comparison:
    return Comparison(what=what, against=f"{aim:g} s", ours=[ours], theirs=[aim], aim=AtMost(ratio=1))


_COST = 0.00006  # seconds that sending a token takes here
_NUMBER = re.compile(rb"n(\d{6})")
_LAST = b"n999999"


def _progress(writes: Sequence[tuple[Moment, bytes]]) -> list[Moment]:
    """Return when something was drawn that had not been seen before."""
    moments: list[Moment] = []
    highest = -1
    for moment, data in writes:
        number = max(map(int, _NUMBER.findall(data)), default=-1)
        if number > highest:
            highest = number
            moments.append(moment)
    return moments


def _markdown(size: int) -> str:
    """Return about so many characters as a model writes them; numbers in them tell how far one has come."""
    numbers = count()

    def n() -> str:
        return f"n{next(numbers):06}"

    sections: list[str] = []
    length = 0
    while length < size:
        section = [
            f"## What happens in {n()}\n\n",
            *(f"The `store` of {n()} keeps **every** entry, see [it](https://example.org/{n()}); " for _ in range(6)),
            "\n\n",
            *(f"{number}. Item {n()} with *some* words and `code` in it.\n" for number in range(1, 9)),
            "\n```python\n",
            *(
                f"def {n()}(entries: list[int]) -> int:  # {n()}\n    return {{'a': {n()}, 'b': 42}}\n\n"
                for _ in range(25)
            ),
            "```\n\n| name | what | how many |\n|---|---|---|\n",
            *(f"| `{n()}` | a thing of a kind | {n()} |\n" for _ in range(20)),
            "\n",
        ]
        sections += section
        length += sum(map(len, section))
    return f"{''.join(sections)[:size]}\n\n```\n```\n\nThe end is {_LAST.decode()}.\n"


def opening(scratch: Path, *, few: int, many: int, rounds: int) -> list[Comparison]:
    """Compare opening a long session with opening a short one, and then reading in either."""
    sides = {messages: scratch / f"home-{messages}" for messages in (few, many)}
    for messages, home in sides.items():
        _session(home, messages, scratch)

    def opened(messages: int) -> Callable[[], tuple[float, float, float, int]]:
        return lambda: _opened(sides[messages], scratch)

    ours, theirs = paired(opened(many), opened(few), rounds=rounds)
    rows = [
        Comparison(
            what=f"{what}, {many:,} messages",
            against=f"{few:,} messages",
            ours=[row[column] for row in ours],
            theirs=[row[column] for row in theirs],
            aim=AtMost(ratio=aim),
        )
        for column, (what, aim) in enumerate(
            (("-c until it is seen, wall", 4), ("-c until it is seen, CPU", 4), ("40 pages, CPU", 1.3))
        )
    ]
    return [*rows, _memory(f"{many:,} messages", max(row[3] for row in ours))]


def _opened(home: Path, cwd: Path) -> tuple[float, float, float, int]:
    """Return the wall and CPU time until a session is seen, the CPU time of looking through it, and the memory."""
    with Terminal((HOLDFAST, "-c"), environ=screen_environ(home), cwd=cwd) as terminal:
        wall = terminal.seen(b"a list.") - terminal.begun
        cpu = terminal.cpu
        terminal.quiet(0.3)
        before = terminal.cpu
        for key in (PAGE_UP, PAGE_DOWN) * 20:
            place = terminal.now
            terminal.send(key)
            terminal.seen(b"\x1b[", since=place)
            terminal.quiet(0.03)
        return wall, cpu, terminal.cpu - before, terminal.most_memory


def _session(home: Path, messages: int, cwd: Path) -> None:
    catalog = Catalog(home / "sessions")
    session = catalog.new_id()
    store = SqliteStore.create(catalog.folder(session))
    opened, *rest = conversation(messages)
    assert isinstance(opened, SessionOpened)
    store.append([msgspec.structs.replace(opened, session=session, cwd=str(cwd)), *rest], expected=0)
    store.close()


def _memory(what: str, size: int) -> Comparison:
    return Comparison(
        what=f"memory, {what}", against="256 MB", ours=[size], theirs=[MEMORY], aim=AtMost(ratio=1), unit="bytes"
    )


def _yolo(scratch: Path, provider: ScriptedProvider) -> Terminal:
    return Terminal((HOLDFAST, "-m", MODEL, "--yolo"), environ=screen_environ(scratch, provider.environ()), cwd=scratch)


def screen_environ(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a program whose sessions are in `home`."""
    environ = {**os.environ, "HOLDFAST_HOME": str(home), **(more or {})}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    return environ
