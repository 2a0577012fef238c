"""Starts an MCP server and ends with it: connects to a socket, reads there what to run, and guards the server.

How it works. The server has the socket as its stdin and stdout, so no process stands between it and the agent. Its
secrets come over the socket, not on a command line that others can read. The relay stays as its parent, waits, and ends
as it ends.

Why does it stay? Supervisor and watchdog end what is below them, each after the death of the other. If both are killed
together with the agent, only the relay is left above the server: it adopts the orphans of the server, and the
kernel wakes it (PR_SET_PDEATHSIG) when the supervisor dies. If the relay itself is killed too, the kernel kills the
server, but not the server's children.

It ignores SIGTERM, which the supervisor sends to all processes of a server: the server has its grace. Imports the
standard library and the process table only, to start fast.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

from holdfast.tools.process.process_table import LINUX, adopt_orphans, end_with
from holdfast.tools.process.watchdog import kill_descendants

RELAY_PROGRAM = (
    "import sys; sys.path.append(sys.argv.pop(1)); from holdfast.tools.process.server_relay import main; main()"
)

_TYPE_CHECKING = False  # as in typing, without the cost of its import
if _TYPE_CHECKING:
    from typing import TypedDict

    class ServerToRun(TypedDict):
        """The request on the socket: `env` is added to the environment."""

        argv: list[str]
        env: dict[str, str]
        cwd: str


_LENGTH = 8  # bytes of the number that says how many follow
NOT_RUN = 127


def main() -> None:
    """Run the server requested on the socket that the command line names, and exit as it exits."""
    above = os.getppid()
    adopt_orphans()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def woken(_number: int, _frame: object) -> None:
        _end_without(above)

    signal.signal(signal.SIGCONT, woken)
    if not end_with(above, signal.SIGCONT):  # in place of SIGKILL, which the supervisor asked for
        sys.exit(1)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(sys.argv[1])
    request = json.loads(_exactly(connection, int.from_bytes(_exactly(connection, _LENGTH), "big")))
    relay = os.getpid()
    server = os.fork()
    if server == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGCONT, signal.SIG_DFL)
        if end_with(relay, signal.SIGKILL):
            _exec_server(request, connection)
        os._exit(NOT_RUN)
    connection.close()
    _end_without(above)
    while (ended := os.waitpid(-1, 0))[0] != server:
        pass
    _end_like(os.waitstatus_to_exitcode(ended[1]))


def _end_without(above: int) -> None:
    """Kill the server and all that is below it, if the supervisor has died."""
    if LINUX and os.getppid() != above:
        kill_descendants(os.getpid())
        os._exit(1)


def _exec_server(request: ServerToRun, connection: socket.socket) -> None:
    """Become the server; return only if that fails."""
    argv = request["argv"]
    try:
        try:
            os.chdir(request["cwd"])
        except OSError as error:
            os.write(2, f"its folder {request['cwd']!r} cannot be used: {error.strerror}\n".encode(errors="replace"))
            return
        os.dup2(connection.fileno(), 0)
        os.dup2(connection.fileno(), 1)
        os.execvpe(argv[0], argv, {**os.environ, **request["env"]})  # noqa: S606 - the command of a server is a program, not a line for a shell
    except (FileNotFoundError, NotADirectoryError):
        os.write(2, f"{argv[0]}: command not found\n".encode(errors="replace"))
    except OSError as error:
        os.write(2, f"{argv[0]}: cannot be run: {error.strerror}\n".encode(errors="replace"))
    except ValueError as error:
        os.write(2, f"{argv[0]}: cannot be run: {error}\n".encode(errors="replace"))


def _end_like(code: int) -> None:
    """Exit with the server's code, or by the signal that ended it."""
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 1)


def _exactly(connection: socket.socket, size: int) -> bytes:
    read = b""
    while len(read) < size:
        if not (data := connection.recv(size - len(read))):
            raise EOFError
        read += data
    return read
