from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.errors import ToolFailed
from holdfast.system.safe_paths import (
    as_tool_failure,
    locate,
    open_folder,
    open_parent,
    open_regular,
    resolve,
)
from holdfast.tools.builtin.read_write import ReadTool, WriteTool
from tool_harness import called, planned, ran, workspace


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a.txt", "a.txt"),
        ("./src/../a.txt", "a.txt"),
        ("src/new/deep.py", "src/new/deep.py"),
        ("link.txt", "a.txt"),
        ("inner/x", "src/x"),
        (".", "."),
        ("src/", "src"),
        ("...", "..."),
    ],
)
def test_what_is_inside(tmp_path: Path, path: str, name: str) -> None:
    root = workspace(tmp_path).root
    (root / "src").mkdir()
    (root / "link.txt").symlink_to("a.txt")
    (root / "inner").symlink_to(root / "src")
    place = resolve(root, path)
    assert (place.name, place.outside) == (name, None)
    assert resolve(root, str(root / path)) == place
    assert locate(root, place.name) == place


@pytest.mark.parametrize("path", ["../secret.txt", "a/../../secret.txt", "out/secret.txt", "leak.txt", "chain"])
def test_what_is_outside(tmp_path: Path, path: str) -> None:
    root = workspace(tmp_path).root
    (root / "out").symlink_to(tmp_path)
    (root / "leak.txt").symlink_to("../secret.txt")
    (root / "chain").symlink_to("leak.txt")
    place = resolve(root, path)
    assert place.outside == place.name == str(tmp_path.resolve() / "secret.txt")
    assert locate(root, place.name) == place
    with open_regular(place) as file:
        assert file.read() == b"the secret\n"


def test_home_and_a_neighbour_with_the_same_beginning_are_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = workspace(tmp_path).root
    monkeypatch.setenv("HOME", str(tmp_path.resolve()))
    assert resolve(root, "~/secret.txt").outside == str(tmp_path.resolve() / "secret.txt")
    assert resolve(root, f"{root}-2/x").outside == f"{root}-2/x"
    assert resolve(root, "/").outside == "/"
    assert resolve(root, "~nobody-of-that-name/x").outside is None


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800"])
def test_what_is_no_path(tmp_path: Path, path: str) -> None:
    with pytest.raises(ToolFailed, match="is not a valid file name"):
        resolve(workspace(tmp_path).root, path)


def test_a_stored_name_cannot_climb(tmp_path: Path) -> None:
    place = locate(workspace(tmp_path).root, "a/../../secret.txt")
    assert place.outside == str(tmp_path.resolve() / "secret.txt")


def test_a_link_that_came_later_is_refused(tmp_path: Path) -> None:
    root = workspace(tmp_path).root
    place = resolve(root, "sub/secret.txt")
    (root / "sub").symlink_to(tmp_path)
    with pytest.raises(ToolFailed, match="became a symbolic link"), as_tool_failure(place), open_regular(place):
        pass
    with pytest.raises(OSError, match=r"Not a directory|symbolic"), open_parent(place, create=True):
        pass
    last = resolve(root, "new.txt")
    (root / "new.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(ToolFailed, match="became a symbolic link"), as_tool_failure(last), open_regular(last):
        pass


def test_links_in_a_circle(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    (space.root / "a").symlink_to("b")
    (space.root / "b").symlink_to("a")
    with pytest.raises(ToolFailed, match="circular link"):
        called(ReadTool(space), path="a")


def test_folders_are_made_beneath_the_workspace_and_nothing_stays_open(tmp_path: Path) -> None:
    root = workspace(tmp_path).root
    before = len(list(Path("/dev/fd").iterdir()))
    with open_parent(resolve(root, "a/b/c.txt"), create=True) as fd:
        assert os.fstat(fd).st_ino == (root / "a/b").stat().st_ino
    with open_folder(resolve(root, "a/b")):
        pass
    with pytest.raises(FileNotFoundError), open_parent(resolve(root, "no/such/file")):
        pass
    assert len(list(Path("/dev/fd").iterdir())) == before


@contextmanager
def attacker(root: Path, outside: Path) -> Generator[None]:
    """Flip `root/d` between a folder and a link to `outside`, as fast as it goes."""
    (root / "real").mkdir()
    (root / "real/f.txt").write_text("harmless\n")
    (root / "link").symlink_to(outside)
    done = threading.Event()

    def flip() -> None:
        while not done.is_set():
            for name in ("real", "link"):
                try:
                    (root / name).rename(root / "d")
                    (root / "d").rename(root / name)
                except OSError:  # a write found nothing there and made a folder of that name: out of the way with it
                    shutil.rmtree(root / "d", ignore_errors=True)

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_a_flipped_link_never_leads_outside(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f.txt").write_text("the secret\n")
    read, write = ReadTool(space), WriteTool(space)
    done = refused = 0
    deadline = time.monotonic() + 2
    with attacker(space.root, outside):
        while time.monotonic() < deadline:
            try:
                reading = planned(read, path="d/f.txt")
                if reading.outside is None:
                    assert "secret" not in ran(reading).text
                writing = planned(write, path="d/new.txt", content=f"{done}\n")
                if writing.outside is None:
                    ran(writing)
                done += 1
            except ToolFailed:
                refused += 1
    assert done
    assert refused
    assert [file.name for file in outside.iterdir()] == ["f.txt"]
    assert (outside / "f.txt").read_text() == "the secret\n"
