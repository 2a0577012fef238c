from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.tool_calls import FileSeen
from holdfast.tools.workspace.file_snapshots import current_snapshot
from holdfast.tools.workspace.instruction_files import ROOM, instructions


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the folder that is worked in: two below the root of a repository."""
    folder = tmp_path.resolve() / "repo" / "packages" / "one"
    folder.mkdir(parents=True)
    (folder.parents[1] / ".git").mkdir()
    return folder


def texts_by_name(root: Path, user_file: Path | None = None) -> dict[str, str]:
    """Return what holds in `root`, by the name of its file, in order."""
    return {each.snapshot.path: each.text for each in instructions(root, user_file or root / "nowhere")}


def test_the_persons_own_come_first_then_the_repository_from_its_root_to_the_folder(root: Path) -> None:
    user_file = root.parents[2] / "config" / "AGENTS.md"
    user_file.parent.mkdir()
    for path, text in ((user_file, "mine"), (root.parents[1] / "AGENTS.md", "whole"), (root / "AGENTS.md", "here")):
        path.write_text(f"\n{text}\n\n")
    (root.parents[2] / "AGENTS.md").write_text("above the repository")
    (root.parents[1] / "other").mkdir()
    (root.parents[1] / "other" / "AGENTS.md").write_text("beside it")
    expected = {str(user_file): "mine", str(root.parents[1] / "AGENTS.md"): "whole", "AGENTS.md": "here"}
    assert texts_by_name(root, user_file) == expected
    assert list(texts_by_name(root, user_file)) == list(expected)


def test_of_two_names_the_first_counts_and_a_blank_file_says_nothing(root: Path) -> None:
    (root / "CLAUDE.md").write_text("theirs")
    assert texts_by_name(root) == {"CLAUDE.md": "theirs"}
    (root / "AGENTS.md").write_text("ours")
    (root.parent / "AGENTS.md").write_text(" \n")
    assert texts_by_name(root) == {"AGENTS.md": "ours"}


def test_without_a_repository_only_the_folder_itself_counts(root: Path) -> None:
    (root.parents[1] / ".git").rmdir()
    (root.parent / "AGENTS.md").write_text("not asked for")
    assert texts_by_name(root) == {}
    (root / "AGENTS.md").write_text("here")
    assert texts_by_name(root) == {"AGENTS.md": "here"}


@pytest.mark.parametrize("name", [".env", "credentials.json", "app.yaml", ".git/config", ".ssh/notes.md", "notes"])
@pytest.mark.parametrize("through", ["AGENTS.md", "CLAUDE.md"])
def test_a_link_is_not_followed_to_what_is_no_text_for_readers(root: Path, name: str, through: str) -> None:
    target = root / name
    target.parent.mkdir(exist_ok=True)
    target.write_text("the secret")
    (root / through).symlink_to(target)
    assert texts_by_name(root) == {through: "[Not shown: it is a link to a file that is no text for readers.]"}


@pytest.mark.parametrize("name", ["README.md", ".cursorrules", "docs/Agents.MD", "notes.txt"])
def test_a_link_is_followed_to_a_text_for_readers(root: Path, name: str) -> None:
    target = root / name
    target.parent.mkdir(exist_ok=True)
    target.write_text("read me")
    (root / "AGENTS.md").symlink_to(target)
    assert texts_by_name(root) == {name: "read me"}


def test_a_link_is_followed_within_the_repository_only(root: Path) -> None:
    secret = root.parents[2] / "secret.md"
    secret.write_text("the secret")
    (root / "AGENTS.md").symlink_to(secret)
    assert texts_by_name(root) == {"AGENTS.md": "[Not shown: it is a link out of the repository.]"}
    (root / "AGENTS.md").unlink()
    (root / "AGENTS.md").symlink_to("CLAUDE.md")
    (root / "CLAUDE.md").write_text("both")
    assert texts_by_name(root) == {"CLAUDE.md": "both"}
    (root / "CLAUDE.md").unlink()
    (one,) = texts_by_name(root).values()
    assert one.startswith("[Not shown: File 'CLAUDE.md' does not exist.")


@pytest.mark.parametrize("kind", ["pipe", "folder", "binary", "unreadable link"])
def test_what_is_no_text_is_said_and_never_waited_for(root: Path, kind: str) -> None:
    path = root / "AGENTS.md"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "binary":
            path.write_bytes(b"\x89PNG\0\0")
        case _:
            path.symlink_to("AGENTS.md")
    (one,) = instructions(root, root / "nowhere")
    assert one.text.startswith("[Not shown: ")
    assert current_snapshot(root, one.snapshot).same(one.snapshot)  # no news at the next prompt


def test_room_goes_to_the_innermost_first_and_what_is_cut_is_said_exactly(root: Path) -> None:
    (root.parents[1] / "AGENTS.md").write_text("r" * 9000)
    (root.parent / "AGENTS.md").write_text("ü" * (ROOM // 2))
    (root / "AGENTS.md").write_text("i" * 1001)
    outermost, middle, inner = texts_by_name(root).items()
    assert inner == ("AGENTS.md", "i" * 1001)
    left = ROOM - 1001
    cut = f"\n[Cut: the first {left} of {ROOM} bytes of {middle[0]!r} are shown here. Read the file for the rest.]"
    assert middle[1] == "ü" * (left // 2) + cut
    assert (
        outermost[1]
        == f"[Cut: the first 0 of 9000 bytes of {outermost[0]!r} are shown here. Read the file for the rest.]"
    )


def test_the_file_is_seen_as_a_read_would_see_it(root: Path) -> None:
    (root / "AGENTS.md").write_bytes(b"\xef\xbb\xbfwords\xff")
    (one,) = instructions(root, root / "nowhere")
    assert one.text == "words\ufffd"
    assert one.snapshot == current_snapshot(root, FileSeen(path="AGENTS.md"))
