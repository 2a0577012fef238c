"""What a place may say: closed lists, so that nothing from outside is a path, an option or a program for git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from holdfast.errors import StateError, UsageError
from holdfast.fleet.places.local_places import LocalPlaces, container
from holdfast.fleet.places.outside_values import (
    checked_branch,
    checked_commit,
    checked_image,
    checked_place,
    checked_repository,
    folder_below,
)
from holdfast.session.session_id import LONGEST_ID, checked_id

GOOD_REPOSITORIES = (
    "https://host/a.git", "https://user:token@host:8443/a/b.git", "http://10.0.0.1/a", "ssh://git@host:22/a.git",
    "ssh://[::1]/a", "git@host:app.git", "host:app.git", "me@host.example:~/a b.git",
)  # fmt: skip
BAD_REPOSITORIES = (
    "-", "--upload-pack=touch x", "ext::sh -c touch% x", "ext::sh -c x://y", "fd::17/foo", "git://host/a", "ftp://host/a",
    "../x", "x", "", "a\nb:c", "https://", "https:///x", "file://host/a", "ssh://-oProxyCommand=x/a",
    "ssh://-o@host/a", "-oProxyCommand=x:a", "git@-oProxyCommand=x:a", "-l@host:a", "host:-x", "host::x",
    "transport::https://host/a", "https://host:port/a", "https://[::1/a", "x" * 5000,
)  # fmt: skip


def test_repositories_are_reached_by_a_closed_list_of_transports() -> None:
    assert [checked_repository(each) for each in GOOD_REPOSITORIES] == [None] * len(GOOD_REPOSITORIES)
    assert checked_repository("/srv/a.git") == Path("/srv/a.git")
    assert checked_repository("file://" + "/srv/a%20b.git") == Path("/srv/a b.git")
    for each in BAD_REPOSITORIES:
        with pytest.raises(StateError, match="is refused"):
            checked_repository(each)


def test_a_base_is_the_name_of_a_branch() -> None:
    for good in ("main", "HEAD", "feature/a-b_c.1", "v1.0+x", "ünïcode", "0" * 40, "dependabot/npm/@types/x-1"):
        assert checked_branch(good) == good
    for bad in (
        "-",
        "--detach",
        "-B",
        "a..b",
        "a b",
        "a\nb",
        "a//b",
        "@{-1}",
        "HEAD^",
        "HEAD~1",
        "a:b",
        "*",
        "",
        "x" * 251,
    ):
        with pytest.raises(StateError, match=r"Base .* is not valid"):
            checked_branch(bad)


def test_a_saved_commit_is_hexadecimal() -> None:
    assert checked_commit("a" * 40) == "a" * 40
    for bad in ("HEAD", "-x", "a" * 39, "A" * 40, "a" * 40 + "\n", ""):
        with pytest.raises(StateError, match="not a commit"):
            checked_commit(bad)


def test_an_image_is_a_name(tmp_path: Path) -> None:
    for good in ("python:3.13", "python", "docker.io/library/python:3.13-slim", "host:5000/a/b@sha256:" + "0" * 64):
        assert checked_image(good) == good
    for bad in ("-v", "--privileged", "dir:x", "oci-archive:x", "docker-archive:/x", "a b", "a\nb", "/x", "A", ""):
        with pytest.raises(StateError, match=r"Image .* is not valid"):
            checked_image(bad)
    with pytest.raises(StateError, match="is not valid"):
        container(tmp_path, tmp_path, image="--privileged", network=False)


def test_a_session_id_is_one_plain_word() -> None:
    for good in ("thread-1", "20260101-0000-abcd", "k-0a", "A", "x" * LONGEST_ID):
        assert checked_id(good) == good
    for bad in ("", "-x", "../x", "/tmp/x", ".", "a/b", "a.b", "a b", "a\n", "a\0", "ä", "x" * (LONGEST_ID + 1), "a_b"):
        with pytest.raises(UsageError, match="is not valid"):
            checked_id(bad)


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ({"saved": "--git-dir=x"}, "saved"),
        ({"pushed": 9}, "pushed"),
        ({"identity": "x"}, "identity"),
        ({"kind": "boat"}, "boat"),
        ({"cwd": 3}, "cwd"),
        ({"network": "yes"}, "network"),
        ({"cwd": "/a\0b"}, "control characters"),
        ({"host": "x" * 5000}, "host"),
        ({"kind": "worktree", "repo": "ext::sh -c x"}, "is refused"),
        ({"kind": "worktree", "repo": "host:a", "base": "--orphan"}, "Base"),
        ({"around": "container", "image": "--privileged"}, "Image"),
    ],
)
def test_a_place_from_outside_has_no_other_values(place: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        checked_place(place)


def test_a_good_place_is_returned_as_it_is() -> None:
    for place in (
        {},
        {"cwd": "/a"},
        {"kind": "worktree", "repo": "git@host:a", "base": "main", "ignored": True},
        {"kind": "folder", "cwd": "/a", "around": "container", "image": "python:3.13", "network": False, "host": "one"},
    ):
        assert checked_place(place) == place


def test_folders_lie_below_a_root_as_the_kernel_resolves_them(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "root-not"
    (root / "work").mkdir(parents=True)
    outside.mkdir()
    (root / "link").symlink_to(outside)
    (root / "inner").symlink_to(root / "work")
    (root / "loop").symlink_to(root / "loop")
    assert folder_below(root / "inner", [root], "Folder") == root / "work"
    for bad in (outside, root / "link", root / ".." / "root-not", tmp_path):
        with pytest.raises(StateError, match="is not served by this worker"):
            folder_below(bad, [root], "Folder")
    for bad in (root / "missing", root / "loop"):
        with pytest.raises(StateError, match="cannot be used"):
            folder_below(bad, [root], "Folder")
    with pytest.raises(StateError, match="expected below: none"):
        folder_below(root, [], "Folder")


def test_a_worker_opens_no_place_for_an_id_or_value_that_it_must_not_trust(tmp_path: Path) -> None:
    root, state, outside = tmp_path / "root", tmp_path / "state", tmp_path / "outside"
    for folder in (root, outside):
        folder.mkdir()
    (outside / "precious").write_text("kept")
    repository = root / "a.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(repository)], check=True, capture_output=True)
    hidden = outside / "b.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(hidden)], check=True, capture_output=True)
    places = LocalPlaces(state, host="here", roots=[root])
    worktree: dict[str, object] = {"kind": "worktree", "repo": str(repository)}
    for session in (str(outside), "../../outside", "..", "a/b"):
        for values in (worktree, {"kind": "folder", "cwd": str(root)}):
            with pytest.raises(UsageError, match="is not valid"):
                places.open(session, values)
        with pytest.raises(UsageError, match="is not valid"):
            places.session_folder(session)
    for values, why in (
        ({"kind": "folder", "cwd": str(outside)}, "is not served"),
        ({"kind": "worktree", "repo": str(hidden)}, "is not served"),
        ({"kind": "worktree", "repo": f"file://{hidden}"}, "is not served"),
        ({"kind": "worktree", "repo": "ext::touch " + str(outside / "made")}, "is refused"),
        ({**worktree, "base": "--orphan"}, "Base"),
        ({**worktree, "saved": "--git-dir=x"}, "not a commit"),
    ):
        with pytest.raises(StateError, match=why):
            places.open("s-1", values)
    assert sorted(each.name for each in outside.iterdir()) == ["b.git", "precious"]
