"""The door to PostgreSQL: one connection that comes back, calls in autocommit, and what their failures mean.

A statement whose connection breaks may have been committed or not. This module says so (`InDoubt`) and never sends a
statement again by itself: only the caller knows how to look.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import LiteralString, TypeVar, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict

from holdfast.errors import ConfigInvalid, StorageFailed

SERVER_PATIENCE = 10.0
"""Seconds to wait for a server that restarts or fails over."""

_RETRY = 0.05
_LONGEST_RETRY = 0.5
_AWAY = ("08", "57P0")  # connection exceptions; the server shuts down, crashed, or starts
_AGAIN = ("40001", "40P01")  # rolled back for another transaction's sake

T = TypeVar("T")


class InDoubt(Exception):
    """The connection broke: the statement may have been committed, or not."""


class Database:
    """One connection to a server, opened by the first call and again after it broke. One thread at a time.

    `patience` is how long a call waits for a server that is away.
    """

    def __init__(self, url: str, *, patience: float = SERVER_PATIENCE, name: str = "holdfast") -> None:
        self._url = url
        self._patience = patience
        self._name = name
        self._connection: psycopg.Connection | None = None

    @property
    def url(self) -> str:
        return self._url

    def once(self, sql: LiteralString, *values: object) -> list[tuple[object, ...]]:
        """Run a statement in one transaction and return its rows.

        Raises `InDoubt` if the connection broke during it, `StorageFailed` for every other failure.
        """
        try:
            connection = self._connection or self._connected()
            with connection.cursor(binary=True) as cursor:
                cursor.execute(sql, values)
                return cast("list[tuple[object, ...]]", cursor.fetchall()) if cursor.description else []
        except psycopg.Error as error:
            if _is_away(error) or self._connection is None or self._connection.broken:
                self.drop()
                raise InDoubt(_what(error)) from error
            raise StorageFailed(f"The record in PostgreSQL refused a statement: {_what(error)}.") from error

    def call(self, sql: LiteralString, *values: object) -> list[tuple[object, ...]]:
        """Run a statement that may be run twice, again until the server answers.

        Raises `StorageFailed` if it does not within the patience.
        """
        return self.patiently(lambda: self.once(sql, *values))

    def patiently(self, work: Callable[[], T]) -> T:
        """Return what `work` returns; run it again while it raises `InDoubt`, until the patience ends."""
        until, wait = time.monotonic() + self._patience, _RETRY
        while True:
            try:
                return work()
            except InDoubt as error:
                if time.monotonic() + wait > until:
                    raise StorageFailed(
                        f"PostgreSQL did not answer for {self._patience:g} s: {error}. "
                        "See whether the server runs, then try again."
                    ) from error
                time.sleep(wait)
                wait = min(2 * wait, _LONGEST_RETRY)

    def script(self, sql: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """Run a script of holdfast's own files in one transaction, and return the rows of its last statement."""
        connection = self._connection or self._connected()
        try:
            with connection.transaction(), connection.cursor() as cursor:
                cursor.execute(cast("LiteralString", sql), values or None)
                while cursor.nextset():
                    pass
                return cast("list[tuple[object, ...]]", cursor.fetchall()) if cursor.description else []
        except psycopg.Error as error:
            raise StorageFailed(f"The record in PostgreSQL refused a statement: {_what(error)}.") from error

    def close(self) -> None:
        """Close the connection. The next call opens another."""
        self.drop()

    def drop(self) -> None:
        """Forget a connection that broke, or is no longer wanted."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                connection.close()

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
        # What was told as done must survive: a server that acknowledges before its disk has it would break that.
        connection.execute(
            "select set_config('synchronous_commit', 'on', false) "
            "where current_setting('synchronous_commit') in ('off', 'local')"
        )
        return connection


def is_postgres(url: str) -> bool:
    """Return whether `url` names a PostgreSQL database."""
    return url.startswith(("postgresql://", "postgres://"))


def checked_url(url: str) -> str:
    """Return the address of a store; raises `ConfigInvalid` if it is none of PostgreSQL."""
    if not is_postgres(url):
        raise ConfigInvalid(
            f"--store {url.partition(':')[0]!r}… is no address of a PostgreSQL database "
            "(expected postgresql://USER@HOST/DATABASE). Correct it."
        )
    return url


def place_of(url: str) -> str:
    """Return where a store is, without its user and password; raises `ConfigInvalid` for an address that is none."""
    try:
        parts = conninfo_to_dict(checked_url(url))
    except psycopg.ProgrammingError as error:
        raise ConfigInvalid(f"The address of the store cannot be read: {_what(error)}. Correct it.") from error
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{parts.get('host') or 'this machine'}{port}/{parts.get('dbname') or ''}"


def sqlalchemy_url(url: str) -> str:
    """Return the address as SQLAlchemy wants it, with the driver named."""
    return f"postgresql+psycopg://{url.partition('://')[2]}"


def _is_away(error: psycopg.Error) -> bool:
    """Return whether the server is not reachable now, but may be soon."""
    state = error.sqlstate
    if state is None:
        return isinstance(error, psycopg.OperationalError)
    return state.startswith(_AWAY) or state in _AGAIN


def _what(error: psycopg.Error) -> str:
    said = error.diag.message_primary or str(error)
    return said.strip().partition("\n")[0].rstrip(".")
