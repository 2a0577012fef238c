"""Writing to readers that are slow, gone or full: the caller never waits, and is notified once."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.ui.headless.stream_writer import Courier, Writer
from polling import eventually
from skips import needs

MUCH = "line\n" * 100_000  # more than any pipe holds


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Return a pipe, closed in the end as far as the test has not done it."""
    reader, writer = os.pipe()
    yield reader, writer
    for descriptor in (reader, writer):
        try:
            os.close(descriptor)
        except OSError:
            continue


def never(why: str) -> None:
    raise AssertionError(why)


def read(descriptor: int, length: int) -> str:
    chunks: list[bytes] = []
    while (length := length - len(chunks[-1]) if chunks else length) > 0:
        chunks.append(os.read(descriptor, length))
    return b"".join(chunks).decode()


@pytest.mark.parametrize("blocking", [True, False])
def test_a_slow_reader_gets_everything_and_holds_up_no_writer(pipe: tuple[int, int], *, blocking: bool) -> None:
    os.set_blocking(pipe[1], blocking)
    with os.fdopen(pipe[1], "w") as stream:
        writer = Writer(stream, never, courier=Courier())
        for _ in range(3):
            writer.write(MUCH)  # returns
        writer.write("é")
        assert writer.close(0.1) == ""  # nothing was read: it waits as long as the caller allows
        assert read(pipe[0], 3 * len(MUCH) + 2) == 3 * MUCH + "é"
        assert writer.close(None) == ""


def test_a_reader_that_leaves_in_the_middle_is_noticed_once(pipe: tuple[int, int]) -> None:
    noticed: list[str] = []
    with os.fdopen(pipe[1], "w") as stream:
        writer = Writer(stream, noticed.append, courier=Courier())
        writer.write(MUCH)
        writer.write(MUCH)
        os.read(pipe[0], 10)
        os.close(pipe[0])
        eventually(lambda: noticed)
        writer.write(MUCH)
        assert writer.close(None) == ""
    assert noticed == ["the reader has closed it"]


@needs("linux")
def test_a_full_disk_is_a_reason() -> None:
    noticed: list[str] = []
    with Path("/dev/full").open("w") as stream:
        writer = Writer(stream, noticed.append, courier=Courier())
        writer.write("x")
        writer.write("x")
        assert writer.close(None) == "No space left on device"
    assert noticed == ["No space left on device"]


def test_a_stream_that_was_closed_is_a_reason() -> None:
    stream = io.StringIO()
    noticed: list[str] = []
    writer = Writer(stream, noticed.append, courier=Courier())
    stream.close()
    writer.write("x")
    assert "closed" in writer.close(None)
    assert len(noticed) == 1


def test_two_writers_with_one_courier_write_in_turn() -> None:
    out, courier = io.StringIO(), Courier()
    one, other = Writer(out, never, courier=courier), Writer(out, never, courier=courier)
    for number in range(100):
        (one, other)[number % 2].write(f"{number} ")
    one.close(None)
    other.close(None)
    assert out.getvalue().split() == [str(number) for number in range(100)]
