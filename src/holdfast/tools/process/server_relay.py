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

A server with a wall is started inside it, by the same code as a confined command. Its proxy is a child of the relay, so
the relay's end is the end of both, and of all that is inside: the kernel ends a PID namespace at once. What the proxy
refused is written to the server's stderr. A wall that cannot be built runs nothing.
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
    from threading import Thread
    from typing import TypedDict

    from holdfast.system.confinement.entry import LaunchFields, Wall
    from holdfast.system.confinement.network.proxy_process import ProxyProcess

    class ServerToRun(TypedDict):
        """The request on the socket: `env` is added to the environment. A `wall` has its own, and its own folder."""

        argv: list[str]
        env: dict[str, str]
        cwd: str
        wall: LaunchFields | None
        hosts: list[str]


_LENGTH = 8  # bytes of the number that says how many follow
NOT_RUN = 127
_NO_WALL = 126
_REPORTS_WITHIN = 1.0


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
    wall, proxy = _wall_of(request)
    relay = os.getpid()
    server = os.fork()
    if server == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGCONT, signal.SIG_DFL)
        if end_with(relay, signal.SIGKILL):
            _exec_server(request, connection, wall)
        os._exit(NOT_RUN)
    connection.close()
    _end_without(above)
    reports = None if proxy is None else _copy_refusals(proxy)
    if wall is not None:
        _let_begin(wall)
    while (ended := os.waitpid(-1, 0))[0] != server:
        if proxy is not None and ended[0] == proxy.pid:
            proxy.pid = 0
    if proxy is not None and proxy.pid:
        os.kill(proxy.pid, signal.SIGKILL)
    if reports is not None:
        reports.join(_REPORTS_WITHIN)
    if wall is not None:
        _report_end(wall)
    _end_like(os.waitstatus_to_exitcode(ended[1]))


def _wall_of(request: ServerToRun) -> tuple[Wall | None, ProxyProcess | None]:
    """Return the wall of the server and its proxy, None without one. If the wall cannot be, exit and say why."""
    fields = request["wall"]
    if fields is None:
        return None, None
    from holdfast.system.confinement.entry import prepare_wall

    try:
        wall = prepare_wall(fields)
        if wall.channel < 0:
            return wall, None
        from holdfast.system.confinement.network.proxy_process import start_proxy

        return wall, start_proxy(wall, hosts=request["hosts"])  # before the server: without its proxy it is not run
    except (OSError, ValueError) as error:
        _report_line(f"Its sandbox could not be built: {error}. The server was not started.")
        os._exit(_NO_WALL)


def _copy_refusals(proxy: ProxyProcess) -> Thread:
    """Copy what the proxy refuses to the server's stderr, once for each host, as soon as it does. After every fork."""
    from threading import Thread

    from holdfast.system.confinement.network.proxy_process import REPORT_MOST, refusals

    def copy() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are the main thread's, which waits
        unread = b""
        while data := os.read(proxy.report, REPORT_MOST):
            *lines, unread = (unread + data).split(b"\n")
            unread = unread[:REPORT_MOST]
            for refused in refusals(b"".join(line + b"\n" for line in lines)):
                _report_line(
                    f"The sandbox refused to connect to {refused['host']}:{refused['port']} ({refused['why']})."
                )

    thread = Thread(target=copy, daemon=True)
    thread.start()
    return thread


def _let_begin(wall: Wall) -> None:
    """Let the server begin, now that all that ends it is in place."""
    from holdfast.system.confinement.entry import let_begin

    wall.close_inside()
    if wall.ready >= 0:
        let_begin(wall)


def _report_end(wall: Wall) -> None:
    """Write to the server's stderr if it never began, and what it put where git would obey it."""
    from holdfast.system.confinement.entry import close_wall, move_appeared

    if not close_wall(wall):
        _report_line("Its sandbox could not be built: see above. The server was not started.")
    for path in move_appeared(wall.fields):
        _report_line(f"It made {path!r}, from which git would take its settings. It was moved away.")


def _report_line(text: str) -> None:
    os.write(2, f"{text}\n".encode(errors="replace"))


def _end_without(above: int) -> None:
    """Kill the server and all that is below it, if the supervisor has died."""
    if LINUX and os.getppid() != above:
        kill_descendants(os.getpid())
        os._exit(1)


def _exec_server(request: ServerToRun, connection: socket.socket, wall: Wall | None) -> None:
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
        if wall is not None:
            from holdfast.system.confinement.entry import enter_wall

            enter_wall(wall, argv)
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
