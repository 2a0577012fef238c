"""What the environment has wrong is a sentence with the variable or the file in it, and never a traceback.

No exception of another library reaches the top: each command runs with each variable that is wrong in a way that users
have it. A wall of one rule, so that a new command or a new client cannot leave it out unseen.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from launching import World

from holdfast.testing.script import Fail, Say
from process_leaks import linux_only
from skips import needs
from socks_server import socks_proxy
from tiers import sampled

BASE = "OPENAI_BASE_URL"
ENVIRONMENTS: dict[str, tuple[dict[str, str], str]] = {
    "a proxy of an unknown kind": ({"ALL_PROXY": "socks4://127.0.0.1:9"}, "ALL_PROXY"),
    "a proxy that is no URL": ({"HTTP_PROXY": "http://[::1"}, "HTTP_PROXY"),
    "a proxy without a host": ({"http_proxy": "http://"}, "http_proxy"),
    "a proxy that is not there": ({"HTTP_PROXY": "http://127.0.0.1:9"}, "HTTP_PROXY"),
    "a SOCKS proxy that is not there": ({"ALL_PROXY": "socks5://127.0.0.1:9"}, "ALL_PROXY"),
    "no certificates": ({"SSL_CERT_FILE": "/proc/ca.pem", BASE: "https://127.0.0.1:9/v1"}, "SSL_CERT_FILE"),
    "no folder of certificates": ({"SSL_CERT_DIR": "/proc/ca", BASE: "https://127.0.0.1:9/v1"}, "SSL_CERT_DIR"),
    "a key log that cannot be": (
        {"SSLKEYLOGFILE": "/proc/keys", "SSL_CERT_FILE": sys.executable, BASE: "https://127.0.0.1:9/v1"},
        "SSL_CERT_FILE",
    ),
    "an address that is no URL": ({BASE: "http://[::1"}, BASE),
    "an address with a space": ({BASE: "http://127.0.0.1 :9/v1"}, BASE),
    "an address with a port that is none": ({BASE: "http://127.0.0.1:99999/v1"}, BASE),
    "an address of four numbers that is none": ({BASE: "http://999.1.1.1/v1"}, "999.1.1.1"),
    "an address with empty labels": ({BASE: "http://a..b/v1"}, "a..b"),
    "an address of nobody": ({BASE: "http://127.0.0.1:9/v1"}, "127.0.0.1:9"),
    "a home that is a file": ({"HOLDFAST_HOME": "/proc/version"}, "HOLDFAST_HOME"),
    "a home in a folder of the kernel": ({"HOLDFAST_HOME": "/sys/holdfast"}, "HOLDFAST_HOME"),
    "a key with a letter of another script": ({"OPENAI_API_KEY": "k\u00e9y"}, "OPENAI_API_KEY"),
}
COMMANDS = (
    ("-p", "hi", "-m", "openai-chat:m"),
    ("models", "openai-chat"),
    ("doctor",),
    ("config",),
    ("sessions", "list"),
    ("mcp", "list"),
)
NO_BUG = ("Traceback", "Internal error", "This is a bug")


PAIRS = sampled([*itertools.product(ENVIRONMENTS, COMMANDS)], 20)


@pytest.mark.parametrize(("name", "command"), PAIRS, ids=str)
def test_no_command_calls_a_wrong_environment_its_own_bug(
    one_world: World, name: str, command: tuple[str, ...]
) -> None:
    one_world.one_past = False
    variables, _ = ENVIRONMENTS[name]
    ran = one_world.run(*command, environ=one_world.environ(**variables))
    assert not [word for word in NO_BUG if word in ran.err + ran.out], ran.err + ran.out


@pytest.mark.parametrize("name", sampled(ENVIRONMENTS, 6))
def test_a_turn_names_what_is_wrong(one_world: World, name: str) -> None:
    one_world.one_past = False
    variables, named = ENVIRONMENTS[name]
    ran = one_world.run(*COMMANDS[0], environ=one_world.environ(**variables))
    assert ran.code in (1, 2, 75), ran.err
    assert named in ran.err
    assert not [word for word in NO_BUG if word in ran.err], ran.err


def test_a_turn_goes_through_a_socks_proxy(one_world: World) -> None:
    one_world.script((Say("By way of SOCKS."),))
    with socks_proxy() as proxy:
        variables = {"ALL_PROXY": f"socks5://127.0.0.1:{proxy.port}"}
        ran = one_world.ask("hi", environ=one_world.environ(**variables))
        assert (ran.code, ran.out) == (0, "By way of SOCKS.\n"), ran.err
        listed = one_world.run("models", "openai-chat", environ=one_world.environ(**variables))
        assert "proxy" not in listed.err
    assert len(proxy.places) == 2


def test_an_account_without_credit_is_asked_once(one_world: World) -> None:
    one_world.script((Fail(429, "Insufficient balance. Please recharge."),))
    ran = one_world.ask("hi")
    assert ran.code == 1
    assert len(one_world.provider.requests) == 1
    assert "has no credit left" in ran.err
    assert "Add credit at the provider" in ran.err
    assert "retrying" not in ran.err


def test_a_limit_that_ends_in_hours_is_said_as_a_time(one_world: World) -> None:
    one_world.script((Fail(429, "The usage limit has been reached.", retry_after=18_000),))
    ran = one_world.ask("hi")
    assert ran.code == 75
    assert "(try again in 5 h, at " in ran.err
    assert "Wait a moment" not in ran.err


@needs("bubblewrap")
@pytest.mark.parametrize(
    "command", [("-p", "hi", "-m", "openai-chat:m"), ("doctor",), ("models", "openai-chat"), ("demo",)]
)
def test_a_disk_that_cannot_be_written(one_world: World, command: tuple[str, ...]) -> None:
    """Everything is read-only, the folders for temporary files too."""
    one_world.one_past = False
    program = str(Path(sys.executable).with_name("holdfast"))
    wall = str(shutil.which("bwrap"))
    walled = [wall, *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--"), program, *command]
    ran = subprocess.run(
        walled,
        cwd=one_world.folder,
        env=one_world.environ(**{BASE: "http://127.0.0.1:9/v1"}),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    said = ran.stdout + ran.stderr
    assert not [word for word in NO_BUG if word in said], said
    if command[0] == "-p":
        assert "Read-only file system. Nothing was done." in said
        assert "Make its folder writable, or set HOLDFAST_HOME to a folder that is." in said
    elif command[0] in ("doctor", "demo"):
        assert "Set TMPDIR to one." in said


@linux_only
@pytest.mark.parametrize(
    ("home", "why"), [("/proc/no", "No such file or directory"), ("/sys/no", "Operation not permitted")]
)
def test_a_home_that_cannot_be_made_is_said_to_be_that(one_world: World, home: str, why: str) -> None:
    """The disk is not at fault, and no journal is at risk: there is none yet."""
    one_world.one_past = False
    ran = one_world.run("-p", "hi", "-m", one_world.model, environ=one_world.environ(HOLDFAST_HOME=home))
    assert ran.code == 1
    assert f"No session can be stored in '{home}/sessions': {why}. Nothing was done." in ran.err
    assert "set HOLDFAST_HOME to a folder that is." in ran.err
    assert "Check the disk" not in ran.err
