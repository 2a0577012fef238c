"""The bounded reader at its edges: the bound itself, files that tell no size, and reasons that can be read."""

from __future__ import annotations

import errno
import os
import tracemalloc
from pathlib import Path

import pytest

from holdfast.system.bounded_files import open_unblocked, read_bounded, read_text_beginning
from skips import needs


def test_a_file_at_its_bound_is_read_and_one_byte_more_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345678")
    assert read_bounded(path, 8) == b"12345678"
    with pytest.raises(OSError, match="it is larger than 7 bytes") as refused:
        read_bounded(path, 7)
    assert refused.value.errno == errno.EFBIG
    path.write_bytes(b"")
    assert read_bounded(path, 0) == b""


@needs("linux")
def test_a_file_that_tells_no_size_has_its_bound_too() -> None:
    path = Path("/proc/self/status")
    assert path.stat().st_size == 0
    assert read_bounded(path, 1 << 20).startswith(b"Name:")
    with pytest.raises(OSError, match="it is larger than 10 bytes"):
        read_bounded(path, 10)


def test_a_huge_file_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    os.truncate(path, 1 << 40)
    tracemalloc.start()
    try:
        with pytest.raises(OSError, match="larger than"):
            read_bounded(path, 1 << 30)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_links_are_followed_unless_the_caller_says_no(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "link").symlink_to("a")
    assert read_bounded(tmp_path / "link", 1) == b"x"
    with pytest.raises(OSError, match="not a regular file"):
        open_unblocked(tmp_path / "link", os.O_NOFOLLOW)


def test_each_kind_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, kind in ((tmp_path / "pipe", "a named pipe"), (tmp_path, "a folder"), (Path("/dev/zero"), "a device")):
        with pytest.raises(OSError, match=f"it is {kind}, not a regular file") as refused:
            read_bounded(path, 1)
        assert refused.value.errno == errno.EINVAL


def test_a_beginning_is_cut_where_the_bound_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("abcdef")
    assert read_text_beginning(tmp_path / "a", 3) == "abc"
    assert read_text_beginning(tmp_path / "a", 100) == "abcdef"
