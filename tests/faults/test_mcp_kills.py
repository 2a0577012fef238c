"""A client of a stubborn MCP server is killed: nothing of the server lives a second later; a known-bad client is seen.

The kills of a whole agent, its supervisor, watchdog and relay, alone and together, with what the journal then says, are
in `tests/e2e/test_mcp.py`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.tools.process.process_table import running_process
from polling import eventually, slowness

CLIENTS = Path(__file__).with_name("mcp_clients.py")

pytestmark = pytest.mark.deep


def left_a_second_after_a_kill(client: str, folder: Path) -> list[int]:
    """Return which processes of the server live a second after its client was killed, and end them."""
    null = subprocess.DEVNULL
    process = subprocess.Popen([sys.executable, str(CLIENTS), client, str(folder)], stdout=null, stderr=null)
    try:
        eventually((folder / "ready").exists)
    finally:
        process.kill()
        process.wait()
    pids = [int(each) for each in (folder / "marker").read_text().split()]
    until = time.monotonic() + slowness()
    while time.monotonic() < until and any(map(running_process, pids)):
        time.sleep(0.01)
    left = [pid for pid in pids if running_process(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return left


def test_nothing_is_left_of_a_server(tmp_path: Path) -> None:
    assert left_a_second_after_a_kill("holdfast", tmp_path) == []


def test_a_known_bad_client_is_seen(tmp_path: Path) -> None:
    assert len(left_a_second_after_a_kill("sdk", tmp_path)) == 2, "the check does not see what the SDK leaves behind"
