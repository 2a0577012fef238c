"""A thread with an event loop that serves commands one after another; errors become messages."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress

from holdfast.agent.sessions import OpenSession
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import HoldfastError
from holdfast.host.commands import Submission
from holdfast.host.events import Closed
from holdfast.ui.advice import SCREEN, with_advice
from holdfast.ui.tui.agent_thread.messages import AgentMessage, ErrorMessage, InputAccepted

LoopCommand = Callable[[], Awaitable[object]]
"""What the loop serves."""

Begin = Callable[[], OpenSession]
"""Opens a new or existing session. Raises `HoldfastError`."""


class CommandLoop:
    """The command loop: commands may be submitted from any thread, also before the start, without waiting."""

    def __init__(
        self,
        send: Callable[[AgentMessage], None],
        keep: Callable[[str], tuple[str, str]],
        *,
        stop_running: Callable[[StopCause | None], None],
        end: LoopCommand,
    ) -> None:
        """Create it idle. All functions are called on the thread; `send` must neither block nor raise.

        `keep` stores a traceback for a report, and returns it redacted, and where it is stored. `stop_running` asks the
        running turn and commands to stop; `end` is served last, after all other commands.
        """
        self._send = send
        self._keep = keep
        self._stop_running = stop_running
        self._end = end
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="agent", daemon=True)
        self._commands: asyncio.Queue[tuple[LoopCommand, int] | None] = asyncio.Queue()  # 0: not a user action
        self._submitted = 0
        self._stop_request: tuple[int, StopCause | None] = 0, None  # the user actions submitted before it, its cause

    def start(self, command: LoopCommand) -> None:
        """Start to serve: the commands submitted before, then `command`."""
        self.submit(command)
        self._thread.start()

    def stop(self, cause: StopCause | None = None) -> None:
        """Stop running work now, and submitted work as soon as it starts."""

        def stop() -> None:
            self._stop_request = self._submitted, cause
            self._stop_running(cause)

        self.call_soon(stop)

    def close(self, within: float) -> bool:
        """End everything within `within` seconds. Return whether that succeeded; nothing is served afterwards."""
        if not self._thread.ident:  # closed before it was started
            self._loop.close()
            return True
        self.call_soon(lambda: self._commands.put_nowait(None))
        self._thread.join(within)
        return not self._thread.is_alive()

    def call_soon(self, act: Callable[[], object]) -> None:
        """Call `act` on the thread, before the waiting commands; do nothing if the loop is closed."""
        with suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(act)

    def submit(self, command: LoopCommand) -> None:
        """Serve `command` after the earlier ones."""
        self.call_soon(lambda: self._commands.put_nowait((command, 0)))

    def submit_user_action(self, begin: LoopCommand) -> None:
        """Serve `begin`, which starts work that the user submitted; `InputAccepted` is sent once it has started.

        If it submits a command to a host, that is once the host has served it.

        If a stop was requested after it was submitted, it is stopped as soon as it has started.
        """

        def put() -> None:
            self._submitted += 1
            self._commands.put_nowait((begin, self._submitted))

        self.call_soon(put)

    async def run_safely(self, command: LoopCommand) -> bool:
        """Run `command`. Return whether it succeeded; if not, send the error."""
        try:
            await command()
        except HoldfastError as error:
            self._send(ErrorMessage(with_advice(error, SCREEN)))
        except Exception as error:  # noqa: BLE001 - the top: send a sentence and the traceback for a report
            self._send(ErrorMessage(self.describe_bug(error)))
        else:
            return True
        return False

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._work())
        self._send(Closed())

    async def _work(self) -> None:
        try:
            while (submitted := await self._commands.get()) is not None:
                command, number = submitted
                served: asyncio.Future[None] | None = None

                async def call(command: LoopCommand = command) -> None:
                    nonlocal served
                    result = await command()
                    served = result.served if isinstance(result, Submission) else None

                succeeded = await self.run_safely(call)
                if number:
                    last, cause = self._stop_request
                    if succeeded and number <= last:
                        self._stop_running(cause)
                    if not succeeded or served is None:
                        self._send(InputAccepted())
                    else:
                        served.add_done_callback(self._tell_accepted)
        finally:
            await self.run_safely(self._end)

    def _tell_accepted(self, served: asyncio.Future[None]) -> None:
        del served
        self._send(InputAccepted())

    def describe_bug(self, error: BaseException) -> str:
        """Return a sentence about a bug, whose traceback is stored for a report."""
        trace, place = self._keep("".join(traceback.format_exception(error)))
        summary = trace.strip().splitlines()[-1]
        message = f"Internal error: {summary}. This is a bug in holdfast. Your session is saved."
        return f"{message} Please report it with its traceback ({place})."
