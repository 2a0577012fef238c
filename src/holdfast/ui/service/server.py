"""One server process: its socket, its sessions, its signals, and its shutdown."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

import uvicorn

from holdfast.config.settings import read_config
from holdfast.errors import EXIT_OK, StateError, UsageError
from holdfast.fleet.record import FleetRecord
from holdfast.system.user_directories import homes
from holdfast.ui.service.access import LOOPBACK, TokenFile, host_name
from holdfast.ui.service.api import Api
from holdfast.ui.service.application import application
from holdfast.ui.service.connections import ConnectionGate, ConnectionLimits, limited_protocol
from holdfast.ui.service.metrics import RequestCounts
from holdfast.ui.service.page import read_page
from holdfast.ui.service.serve_arguments import ServeArguments
from holdfast.ui.service.watchers import Watchers

_CLOSES_WITHIN = 3
"""Seconds that open requests have after a signal."""
_LOOK = 0.05


def serve(
    arguments: ServeArguments, environ: Mapping[str, str], *, tokens: TokenFile, path: Path, created_token: str
) -> int:
    """Serve until a signal, then close every session. Return the exit code.

    `created_token` is the token just added to the file at `path`, "" if there is none.
    """
    listening = _listening_socket(arguments.host, arguments.port)
    try:
        record = _record(arguments, environ)
    except BaseException:
        listening.close()
        raise
    try:
        address = _address(listening)
        names = {*LOOPBACK, host_name(arguments.host), *map(str.lower, arguments.host_name or ())}
        _announce(arguments, address, path, created_token)
        asyncio.run(_serve(record, tokens, listening, hosts=frozenset(names), model=arguments.model, environ=environ))
    finally:
        try:
            record.close()
        finally:
            listening.close()
    return EXIT_OK


def _record(arguments: ServeArguments, environ: Mapping[str, str]) -> FleetRecord:
    """Return the sessions to serve: those of a fleet, or the local ones, started."""
    if arguments.store is not None:
        from holdfast.fleet.postgres.database import checked_url
        from holdfast.fleet.postgres.postgres_fleet import PostgresFleet

        return PostgresFleet(checked_url(arguments.store))
    from holdfast.ui.service.local.local_fleet import LocalFleet  # a fleet's server needs no agent

    cwd = Path(arguments.cwd or ".").resolve()
    if not cwd.is_dir():
        raise UsageError(f"-C {arguments.cwd!r} is not a directory. Pass an existing directory.")
    roots = (cwd, *(Path(each).expanduser().resolve() for each in arguments.root or ()))
    fleet = LocalFleet(arguments, environ, cwd=cwd, roots=roots)
    fleet.start()
    return fleet


async def _serve(
    record: FleetRecord,
    tokens: TokenFile,
    listening: socket.socket,
    *,
    hosts: frozenset[str],
    model: str | None,
    environ: Mapping[str, str],
) -> None:
    watchers = Watchers(record)
    settings = read_config(homes(environ).config)
    api = Api(
        record=record,
        tokens=tokens,
        watchers=watchers,
        counts=RequestCounts(),
        page=read_page(),
        default_model=model or settings.model or "",
        own_tests=settings.receipt.tests,
    )
    limits = ConnectionLimits()
    config = uvicorn.Config(
        application(api, hosts=hosts),
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        http=limited_protocol(ConnectionGate(limits)),
        timeout_keep_alive=int(limits.head_seconds),
        backlog=limits.backlog,
        server_header=False,
        timeout_graceful_shutdown=_CLOSES_WITHIN,
    )
    server = uvicorn.Server(config)

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        server.should_exit = True

    # uvicorn raises a signal again when it has ended: these handlers get it, and the sessions are closed in order.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    while not task.done() and not server.should_exit:
        await asyncio.wait({task}, timeout=_LOOK)
    watchers.close()
    await task


def _listening_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raise `StateError` if the address is in use or not of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host.strip("[]"), port))
        listening.listen(ConnectionLimits().backlog)
    except (OSError, OverflowError) as error:
        listening.close()
        why = (error.strerror if isinstance(error, OSError) else "") or str(error)
        raise StateError(f"Cannot listen on {host}, port {port}: {why}. Choose another --host or --port.") from error
    listening.set_inheritable(False)
    return listening


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _announce(arguments: ServeArguments, address: str, path: Path, created_token: str) -> None:
    lines = [f"holdfast serves {address}"]
    if created_token:
        lines.append(f"Your token: {created_token}")
        lines.append(f"It is stored in {path}. Enter it once on the page.")
    else:
        lines.append(f"Tokens: {path}")
    if host_name(arguments.host) not in LOOPBACK:
        lines.append("Other machines can reach this address, unencrypted: put a proxy with TLS in front of it.")
    print("\n".join(lines), file=sys.stdout, flush=True)
