"""A process that has done what an agent does, once, and forks into agents: a start costs milliseconds, not seconds.

Two rules. An agent is a separate process, with the arguments, folder, environment and files it was asked for: its
signals, locks and crashes are real. Shared are the imports, and Python is not taken down at the end, so what is about
starting and leaving is tested without this.

`python warm.py SOCKET`, until standard input ends. A request is three descriptors and a line of JSON; the answers are
the process id and, when it has ended, its exit code.
"""

from __future__ import annotations

import asyncio
import fcntl
import gc
import json
import os
import select
import signal
import socket
import sys
import termios
import traceback
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import httpx2

import holdfast.agent
import holdfast.config
import holdfast.history
import holdfast.session
import holdfast.tools
import holdfast.ui
from holdfast.providers.connect import open_model
from holdfast.providers.registry import PROVIDERS, resolve_endpoint
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from holdfast.testing.http_transport import ScriptedTransport
from holdfast.testing.script import Say
from holdfast.testing.scripted_provider import ScriptedProvider

WARMED = (holdfast.agent, holdfast.config, holdfast.history, holdfast.session, holdfast.tools, holdfast.ui)
"""What agents, commands and the screen import sooner or later."""


def main() -> None:
    for name in ("openai", "openai-chat", "anthropic", "google"):  # one for each protocol
        provider = PROVIDERS[name]
        asyncio.run(once(provider.example, {str(provider.key_variable): "test-key"}))
    for package in WARMED:
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    gc.freeze()  # what is shared stays shared
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(sys.argv[1])
        server.listen()
        while sys.stdin not in select.select([server, sys.stdin], [], [])[0]:
            connection, _ = server.accept()
            with connection:
                if os.fork() == 0:
                    server.close()
                    watch(connection)


async def once(name: str, environ: dict[str, str]) -> None:
    """Have a request answered in memory."""
    transport = ScriptedTransport(ScriptedProvider([[Say("warm")]]))
    model = open_model(resolve_endpoint(name, environ), http=lambda: httpx2.AsyncClient(transport=transport))
    opened = SessionOpened(session="warm", cwd="/", model=name, system="WARM", tools=(), version="0")
    async with model.stream(fold([opened, PromptAccepted(turn=1, text="hello")])) as events:
        async for _ in events:
            pass
    await model.aclose()


def watch(connection: socket.socket) -> None:
    """Fork the agent, say who it is and how it ended, and exit."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, files, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile("rb") as lines:
        request: Any = json.loads(lines.readline())
    pid = os.fork()
    if pid == 0:
        connection.close()
        run_as(request, files)
    for file in files:
        os.close(file)
    connection.sendall(f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def run_as(request: Any, files: list[int]) -> None:
    """Run the program as if this process had just been started with it; never returns."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    if request["terminal"]:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    stdin, stdout = open(0, encoding="utf-8", closefd=False), open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - kept
    stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115 - kept
    sys.stdin = sys.__stdin__ = stdin
    sys.stdout = sys.__stdout__ = stdout
    sys.stderr = sys.__stderr__ = stderr
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environ"])
    sys.argv = ["-c", *request["arguments"]]
    code = 0
    try:
        exec(compile(request["program"], "<program>", "exec"), {"__name__": "__main__"})
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 0
    except BaseException:  # noqa: BLE001 - as Python itself would at the top
        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
