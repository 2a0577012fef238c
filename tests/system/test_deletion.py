"""What a command can make of folders is deleted: thousands deep, closed to their owner, with links that lead out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.session.storage.temporary_sessions import delete_abandoned
from holdfast.system.deletion import delete_tree
from holdfast.system.owned_folder import OwnedFolder

DEEP = 1_200
NAME = "d" * 100


def deepen(folder: Path, levels: int = DEEP) -> None:
    """Make folders in one another, deeper than a path may be long."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(NAME, dir_fd=here)
        above, here = here, os.open(NAME, os.O_RDONLY, dir_fd=here)
        os.close(above)
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def test_a_folder_far_deeper_than_calls_may_be(tmp_path: Path) -> None:
    (tmp_path / "a" / "tmp").mkdir(parents=True)
    deepen(tmp_path / "a" / "tmp")
    deepen(tmp_path / "a")
    delete_tree(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


TREES = st.recursive(
    st.just(""), lambda inner: st.dictionaries(st.sampled_from(["a", "b", ".deleted-0", ".deleted-1"]), inner)
)


@given(TREES)
def test_any_tree_and_nothing_beside_it(tmp_path_factory: pytest.TempPathFactory, tree: object) -> None:
    place = tmp_path_factory.mktemp("trees")

    def make(path: Path, node: object) -> None:
        if not isinstance(node, dict):
            path.write_text("x")
            return
        path.mkdir()
        for name, inner in cast("dict[str, object]", node).items():
            make(path / name, inner)

    make(place / "beside", {"a": tree})
    make(place / "a", {"a": tree, "b": {"b": tree}})
    before = sorted(place.glob("beside/**/*"))
    delete_tree(place / "a")
    assert ([each.name for each in place.iterdir()], sorted(place.glob("beside/**/*"))) == (["beside"], before)


def test_links_are_deleted_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("x")
    (tmp_path / "a" / "b").mkdir(parents=True)
    for place in ("a", "a/b"):
        (tmp_path / place / "link").symlink_to(tmp_path / "kept")
    os.mkfifo(tmp_path / "a" / "b" / "pipe")
    delete_tree(tmp_path / "a")
    (tmp_path / "a").symlink_to(tmp_path / "kept")
    with pytest.raises(OSError, match="a"):
        delete_tree(tmp_path / "a")
    assert (tmp_path / "kept" / "file").read_text() == "x"


@pytest.mark.parametrize("mode", [0o000, 0o100, 0o400, 0o500])
def test_a_folder_that_its_owner_may_not_enter(tmp_path: Path, mode: int) -> None:
    (tmp_path / "a" / "b" / "c" / "d").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c" / "file").write_text("x")
    for place in ("a/b/c/d", "a/b/c", "a/b", "a"):
        (tmp_path / place).chmod(mode)
    delete_tree(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_name_in_an_open_folder(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    folder = os.open(tmp_path, os.O_RDONLY)
    delete_tree("a", dir_fd=folder)
    os.close(folder)
    assert list(tmp_path.iterdir()) == []


def test_an_owned_folder_removes_what_is_deep(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    deepen(tmp_path / "place")
    OwnedFolder(tmp_path).remove("place")
    assert list(tmp_path.iterdir()) == []


def test_a_killed_run_whose_command_made_deep_folders_does_not_end_every_later_run(tmp_path: Path) -> None:
    SqliteStore.create(tmp_path / "one").close()
    (tmp_path / "one" / "tmp").mkdir()
    deepen(tmp_path / "one" / "tmp")
    delete_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_it_leaves_no_open_file(tmp_path: Path) -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").is_dir() else 0

    before = open_files()
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    delete_tree(tmp_path / "a")
    with pytest.raises(FileNotFoundError):
        delete_tree(tmp_path / "a")
    assert open_files() == before
