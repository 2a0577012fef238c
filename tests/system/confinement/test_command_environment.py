"""The environment of a confined command: neutral git behind the user's settings, offline tools, no way to a socket."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from holdfast.system.confinement.command_environment import confined_environment, git_settings
from holdfast.system.confinement.description import Confinement, SystemView

READ = Confinement(
    level="read",
    cwd="/w",
    roots=("/w",),
    temporary="/t",
    placeholders="/p",
    home="/h",
    system=SystemView((), (), ()),
)
OUTWARD = {
    "SSH_AUTH_SOCK": "/run/a",
    "XDG_RUNTIME_DIR": "/run/user/1",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/x",
    "HTTPS_PROXY": "http://user:password@proxy",
    "all_proxy": "socks5://x",
    "GIT_EXTERNAL_DIFF": "./evil.sh",
    "BASH_ENV": "evil.sh",
    "LD_PRELOAD": "evil.so",
}


def test_ways_out_and_programs_that_run_by_themselves_are_dropped() -> None:
    made = confined_environment({**OUTWARD, "PATH": "/bin"}, READ)
    assert not OUTWARD.keys() & made.keys()
    assert (made["PATH"], made["TMPDIR"], made["HOME"], made["HISTFILE"]) == ("/bin", "/t", "/h", "/dev/null")


def test_tools_know_that_they_are_offline_unless_they_are_not() -> None:
    offline = {"npm_config_offline": "true", "PIP_NO_INDEX": "1", "PIP_RETRIES": "0", "CARGO_NET_OFFLINE": "true"}
    offline |= {"GOPROXY": "off", "UV_OFFLINE": "1"}
    assert offline.items() <= confined_environment({}, READ).items()
    assert offline.items() <= confined_environment({}, READ._replace(level="workspace")).items()
    assert not offline.keys() & confined_environment({}, READ._replace(level="network")).keys()


def test_git_of_a_command_that_the_user_allowed_runs_its_hooks() -> None:
    unasked = confined_environment({}, READ._replace(level="workspace"))
    allowed = confined_environment({}, READ._replace(level="workspace", sees_disk=True))
    assert "core.hooksPath" in unasked.values()
    assert "core.hooksPath" not in allowed.values()
    assert "GIT_ALLOW_PROTOCOL" not in allowed


def test_settings_come_behind_those_of_the_user() -> None:
    made = git_settings({"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b"}, [("core.fsmonitor", "false")])
    assert made == {"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_1": "core.fsmonitor", "GIT_CONFIG_VALUE_1": "false"}
    assert git_settings({"GIT_CONFIG_COUNT": "x"}, [])["GIT_CONFIG_COUNT"] == "0"


def test_git_runs_no_monitor_and_no_hook(tmp_path: Path) -> None:
    (tmp_path / "evil").write_text(f"#!/bin/sh\ntouch {tmp_path}/PWNED\n")
    (tmp_path / "evil").chmod(0o755)
    git = ["git", "-C", str(tmp_path)]
    plain = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    subprocess.run([*git, "init", "-q"], check=True, env=plain)
    subprocess.run([*git, "config", "core.fsmonitor", str(tmp_path / "evil")], check=True, env=plain)
    made = confined_environment(plain, READ._replace(temporary=str(tmp_path), home=str(tmp_path)))
    subprocess.run([*git, "status", "--short"], check=True, env=made, capture_output=True)
    assert not (tmp_path / "PWNED").exists()
    subprocess.run([*git, "status", "--short"], check=True, env=plain, capture_output=True)
    assert (tmp_path / "PWNED").exists()
