"""A PostgreSQL for the tests: of `HOLDFAST_TEST_PG`, or one of their own on a Unix socket, as a user without rights.

`Server` can be stopped at once and started again, which is what a crash of the server is. On a `small_disk` it can also
be left without any room.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path

import psycopg

from holdfast.fleet.postgres.database import Database
from holdfast.fleet.postgres.schema import migrate, worker_role
from holdfast.fleet.worker.engine import prepare_engine

_NUMBERS = count(1)
_SETTINGS = """
listen_addresses = ''
max_connections = {connections}
fsync = on
shared_buffers = 64MB
max_wal_size = 256MB
unix_socket_directories = '{folder}'
log_min_messages = fatal
autovacuum_naptime = 10s
"""


def programs() -> Path | None:
    """Return the folder with PostgreSQL's own programs, None if it is not installed."""
    if (found := shutil.which("initdb")) and shutil.which("postgres"):
        return Path(found).resolve().parent  # of a link too: the other programs stand beside the real one
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda each: _version(each.parts[-3]))
    return folders[-1].parent if folders else None


def _version(name: str) -> int:
    return int(re.sub(r"\D", "", name) or 0)


class Server:
    """A server of the tests' own, in a folder that goes with it."""

    def __init__(
        self, folder: Path, bin_folder: Path, *, follows: Server | None = None, connections: int = 300
    ) -> None:
        """Begin a new server in the folder, or one that `follows` another as its standby."""
        self._folder = folder
        self._bin = bin_folder
        self._as = _unprivileged()
        folder.chmod(0o755)
        if self._as:
            os.chown(folder, self._as.pw_uid, self._as.pw_gid)
        data = str(folder / "data")
        if follows is None:
            self._run("initdb", "-D", data, "-A", "trust", "-U", "holdfast", "-E", "UTF8", "--no-sync")
        else:
            self._run("pg_basebackup", "-d", follows.url, "-D", data, "-R", "-X", "stream", "-c", "fast", "--no-sync")
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.write(_SETTINGS.format(folder=folder, connections=connections))
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://holdfast@/postgres?host={self._folder}"

    def start(self) -> None:
        self._run("pg_ctl", "-D", str(self._folder / "data"), "-l", str(self._folder / "log"), "-w", "start")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-D", str(self._folder / "data"), "-m", mode, "-w", "stop")

    def restart(self) -> None:
        """Crash it, and start it again."""
        self.stop()
        self.start()

    # --- faults that pass -----------------------------------------------------------------------------------------

    @contextmanager
    def full_log(self) -> Generator[None]:
        """Leave no room for its log either: the server crashes, and cannot start before the end."""
        with self.full_disk():
            with suppress(psycopg.Error), psycopg.connect(self.url, autocommit=True) as connection:
                while True:
                    connection.execute("select pg_logical_emit_message(true, 'x', repeat('x', 1000000))")
            yield

    @contextmanager
    def full_disk(self) -> Generator[None]:
        """Leave no room on its disk until the end; it must be small. The server may crash, and is started again."""
        filler = self._folder / "filler"
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            for size in (1 << 20, 1 << 12, 1):
                with suppress(OSError):
                    while file.write(bytes(size)) == size:
                        pass
        try:
            yield
        finally:
            filler.unlink()
            self.revive()

    @contextmanager
    def away(self) -> Generator[None]:
        """Stop it, as for an update, until the end."""
        self.stop("fast")
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def read_only(self) -> Generator[None]:
        """Refuse every write until the end, as a standby does."""
        self._set("default_transaction_read_only = on")
        try:
            yield
        finally:
            self._set("default_transaction_read_only = off")

    @contextmanager
    def no_connections(self) -> Generator[None]:
        """Close all connections, and refuse new ones until the end."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            names = [
                row[0] for row in connection.execute("select datname from pg_database where datname like 'holdf%'")
            ]
            try:
                for name in names:
                    connection.execute(f'alter database "{name}" allow_connections false')  # pyright: ignore[reportCallIssue, reportArgumentType] - names of the tests
                    connection.execute(
                        "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [name]
                    )
                yield
            finally:
                for name in names:
                    connection.execute(f'alter database "{name}" allow_connections true')  # pyright: ignore[reportCallIssue, reportArgumentType] - likewise

    @contextmanager
    def all_connections(self) -> Generator[None]:
        """Hold each of its connections, those of holdfast too, until the end; it should have few."""
        with ExitStack() as held:
            own = held.enter_context(psycopg.connect(self.url, autocommit=True))
            others = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'holdfast%'"
            while True:
                try:
                    held.enter_context(psycopg.connect(self.url))
                except psycopg.OperationalError as error:
                    if "too many clients" not in str(error):
                        raise
                    if not own.execute(others).fetchall():
                        break
            yield

    def revive(self) -> None:
        """Start it again unless it runs."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with suppress(psycopg.Error), psycopg.connect(self.url, connect_timeout=5) as connection:
                connection.execute("select 1")
                return
            with suppress(AssertionError):
                self.start()
            time.sleep(0.2)
        raise AssertionError("the server did not come back")

    def _set(self, setting: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in (
                "set default_transaction_read_only = off",
                f"alter system set {setting}",
                "select pg_reload_conf()",
            ):
                connection.execute(statement)  # pyright: ignore[reportCallIssue, reportArgumentType] - of the tests

    def _run(self, program: str, *words: str) -> None:
        quiet = program != "initdb"  # the server inherits them, and would hold a pipe for as long as it runs
        done = subprocess.run(
            [self._bin / program, *words],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if quiet else subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else subprocess.STDOUT,
            cwd=self._folder,
            user=self._as.pw_uid if self._as else None,
            group=self._as.pw_gid if self._as else None,
            extra_groups=[] if self._as else None,
        )
        assert done.returncode == 0, f"{program} {words}: {done.stdout}"


def _unprivileged() -> pwd.struct_passwd | None:
    """Return a user to run the server as, if this process is root's: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise AssertionError("no user to run PostgreSQL as")


def no_small_disk() -> str:
    """Return why no disk of a bounded size can be mounted here, "" if one can."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return "only root can mount a small disk"
    with tempfile.TemporaryDirectory(prefix="holdfast-disk-", dir="/tmp") as folder:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "holdfast", folder], check=False).returncode:
            return "no small disk can be mounted here"
        subprocess.run(["umount", folder], check=True)
    return ""


