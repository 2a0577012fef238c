"""The hooks of the public guides, unchanged, on every surface: the same scenario leaves the same effects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from editor_client import Editor
from launching import World, bash
from page_server import Served
from terminal import Key
from test_plain import PlainTerminal
from test_same_journal import journalled
from test_terminal import screen

from holdfast.session.journal import entries as e
from holdfast.testing.script import Call, Say
from holdfast.typed_data import convert_value
from hooked_world import guide_settings
from polling import eventually
from process_leaks import linux_only
from skips import imported, require
from tiers import sampled

pytestmark = linux_only

DECISIONS = [
    ("PermissionRequest", "allow"),
    ("PermissionRequest", "allow"),
    ("PostToolUse", "stop"),
    ("PreToolUse", "allow"),
    ("PreToolUse", "deny"),
    ("PreToolUse", "deny"),
    ("Stop", "block"),
]
PROMPTS = ("build it", "that is enough")


servers = imported("fleet.servers")


@pytest.fixture
def store_url() -> Iterator[str]:
    require("postgresql")
    with servers.own_server() as server, servers.fresh_database(server.url, engine=True) as url:
        yield url


@pytest.fixture
def hooked(one_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Return a world whose user has the hooks of the guides."""
    home = tmp_path / "person"
    guide_settings(home)
    monkeypatch.setenv("HOME", str(home))
    config = one_world.home / "config.toml"
    config.write_text(f"{config.read_text()}[hooks]\nread_claude = true\n")
    (one_world.folder / "precious").write_text("kept")
    (one_world.folder / "private.txt").write_text("secret")
    one_world.script(
        (
            bash("rm -rf precious"),
            bash("echo plain > made.txt"),
            Call("write", {"path": "code.py", "content": "x=1\n"}),
            Call("read", {"path": "private.txt"}),
            Call("grep", {"pattern": "kept", "path": "precious"}),
        ),
        (Say("I am done."),),
        (bash("touch passed"),),
        (Say("All tests pass."),),
        (bash("echo enough"), bash("touch never")),
    )
    return one_world


def in_print_mode(world: World) -> None:
    ran = world.run("-m", world.model, "-p", PROMPTS[0])
    assert ran.code == 0, ran.err
    ran = world.run("-c", "-p", PROMPTS[1])
    assert ran.code != 0
    assert "That is enough." in ran.err


def in_plain_mode(world: World) -> None:
    with PlainTerminal(world, "--plain", "-m", world.model) as terminal:
        terminal.wait_text("Plain mode")
        for number, prompt in enumerate(PROMPTS, start=1):
            terminal.type(prompt)
            eventually(journalled(world, number, e.TurnEnded))
        terminal.type("/hooks")
        terminal.wait_text("PreToolUse")
        terminal.type("/quit")
        assert terminal.wait() == 0


def on_the_screen(world: World) -> None:
    with screen(world, "-m", world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        for number, prompt in enumerate(PROMPTS, start=1):
            terminal.line(prompt)
            eventually(journalled(world, number, e.TurnEnded))
            terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0


def in_an_editor(world: World) -> None:
    editor = Editor(world)
    session = editor.opened()
    assert editor.answer(editor.prompt(session, PROMPTS[0]))["result"]["stopReason"] == "end_turn"
    assert editor.answer(editor.prompt(session, PROMPTS[1]))["result"]["stopReason"] == "cancelled"
    assert editor.leave().code == 0


def on_the_page(world: World) -> None:
    served = Served(world)
    session = served.begin(PROMPTS[0])
    served.finished(session)
    served.ask(session, "prompt", text=PROMPTS[1])
    eventually(journalled(world, 2, e.TurnEnded))
    served.finished(session)
    assert served.stop().code == 0


SURFACES: dict[str, Callable[[World], None]] = {
    "-p": in_print_mode,
    "plain": in_plain_mode,
    "screen": on_the_screen,
    "editor": in_an_editor,
    "page": on_the_page,
}


def expect_the_effects(hooked: World, entries: Sequence[e.Entry]) -> None:
    """Assert what the hooks of the guides did."""
    outcomes = [entry.outcome for entry in entries if isinstance(entry, e.CallEnded)]
    assert outcomes == ["denied", "ok", "ok", "denied", "ok", "ok", "ok", "not_started"]
    assert (hooked.folder / "precious").read_text() == "kept"
    assert hooked.lines("made.txt") == ["changed"]
    assert hooked.lines("code.py") == ["x = 1"]
    assert not (hooked.folder / "never").exists()
    causes = [entry.cause for entry in entries if isinstance(entry, e.TurnEnded)]
    assert causes == ["finished", "hook"]
    started = {each.id: each.event for each in entries if isinstance(each, e.HookStarted)}
    said = [(started[each.id], each.decision) for each in entries if isinstance(each, e.HookEnded) and each.decision]
    assert sorted(said) == sorted(DECISIONS)
    prompts = [entry.text for entry in entries if isinstance(entry, e.PromptAccepted)]
    assert "The session began by startup. The branch is main." in prompts[0]
    assert "Asked in mode default." in prompts[0]
    assert [entry.text for entry in entries if isinstance(entry, e.ResultAmended)] == ["3 matches, hidden"]
    sent = [each.raw.decode() for each in hooked.provider.requests]
    assert "rm -rf is not allowed here" in sent[1]
    assert "3 matches, hidden" in sent[1]
    assert "The tests do not pass yet" in sent[2]


@pytest.mark.parametrize("surface", sampled([*SURFACES, "fleet"], 4))
def test_the_hooks_of_the_guides_do_the_same_everywhere(
    hooked: World, surface: str, request: pytest.FixtureRequest
) -> None:
    if surface == "fleet":
        expect_the_effects(hooked, in_a_fleet(hooked, request.getfixturevalue("store_url")))
    else:
        SURFACES[surface](hooked)
        expect_the_effects(hooked, hooked.entries())


def in_a_fleet(hooked: World, store_url: str) -> Sequence[e.Entry]:
    """Have a worker run the turns, and return the journal."""
    hooked.one_past = False  # its journal is not in this home
    served = Served(hooked, ("--store", store_url))
    hooked.start("worker", "--store", store_url, "--ttl", "3", "-m", hooked.model)
    eventually(lambda: served.get("/status")["workers"])
    session = served.begin(PROMPTS[0], place={"kind": "folder", "cwd": str(hooked.folder)})
    served.finished(session)
    served.ask(session, "prompt", text=PROMPTS[1])
    eventually(lambda: sum(each["kind"] == "turn-ended" for each in exported(served, session)) == 2)
    entries = [convert_value(each, e.Entry) for each in exported(served, session)]
    assert served.stop().code == 0
    return entries


def exported(served: Served, session: str) -> list[dict[str, object]]:
    """Return the entries of a session that a fleet has."""
    return [record["entry"] for record in served.get(f"/sessions/{session}/export", form="json")["records"]]
