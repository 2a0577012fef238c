"""What several test modules share of `test_shell`."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from holdfast.tool_calls import ProcessId
from holdfast.tools.process.command_end import CommandFinished
from holdfast.tools.process.supervisor_client import Supervisor
from process_leaks import alive


class Bench:
    """A supervisor on a folder, and commands with calls of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.supervisor = Supervisor(folder)
        self.stop = asyncio.Event()
        self.shown = ""
        self.ready = asyncio.Event()

    def emit(self, text: str) -> None:
        self.shown += text
        if "ready" in self.shown:
            self.ready.set()

    async def run(
        self,
        command: str,
        *,
        call: str = "",
        timeout: float = 30,  # noqa: ASYNC109 - the command's
        cwd: Path | None = None,
        stays: bool = False,
        on_start: Callable[[ProcessId], None] = lambda _: None,
    ) -> CommandFinished:
        call = call or new_call()
        finished = await self.supervisor.run(
            command,
            call=call,
            cwd=cwd or self.folder,
            timeout=timeout,
            stop=self.stop,
            emit=self.emit,
            spool=self.folder / f"{call}.out",
            on_start=on_start,
            stays=stays,
        )
        assert finished.cause == "lost" or alive(call) == []
        return finished

    async def capture(self, *argv: str) -> tuple[int, bytes]:
        call = new_call()
        return await self.supervisor.capture(argv, call=call, cwd=self.folder, spool=self.folder / f"{call}.out")

    async def supervisor_pid(self) -> int:
        return int((await self.run("echo $PPID")).text)


def new_call() -> str:
    return f"call-{uuid.uuid4().hex}"


@asynccontextmanager
async def bench(folder: Path) -> AsyncGenerator[Bench]:
    created = Bench(folder)
    try:
        yield created
    finally:
        await created.supervisor.close()


def on_bench(folder: Path, act: Callable[[Bench], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(50), bench(folder) as created:
            await act(created)

    asyncio.run(main())


def finished(folder: Path, command: str, *, timeout: float = 30, cwd: Path | None = None) -> CommandFinished:
    async def main() -> CommandFinished:
        async with asyncio.timeout(50), bench(folder) as created:
            return await created.run(command, timeout=timeout, cwd=cwd)

    return asyncio.run(main())
