"""Access to PostgreSQL: one connection that reconnects, calls in autocommit, and the meaning of their failures.

If the connection breaks during a statement, it may or may not have been committed. This module reports that (`InDoubt`)
and never sends a statement again unless the caller allows it: only the caller knows how to check.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from typing import LiteralString, TypeVar, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict

from holdfast.errors import ConfigInvalid, StorageFailed
from holdfast.session.storage.lease import forked

SERVER_PATIENCE = 10.0
"""Seconds to wait while a server restarts or fails over."""

_RETRY = 0.05
_LONGEST_RETRY = 0.5
_AWAY = ("08", "57P0", "25006")  # connection exceptions; the server shuts down, crashed, or starts; it is a standby
_AGAIN = (
    "40",  # rolled back because of another transaction: serialization, deadlock
    "53",  # the disk is full, no memory, too many connections
    "55P03",  # a lock was not available
    "57014",  # canceled: a statement's time limit
    "58000",  # the system refused something, e.g. an I/O error
    "58030",
)

T = TypeVar("T")


class InDoubt(Exception):
    """The connection broke, or the server could not do it: the statement may or may not have been committed."""


class ServerAway(StorageFailed):
    """The server could not do it for as long as the patience: it is away, full or busy, and may be back soon."""


class Database:
    """One connection to a server, opened by the first call and reopened after it broke. One thread at a time.

    `patience` is how many seconds a call waits for a server that cannot be reached. A forked process shares the socket
    with its parent, whose leases it would give up and whose answers it would read: there every use raises `StateError`,
    and closing does nothing.
    """

    def __init__(self, url: str, *, patience: float = SERVER_PATIENCE, name: str = "holdfast") -> None:
        self._url = url
        self._patience = patience
        self._name = name
        self._connection: psycopg.Connection | None = None
        self._pid = os.getpid()

    @property
    def url(self) -> str:
        return self._url

    def once(self, sql: LiteralString, *values: object) -> list[tuple[object, ...]]:
        """Run a statement in one transaction and return its rows.

        Raises `InDoubt` if the connection broke during it or the server cannot do it at present, `StorageFailed` for
        every other failure.
        """
        self._refuse_forked()
        try:
            connection = self._connection or self._connected()
            with connection.cursor(binary=True) as cursor:
                cursor.execute(sql, values)
                return _rows(cursor)
        except psycopg.Error as error:
            if _is_away(error) or self._connection is None or self._connection.broken:
                self.drop()
                raise InDoubt(_message_of(error)) from error
            if (error.sqlstate or "").startswith(_AGAIN):  # the connection is kept, and with it its advisory locks
                raise InDoubt(_message_of(error)) from error
            raise StorageFailed(f"The record in PostgreSQL refused a statement: {_message_of(error)}.") from error

    def call(self, sql: LiteralString, *values: object) -> list[tuple[object, ...]]:
        """Run a statement that may safely run twice, and repeat it until the server answers.

        Raises `ServerAway` if the server does not do it within the patience.
        """
        return self.patiently(lambda: self.once(sql, *values))

    def patiently(self, work: Callable[[], T]) -> T:
        """Return the result of `work`. While it raises `InDoubt`, run it again until the patience ends."""
        until, wait = time.monotonic() + self._patience, _RETRY
        while True:
            try:
                return work()
            except InDoubt as error:
                if time.monotonic() + wait > until:
                    raise ServerAway(
                        f"PostgreSQL did not answer or accept it for {self._patience:g} s: {error}. "
                        "See whether the server runs and has room, then try again."
                    ) from error
                time.sleep(wait)
                wait = min(2 * wait, _LONGEST_RETRY)

    def script(self, sql: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """Run one of holdfast's SQL scripts in one transaction, and return the rows of its last statement."""
        self._refuse_forked()
        connection = self._connection or self.patiently(self._connected_or_in_doubt)
        try:
            with connection.transaction(), connection.cursor() as cursor:
                cursor.execute(cast("LiteralString", sql), values or None)
                while cursor.nextset():
                    pass
                return _rows(cursor)
        except psycopg.Error as error:
            raise StorageFailed(f"The record in PostgreSQL refused a statement: {_message_of(error)}.") from error

    def close(self) -> None:
        """Close the connection. The next call opens another."""
        self.drop()

    def drop(self) -> None:
        """Close a connection that broke or is no longer needed."""
        if os.getpid() != self._pid:
            return
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                connection.close()

    def _refuse_forked(self) -> None:
        if os.getpid() != self._pid:
            raise forked("The connection to PostgreSQL", self._pid)

    def _connected_or_in_doubt(self) -> psycopg.Connection:
        try:
            return self._connected()
        except psycopg.Error as error:
            self.drop()
            raise InDoubt(_message_of(error)) from error

    def _connected(self) -> psycopg.Connection:
        connection = self._connection = psycopg.connect(
            self._url,
            autocommit=True,
            application_name=self._name,
            connect_timeout=5,
            keepalives_idle=5,
            keepalives_interval=2,
            keepalives_count=3,
            tcp_user_timeout=8_000,
            prepare_threshold=2,
        )
        # An acknowledged commit must survive a crash, so the server must not acknowledge before its disk has it.
        connection.execute(
            "select set_config('synchronous_commit', 'on', false) "
            "where current_setting('synchronous_commit') in ('off', 'local')"
        )
        return connection


def _rows(cursor: psycopg.Cursor) -> list[tuple[object, ...]]:
    """Return the rows of a statement. Rows without columns count, too: `select from` asks whether there are any."""
    return [] if cursor.description is None else cast("list[tuple[object, ...]]", cursor.fetchall())


def is_postgres(url: str) -> bool:
    """Return whether `url` names a PostgreSQL database."""
    return url.startswith(("postgresql://", "postgres://"))


def checked_url(url: str) -> str:
    """Return the address of a store; raises `ConfigInvalid` if it is not a PostgreSQL address."""
    if not is_postgres(url):
        raise ConfigInvalid(
            f"--store {url.partition(':')[0]!r}… is not the address of a PostgreSQL database "
            "(expected postgresql://USER@HOST/DATABASE). Correct it."
        )
    return url


def place_of(url: str) -> str:
    """Return a store's location without user and password; raises `ConfigInvalid` for an invalid address."""
    try:
        parts = conninfo_to_dict(checked_url(url))
    except psycopg.ProgrammingError as error:
        raise ConfigInvalid(f"The address of the store cannot be read: {_message_of(error)}. Correct it.") from error
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{parts.get('host') or 'this machine'}{port}/{parts.get('dbname') or ''}"


def sqlalchemy_url(url: str) -> str:
    """Return the address in SQLAlchemy's form, with the driver named."""
    return f"postgresql+psycopg://{url.partition('://')[2]}"


def _is_away(error: psycopg.Error) -> bool:
    """Return whether the server cannot be reached now but may be soon."""
    state = error.sqlstate
    if state is None:
        return isinstance(error, psycopg.OperationalError)
    return state.startswith(_AWAY)


def _message_of(error: psycopg.Error) -> str:
    message = error.diag.message_primary or str(error)
    return message.strip().partition("\n")[0].rstrip(".")
