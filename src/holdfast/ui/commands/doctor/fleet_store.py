"""The finding about the fleet's database in HOLDFAST_STORE: does it answer, accept writes, and keep them?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.system.threads import in_daemon
from holdfast.ui.commands.doctor.findings import DoctorFinding
from holdfast.ui.commands.fleet.worker import STORE_VARIABLE, extra_missing
from holdfast.ui.startup.run_options import RunOptions
from holdfast.ui.view.columns import count_noun

if TYPE_CHECKING:
    from holdfast.fleet.postgres.schema import ServerHealth

_NAME = "fleet"


async def probe_store(options: RunOptions, environ: Mapping[str, str], cwd: Path) -> list[DoctorFinding]:
    """Return the finding about the database, if the environment names one."""
    del options, cwd
    return await in_daemon(lambda: list(store_findings(environ)))


def store_findings(environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Yield the finding about the database, if the environment names one. It may take some seconds."""
    url = environ.get(STORE_VARIABLE, "")
    if not url:
        return
    try:
        from holdfast.fleet.postgres.database import place_of
        from holdfast.fleet.postgres.schema import server_health
    except ModuleNotFoundError as error:
        yield DoctorFinding(name=_NAME, level="fail", what=STORE_VARIABLE, todo=str(extra_missing(error)))
        return
    place = STORE_VARIABLE
    try:
        place = place_of(url)
        yield store_finding(place, server_health(url))
    except HoldfastError as error:
        yield DoctorFinding(name=_NAME, level="fail", what=place, todo=str(error))


def store_finding(place: str, health: ServerHealth) -> DoctorFinding:
    """Return whether the database at `place` is usable, and whether committed entries survive a crash."""
    what = f"PostgreSQL {health.version} at {place}"
    if health.is_standby:
        todo = f"It is a read-only standby. Name the primary in {STORE_VARIABLE}, or promote this one."
        return DoctorFinding(name=_NAME, level="fail", what=what, todo=todo)
    if health.problem:
        return DoctorFinding(name=_NAME, level="fail", what=what, todo=health.problem)
    what += f", {count_noun(health.workers, 'worker')} alive"
    if not health.syncs:
        todo = "fsync is off: a crash of the machine may lose or damage sessions. Set fsync = on."
    elif not health.has_standby:
        todo = (
            "No synchronous standby is configured: a failover may lose the last entries. "
            "Set synchronous_standby_names, or accept it."
        )
    elif not health.workers:
        todo = "Its sessions have no worker. Start `holdfast worker`."
    else:
        todo = ""
    return DoctorFinding(name=_NAME, level="warn" if todo else "ok", what=what, todo=todo)
