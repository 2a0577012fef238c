"""DBOS Transact, which starts looks at sessions: a queue with one look per session, and the schedule that sweeps.

How much rests on it. Nothing that must be right. DBOS decides when a look runs, and at which worker; a look may run
late, twice, or at two workers at once, and the lease in the record sorts that out. No workflow has steps, so DBOS never
runs a part of a turn again: a second journal under holdfast's would be a second truth.

Edges and the level. A row that is asked puts a look into the queue in its own transaction, so it begins at once. The
sweep, a scheduled workflow of which each run happens once in the whole fleet, finds what an edge missed: sessions in
which something waits and that no living worker holds.

Takeovers. With full slots a session whose worker died would wait for a slot among all that have none yet: DBOS takes
partitions of a full queue at random, without regard to age or priority. So such sessions have a queue and slots of
their own, as many again: a worker can take all that an equal peer had. A takeover lasts for one turn, the one that was
lost; what else waits in the session then waits with all others.

What DBOS leaves open: a workflow of a worker that died stays "pending" and occupies its session's place in the queue.
DBOS itself recovers only what its own executor had. So the sweep cancels the workflows of executors that are dead by
the record's clock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from datetime import datetime

from dbos import DBOS, DBOSConfig

from holdfast.fleet.postgres.database import sqlalchemy_url

LOOK_QUEUE = "sessions"
TAKEOVER_QUEUE = "takeovers"
_SWEEPS = "sweeps"
_POLL = 0.2  # seconds; each look at a queue is two statements
_VERSION = "1"
"""Of the workflows, not of holdfast: workers of two releases serve one queue."""


class Engine:
    """DBOS in this process. One at a time: DBOS keeps itself in its module."""

    def __init__(  # noqa: PLR0913 - what a worker gives
        self,
        url: str,
        *,
        worker: str,
        host: str,
        slots: int,
        every: float,
        look: Callable[[str], None],
        takeover: Callable[[str], None],
        sweep: Callable[[], None],
    ) -> None:
        """Begin to run looks, at most `slots` at once, and one sweep `every` so many seconds in the whole fleet.

        A `takeover` is the look at a session whose worker died; as many as `slots` may run beside the others.
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
        DBOS(config=config)
        DBOS.workflow(name="look")(self._run_look_of(look, slots))
        DBOS.workflow(name="takeover")(self._run_look_of(takeover, slots))
        swept = DBOS.workflow(name="sweep")(self._run_sweep_of())
        queues = [f"{name}{where}" for name in (TAKEOVER_QUEUE, LOOK_QUEUE) for where in ("", f"@{host}")]
        DBOS.listen_queues([*queues, _SWEEPS])
        DBOS.launch()
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

    def _run_look_of(self, look: Callable[[str], None], most: int) -> Callable[[str], None]:
        slots = threading.BoundedSemaphore(most)

        def run(session: str) -> None:
            """Look at a session. Beyond the slots it waits; the sweep begins none that already waits."""
            with slots:
                if not self._over.is_set():
                    look(session)

        return run

    def _run_sweep_of(self) -> Callable[[datetime, object], None]:
        def sweep(at: datetime, context: object) -> None:
            del at, context
            if not self._over.is_set():
                self._sweep()

        return sweep

    def cancel(self, workflows: Collection[str]) -> None:
        """Cancel workflows of executors that are dead."""
        if workflows:
            DBOS.cancel_workflows(list(workflows))

    def forget(self, workflows: Collection[str]) -> None:
        """Delete the records of workflows that have ended."""
        if workflows:
            DBOS.delete_workflows(list(workflows))

    def end(self) -> None:
        """Begin nothing more, and leave. Looks that run must have ended, or are of no use any more."""
        self._over.set()
        DBOS.destroy(destroy_registry=True)


def prepare_engine(url: str, *, role: str | None = None) -> None:
    """Make or update DBOS's own tables in the schema `dbos`, and let the `role` of workers use them."""
    DBOS.migrate(sqlalchemy_url(url), application_role=role)
