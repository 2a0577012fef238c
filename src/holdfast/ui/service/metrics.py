"""Metrics for Prometheus: the state of the sessions, and the requests that this server has answered."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping

from holdfast.fleet.record import FLEET_STATES, FleetStatus

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


RouteAnswer = tuple[str, str, int]
"""A method, the pattern of a route, and the status of an answer."""


class RequestCounts:
    """Counts the requests by route and status; any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[RouteAnswer] = Counter()

    def add(self, method: str, route: str, status: int) -> None:
        """Count a request. `route` is its pattern, so that ids do not create new series."""
        with self._lock:
            self._counts[method, route, status] += 1

    def all(self) -> dict[RouteAnswer, int]:
        """Return the counts so far."""
        with self._lock:
            return dict(self._counts)


def metrics_text(status: FleetStatus, counts: Mapping[RouteAnswer, int], *, watchers: int, since: float) -> str:
    """Return all metrics in the text format of Prometheus."""
    return "".join(f"{line}\n" for line in _lines(status, counts, watchers, since))


def _lines(status: FleetStatus, counts: Mapping[RouteAnswer, int], watchers: int, since: float) -> Iterator[str]:
    yield from _metric("holdfast_sessions", "gauge", "Sessions by state.")
    for state in FLEET_STATES:
        yield f'holdfast_sessions{{state="{state}"}} {status.sessions.get(state, 0)}'
    yield from _metric("holdfast_workers", "gauge", "Workers that are alive.")
    yield f"holdfast_workers {len(status.workers)}"
    yield from _metric("holdfast_slots", "gauge", "Sessions that all workers can drive at once.")
    yield f"holdfast_slots {sum(each.slots for each in status.workers)}"
    yield from _metric("holdfast_driven_sessions", "gauge", "Sessions that a worker has open.")
    yield f"holdfast_driven_sessions {sum(each.holds for each in status.workers)}"
    yield from _metric(
        "holdfast_inbox_oldest_seconds", "gauge", "Age of the oldest waiting message; 0 if there is none."
    )
    yield f"holdfast_inbox_oldest_seconds {status.oldest or 0:.3f}"
    yield from _metric("holdfast_watchers", "gauge", "Open event streams of this server.")
    yield f"holdfast_watchers {watchers}"
    yield from _metric("holdfast_start_time_seconds", "gauge", "When this server started, in seconds since the epoch.")
    yield f"holdfast_start_time_seconds {since:.3f}"
    yield from _metric("holdfast_uptime_seconds", "gauge", "Uptime of this server in seconds.")
    yield f"holdfast_uptime_seconds {max(0.0, time.time() - since):.3f}"
    yield from _metric("holdfast_http_requests_total", "counter", "Answered requests by route and status.")
    for (method, route, code), count in sorted(counts.items()):
        yield f'holdfast_http_requests_total{{method="{method}",route="{route}",status="{code}"}} {count}'


def _metric(name: str, kind: str, help_: str) -> Iterator[str]:
    yield f"# HELP {name} {help_}"
    yield f"# TYPE {name} {kind}"
