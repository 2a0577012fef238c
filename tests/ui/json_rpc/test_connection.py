"""Writing to a client that reads nothing, or that has exited: the owner is notified once, and nothing waits."""

from __future__ import annotations

import os
import time

from holdfast.ui.json_rpc.connection import LineWriter
from polling import eventually

MUCH = b"x" * 1_000_000 + b"\n"


def test_a_client_that_reads_nothing_is_given_up() -> None:
    reader, writer = os.pipe()
    reasons: list[str] = []
    lines = LineWriter(writer, reasons.append, patience=0.2)
    lines.write(MUCH)
    lines.write(MUCH)
    eventually(lambda: bool(reasons))
    lines.close(5.0)
    assert reasons == ["the client has read nothing for 0.2 s"]
    os.close(reader)
    os.close(writer)


def test_a_client_that_reads_slowly_is_kept() -> None:
    """It reads one piece at a time, with pauses: each is shorter than the patience, together they are longer."""
    reader, writer = os.pipe()
    reasons: list[str] = []
    lines = LineWriter(writer, reasons.append, patience=2.5)
    lines.write(MUCH)
    got = 0
    for _ in range(3):
        time.sleep(1.3)
        got += len(os.read(reader, 1 << 16))
    assert reasons == []
    while got < len(MUCH):
        got += len(os.read(reader, 1 << 16))
    lines.close(5.0)
    assert reasons == []
    os.close(reader)
    os.close(writer)


def test_a_client_that_has_gone_is_reported_once() -> None:
    reader, writer = os.pipe()
    reasons: list[str] = []
    os.close(reader)
    lines = LineWriter(writer, reasons.append)
    lines.write(b"a\n")
    lines.write(b"b\n")
    lines.close(5.0)
    assert reasons == ["Broken pipe"]
    os.close(writer)


def test_a_slow_client_gets_everything_in_order() -> None:
    reader, writer = os.pipe()
    reasons: list[str] = []
    lines = LineWriter(writer, reasons.append)
    sent = b"".join(b"%d " % number * 1000 + b"\n" for number in range(100))
    for line in sent.splitlines(keepends=True):
        lines.write(line)
    got = b""
    while len(got) < len(sent):
        got += os.read(reader, 1 << 16)
    assert got == sent
    lines.close(5.0)
    assert reasons == []
    os.close(reader)
    os.close(writer)