@contextmanager
def small_disk(folder: str, megabytes: int) -> Generator[None]:
    """Mount a disk of so many megabytes in the folder until the end."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "holdfast", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def own_server(*, follows: Server | None = None, megabytes: int = 0, connections: int = 300) -> Generator[Server]:
    """Yield a server of the caller's own, stopped and deleted at the end; a standby, if it `follows` another.

    With `megabytes` its disk has no more. It takes so many `connections`.
    """
    found = programs()
    assert found is not None
    with tempfile.TemporaryDirectory(prefix="holdfast-pg-", dir="/tmp") as folder, ExitStack() as disk:
        if megabytes:
            disk.enter_context(small_disk(folder, megabytes))
        server = Server(Path(folder), found, follows=follows, connections=connections)
        try:
            yield server
        finally:
            with suppress(AssertionError):
                server.stop()


@contextmanager
def fresh_database(url: str, *, engine: bool = False) -> Generator[str]:
    """Yield the address of a new database with the schema of a fleet, deleted at the end; with DBOS's if `engine`."""
    name = f"holdfast_test_{os.getpid()}_{next(_NUMBERS)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'create database "{name}"')  # pyright: ignore[reportCallIssue, reportArgumentType] - a name of the tests
    database_url = in_database(url, name)
    try:
        database = Database(database_url)
        migrate(database)
        if engine:
            prepare_engine(database_url, role=worker_role(database))
        database.close()
        yield database_url
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f'drop database "{name}" with (force)')  # pyright: ignore[reportCallIssue, reportArgumentType] - a name of the tests


def in_database(url: str, name: str) -> str:
    """Return the address of another database of the same server."""
    head, mark, query = url.partition("?")
    scheme, _, rest = head.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}/{name}{mark}{query}"
