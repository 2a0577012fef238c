"""SIGKILL at what stands around a confined MCP server: nothing of it lives on, with the agent or without.

The server ignores the end of its input and SIGTERM, and has a child in another session that does too. All of both
is in a PID namespace, so even the relay's death together with all above it ends them, which it does not without a wall.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from polling import eventually, expect_within
from process_leaks import below
from skips import imported, needs
from tiers import sampled

imported("mcp")

AGENT = Path(__file__).parents[1] / "confined_server_agent.py"
SERVER = "steered_mcp_server.py"
VICTIMS = (
    "agent",
    "relay",
    "supervisor",
    "watchdog",
    "wall",
    "proxy",
    "agent supervisor watchdog",
    "agent supervisor watchdog relay",
)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def around(agent: int, root: Path) -> Mapping[str, int]:
    """Return the processes around the server by what they are, and `server` and `child`, as seen from outside."""
    found = below(agent)
    server = next(pid for pid, words in found.items() if words.split()[1:2] == [str(root / SERVER)])
    child = next(pid for pid, words in found.items() if words.startswith("sleep 1000.75"))
    relay = next(pid for pid, words in found.items() if "server_relay" in words)
    proxy = next(pid for pid, words in found.items() if "network.proxy" in words and parent(pid) == relay)
    wall = next(pid for pid, words in found.items() if words.split()[0].endswith("bwrap") and parent(pid) == relay)
    supervisor = parent(relay)
    watchdog = parent(supervisor)
    return {
        "agent": agent,
        "server": server,
        "child": child,
        "relay": relay,
        "proxy": proxy,
        "wall": wall,
        "supervisor": supervisor,
        "watchdog": watchdog,
    }


def ask(agent: subprocess.Popen[str], line: str) -> dict[str, Any]:
    assert agent.stdin is not None
    assert agent.stdout is not None
    agent.stdin.write(line + "\n")
    agent.stdin.flush()
    answer: dict[str, Any] = json.loads(agent.stdout.readline())
    return answer


@needs("bubblewrap")
@pytest.mark.parametrize("victims", sampled(VICTIMS, 6))
def test_nothing_of_a_confined_server_outlives_its_end(tmp_path: Path, victims: str) -> None:
    session, root = tmp_path / "sessions/one", tmp_path / "ws"
    (session / "spool").mkdir(parents=True)
    root.mkdir()
    words = [sys.executable, str(AGENT), str(session), str(root)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as agent:
        try:
            killed_and_seen(agent, root, victims)
        finally:
            agent.kill()


def killed_and_seen(agent: subprocess.Popen[str], root: Path, victims: str) -> None:
    assert ask(agent, "echo began") == {"text": "began\n", "interrupted": False}
    known = around(agent.pid, root)
    inside = [known["server"], known["child"]]
    assert all(map(lives, known.values()))
    for victim in victims.split():
        os.kill(known[victim], signal.SIGKILL)
    killed = time.monotonic()
    if victims == "proxy":  # the server goes on, without its way out
        assert ask(agent, "echo on")["text"] == "on\n"
        assert all(map(lives, inside))
    else:
        eventually(lambda: not any(map(lives, (*inside, known["proxy"], known["wall"]))))
        expect_within(1.0, killed)
        if "agent" not in victims:
            assert ask(agent, "echo again") == {"text": "again\n", "interrupted": False}
    if "agent" not in victims:
        again = list(below(agent.pid))
        assert agent.stdin is not None
        agent.stdin.close()
        assert agent.wait() == 0
        eventually(lambda: not any(map(lives, again)))
    eventually(lambda: not any(map(lives, known.values())))
