"""The supervisor with walls: it runs short of descriptors, its proxy is killed, or the outer process of the wall is."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path

import pytest

from holdfast.errors import ToolFailed
from holdfast.tools.builtin.bash import BashTool
from holdfast.tools.process.session_supervisors import Supervisors
from holdfast.tools.sandbox import Sandbox
from holdfast.tools.tool import ToolContext, ToolOutput, Workspace
from polling import eventually
from process_leaks import below, linux_only
from walls import need

pytestmark = linux_only

Run = Callable[[str], Coroutine[None, None, ToolOutput]]


def on_network(folder: Path, act: Callable[[Run, Path], Awaitable[None]]) -> None:
    """Call `act` with what runs a command at level `network`, in a new workspace."""
    need("bwrap")
    workspace, session = folder / "ws", folder / "session"
    workspace.mkdir()
    session.mkdir()

    async def main() -> None:
        supervisors = Supervisors(session)
        sandbox = Sandbox(workspace, session, mode="auto")
        tool = BashTool(Workspace(root=workspace, spool=session), supervisors, sandbox)
        calls = 0

        async def run(command: str) -> ToolOutput:
            nonlocal calls
            calls += 1
            plan = tool.plan(f"c{calls}", json.dumps({"command": command, "network": ["example.org"]}))
            context = ToolContext(
                call=f"c{calls}", stop=asyncio.Event(), emit=lambda _: None, confined="network", by_user=True
            )
            return await plan.run(context)

        try:
            async with asyncio.timeout(100):
                await act(run, workspace)
        finally:
            await supervisors.close()

    asyncio.run(main())


def supervisor() -> int:
    """Return the supervisor of this process: the one below its watchdog."""
    children = (int(each) for each in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())
    (watchdog,) = (each for each in children if "supervisor" in Path(f"/proc/{each}/cmdline").read_text())
    return next(iter(below(watchdog)))


def proxies() -> list[int]:
    return [pid for pid, words in below(os.getpid()).items() if "network.proxy" in words and "bwrap" not in words]


def descriptors(pid: int) -> list[int]:
    return sorted(int(each.name) for each in Path(f"/proc/{pid}/fd").iterdir())


def outer() -> list[int]:
    """Return the children of the supervisor: the outer process of each wall, and proxies."""
    pid = supervisor()
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_supervisor_without_descriptors_runs_nothing_says_so_and_goes_on(tmp_path: Path) -> None:
    async def act(run: Run, workspace: Path) -> None:
        assert (await run("true")).ok
        pid = supervisor()
        usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        used = max(descriptors(pid)) + 1
        before = descriptors(pid)
        refused, ran, said = 0, 0, set[str]()
        for more in range(12):
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + more, usual[1]))
            try:
                await run(f"touch ran-{more}")
            except ToolFailed as failed:
                refused += 1
                said.add(str(failed))
                ran += (workspace / f"ran-{more}").exists()
            resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)
            assert supervisor() == pid
        assert refused >= 8
        assert ran == 0
        assert all(each.endswith("Nothing was run.") for each in said)
        assert (await run("true")).ok
        assert descriptors(pid) == before
        assert proxies() == []

    on_network(tmp_path, act)


def test_a_command_whose_proxy_is_killed_goes_on_and_ends(tmp_path: Path) -> None:
    async def act(run: Run, workspace: Path) -> None:
        task = asyncio.create_task(run("touch ready; while [ ! -e go ]; do sleep 0.05; done; echo on"))
        await asyncio.to_thread(eventually, (workspace / "ready").exists)
        (proxy,) = proxies()
        os.kill(proxy, signal.SIGKILL)
        await asyncio.to_thread(eventually, lambda: proxies() == [])
        (workspace / "go").touch()
        got = await task
        assert got.text.startswith("on\n(exit code 0")
        assert (await run("echo next")).text.startswith("next\n")

    on_network(tmp_path, act)


def test_a_command_whose_wall_is_killed_ends_with_all_of_it_and_the_next_runs(tmp_path: Path) -> None:
    async def act(run: Run, workspace: Path) -> None:
        task = asyncio.create_task(run("setsid sleep 300 & touch ready; sleep 300"))
        await asyncio.to_thread(eventually, (workspace / "ready").exists)
        walls = [pid for pid in outer() if pid not in proxies()]
        assert len(walls) == 1
        os.kill(walls[0], signal.SIGKILL)
        got = await task
        assert "ended by signal 9 (Killed)" in got.text
        assert list(below(supervisor())) == []
        assert (await run("echo next")).text.startswith("next\n")

    on_network(tmp_path, act)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_supervisor_that_is_gone_takes_wall_and_proxy_along(tmp_path: Path, number: signal.Signals) -> None:
    async def act(run: Run, workspace: Path) -> None:
        task = asyncio.create_task(run("setsid sleep 300 & touch ready; sleep 300"))
        await asyncio.to_thread(eventually, (workspace / "ready").exists)
        pid = supervisor()
        inside = {pid, *below(pid)}
        assert len(inside) >= 5
        os.kill(pid, number)
        if number == signal.SIGSTOP:  # its watchdog wakes it
            await asyncio.to_thread(eventually, lambda: Path(f"/proc/{pid}/stat").read_text().split()[2] != "T")
            os.kill(pid, signal.SIGKILL)
        got = await task
        assert "the process that runs commands died" in got.text
        await asyncio.to_thread(eventually, lambda: not any(Path(f"/proc/{each}").exists() for each in inside))

    on_network(tmp_path, act)
