"""The time limits of a call, on a clock that is moved on: minutes pass at once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
from test_connections import connected, context, stdio

from holdfast.tools.mcp.sdk.server_call import LONGEST_CALL, MOST_SILENCE
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.tool import ToolOutput
from polling import HANGS, eventually


class MovedLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock a test moves on."""

    moved = 0.0

    def time(self) -> float:
        """Return the time, with what was added."""
        return super().time() + self.moved


def called(folder: Path, steps: Callable[[MovedLoop, list[str]], None], **limits: float) -> tuple[ToolOutput, float]:
    """Return the output of a call during which `steps` moves the clock, and how long it took on that clock."""

    async def run() -> tuple[ToolOutput, float]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, MovedLoop)
        server: McpServer = msgspec.structs.replace(stdio("stepping", folder), **limits)
        heard: list[str] = []
        async with connected(server, folder) as connections:
            await connections.listed("srv", asyncio.Event())
            since = loop.time()
            call = asyncio.create_task(connections.call("srv", "mcp__srv__steps", {}, context(heard=heard.append)))
            path = folder / "marker.calls"
            await asyncio.to_thread(eventually, lambda: path.exists() and "steps" in path.read_text())
            await asyncio.to_thread(steps, loop, heard)
            return await call, loop.time() - since

    with asyncio.Runner(loop_factory=MovedLoop) as runner:
        return runner.run(run())


def step(folder: Path, heard: list[str]) -> None:
    """Have the server report progress, and wait until it has."""
    reports = len(heard)
    (folder / f"marker.{reports}").touch()
    eventually(lambda: len(heard) > reports)


def move(loop: MovedLoop, seconds: float) -> None:
    """Move the clock on, and have the loop look at it."""
    loop.moved += seconds
    loop.call_soon_threadsafe(lambda: None)


def given_up_after(output: ToolOutput) -> int:
    """Return the seconds that the model reads: those of the moved clock, and those that really passed."""
    found = re.search(r"gave no answer within (\d+) s and was asked to stop\.", output.text)
    assert found is not None, output.text
    return int(found[1])


def test_progress_starts_the_silence_again(tmp_path: Path) -> None:
    def steps(loop: MovedLoop, heard: list[str]) -> None:
        for _ in range(5):
            move(loop, MOST_SILENCE * 0.8)
            step(tmp_path, heard)
        (tmp_path / "marker.end").touch()

    output, took = called(tmp_path, steps)
    assert (output.text, output.ok) == ("5 steps", True)
    assert took > 3 * MOST_SILENCE


def test_silence_behind_progress_is_given_up(tmp_path: Path) -> None:
    def steps(loop: MovedLoop, heard: list[str]) -> None:
        move(loop, 80)
        step(tmp_path, heard)
        move(loop, 101)

    output, took = called(tmp_path, steps, idle_timeout=100.0)
    assert output.interrupted
    assert 181 <= given_up_after(output) < 181 + HANGS
    assert took > 180


def test_no_progress_makes_a_call_longer_than_the_longest(tmp_path: Path) -> None:
    def steps(loop: MovedLoop, heard: list[str]) -> None:
        for _ in range(int(LONGEST_CALL // 200)):
            move(loop, 200)
            step(tmp_path, heard)
        move(loop, 1)

    output, _ = called(tmp_path, steps)
    assert output.interrupted
    assert LONGEST_CALL <= given_up_after(output) < LONGEST_CALL + HANGS
