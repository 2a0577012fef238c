"""Files written whole: through a temporary file of a new name, that follows no link; one that a crash left is swept."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

import pytest

from holdfast.session.storage.blobs import BLOB_LIMIT, Blobs
from holdfast.session.storage.salvage import keep_copy
from holdfast.system.durable_files import replace_file

TOKEN = "0123456789abcdef"


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everybody know under which name the next temporary file is made."""

    def token(_: int) -> str:
        return TOKEN

    monkeypatch.setattr(secrets, "token_hex", token)


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("planted", ["a link to a file", "a link to nothing", "a file"])
def test_what_stands_where_the_temporary_file_is_to_be_is_not_written_to(tmp_path: Path, planted: str) -> None:
    target, temporary = tmp_path / "target", tmp_path / f".kept.{TOKEN}"
    target.write_bytes(b"another's")
    if planted == "a file":
        os.link(target, temporary)
    else:
        temporary.symlink_to(target if planted == "a link to a file" else tmp_path / "nothing")
    (tmp_path / "kept").write_bytes(b"before")
    with pytest.raises(OSError, match="exists"):
        replace_file(tmp_path / "kept", b"after")
    assert target.read_bytes() == b"another's"
    assert not (tmp_path / "nothing").exists()
    assert (tmp_path / "kept").read_bytes() == b"before"


def test_a_link_at_the_name_itself_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"another's")
    (tmp_path / "kept").symlink_to(tmp_path / "target")
    replace_file(tmp_path / "kept", b"after")
    assert (tmp_path / "target").read_bytes() == b"another's"
    assert (tmp_path / "kept").read_bytes() == b"after"
    assert not (tmp_path / "kept").is_symlink()


def test_what_a_killed_writer_left_goes_with_the_next(tmp_path: Path) -> None:
    names = {
        ".kept.0000000000000001": True,
        ".kept.0000000000000002": False,  # another process may be writing it
        ".kept.2024": False,
        ".kept.000000000000000g": False,
        ".other.0000000000000001": False,
    }
    for name, goes in names.items():
        (tmp_path / name).write_bytes(b"half")
        if goes or not name.endswith("2"):
            os.utime(tmp_path / name, (1000, 1000))
    replace_file(tmp_path / "kept", b"whole")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"kept", *(name for name, goes in names.items() if not goes)}


def test_writers_of_one_file_do_not_meet(tmp_path: Path) -> None:
    """Two threads of one process have one process id."""
    names: list[str] = []
    replace = Path.replace

    def seen(self: Path, target: Path) -> Path:
        names.append(self.name)
        return replace(self, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", seen)
        replace_file(tmp_path / "kept", b"one")
        replace_file(tmp_path / "kept", b"two")
    assert len(set(names)) == 2


def test_a_damaged_file_is_kept_under_no_name_that_is_taken(tmp_path: Path) -> None:
    (tmp_path / "session.db").write_bytes(b"damaged")
    (tmp_path / "session.db.damaged-1").symlink_to(tmp_path / "nothing")
    assert keep_copy(tmp_path / "session.db").name == "session.db.damaged-2"
    assert not (tmp_path / "nothing").exists()


def test_a_blob_that_was_half_written_goes_when_the_session_is_opened(tmp_path: Path) -> None:
    left = tmp_path / f".{'0' * 64}.{TOKEN}"
    left.write_bytes(b"half")
    Blobs(tmp_path).clear()
    assert not left.exists()


def test_the_name_of_a_blob_is_synced_again_where_that_failed_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the entry that refers to it would be durable, and power loss would take the blob away."""
    blobs, body = Blobs(tmp_path), b"x" * (BLOB_LIMIT + 1)
    works, synced = os.fsync, list[int]()

    def fails(descriptor: int) -> None:
        if any(not path.name.startswith(".") for path in tmp_path.iterdir()):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        works(descriptor)

    def succeeds(descriptor: int) -> None:
        works(descriptor)
        synced.append(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="Input/output error"):
        blobs.put(body)
    assert len(list(tmp_path.iterdir())) == 1, "the blob has its name, which is not durable"
    monkeypatch.setattr(os, "fsync", succeeds)
    blobs.put(body)
    assert tmp_path.stat().st_ino in synced
