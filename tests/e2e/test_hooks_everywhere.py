"""The hooks of the public guides, unchanged, on every surface: the same scenario leaves the same effects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from launching import World, bash

from holdfast.session.journal import entries as e
from holdfast.testing.script import Call, Say
from hooked_world import guide_settings
from process_leaks import linux_only

pytestmark = linux_only

PROMPTS = ("build it", "that is enough")


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


SURFACES: dict[str, Callable[[World], None]] = {
    "-p": in_print_mode,
}


@pytest.mark.parametrize("surface", SURFACES)
def test_the_hooks_of_the_guides_do_the_same_everywhere(hooked: World, surface: str) -> None:
    SURFACES[surface](hooked)
    entries = hooked.entries()
    outcomes = [entry.outcome for entry in entries if isinstance(entry, e.CallEnded)]
    assert outcomes == ["denied", "ok", "ok", "denied", "ok", "ok", "ok", "not_started"]
    assert (hooked.folder / "precious").read_text() == "kept"
    assert hooked.lines("made.txt") == ["changed"]
    assert hooked.lines("code.py") == ["x = 1"]
    assert not (hooked.folder / "never").exists()
    causes = [entry.cause for entry in entries if isinstance(entry, e.TurnEnded)]
    assert causes == ["finished", "hook"]
