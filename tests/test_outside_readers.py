"""One law for every reader of bytes that others may have written: a bound, a time, and a value or one named fault."""

from __future__ import annotations

import os
import re
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import HoldfastError
from laws import law
from outside_bytes import BYTES, BytesReader
from outside_readers import FILES, FileReader

TIME = 20
"""Seconds of a read on a busy machine: it waits for nothing, so that any wait is one without end."""


def _fifo(path: Path) -> None:
    os.mkfifo(path, 0o600)


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a name of a socket has at most 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _endless(path: Path) -> None:
    path.symlink_to("/proc/self/fd")


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        os.truncate(file.fileno(), 1 << 40)
    path.chmod(0o600)


def _closed(path: Path) -> None:
    path.write_bytes(b"{}")
    path.chmod(0)


STRANGE: dict[str, Callable[[Path], None]] = {
    "a pipe": _fifo,
    "a socket": _socket,
    "a folder": lambda path: path.mkdir(),
    "a loop of links": _loop,
    "a device": _device,
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a link to a folder": _endless,
    "a terabyte": _huge,
    "a file without permissions": _closed,
    "nothing": lambda _: None,
}


def read(reader: FileReader, put: Callable[[Path], None]) -> object:
    """Return what the reader gives for what is put there, or the named fault; fails if it waits."""
    found: list[object] = []
    failed: list[BaseException] = []

    def run(root: Path) -> None:
        try:
            found.append(reader.read(root))
        except HoldfastError as fault:
            found.append(fault)
        except BaseException as fault:  # noqa: BLE001 - the caller raises it
            failed.append(fault)

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        reader.prepare(root)
        place = root / reader.place
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
        put(place)
        thread = threading.Thread(target=run, args=(root,), daemon=True)
        thread.start()
        thread.join(TIME)
        assert not thread.is_alive(), f"the reader of the {reader.name} waits"
    assert failed == [], f"no named fault: {failed!r}"
    (result,) = found
    return result


@pytest.mark.parametrize("what", STRANGE)
@pytest.mark.parametrize("reader", FILES, ids=lambda reader: reader.name)
def test_whatever_is_there_a_reader_waits_for_nothing_and_ends_in_a_value_or_a_named_fault(
    reader: FileReader, what: str
) -> None:
    read(reader, STRANGE[what])


@pytest.mark.parametrize("reader", FILES, ids=lambda reader: reader.name)
def test_a_fault_names_the_file_and_the_reason(reader: FileReader) -> None:
    for what, word in (("a pipe", "named pipe"), ("a terabyte", "larger than")):  # may be empty: some give a value
        found = read(reader, STRANGE[what])
        if isinstance(found, HoldfastError):
            assert Path(reader.place).name in str(found) or "session.db" in str(found) or word in str(found)


LONGEST_SENTENCE = 2_000
NASTY = (
    b"",
    b"\0",
    b"\xff\xfe\xfd",
    b"{",
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b'"\\ud83d"',
    b'{"models": ["\\ud800"]}',
    b"1e400",
    b"9" * 5000,
    b'{"keys": ' + b"9" * 5000 + b"}",
    b"a = " + b"9" * 5000,
    b"a = '''",
    b"[[[[[[[" * 1000,
    b"null",
    b"gitdir: ../../../../../../dev/zero",
    b"ref: refs/heads/" + b"x" * 10_000,
)
NUMBERS = (b"-1", b"1e400", b"1.5", b"true", b"9" * 19, b"9" * 20, b"9" * 40, b"9" * 5000)
things = (
    st.binary(max_size=200)
    | st.sampled_from(NASTY)
    | st.text(max_size=80).map(lambda text: text.encode("utf-8", "replace"))
)


@pytest.mark.parametrize("reader", FILES, ids=lambda reader: reader.name)
@law()
@given(things)
def test_whatever_a_file_holds_its_reader_ends_in_a_value_or_a_named_fault(reader: FileReader, data: bytes) -> None:
    def put(path: Path) -> None:
        path.write_bytes(data)
        path.chmod(0o600)

    read(reader, put)


@pytest.mark.parametrize("reader", FILES, ids=lambda reader: reader.name)
def test_nasty_contents_end_in_a_value_or_a_named_fault(reader: FileReader) -> None:
    for data in NASTY:

        def put(path: Path, data: bytes = data) -> None:
            path.write_bytes(data)
            path.chmod(0o600)

        read(reader, put)


@pytest.mark.parametrize("reader", BYTES, ids=lambda reader: reader.name)
@law()
@given(st.data())
def test_whatever_bytes_arrive_their_reader_ends_in_a_value_or_a_named_fault(
    reader: BytesReader, drawn: st.DataObject
) -> None:
    read_bytes(reader, drawn.draw(things | spoiled(reader.near) if reader.near else things))


def spoiled(near: tuple[bytes, ...]) -> st.SearchStrategy[bytes]:
    """Return what is nearly one of these: a piece of it is another."""
    other = st.binary(max_size=20) | st.sampled_from(NASTY) | st.sampled_from(NUMBERS)

    def put(raw: bytes, start: int, end: int, other: bytes) -> bytes:
        return raw[:start] + other + raw[max(start, end) :]

    places = st.integers(0, max(map(len, near)))
    return st.builds(put, st.sampled_from(near), places, places, other)


def read_bytes(reader: BytesReader, data: bytes) -> object:
    """Return what the reader gives for these bytes, or the named fault; fails if it waits."""
    found: list[object] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(reader.read(data))
        except HoldfastError as fault:
            found.append(fault)
        except BaseException as fault:  # noqa: BLE001 - the caller raises it
            failed.append(fault)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(TIME)
    assert not thread.is_alive(), f"the reader of the {reader.name} waits"
    assert failed == [], f"no named fault: {failed!r}"
    (result,) = found
    return result


@pytest.mark.parametrize("reader", [each for each in BYTES if each.near], ids=lambda reader: reader.name)
def test_what_is_as_it_should_be_is_read_and_a_number_out_of_range_is_not(reader: BytesReader) -> None:
    for raw in reader.near:
        assert read_bytes(reader, raw)
        assert not isinstance(read_bytes(reader, raw), HoldfastError)
        for place in re.finditer(rb"\d+", raw):
            for number in NUMBERS:
                read_bytes(reader, raw[: place.start()] + number + raw[place.end() :])


@pytest.mark.parametrize("reader", BYTES, ids=lambda reader: reader.name)
def test_nasty_bytes_and_more_than_the_bound_end_in_a_value_or_a_named_fault(reader: BytesReader) -> None:
    for data in NASTY:
        read_bytes(reader, data)
        read_bytes(reader, data + b"\n")
    more = b"x" * (reader.bound + 1)
    match reader.beyond:
        case "refused":
            with pytest.raises(HoldfastError, match=r"longer than|more than"):
                reader.read(more)
        case "nothing":
            assert not reader.read(more)
        case "cut":
            try:
                said = str(reader.read(more))
            except HoldfastError as fault:
                said = str(fault)
            assert 0 < len(said) < LONGEST_SENTENCE
