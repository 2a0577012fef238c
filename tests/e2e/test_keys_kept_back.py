"""A command looks for the provider's key where the agent has it, and does not find it, a user's own or root's."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from launching import CONFIG, World, bash
from terminal import Terminal
from test_terminal import screen

from holdfast.testing.script import Say
from process_leaks import linux_only
from skips import needs

pytestmark = linux_only

SEARCHING = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
"""Lets another user find this Python wherever it is; who may look into a process is another matter."""
ANOTHER = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *SEARCHING, "--")
as_another = needs("root")

LOOKING = r"""
pid=$PPID
while [ "$pid" -gt 1 ]; do
    echo "process $pid: $(tr '\0' ' ' < /proc/$pid/cmdline)"
    tr '\0' '\n' < /proc/$pid/environ
    head -c 1 /proc/$pid/mem
    dd count=0 status=none if=/proc/$pid/fd/0
    pid=$(cut -d' ' -f4 /proc/$pid/stat)
done 2>&1
sleep 5 & until tr '\0' '\n' < /proc/$!/environ | grep '^HOLDFAST_CALL'; do :; done
echo looked; env
"""


def key(world: World) -> str:
    """Return the key that the agent has."""
    return world.environ()["OPENAI_API_KEY"]


@pytest.fixture
def place() -> Generator[Path]:
    """Return a folder that another user may use."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "config.toml").write_text(CONFIG)
        for path in (Path(name), Path(name) / "config.toml"):
            path.chmod(0o755)
            os.chown(path, 65534, 65534)
        yield Path(name)


@as_another
def test_a_command_cannot_look_into_the_agent(one_world: World, place: Path) -> None:
    """As it is for everybody who is not root."""
    one_world.one_past = False  # the session is elsewhere
    one_world.script([bash(LOOKING)], [Say("Nothing found.")])
    environ = one_world.environ(HOLDFAST_HOME=str(place), HOME=str(place))
    argv = [*ANOTHER, sys.executable, "-m", "holdfast", "-m", one_world.model, "--yolo", "-p", "look"]
    with subprocess.Popen(argv, env=environ, cwd=place, stdin=subprocess.DEVNULL, text=True) as agent:
        assert agent.wait() == 0
    (found,) = one_world.results
    assert "\nHOLDFAST_CALL=" in found.partition("\nlooked")[0]  # of a process like any other it is seen
    supervisor, watchdog, agents = found.removeprefix("process ").split("\nprocess ")[:3]
    assert agents.startswith(f"{agent.pid}: ")
    for each in (supervisor, watchdog, agents):
        assert each.count("Permission denied") == 3, found  # environment, memory, files
    assert key(one_world) not in found


def test_what_the_agent_was_started_with_is_gone_from_its_environment(one_world: World) -> None:
    """As it is for root, who may look: the environment shows no key; the memory can be read, and is said to be."""
    one_world.script([bash(LOOKING)], [Say("Nothing found.")])
    agent = one_world.start(
        "-m",
        one_world.model,
        "--yolo",
        "-p",
        "look",
        environ=one_world.environ(NPM_TOKEN="a token", HARMLESS="kept from commands"),
        cold=True,
    )
    assert agent.wait().code == 0
    (found,) = one_world.results
    assert "looked" in found.partition(f"process {agent.pid}:")[2]
    assert key(one_world) not in found
    assert "a token" not in found
    assert "kept from commands" not in found


def configure(world: World, *, key: str, header: str) -> None:
    """Configure a server that is reached at the address of the built-in one, with these variables."""
    address = world.environ()["OPENAI_BASE_URL"]
    provider = f'[providers.home]\nkind = "openai-chat"\nbase_url = "{address}"\napi_key_env = "{key}"\n'
    header = f'[providers.home.headers]\nx-pass = {{ env = "{header}" }}\nx-user = {{ env = "USER" }}\n'
    (world.home / "config.toml").write_text(CONFIG + provider + header)


def test_keys_of_a_server_of_ones_own_are_not_in_the_environment_of_a_command(one_world: World) -> None:
    """Their variables have names of which others are passed on; USER is of use to every command, and no secret."""
    configure(one_world, key="XDG_OF_THE_SERVER", header="LC_OF_THE_SERVER")
    one_world.script([bash("env; echo end")], [Say("Nothing found.")])
    variables = {
        "XDG_OF_THE_SERVER": key(one_world),
        "LC_OF_THE_SERVER": "open-sesame-42",
        "LC_TIME": "C",
        "USER": "me",
    }
    ran = one_world.run("-m", "home:m", "--yolo", "-p", "look", environ=one_world.environ(**variables))
    assert ran.code == 0, ran.err
    (found,) = one_world.results
    assert "LC_TIME=C" in found
    assert "USER=me" in found
    assert "OF_THE_SERVER" not in found


def environs(pid: int) -> list[bytes]:
    """Return the environments that a process and those it started show."""
    task = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [Path(f"/proc/{each}/environ").read_bytes() for each in (pid, *map(int, task))]


@needs("root")
def test_nor_is_it_in_the_process_that_watchdogs_the_terminal(one_world: World) -> None:
    terminal: Terminal = screen(one_world, "-m", one_world.model)
    with terminal:
        terminal.wait_text("Ask holdfast to do something")
        found = environs(terminal.pid)
        assert len(found) >= 2
        assert not any(key(one_world).encode() in environ for environ in found)
        assert not any(environ.strip(b"\0") for environ in found)


EDITOR = """\
import os, pathlib, sys
pathlib.Path(sys.argv[1]).write_text(" ".join(name for name in sorted(os.environ) if name in
    ("HARMLESS", "INNOCENT", "NPM_TOKEN", "OPENAI_API_KEY")) + " is what the editor has")
"""


def test_nor_is_it_in_the_editor_whose_environment_a_command_could_read(one_world: World, tmp_path: Path) -> None:
    (tmp_path / "editor.py").write_text(EDITOR)
    configure(one_world, key="OPENAI_API_KEY", header="INNOCENT")
    editor = f"{sys.executable} {tmp_path / 'editor.py'}"
    with screen(
        one_world,
        *("-m", one_world.model),
        EDITOR=editor,
        NPM_TOKEN="a token",
        INNOCENT="secret",
        HARMLESS="kept from commands",
    ) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.send(b"\x07")
        terminal.wait_text("is what the editor has")
        assert "▌ HARMLESS is what" in terminal.text()
