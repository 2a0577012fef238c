"""A process that runs tests for the one that has collected them (`forked_workers.py`)."""

from __future__ import annotations

import mmap
import os
import pickle
import struct
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
from _pytest.capture import FDCapture

TICKET = struct.Struct("<I")
"""The number of a group of tests, in the pipe that all workers read."""

_LENGTH = struct.Struct("<I")


@dataclass(frozen=True)
class Taken:
    """A worker took the ticket with that number."""

    ticket: int


@dataclass(frozen=True)
class Begun:
    """It begins the test at that place of the session."""

    test: int


@dataclass(frozen=True)
class Reported:
    """The test is done: what pytest reports of it, as pytest writes reports to be sent."""

    reports: Sequence[dict[str, Any]]


Message = Taken | Begun | Reported


class Messages:
    """Cuts what comes through a pipe into messages."""

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, data: bytes) -> Iterator[Message]:
        """Yield the messages that are whole."""
        self._buffer += data
        while len(self._buffer) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._buffer)[0]
            if len(self._buffer) < end:
                return
            message, self._buffer = self._buffer[_LENGTH.size : end], self._buffer[end:]
            yield pickle.loads(message)


@dataclass(frozen=True)
class Work:
    """What all workers share."""

    session: pytest.Session
    groups: Sequence[Sequence[int]]
    """The places of the tests in the session, by ticket."""
    tickets: int
    """The pipe that the tickets stand in."""
    stop: mmap.mmap
    """One byte: 1 once no further test is to begin."""


def run_tests(work: Work, first: Sequence[int], folder: Path, pipe: int) -> NoReturn:
    """Run the tests at the places `first`, then those of each ticket that is left; ends the process.

    Temporary files come into `folder`, messages into `pipe`.
    """
    status = 1
    try:
        worker = _Worker(work, folder, pipe)
        try:
            worker.run(first)
        finally:  # also behind Ctrl+C
            worker.leave()
        status = 0
    except BaseException:  # noqa: BLE001 - whatever it is, this process ends with it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class _Worker:
    """A plugin that collects the reports of each test, and sends them."""

    def __init__(self, work: Work, folder: Path, pipe: int) -> None:
        self._work = work
        self._session = work.session
        self._config: Any = work.session.config
        self._pipe = pipe
        self._reports: list[pytest.TestReport] = []
        self._config.workerinput = {"workerid": folder.name}  # as of pytest-xdist: other plugins know a worker by it
        folder.mkdir(mode=0o700)
        self._config._tmp_path_factory._basetemp = folder
        plugins = self._config.pluginmanager
        for each in _captures(plugins.getplugin("capturemanager")):
            with tempfile.TemporaryFile() as output:  # else what is printed goes to the files of all workers
                os.dup2(output.fileno(), each.tmpfile.fileno())
        plugins.unregister(name="terminalreporter")
        plugins.register(self)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)

    def run(self, first: Sequence[int]) -> None:
        self._run_group(first)
        while not self._work.stop[0] and (ticket := os.read(self._work.tickets, TICKET.size)):
            (number,) = TICKET.unpack(ticket)
            self._send(Taken(number))
            self._run_group(self._work.groups[int(number)])

    def _run_group(self, group: Sequence[int]) -> None:
        for place, at in enumerate(group):
            if self._work.stop[0]:
                return
            self._send(Begun(at))
            item = self._session.items[at]
            # Behind the last of a group, all but what is the session's is torn down: no worker knows the next test.
            following: Any = self._session.items[group[place + 1]] if place + 1 < len(group) else self._session
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            write = self._config.hook.pytest_report_to_serializable
            self._send(Reported([write(config=self._config, report=each) for each in self._reports]))
            self._reports.clear()

    def leave(self) -> None:
        """Tear down what is the session's, and what the plugins keep for it."""
        self._session._setupstate.teardown_exact(None)
        self._config._ensure_unconfigure()

    def _send(self, message: Message) -> None:
        data = pickle.dumps(message)
        with open(self._pipe, "wb", closefd=False) as out:
            out.write(_LENGTH.pack(len(data)) + data)


def _captures(manager: Any) -> list[FDCapture]:
    captured = manager._global_capturing
    return [each for each in (captured.out, captured.err) if isinstance(each, FDCapture)]
