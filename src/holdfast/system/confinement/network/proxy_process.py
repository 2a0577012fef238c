"""Starts the proxy of a command as a process of the supervisor, and ends it with the command.

proxy = start_proxy(wall, hosts=("api.example.org",))   # before the fork of the command
…
for each in stop_proxy(proxy):                           # when the command has ended
    …                                                    # {"host": …, "port": …, "why": …}
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence

from holdfast.system.confinement.entry import Wall

_PROGRAM = (
    "import sys; sys.path.append(sys.argv.pop(1)); from holdfast.system.confinement.network.proxy import main; main()"
)
_PACKAGES = __file__.rsplit("/", 5)[0]
REPORT_MOST = 65_536
"""Bytes of a proxy's reports. It sends at most 100, each of a few hundred bytes."""

_LONGEST_HOST = 300
_LONGEST_REASON = 200


class ProxyProcess:
    """A running proxy and the descriptor of its reports."""

    __slots__ = ("pid", "report")

    def __init__(self, pid: int, report: int) -> None:
        self.pid = pid
        self.report = report


def start_proxy(wall: Wall, *, hosts: Sequence[str], networks: Sequence[str] = ()) -> ProxyProcess:
    """Start the proxy of a wall that has one, before the command; raises `OSError`. For a process with one thread.

    `hosts` are the patterns that the user allowed. `networks` may be asked though they are not public.
    """
    reading, writing = os.pipe()
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        raise
    if pid == 0:
        _become_proxy(parent, wall.channel, writing, json.dumps(list(hosts)), json.dumps(list(networks)))
    os.close(writing)
    os.close(wall.channel)
    wall.channel = -1
    return ProxyProcess(pid, reading)


def _become_proxy(parent: int, channel: int, report: int, hosts: str, networks: str) -> None:
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        for descriptor in (channel, report):
            os.set_inheritable(descriptor, True)  # noqa: FBT003 - it has no other way
        words = (sys.executable, "-I", "-S", "-X", "utf8", "-c", _PROGRAM, _PACKAGES)
        arguments = (str(parent), str(channel), str(report), hosts, networks)
        os.execve(words[0], [*words, *arguments], {"PATH": os.defpath})  # noqa: S606 - this package's arguments program
    finally:
        os._exit(126)


def stop_proxy(proxy: ProxyProcess) -> list[dict[str, object]]:
    """End the proxy and return what it refused, each host and port once."""
    if proxy.pid:  # 0: it has ended by itself, and was waited for
        os.kill(proxy.pid, signal.SIGKILL)
        os.waitpid(proxy.pid, 0)
    data = b""
    while len(data) < REPORT_MOST and (more := os.read(proxy.report, REPORT_MOST)):
        data += more
    os.close(proxy.report)
    return refusals(data)


def refusals(reports: bytes) -> list[dict[str, object]]:
    """Return what complete lines of a proxy say that it refused; a line that says something else does not count."""
    found = [_refusal(line) for line in reports[:REPORT_MOST].split(b"\n")[:-1]]
    return [each for each in found if each]


def _refusal(line: bytes) -> dict[str, object]:
    try:
        report: object = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    match report:
        case {"host": str(host), "port": int(port), "why": str(why)} if not isinstance(port, bool):
            is_one = (
                host.isascii() and len(host) <= _LONGEST_HOST and 0 < port < 1 << 16 and len(why) <= _LONGEST_REASON
            )
            return {"host": host, "port": port, "why": why} if is_one and why.isascii() else {}
        case _:
            return {}
