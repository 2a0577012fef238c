"""What calls did to files is undone, and done again: edits of tools, and whatever a command does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.errors import UsageError
from holdfast.session.journal import entries as e
from holdfast.testing.script import Call
from skips import needs
from undo_rig import contents, git, undo_rig

EDITS = (
    Call("write", {"path": "new/deep/b.txt", "content": "made\n"}),
    Call("edit", {"path": "a.txt", "old": "one", "new": "two"}),
)


def project(home: Path, *, repository: bool) -> Path:
    """Make the folder of a session with a few files of each kind."""
    folder = home / "w"
    (folder / "src" / "empty").mkdir(parents=True)
    (folder / "a.txt").write_text("one\n")
    (folder / "src" / "b.py").write_text("b = 1\n")
    (folder / "src" / "run.sh").write_text("echo\n")
    (folder / "src" / "run.sh").chmod(0o755)
    (folder / "src" / "closed").write_text("closed\n")
    (folder / "src" / "closed").chmod(0o600)
    (folder / "src" / "link").symlink_to("b.py")
    if repository:
        git(folder, "init", "-q")
        (folder / ".gitignore").write_text("dist/\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "first")
        (folder / "dist").mkdir()
        (folder / "dist" / "a.whl").write_text("built\n")
        (folder / "untracked.txt").write_text("mine\n")
        (folder / "a.txt").write_text("one, changed by hand\n")
    return folder


async def test_edits_are_undone_and_done_again(tmp_path: Path) -> None:
    folder = project(tmp_path, repository=False)
    before = contents(folder)
    async with undo_rig(tmp_path) as rig:
        await rig.calls(*EDITS)
        after = contents(folder)
        assert after["a.txt"][1] == b"two\n"
        await rig.undo.rewind(rig.agent, 1, "files")
        assert contents(folder) == before
        await rig.undo.redo(rig.agent)
        assert contents(folder) == after
        await rig.undo.rewind(rig.agent, 1, "files")
        assert contents(folder) == before


LOSSES = (
    "rm -rf src",
    "rm -rf src && mkdir src && echo x > src/b.py",
    "sed -i s/b/c/ src/b.py && mv a.txt moved.txt",
    "rm src/b.py && mkdir src/b.py && echo deep > src/b.py/x",
    "chmod 600 a.txt src/run.sh && chmod 644 src/closed",
    "rm src/link && ln -s nowhere src/link && ln -s a.txt other",
    "mkdir -p made/empty made/full && echo x > made/full/x",
    "rmdir src/empty && touch src/empty",
)


@needs("git")
@pytest.mark.parametrize("repository", [True, False], ids=["repository", "folder"])
@pytest.mark.parametrize("line", LOSSES)
async def test_what_a_command_does_is_undone_and_done_again(tmp_path: Path, line: str, repository: bool) -> None:  # noqa: FBT001 - a parameter
    folder = project(tmp_path, repository=repository)
    before = contents(folder)
    async with undo_rig(tmp_path) as rig:
        await rig.bash(line)
        after = contents(folder)
        assert after != before
        await rig.undo.rewind(rig.agent, 1, "files")
        assert contents(folder) == before
        await rig.undo.redo(rig.agent)
        assert contents(folder) == after


@needs("git")
@pytest.mark.parametrize("line", ["git reset -q --hard", "git checkout -q -- .", "git clean -fdq", "git clean -fdxq"])
async def test_what_git_throws_away_comes_back_and_its_own_state_stays(tmp_path: Path, line: str) -> None:
    folder = project(tmp_path, repository=True)
    before, head = contents(folder), git(folder, "rev-parse", "HEAD")
    async with undo_rig(tmp_path) as rig:
        await rig.bash(line)
        assert contents(folder) != before
        index = (folder / ".git" / "index").read_bytes()
        await rig.undo.rewind(rig.agent, 1, "files")
        assert contents(folder) == before
        assert git(folder, "rev-parse", "HEAD") == head
        assert (folder / ".git" / "index").read_bytes() == index


@needs("git")
async def test_nothing_of_the_users_repository_is_written(tmp_path: Path) -> None:
    folder = project(tmp_path, repository=True)
    hook = folder / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)

    def own() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in (folder / ".git").rglob("*") if path.is_file()}

    before = own()
    async with undo_rig(tmp_path) as rig:
        await rig.bash("echo x > made.txt", "rm src/b.py")
        await rig.undo.rewind(rig.agent, 1, "files")
    assert own() == before
    assert not (tmp_path / "ran").exists()


async def test_a_file_that_something_else_changed_since_is_left_alone_and_listed(tmp_path: Path) -> None:
    folder = project(tmp_path, repository=False)
    async with undo_rig(tmp_path) as rig:
        await rig.calls(*EDITS)
        (folder / "a.txt").write_text("by the user\n")
        (folder / "new" / "mine").write_text("the user's\n")
        await rig.undo.rewind(rig.agent, 1, "files")
        assert (folder / "a.txt").read_text() == "by the user\n"
        assert not (folder / "new" / "deep").exists()
        assert (folder / "new" / "mine").exists()
        (ended,) = rig.of(e.RestoreEnded)
        assert isinstance(ended, e.RestoreEnded)
        assert {each.path: each.why for each in ended.skipped} == {
            "a.txt": "it was changed since, by something else",
            "new": "the folder is not empty",
        }
        assert "Left as they are: a.txt (it was changed since, by something else)" in ended.note


async def test_a_change_of_the_users_between_two_calls_stays(tmp_path: Path) -> None:
    folder = project(tmp_path, repository=False)
    async with undo_rig(tmp_path) as rig:
        await rig.calls(EDITS[1])
        (folder / "a.txt").write_text("by the user\n")
        await rig.calls(Call("read", {"path": "a.txt"}), Call("edit", {"path": "a.txt", "old": "user", "new": "model"}))
        await rig.undo.rewind(rig.agent, 1, "files")
        assert (folder / "a.txt").read_text() == "by the user\n"


async def test_only_the_turns_since_are_undone(tmp_path: Path) -> None:
    folder = project(tmp_path, repository=False)
    async with undo_rig(tmp_path) as rig:
        await rig.calls(EDITS[0])
        between = contents(folder)
        await rig.calls(EDITS[1])
        assert await rig.undo.rewind(rig.agent, 2, "both") == "go on"
        assert contents(folder) == between
        assert rig.agent.conversation.prompts[-1].turn == 1
        (rewound,) = rig.of(e.Rewound)
        assert isinstance(rewound, e.Rewound)
        (started,) = rig.of(e.RestoreStarted)
        assert isinstance(started, e.RestoreStarted)
        assert rewound.files == started.id
        await rig.bash("true")
        assert "undid what calls had done to files" in str(rig.agent.conversation.messages)
        with pytest.raises(UsageError, match="Nothing to redo"):
            await rig.undo.redo(rig.agent)


async def test_files_with_other_names_are_left_alone(tmp_path: Path) -> None:
    folder = project(tmp_path, repository=False)
    async with undo_rig(tmp_path) as rig:
        await rig.calls(EDITS[1])
        os.link(folder / "a.txt", folder / "second")
        await rig.undo.rewind(rig.agent, 1, "files")
        assert (folder / "a.txt").read_text() == "two\n"
        (ended,) = rig.of(e.RestoreEnded)
        assert isinstance(ended, e.RestoreEnded)
        assert [each.why for each in ended.skipped] == [
            "it has other names (hard links), which would not change with it"
        ]


async def test_without_changes_there_is_nothing_to_undo(tmp_path: Path) -> None:
    project(tmp_path, repository=False)
    async with undo_rig(tmp_path) as rig:
        await rig.calls(Call("read", {"path": "a.txt"}))
        with pytest.raises(UsageError, match="Nothing to undo: no call since turn 1 changed a file"):
            await rig.undo.rewind(rig.agent, 1, "files")
        with pytest.raises(UsageError, match="Nothing to redo"):
            await rig.undo.redo(rig.agent)


async def test_a_path_that_an_undo_left_alone_can_be_undone_later(tmp_path: Path) -> None:
    folder = project(tmp_path, repository=False)
    before = contents(folder)
    async with undo_rig(tmp_path) as rig:
        await rig.calls(*EDITS)
        after = contents(folder)
        (folder / "a.txt").write_text("by the user\n")
        await rig.undo.rewind(rig.agent, 1, "files")
        assert [each.path for call in rig.undo.history(rig.agent).calls for each in call.changes] == ["a.txt"]
        (folder / "a.txt").write_text("two\n")
        await rig.undo.rewind(rig.agent, 1, "files")
        assert contents(folder) == before
        assert not rig.undo.history(rig.agent).calls
        await rig.undo.redo(rig.agent)
        await rig.undo.redo(rig.agent)
        assert contents(folder) == after


async def test_what_came_before_the_users_change_can_still_be_undone(tmp_path: Path) -> None:
    folder = project(tmp_path, repository=False)
    before = contents(folder)
    async with undo_rig(tmp_path) as rig:
        await rig.calls(EDITS[1])
        (folder / "a.txt").write_text("by the user\n")
        await rig.calls(Call("read", {"path": "a.txt"}), Call("edit", {"path": "a.txt", "old": "user", "new": "model"}))
        after = contents(folder)
        await rig.undo.rewind(rig.agent, 1, "files")
        assert (folder / "a.txt").read_text() == "by the user\n"
        await rig.undo.redo(rig.agent)
        assert contents(folder) == after
        await rig.undo.rewind(rig.agent, 1, "files")
        (folder / "a.txt").write_text("two\n")
        await rig.undo.rewind(rig.agent, 1, "files")
        assert contents(folder) == before


@needs("git")
async def test_what_is_not_kept_and_what_is_not_known_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(tmp_path, repository=True)
    (folder / ".env").write_text("KEY=1\n")
    async with undo_rig(tmp_path) as rig:
        await rig.bash("echo KEY=2 > .env")
        with monkeypatch.context() as short:
            short.setattr("holdfast.undo.private_git.SNAPSHOT_SECONDS", 0.0)
            await rig.bash("echo x > made")
        await rig.bash("echo y > known")
        assert [each.failed != "" for each in rig.undo.history(rig.agent).calls] == [False, True, False]
        await rig.undo.rewind(rig.agent, 1, "both")
        assert (folder / "made").exists()
        assert not (folder / "known").exists()
        (ended,) = rig.of(e.RestoreEnded)
        assert isinstance(ended, e.RestoreEnded)
        assert "Not kept, so not restored: .env. What 1 call did to files is not known, so it stays." in ended.note
        assert [each.uncovered for each in rig.undo.history(rig.agent).calls] == [(".env",), ()]
