"""Folders that another program names: an existing one, or a reason that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import UsageError
from holdfast.ui.acp.client_folders import LONGEST_PATH, client_folder


def test_an_existing_folder_is_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert client_folder(str(tmp_path / "link")) == tmp_path.resolve()


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/tmp\0", "it has a NUL"),
        ("/tmp/\ud800", "it is not valid Unicode"),
        ("/" + "x" * LONGEST_PATH, f"it has more than {LONGEST_PATH} bytes"),
        ("/" + "x" * 300, "File name too long"),
        ("", "it is not absolute"),
        (".", "it is not absolute"),
        ("../..", "it is not absolute"),
        ("/no/such/folder", "No such file or directory"),
        (__file__, "is not a folder"),
    ],
)
def test_anything_else_is_refused(path: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        client_folder(path)


def test_links_that_lead_to_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(UsageError, match=r"its links lead to each other|Too many levels"):
        client_folder(str(tmp_path / "a"))
