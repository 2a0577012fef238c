"""`holdfast undo` and `redo` in real processes: what a command deleted comes back, and goes again."""

from __future__ import annotations

from launching import World
from terminal import Key
from test_terminal import screen

from holdfast.session.journal import entries as e
from holdfast.testing.script import Call, Say
from polling import eventually
from skips import needs
from undo_rig import contents, git


@needs("git")
def test_what_a_command_deleted_comes_back_and_goes_again(one_world: World) -> None:
    world = one_world
    (world.folder / "src").mkdir()
    (world.folder / "src" / "a.py").write_text("a = 1\n")
    git(world.folder, "init", "-q")
    before = contents(world.folder)
    world.script((Call("bash", {"command": "rm -rf src && echo x > made"}),), (Say("Gone."),))
    assert world.run("-m", world.model, "--yolo", "-p", "delete it").code == 0
    after = contents(world.folder)
    assert set(after) == {"made"}
    shown = world.run("undo", "--list")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.splitlines() == [
        "Turn 1: delete it",
        "  absent -> file  made",
        "  folder -> absent  src",
        "  file -> absent  src/a.py",
    ]
    dry = world.run("undo", "--dry-run")
    assert dry.out.splitlines() == ["mkdir  src", "write  src/a.py", "delete made"]
    assert contents(world.folder) == after
    undone = world.run("undo")
    assert (undone.code, undone.err) == (0, "")
    assert undone.out.startswith("Files undone: 3 paths.\n  src\n  src/a.py\n  made (deleted)\n")
    assert contents(world.folder) == before
    assert world.run("redo").out.startswith("Files done again: 3 paths.")
    assert contents(world.folder) == after
    nothing = world.run("redo")
    assert (nothing.code, nothing.out) == (2, "")
    assert "Nothing to redo" in nothing.err
    (rewound,) = [each for each in world.entries() if isinstance(each, e.Rewound)]
    assert rewound.turn == 1


def test_on_the_screen_a_turn_and_its_file_are_undone_and_the_file_comes_again(one_world: World) -> None:
    made = one_world.folder / "made.txt"
    one_world.script([Call("write", {"path": str(made), "content": "new\n"})], [Say("It is written.")])
    with screen(one_world, "-m", one_world.model, "--yolo") as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("write it")
        terminal.wait_text("It is written")
        terminal.wait_absent("esc to interrupt")
        assert made.read_text() == "new\n"
        terminal.line("/undo")
        eventually(lambda: not made.exists())
        terminal.wait_text("Files undone: 1 path")
        terminal.wait_text("Rewound to before turn 1")
        terminal.wait_absent("Ask holdfast to do something")  # the prompt has returned, to be changed
        terminal.send(Key.CTRL_C)
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("/redo")
        eventually(made.exists)
    assert [each.turn for each in one_world.entries() if isinstance(each, e.Rewound)] == [1]


def test_a_run_that_did_not_do_what_was_required_ends_with_6(one_world: World) -> None:
    world = one_world
    world.script((Call("bash", {"command": "exit 3"}),), (Say("All tests pass."),))
    ran = world.run("-m", world.model, "--yolo", "-p", "test it", "--require", "ran:exit 3", "--require", "no-denied")
    assert (ran.code, ran.out) == (6, "All tests pass.\n")
    assert "Required, and not met: ran:exit 3: 'exit 3' ended with exit code 3." in ran.err
    world.script((Call("bash", {"command": "true"}),), (Say("Done."),))
    assert world.run("-c", "--yolo", "-p", "test it", "--require", "ran:true").code == 0
    refused = world.run("-m", world.model, "-p", "test it", "--require", "tests-are-green")
    assert refused.code == 2
    assert "Condition 'tests-are-green' of --require is unknown" in refused.err


@needs("git")
def test_what_was_in_the_way_of_an_undo_is_removed_and_the_rest_comes_back(one_world: World) -> None:
    world = one_world
    (world.folder / "src").mkdir()
    (world.folder / "src" / "a.py").write_text("a = 1\n")
    before = contents(world.folder)
    world.script((Call("bash", {"command": "rm -rf src"}),), (Say("Gone."),))
    assert world.run("-m", world.model, "--yolo", "-p", "delete it").code == 0
    (world.folder / "src").write_text("in the way\n")
    assert "2 paths left as it is" in world.run("undo").out
    assert "folder -> absent  src  (left by an undo)" in world.run("undo", "--list").out
    (world.folder / "src").unlink()
    again = world.run("undo")
    assert (again.code, again.out) == (0, "Files undone: 2 paths.\n  src\n  src/a.py\n")
    assert contents(world.folder) == before
    assert world.run("undo", "--list").out == "All is undone.\n"
