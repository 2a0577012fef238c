"""A session whose first entry is damaged: it goes on, from every door, and nothing else of it is lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import Block, World, bash
from terminal import Key
from test_terminal import screen

from holdfast.session.journal.entries import SessionOpened
from holdfast.testing.script import Say, Think

WHOLE = (Say("Whole again."),)
PROMPT, ANSWER = "the first prompt", "The first answer."


def young(world: World) -> None:
    """Have a session with a turn in it: most of its file is its first entry."""
    world.script((Think("Hm."), Say("I look."), bash("echo one >> ran")), (Say(ANSWER),))
    assert world.ask(PROMPT).code == 0
    world.one_past = False


def flipped(data: bytes) -> bytes:
    """Return the file with one bit flipped, in the name of the first entry."""
    place = data.index(b'"session-opened"') + 3
    return data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]


def flipped_behind(data: bytes) -> bytes:
    """Return the file with one bit flipped in the page that the first entry goes on in."""
    return data[:9000] + bytes([data[9000] ^ 1]) + data[9001:]


def cut(data: bytes) -> bytes:
    return data[:10_000]


def cut_early(data: bytes) -> bytes:
    """Return the file's first page: no entry is in it, however they lie on the others."""
    return data[:5_000]


def emptied(data: bytes) -> bytes:
    del data
    return b""


def damaged(world: World, damage: Callable[[bytes], bytes]) -> None:
    path = world.session / "session.db"
    path.write_bytes(damage(path.read_bytes()))


def assert_intact(world: World) -> None:
    """Hold the last request to all that there was before the damage."""
    assert PROMPT in world.user_texts
    assert Block("assistant", "text", ANSWER) in world.last
    assert [result.startswith("(no output)") for result in world.results] == [True]


@pytest.mark.parametrize("door", ["-c", "-r", "--fork"])
@pytest.mark.parametrize("damage", [flipped, flipped_behind])
def test_a_flipped_bit_in_the_first_entry_costs_only_that(
    world: World, damage: Callable[[bytes], bytes], door: str
) -> None:
    young(world)
    session = world.session.name
    tools = world.provider.requests[-1].body
    damaged(world, damage)
    found = world.run("sessions", "verify")
    assert found.code == 4
    assert "cannot go on" not in found.out
    assert f"Continue with holdfast -r {session}" in found.out
    world.script(WHOLE, WHOLE)
    how = {"-c": ["-c"], "-r": ["-r", session], "--fork": ["-c", "--fork"]}[door]
    ran = world.run(*how, "--yolo", "-p", "go on", "--output-format", "stream-json")
    assert (ran.code, ran.err) == (0, "")
    assert_intact(world)
    body = world.provider.requests[-1].body
    assert body is not None
    assert tools is not None
    assert (body["model"], body["tools"]) == (tools["model"], tools["tools"])
    assert ran.lines[0]["cwd"] == str(world.folder)
    if door != "--fork":  # a copy is whole, and says so in its journal
        assert "made again" in str(ran.of("damage"))
    again = world.go_on("--output-format", "stream-json")
    assert again.of("damage") == []  # it is reported once
    assert_intact(world)
    assert world.lines("ran") == ["one"]


@pytest.mark.parametrize("damage", [cut, emptied])
def test_a_journal_that_was_cut_short_goes_on_where_it_worked(
    one_world: World, damage: Callable[[bytes], bytes]
) -> None:
    world = one_world
    young(world)
    damaged(world, damage)
    world.script((bash("echo two >> ran"),), WHOLE, WHOLE)
    ran = world.go_on("--output-format", "stream-json")
    assert "made again" in str(ran.of("damage"))
    assert list(world.session.glob("session.db.damaged-*"))
    assert world.lines("ran") == ["one", "two"]
    world.go_on()
    (opened,) = [entry for entry in world.entries() if isinstance(entry, SessionOpened)]
    assert (opened.cwd, opened.model) == (str(world.folder), world.model)


def test_it_goes_on_without_its_summary_where_it_is_opened(one_world: World) -> None:
    """Both are lost: the model is in what is left of the journal, the folder is where the user is."""
    world = one_world
    young(world)
    damaged(world, flipped)
    (world.session / "about.json").unlink()
    world.script(WHOLE)
    ran = world.run("-r", world.session.name, "--yolo", "-p", "go on")
    assert ran.code == 0, ran.err
    assert f"works in {str(world.folder)!r}" in ran.err
    assert_intact(world)


@pytest.mark.parametrize("fork", [(), ("--fork",)])
def test_where_nothing_says_the_model_any_more_it_is_asked_for(one_world: World, fork: tuple[str, ...]) -> None:
    """Before anything is opened, changed or copied; once it is named, the session goes on."""
    world = one_world
    young(world)
    damaged(world, cut_early)
    (world.session / "about.json").unlink()
    before = world.session, (world.session / "session.db").read_bytes()
    ran = world.run("-r", world.session.name, *fork, "--yolo", "-p", "go on")
    assert (ran.code, ran.out) == (2, "")
    assert f"Unknown model of session {world.session.name!r}" in ran.err
    assert ran.err.count("\n") == 1
    assert (world.session, (world.session / "session.db").read_bytes()) == before
    world.script(WHOLE)
    named = world.run("-r", world.session.name, *fork, "--yolo", "-p", "go on", "-m", world.model)
    assert (named.code, named.out) == (0, "Whole again.\n"), named.err


def test_it_is_exported_and_what_is_exported_is_imported(one_world: World, tmp_path: Path) -> None:
    world = one_world
    young(world)
    damaged(world, flipped)
    file = tmp_path / "exported.json"
    assert world.run("sessions", "export", world.session.name, "-o", str(file)).code == 4
    assert ANSWER in json.dumps(json.loads(file.read_text()))
    shutil.rmtree(world.session)
    imported = world.run("sessions", "import", str(file), "-m", world.model)
    assert imported.code == 0, imported.err
    world.script(WHOLE)
    world.go_on()
    assert_intact(world)


def test_the_screen_opens_it_and_goes_on(one_world: World) -> None:
    world = one_world
    young(world)
    damaged(world, flipped)
    world.script(WHOLE)
    with screen(world, "-c", "--yolo") as terminal:
        terminal.wait_text(ANSWER)
        terminal.line("go on")
        terminal.wait_text("Whole again.")
        terminal.wait_text("made again")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert_intact(world)
