"""A thread with an event loop that serves commands one after another; whatever one raises is told in words."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress

from holdfast.agent.settle import Leave
from holdfast.errors import HoldfastError
from holdfast.ui.tui.told import Closed, Taken, Told, Trouble

Command = Callable[[], Awaitable[None]]


class Serving:
    """What serves: commands may be given from any thread, before it is started too, and nobody waits for them."""

    def __init__(self, tell: Callable[[Told], None], keep: Callable[[str], tuple[str, str]]) -> None:
        """Serve nobody yet; both are called on the thread, `tell` must neither block nor raise.

        `keep` keeps a traceback for a report, and returns it without a key in it, and where it is.
        """
        self._tell = tell
        self._keep = keep
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="agent", daemon=True)
        self._commands: asyncio.Queue[Command | None] = asyncio.Queue()
        self._given = 0
        self._stopped: tuple[int, Leave | None] = 0, None  # how much had been given when a stop was last asked for

    def start(self) -> None:
        """Begin to serve commands; those that came before are served first."""
        self._thread.start()

    def stop(self, leave: Leave | None = None) -> None:
        """Stop what runs, at once, and what was given and has not begun as soon as it does."""

        def stop() -> None:
            self._stopped = self._given, leave
            self._stop_running(leave)

        self._now(stop)

    def close(self, within: float) -> bool:
        """End everything and return whether that was done within so many seconds; nothing is served after it."""
        if not self._thread.ident:  # it ended before it began
            self._loop.close()
            return True
        self._now(lambda: self._commands.put_nowait(None))
        self._thread.join(within)
        return not self._thread.is_alive()

    def _stop_running(self, leave: Leave | None) -> None:
        """Ask what runs to stop."""
        raise NotImplementedError

    async def _give_up(self) -> None:
        """End what is served."""
        raise NotImplementedError

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._work())
        self._tell(Closed())

    def _now(self, act: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop is closed: there is nothing left that could be asked of it
            self._loop.call_soon_threadsafe(act)

    def _do(self, command: Command) -> None:
        """Serve `command` in its turn."""
        self._now(lambda: self._commands.put_nowait(command))

    def _give(self, begin: Command) -> None:
        """Serve `begin`, with which something begins that a person gave; told as `Taken` when it has."""

        def give() -> None:
            self._given += 1
            self._commands.put_nowait(lambda number=self._given: self._taken(begin, number))

        self._now(give)

    async def _taken(self, begin: Command, number: int) -> None:
        try:
            await begin()
            given, leave = self._stopped
            if number <= given:
                self._stop_running(leave)
        finally:
            self._tell(Taken())

    async def _work(self) -> None:
        try:
            while (command := await self._commands.get()) is not None:
                await self._safely(command)
        finally:
            await self._safely(self._give_up)

    async def _safely(self, command: Command) -> bool:
        """Return whether `command` did what it does; if not, that is told."""
        try:
            await command()
        except HoldfastError as error:
            self._tell(Trouble(str(error)))
        except Exception as error:  # noqa: BLE001 - the top: a person gets a sentence, and what a report needs
            self._keep_fault(error)
        else:
            return True
        return False

    def _keep_fault(self, error: Exception) -> None:
        trace, where = self._keep("".join(traceback.format_exception(error)))
        what = trace.strip().splitlines()[-1]
        said = f"Internal error: {what}. This is a bug of holdfast; the session is safe."
        self._tell(Trouble(f"{said} Please report it with its traceback, which is {where}."))
