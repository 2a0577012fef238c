"""Nothing outside an owned folder is removed, whatever the name is and whatever stands in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import StateError
from holdfast.system.owned_folder import OwnedFolder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "precious").write_text("kept")
    return folder


def test_only_one_plain_name_leads_into_it(tmp_path: Path, outside: Path) -> None:
    owned = OwnedFolder(tmp_path / "owned")
    owned.root.mkdir()
    (owned.root / "deep").mkdir()
    names = (str(outside), "../outside", "deep/../../outside", "..", ".", "", "a/b", "a\0b", "x" * 256, "deep/")
    for name in names:
        with pytest.raises(StateError, match="is not the name of a folder"):
            owned.path(name)
        with pytest.raises(StateError, match="is not the name of a folder"):
            owned.remove(name)
    assert (outside / "precious").read_text() == "kept"
    assert (owned.root / "deep").is_dir()


def test_a_tree_is_removed_and_links_in_it_are_not_followed(tmp_path: Path, outside: Path) -> None:
    owned = OwnedFolder(tmp_path / "owned")
    (owned.root / "tree" / "deep").mkdir(parents=True)
    (owned.root / "tree" / "deep" / "file").write_text("x")
    (owned.root / "tree" / "link").symlink_to(outside)
    (owned.root / "link").symlink_to(outside)
    (owned.root / "file").write_text("x")
    for name in ("tree", "link", "file", "missing"):
        owned.remove(name)
    assert list(owned.root.iterdir()) == []
    assert (outside / "precious").read_text() == "kept"


def test_a_link_in_the_place_of_the_folder_is_refused(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "owned").symlink_to(outside)
    with pytest.raises(StateError, match="cannot be removed"):
        OwnedFolder(tmp_path / "owned").remove("precious")
    assert (outside / "precious").read_text() == "kept"
    OwnedFolder(tmp_path / "never made").remove("precious")
