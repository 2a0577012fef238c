"""What of the home folder PATH opens to a confined command: programs, never the secrets that lie beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.system.confinement.description import Level, WallKind
from walls import SECRET, Wall, another_user, hostile_folder


@pytest.mark.parametrize(
    ("kind", "level", "sees_disk"),
    [
        ("bwrap", "read", False),
        ("bwrap", "workspace", False),
        ("bwrap", "workspace", True),
        ("landlock", "read", False),
    ],
)
def test_a_program_folder_in_a_folder_of_secrets_shows_the_programs_alone(
    open_folder: Path, kind: WallKind, level: Level, *, sees_disk: bool
) -> None:
    home = open_folder / "home"
    for name, secret in {".docker/bin": "config.json", ".ssh/bin": "id_rsa", ".gnupg": "key"}.items():
        place = home / name
        place.mkdir(parents=True, exist_ok=True)
        (place / "tool").write_text("#!/bin/sh\necho it ran\n")
        (place / "tool").chmod(0o755)
        (place.parent / secret if name.endswith("bin") else place / secret).write_text(SECRET)
    folder = hostile_folder(open_folder, another_user())
    wall = Wall(folder=folder, kind=kind, level=level, user=another_user(), sees_disk=sees_disk)
    path = f"{home}/.docker/bin:{home}/.ssh/bin:{home}/.gnupg:/usr/bin:/bin"
    line = f"cat {home}/.docker/config.json {home}/.ssh/id_rsa {home}/.gnupg/key; {home}/.docker/bin/tool"
    (ran,) = wall.run(line, environ={"PATH": path})
    assert ran.did_start
    assert SECRET not in ran.output
    assert kind == "landlock" or "it ran" in ran.output, ran.output


@pytest.mark.parametrize("kind", ["bwrap", "landlock"])
def test_programs_in_local_bin_do_not_show_what_mail_and_other_programs_keep(open_folder: Path, kind: WallKind) -> None:
    home = open_folder / "home"
    for name in (".local/bin", ".local/lib/x", ".local/share/evolution", ".config/bin", ".config/app"):
        (home / name).mkdir(parents=True)
    (home / ".local/share/evolution/mail").write_text(SECRET)
    (home / ".config/app/token").write_text(SECRET)
    (home / ".local/lib/x/module").write_text("library")
    folder = hostile_folder(open_folder, another_user())
    wall = Wall(folder=folder, kind=kind, level="read", user=another_user())
    line = f"cat {home}/.local/share/evolution/mail {home}/.config/app/token {home}/.local/lib/x/module"
    (ran,) = wall.run(line, environ={"PATH": f"{home}/.local/bin:{home}/.config/bin:/usr/bin:/bin"})
    assert SECRET not in ran.output
    assert "library" in ran.output


@pytest.mark.parametrize(
    ("kind", "level", "sees_disk"),
    [("bwrap", "read", False), ("bwrap", "workspace", True), ("landlock", "read", False)],
)
def test_a_toolchain_that_a_variable_names_shows_no_credentials(
    open_folder: Path, kind: WallKind, level: Level, *, sees_disk: bool
) -> None:
    cargo = open_folder / "tools/cargo"
    (cargo / "bin").mkdir(parents=True)
    (cargo / "credentials.toml").write_text(SECRET)
    (cargo / "config.toml").write_text("[settings]")
    (open_folder / "cfg/gh").mkdir(parents=True)
    (open_folder / "cfg/gh/hosts.yml").write_text(SECRET)
    folder = hostile_folder(open_folder, another_user())
    wall = Wall(folder=folder, kind=kind, level=level, user=another_user(), sees_disk=sees_disk)
    line = f"cat {cargo}/credentials.toml {folder}/cfg/gh/hosts.yml {cargo}/config.toml"
    (ran,) = wall.run(line, environ={"CARGO_HOME": str(cargo), "XDG_CONFIG_HOME": f"{folder}/cfg"})
    assert SECRET not in ran.output
    assert "[settings]" in ran.output
