"""The bound on what a run may cost: no request begins once the known cost of the run has reached it.

How it works. A run is what one agent does, from when it is made. Each entry that it journals is added to a `Spent`,
and before each request the turn compares that with the bound. The comparison is pure, and its end is a stop like every
other: it leaves through the one exit, with the cause `max_cost`.

Why before a request and not in the middle of one: a provider reports what a response used with its last event, so the
cost of a running one is not known. A run may therefore end above its bound, by the cost of one request.

Why the run and not the session: a script states what it is ready to pay for what it starts, also in a session that has
cost something before. Why an unknown cost ends the turn: a bound that does not count some responses is none.

Example: `--max-cost 0.10`, and responses of $0.04. After the third the run has cost $0.12, its calls run, and the turn
ends before the fourth request: "the run reached its cost limit ($0.12 of $0.10)".

Laws (`tests/agent/turn/test_budget_laws.py`): a request is sent if and only if what was spent before is known and less
than the bound, in whichever order responses, summaries and other entries come.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from holdfast.agent.cancellation import StopSignal
from holdfast.agent.events import Event, Fact
from holdfast.agent.stop_cause import StopCause
from holdfast.session.journal.entries import Compacted, Entry, RequestFailed, ResponseEnded, Titled
from holdfast.session.journal.parts import Usage


class Spent(msgspec.Struct, frozen=True):
    """The known cost of a run in US dollars, as a decimal string.

    `unpriced` is a model that gave a response of unknown cost, None if there is none. A response that was cut off
    counts if its cost was reported, otherwise as nothing.
    """

    dollars: str = "0"
    unpriced: str | None = None

    def after(self, entry: Entry) -> Spent:
        """Return what is spent after this entry."""
        match entry:
            case ResponseEnded(cut=str(), usage=Usage(cost=None)):
                return self
            case (
                ResponseEnded(usage=usage, model=model)
                | Compacted(usage=usage, model=model)
                | Titled(usage=usage, model=model)
                | RequestFailed(usage=Usage() as usage, model=model)
            ):
                if usage.cost is None:
                    return msgspec.structs.replace(self, unpriced=model)
                from decimal import Decimal  # 4 ms at import, needed only after a response

                return msgspec.structs.replace(self, dollars=str(Decimal(self.dollars) + Decimal(usage.cost)))
            case _:
                return self


def over_bound(spent: Spent, bound: float) -> str:
    """Return why no request may begin with a bound of so many US dollars, "" if one may."""
    from decimal import Decimal  # 4 ms at import, needed only with a bound

    if spent.unpriced is not None:
        return f"the cost of a response by {spent.unpriced} is not known, so ${bound:g} cannot be kept"
    dollars = Decimal(spent.dollars)
    return f"${dollars.normalize():f} of ${bound:g}" if dollars >= Decimal(str(bound)) else ""


class Budget:
    """The bound of one run, in US dollars, None if there is none, and what the run has spent."""

    def __init__(self, bound: float | None) -> None:
        self._bound = bound
        self._spent = Spent()

    def wrap_emit(self, emit: Callable[[Event], None]) -> Callable[[Event], None]:
        """Return an `emit` that also adds up the cost of journalled entries."""
        if self._bound is None:
            return emit

        def counting_emit(event: Event) -> None:
            if isinstance(event, Fact):
                self._spent = self._spent.after(event.entry)
            emit(event)

        return counting_emit

    def check(self, stop: StopSignal) -> None:
        """Raise `TurnStopped`, and set the stop, if the next request may not begin."""
        if self._bound is not None and (why := over_bound(self._spent, self._bound)):
            stop.set(StopCause("max_cost", why))
            stop.raise_if_set()
