"""The folder of a session is moved, removed or deleted while it is open: the session lives on, and it is said."""

from __future__ import annotations

import shutil
import subprocess
from typing import TypeVar

import pytest
from editor_client import Editor
from launching import World
from terminal import Key
from test_terminal import screen

from holdfast.session.journal.entries import CallEnded, FilesChanged, FolderGone, Moved
from holdfast.testing.script import Call, Say

_Kind = TypeVar("_Kind")

READY = "Ask holdfast to do something"
GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org")


def of(world: World, kind: type[_Kind]) -> list[_Kind]:
    """Return the entries of one kind of the only session."""
    return [entry for entry in world.entries() if isinstance(entry, kind)]


def test_a_session_of_a_renamed_folder_goes_on_there(one_world: World) -> None:
    world = one_world
    (world.folder / "notes.txt").write_text("one\n")
    world.script((Call("read", {"path": "notes.txt"}),), (Say("I have read it."),), (Say("Here I am."),))
    world.ask("read the notes")
    renamed = world.folder.with_name("renamed")
    world.folder.rename(renamed)
    session = world.session.name
    refused = world.run("-r", session, "-p", "go on", cwd=renamed)
    assert refused.code == 2
    assert (
        f"does not exist. Restore the directory, or continue in another one with holdfast -r {session} -C DIR."
        in refused.err
    )
    (renamed / "notes.txt").write_text("two\n")
    ran = world.run("-r", session, "-C", str(renamed), "-p", "go on", cwd=renamed)
    assert (ran.code, ran.out) == (0, "Here I am.\n")
    assert f"Continuing session {session} in '{renamed}'; it worked in '{world.folder}' before." in ran.err
    (moved,) = of(world, Moved)
    assert (moved.from_, moved.to, moved.by) == (str(world.folder), str(renamed), "resume")
    (changed,) = of(world, FilesChanged)
    assert [file.path for file in changed.files] == ["notes.txt"]
    assert any(f"now works in the folder '{renamed}'" in text for text in world.user_texts)
    world.script((Say("Still here."),))
    again = world.run("-c", "-p", "and now", cwd=renamed)
    assert (again.code, again.out) == (0, "Still here.\n")
    assert len(of(world, Moved)) == 1


def test_the_list_offers_a_session_of_the_same_repository(one_world: World) -> None:
    world = one_world
    subprocess.run(["git", "init", "-q", str(world.folder)], check=True)
    subprocess.run([*GIT, "-C", str(world.folder), "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    tree = world.folder.with_name("tree")
    subprocess.run(["git", "-C", str(world.folder), "worktree", "add", "-q", str(tree), "-b", "t"], check=True)
    world.script((Say("I work in a worktree."),), (Say("Here I am."),))
    world.run("-m", world.model, "--yolo", "-p", "the lost prompt", cwd=tree)
    subprocess.run(["git", "-C", str(world.folder), "worktree", "remove", "--force", str(tree)], check=True)
    with screen(world, "-m", world.model) as terminal:
        terminal.wait_text(READY)
        terminal.line("/resume")
        terminal.wait_text("the lost prompt")
        terminal.wait_text("Enter moves it here")
        terminal.send(Key.ENTER)
        terminal.wait_text("I work in a worktree")
        terminal.wait_text("The session works in")
        terminal.line("go on")
        terminal.wait_text("Here I am")
    (moved,) = of(world, Moved)
    assert (moved.from_, moved.to, moved.by) == (str(tree), str(world.folder), "picker")


def test_a_folder_that_is_deleted_while_open_is_said_once_to_both(one_world: World) -> None:
    world = one_world
    (world.folder / "notes.txt").write_text("one\n")
    world.script((Call("read", {"path": "notes.txt"}),), (Say("I have read it."),))
    world.script((Call("read", {"path": "notes.txt"}), Call("bash", {"command": "ls"})), (Say("It is gone."),))
    world.script((Say("Still gone."),))
    with screen(world, "-m", world.model, "--yolo") as terminal:
        terminal.wait_text(READY)
        terminal.line("read the notes")
        terminal.wait_text("I have read it")
        shutil.rmtree(world.folder)
        terminal.line("read them again")
        terminal.wait_text("It is gone")
        terminal.line("and now")
        terminal.wait_text("Still gone")
        assert " ".join(terminal.settle().split()).count("does not exist any more") == 1
    (gone,) = of(world, FolderGone)
    assert gone.folder == str(world.folder)
    assert of(world, FilesChanged) == []
    assert sum("does not exist any more" in text for text in world.user_texts) == 1
    assert {entry.outcome for entry in of(world, CallEnded)[1:]} == {"failed"}
    world.folder.mkdir()


def test_a_folder_that_a_command_deletes_is_said_in_the_same_turn(one_world: World) -> None:
    world = one_world
    here = str(world.folder)
    world.script((Call("bash", {"command": f"rm -r {here}"}),), (Call("bash", {"command": "ls"}),), (Say("Gone."),))
    ran = world.ask("tidy up")
    assert ran.out == "Gone.\n"
    assert ran.err.count("does not exist any more") == 1
    assert len(of(world, FolderGone)) == 1
    assert sum("does not exist any more" in text for text in world.user_texts) == 1
    world.folder.mkdir()


@pytest.mark.parametrize("gone", [True, False], ids=["its folder is gone", "its folder is there"])
def test_an_editor_continues_a_session_in_the_folder_that_it_opened(one_world: World, *, gone: bool) -> None:
    """Only where its own folder is gone: a session that can work there is not moved by an editor's other window."""
    world = one_world
    world.script((Say("One."),), (Say("Two."),))
    world.ask("one")
    there = world.folder.with_name("there")
    world.folder.rename(there) if gone else there.mkdir()
    editor = Editor(world, "--yolo", cwd=there)
    editor.ask("initialize", protocolVersion=1)
    session = world.session.name
    loaded = editor.ask("session/load", sessionId=session, cwd=str(there), mcpServers=[])
    if gone:
        assert "result" in loaded
        editor.answer(editor.prompt(session, "two"))
        editor.leave()
        (moved,) = of(world, Moved)
        assert (moved.from_, moved.to, moved.by) == (str(world.folder), str(there), "editor")
        assert any(f"now works in the folder '{there}'" in text for text in world.user_texts)
        world.script((Say("Three."),))
        again = Editor(world, "--yolo", cwd=there)
        again.ask("initialize", protocolVersion=1)
        assert "result" in again.ask("session/load", sessionId=session, cwd=str(there), mcpServers=[])
        again.leave()
        assert len(of(world, Moved)) == 1, "it is there already"
    else:
        editor.leave()
        assert f"works in '{world.folder}', not in '{there}'" in loaded["error"]["message"]
        assert of(world, Moved) == []
