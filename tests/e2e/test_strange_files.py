"""What is no file in place of a file, and exports that are imported again, in the real program."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import World

from holdfast.testing.script import Say

WHOLE = (Say("Whole again."),)


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


STRANGE: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "a folder": lambda path: path.mkdir(),
    "a loop of links": lambda path: path.symlink_to(path),
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a terabyte": huge,
}


@pytest.mark.parametrize("what", STRANGE)
def test_a_summary_that_is_no_file_hides_no_session_and_holds_up_nothing(what: str, one_world: World) -> None:
    world = one_world
    world.script(WHOLE, WHOLE)
    assert world.ask("the first prompt").code == 0
    about = world.session / "about.json"
    about.unlink()
    STRANGE[what](about)
    listed = world.run("sessions", "list")  # a run that waits is ended, and fails
    assert listed.code == 0
    assert world.session.name in listed.out
    assert world.run("-c", "-p", "go on").code == 0
    assert world.user_texts == ["the first prompt", "go on"]


@pytest.mark.parametrize("form", ["pydantic-ai", "json", "openai-chat", "anthropic"])
def test_an_export_is_imported_and_continued(form: str, one_world: World) -> None:
    world = one_world
    world.script(WHOLE, WHOLE)
    assert world.ask("the first prompt").code == 0
    (original,) = world.sessions
    file = world.home / "exported"
    assert world.run("sessions", "export", original.name, "--format", form, "-o", str(file)).code == 0
    done = world.run("sessions", "import", str(file))
    assert done.code == 0, done.err
    (imported,) = (each for each in world.sessions if each != original)
    ran = world.run("-r", imported.name, "-m", "openai-chat:gpt-5.5", "-p", "go on")
    assert ran.code == 0, ran.err
    sent = str(world.provider.requests[-1].body)
    assert sent.index("the first prompt") < sent.index("Whole again.") < sent.index("go on")
