"""Runs the tests in several processes, each forked from the one that has collected them.

How it works. The process that pytest started imports and collects all tests once, and forks the workers
(`forked_worker.py`). The tests to run stand as tickets in a pipe, one for a few tests of a file; a worker takes the
next one when it is through with its own, and sends the reports of each test back through its own pipe. The first
process shows them as if it had run the test. A worker that ends in the middle of a test (a crash, or a test over its
time) costs that test alone: it is reported as failed, and another worker runs the rest of the ticket.

Why not pytest-xdist: each of its workers collects everything again. For 13,000 tests and the vendors' libraries that
they judge by, that is ten seconds of CPU a worker; but many tests wait, and two cores are only busy with eight workers.
Record 0075 has the numbers.
"""

from __future__ import annotations

import mmap
import os
import selectors
import signal
import threading
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import pytest

from forked_worker import TICKET, Begun, Message, Messages, Reported, Taken, Work, run_tests
from tiers import DEEP

_MOST_TICKETS = 16_384
"""As many fit into a pipe of 64 KB before a worker reads."""

_MOST_TESTS = 2 if DEEP else 40
"""Tests of a ticket: few enough that the last ones end together, enough to share what their module prepares.

In the deep tier a test can take minutes: a ticket of forty would keep one worker busy long after the others.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--workers`."""
    words = "run the tests in N forked processes; 0 is this one, auto is four a core"
    parser.addoption("--workers", default="0", metavar="N", help=words)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", "one_worker(name): tests that share costly preparation run in one process")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in workers, if there are some; with a debugger they run here."""
    config: Any = session.config
    many = _number(config.getoption("workers"))
    if not many or config.option.collectonly or config.option.usepdb:
        return None
    if session.testsfailed and not config.option.continue_on_collection_errors:
        raise session.Interrupted(f"{session.testsfailed} errors during collection")
    if threading.active_count() > 1:
        raise pytest.UsageError(f"--workers forks, and an import has begun {threading.enumerate()}. Use --workers 0.")
    if terminal := config.pluginmanager.getplugin("terminalreporter"):
        terminal.showfspath = False  # the reports of several files come mixed
    _Workers(session, tickets(session.items), config._tmp_path_factory.getbasetemp()).run(many)
    return True


def _number(option: str) -> int:
    if option == "auto":
        return 4 * (os.cpu_count() or 1)
    if not option.isdecimal():
        raise pytest.UsageError(f"--workers is {option!r} (expected a number of processes, or auto).")
    return int(option)


def tickets(items: Sequence[pytest.Item]) -> list[list[int]]:
    """Return the places of the tests in groups: a few of one file, or all that `one_worker` keeps together."""
    groups: list[list[int]] = []
    for (together, _), places in groupby(range(len(items)), key=lambda at: _together(items[at])):
        group = list(places)
        most = len(group) if together else _MOST_TESTS
        groups.extend(group[at : at + most] for at in range(0, len(group), most))
    return groups


def _together(item: pytest.Item) -> tuple[bool, object]:
    mark = item.get_closest_marker("one_worker")
    return (False, item.path) if mark is None else (True, mark.args)


class _Worker:
    """A process, the pipe that it writes to, and where it is."""

    def __init__(self, process: int, pipe: int, left: Sequence[int]) -> None:
        self.process = process
        self.pipe = pipe
        self.messages = Messages()
        self.left = list(left)
        """The tests of its ticket that it has not begun."""
        self.running: int | None = None


class _Workers:
    def __init__(self, session: pytest.Session, groups: list[list[int]], folder: Path) -> None:
        reading, writing = os.pipe()
        if len(groups) > _MOST_TICKETS:
            raise pytest.UsageError(f"{len(groups)} groups of tests do not fit into a pipe: raise `_MOST_TESTS`.")
        os.write(writing, b"".join(map(TICKET.pack, range(len(groups)))))
        os.close(writing)
        self._session = session
        self._work = Work(session, groups, reading, mmap.mmap(-1, 1))
        self._folder = folder
        self._selector = selectors.DefaultSelector()
        self._workers: set[_Worker] = set()
        self._names = 0

    def run(self, many: int) -> None:
        """Run all tests in so many workers; raises what ends the session early."""
        session = self._session
        try:
            for _ in range(min(many, len(self._work.groups))):
                self._fork([])
            while self._workers:
                self._look()
        finally:
            self._end()
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)

    def _fork(self, first: Sequence[int]) -> None:
        """Begin a worker that runs these tests before it takes a ticket."""
        self._names += 1
        reading, writing = os.pipe()
        process = os.fork()
        if not process:
            for each in (reading, *(worker.pipe for worker in self._workers)):
                os.close(each)
            run_tests(self._work, first, self._folder / f"worker{self._names}", writing)
        os.close(writing)
        worker = _Worker(process, reading, first)
        self._workers.add(worker)
        self._selector.register(reading, selectors.EVENT_READ, worker)

    def _look(self) -> None:
        for key, _ in self._selector.select():
            worker: _Worker = key.data
            data = os.read(worker.pipe, 1 << 16)
            for message in worker.messages.feed(data):
                self._heard(worker, message)
            if not data:
                self._ended(worker)
        if self._session.shouldfail or self._session.shouldstop:
            self._work.stop[0] = 1

    def _heard(self, worker: _Worker, message: Message) -> None:
        match message:
            case Taken(ticket):
                worker.left = list(self._work.groups[ticket])
            case Begun(test):
                worker.running = test
                worker.left.remove(test)
            case Reported(reports):
                assert worker.running is not None
                item, worker.running = self._session.items[worker.running], None
                read = self._session.config.hook.pytest_report_from_serializable
                self._show(item, [read(config=self._session.config, data=each) for each in reports])

    def _ended(self, worker: _Worker) -> None:
        """Report the test that a worker ended in the middle of, and have another one run what is left."""
        self._selector.unregister(worker.pipe)
        os.close(worker.pipe)
        self._workers.remove(worker)
        status = os.waitstatus_to_exitcode(os.waitpid(worker.process, 0)[1])
        if worker.running is not None:
            item = self._session.items[worker.running]
            how = f"by signal {signal.Signals(-status).name}" if status < 0 else f"with exit code {status}"
            message = f"The process that ran this test ended {how}. What it said, if anything, stands above."
            words: dict[str, Literal[1]] = dict.fromkeys(item.keywords, 1)
            self._show(item, [pytest.TestReport(item.nodeid, item.location, words, "failed", message, "call")])
        elif status:  # what the session's fixtures do at its end
            raise self._session.Failed(f"A worker ended with {status} between two tests: it has said why, above.")
        if (worker.left or status) and not self._work.stop[0]:
            self._fork(worker.left)

    def _show(self, item: pytest.Item, reports: Sequence[pytest.TestReport]) -> None:
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in reports:
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _end(self) -> None:
        """Stop the workers that still run, as Ctrl+C does, and wait for them."""
        self._work.stop[0] = 1
        for worker in self._workers:
            os.kill(worker.process, signal.SIGINT)
        for worker in self._workers:
            while os.read(worker.pipe, 1 << 16):
                pass
            os.close(worker.pipe)
            os.waitpid(worker.process, 0)
        self._selector.close()
        os.close(self._work.tickets)
