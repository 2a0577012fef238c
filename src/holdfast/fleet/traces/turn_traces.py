"""Sends the spans of turns to OpenTelemetry if its API is installed.

Only the API is used: the user configures where spans go, e.g. with `opentelemetry-instrument`. Without that, the API
drops them. Spans are created when a turn has ended, with the times of its entries.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from holdfast import __version__
from holdfast.fleet.traces.turn_spans import TurnSpan, TurnSpans
from holdfast.session.journal.store import StoredEntry

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Tracer, TracerProvider


class TurnTraces:
    """The traces of one session. `provider` takes the spans; None uses the one configured for the process."""

    def __init__(self, session: str, provider: TracerProvider | None = None) -> None:
        self._spans = TurnSpans(session)
        self._tracer = _tracer(provider)

    def replay(self, record: StoredEntry) -> None:
        """Take an entry that an earlier process wrote, without sending its spans again."""
        if self._tracer is not None:
            self._spans.take(record)

    def take(self, record: StoredEntry) -> None:
        """Take an entry that was just written. If it ends a turn, send the spans of the turn."""
        if self._tracer is not None and (turn := self._spans.take(record)) is not None:
            _send(self._tracer, turn, None)


def _tracer(provider: TracerProvider | None) -> Tracer | None:
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.trace") is None:
        return None
    from opentelemetry.trace import get_tracer

    return get_tracer("holdfast", __version__, tracer_provider=provider)


def _send(tracer: Tracer, turn: TurnSpan, context: Context | None) -> None:
    from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

    attributes = {**turn.attributes, "error.type": turn.error} if turn.error else turn.attributes
    kind = SpanKind.CLIENT if turn.kind == "client" else SpanKind.INTERNAL
    span = tracer.start_span(turn.name, context, kind, attributes, start_time=_nanoseconds(turn.begin))
    if turn.error:
        span.set_status(Status(StatusCode.ERROR, turn.error))
    inner = set_span_in_context(span, context)
    for each in turn.children:
        _send(tracer, each, inner)
    span.end(_nanoseconds(turn.end))


def _nanoseconds(at: float) -> int:
    return round(at * 1e9)
