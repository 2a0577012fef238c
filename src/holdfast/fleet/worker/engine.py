"""DBOS Transact: queues the sessions to drive, one workflow per session, and schedules the sweep.

The workflow that drives a session is called "look" in DBOS's tables.

Correctness does not depend on DBOS. It decides when a look runs, and on which worker. A look may run late, twice, or on
two workers at once, and the lease in the record sorts that out. No workflow has steps, so DBOS never runs a part of a
turn again: a second journal under holdfast's would be a second truth.

Events and the sweep. Writing an inbox row enqueues a look in the same transaction, so the session is driven at once.
The sweep is a scheduled workflow, and each of its runs happens once in the whole fleet. It finds what an event missed:
sessions in which something waits and that no living worker holds.

Takeovers. With full slots, a session whose worker died would compete for a slot with all sessions that have none yet:
DBOS takes partitions of a full queue at random, without regard to age or priority. So such sessions have their own
queue, with as many slots again: a worker can take all that an equal peer had. A takeover lasts for one turn, the one
that was lost. What else waits in the session then waits like any other.

Two gaps in DBOS. If it cannot record that a workflow has ended, the workflow stays "pending", although its worker
lives: `DroppedWork` cancels it. And a workflow of a worker that died stays "pending" and occupies its session's place
in the queue: DBOS recovers only the workflows that its own executor had. So the sweep cancels the workflows of
executors that are dead by the record's clock.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Generator
from datetime import datetime

from dbos import DBOS, DBOSConfig
from dbos import error as dbos_error
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from holdfast.fleet.postgres.database import ServerAway, sqlalchemy_url

LOOK_QUEUE = "sessions"
TAKEOVER_QUEUE = "takeovers"
_SWEEPS = "sweeps"
_POLL = 0.2  # seconds; each look at a queue is two statements
_VERSION = "1"
"""The version of the workflows, not of holdfast: workers of two releases serve one queue."""


class Engine:
    """DBOS in this process. Only one instance at a time: DBOS keeps its state in its module."""

    def __init__(  # noqa: PLR0913 - what a worker gives
        self,
        url: str,
        *,
        worker: str,
        host: str,
        slots: int,
        every: float,
        drive: Callable[[str], None],
        takeover: Callable[[str], None],
        sweep: Callable[[], None],
    ) -> None:
        """Start to call `drive`, at most `slots` times at once, and `sweep` once per `every` seconds in the fleet.

        `takeover` drives a session whose worker died. Up to `slots` of these run in addition.
        """
        config: DBOSConfig = {
            "name": "holdfast",
            "system_database_url": sqlalchemy_url(url),
            "executor_id": worker,
            "application_version": _VERSION,
            "run_migrations": False,
            "use_listen_notify": False,
            "max_executor_threads": 4 * slots + 4,
            "sys_db_pool_size": 4,
            "log_level": "CRITICAL",
            "scheduler_polling_interval_sec": 5.0,
        }
        self._sweep = sweep
        self._over = threading.Event()
        self._running: set[str] = set()
        instance = DBOS(config=config)
        DBOS.workflow(name="look")(self._run_look_of(drive, slots))
        DBOS.workflow(name="takeover")(self._run_look_of(takeover, slots))
        swept = DBOS.workflow(name="sweep")(self._run_sweep_of())
        queues = [f"{name}{where}" for name in (TAKEOVER_QUEUE, LOOK_QUEUE) for where in ("", f"@{host}")]
        DBOS.listen_queues([*queues, _SWEEPS])
        try:
            self._launch(instance, queues, slots, swept, every)
        except (SQLAlchemyError, dbos_error.DBOSException) as error:
            self.end()
            raise ServerAway(
                f"DBOS could not start: {_reason(error)}. See whether the server runs and has room."
            ) from error

    def _launch(
        self,
        instance: DBOS,
        queues: list[str],
        slots: int,
        swept: Callable[[datetime, object], None],
        every: float,
    ) -> None:
        DBOS.launch()
        # DBOS would wait up to 90 s between two attempts to record the end of a look, and that look would keep a slot
        # and its session. So it fails at once; `DroppedWork` finds the look and cancels it.
        instance._sys_db._retry_connection_errors = False  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no option
        for name in queues:
            DBOS.register_queue(
                name,
                partition_concurrency=1,
                worker_concurrency=slots,
                polling_interval_sec=_POLL,
                on_conflict="always_update",
            )
        DBOS.register_queue(_SWEEPS, worker_concurrency=1, polling_interval_sec=0.5, on_conflict="always_update")
        DBOS.apply_schedules(
            [
                {
                    "schedule_name": "sweep",
                    "workflow_fn": swept,
                    "schedule": f"*/{max(1, min(30, round(every)))} * * * * *",
                    "context": None,
                    "queue_name": _SWEEPS,
                }
            ]
        )

    def _run_look_of(self, drive: Callable[[str], None], most: int) -> Callable[[str], None]:
        slots = threading.BoundedSemaphore(most)

        def run(session: str) -> None:
            """Drive a session. With all slots taken it waits; the sweep enqueues no session that already waits."""
            with self._noted(), slots:
                if not self._over.is_set():
                    drive(session)

        return run

    def _run_sweep_of(self) -> Callable[[datetime, object], None]:
        def sweep(at: datetime, context: object) -> None:
            del at, context
            with self._noted():
                if not self._over.is_set():
                    self._sweep()

        return sweep

    @property
    def running(self) -> frozenset[str]:
        """Return the ids of the workflows that run in this process."""
        return frozenset(tuple(self._running))

    @contextlib.contextmanager
    def _noted(self) -> Generator[None]:
        name = DBOS.workflow_id or ""
        self._running.add(name)
        try:
            yield
        finally:
            self._running.discard(name)

    def cancel(self, workflows: Collection[str]) -> None:
        """Cancel workflows that no living process runs; raises `ServerAway`."""
        if workflows:
            with _errors_of_the_server():
                DBOS.cancel_workflows(list(workflows))

    def forget(self, workflows: Collection[str]) -> None:
        """Delete the records of workflows that have ended; raises `ServerAway`."""
        if workflows:
            with _errors_of_the_server():
                DBOS.delete_workflows(list(workflows))

    def end(self) -> None:
        """Start no more workflows, and shut DBOS down. Running ones must have ended or no longer matter."""
        self._over.set()
        DBOS.destroy(destroy_registry=True)


@contextlib.contextmanager
def _errors_of_the_server() -> Generator[None]:
    try:
        yield
    except (SQLAlchemyError, dbos_error.DBOSException) as error:
        raise ServerAway(
            f"DBOS could not do it: {_reason(error)}. See whether the server runs and has room."
        ) from error


def _reason(error: Exception) -> str:
    """Return what the server said, without the statement and its values that SQLAlchemy adds."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return str(cause).strip().partition("\n")[0].rstrip(".")


def prepare_engine(url: str, *, role: str | None = None) -> None:
    """Make or update DBOS's own tables in the schema `dbos`, and let the `role` of workers use them.

    Raises `ServerAway`.
    """
    with _errors_of_the_server():
        DBOS.migrate(sqlalchemy_url(url), application_role=role)
