"""The health of a PostgreSQL server: whether a fleet can use it, and whether its commits survive a crash."""

from __future__ import annotations

from typing import cast

import msgspec

from holdfast.errors import StateError
from holdfast.fleet.postgres.database import Database
from holdfast.fleet.postgres.schema import require_schema

_ANSWERS_WITHIN = 3.0


class ServerHealth(msgspec.Struct, frozen=True, kw_only=True):
    """The health of a record's server. `problem` says why the record cannot be used, "" if it can.

    `is_standby` is whether the server only follows another one and accepts no writes, `syncs` whether it syncs commits
    to disk, `has_standby` whether commits wait for a second server.
    """

    version: str
    problem: str = ""
    is_standby: bool = False
    syncs: bool = True
    has_standby: bool = False
    workers: int = 0


def server_health(url: str) -> ServerHealth:
    """Return the health of a store's server; raises `StorageFailed` if it does not answer."""
    database = Database(url, patience=_ANSWERS_WITHIN, name="holdfast doctor")
    try:
        version, standby, syncs, names = database.call(
            "select current_setting('server_version'), pg_is_in_recovery(), current_setting('fsync') = 'on', "
            "current_setting('synchronous_standby_names')"
        )[0]
        health = ServerHealth(
            version=str(version), is_standby=bool(standby), syncs=bool(syncs), has_standby=bool(names)
        )
        try:
            require_schema(database)
        except StateError as error:
            return msgspec.structs.replace(health, problem=str(error))
        workers = database.call("select count(*) from holdfast.worker where until > clock_timestamp()")[0][0]
        return msgspec.structs.replace(health, workers=cast("int", workers))
    finally:
        database.close()
