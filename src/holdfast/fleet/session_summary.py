"""A session's summary for lists, kept up to date by its writer: title, model, open questions, cost."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

import msgspec

from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import Usage

_TITLE_LENGTH = 80


class FleetSummary(msgspec.Struct, frozen=True):
    """The summary of one session, stored as JSON in the column `face`.

    `asking` has the ids of calls that wait for an answer, `open` is whether a turn is open.
    """

    title: str = ""
    model: str = ""
    cwd: str = ""
    open: bool = False
    asking: tuple[str, ...] = ()
    cost: str = ""
    named: bool = False

    def after(self, entries: Iterable[e.Entry]) -> FleetSummary:
        """Return the summary after `entries` are written."""
        summary = self
        for entry in entries:
            summary = _after(summary, entry)
        return summary


def _after(summary: FleetSummary, entry: e.Entry) -> FleetSummary:  # noqa: PLR0911 - a line for each kind
    change = msgspec.structs.replace
    match entry:
        case e.SessionOpened(cwd=cwd, model=model):
            return change(summary, cwd=cwd, model=model)
        case e.Moved(to=folder):
            return change(summary, cwd=folder)
        case e.ModelChanged(model=model):
            return change(summary, model=model)
        case e.Titled(title=title, usage=usage):
            return change(summary, title=title, named=bool(title), cost=_sum(summary.cost, usage.cost or "0"))
        case e.PromptAccepted(text=text):
            title = summary.title if summary.named or summary.title else text.strip().partition("\n")[0][:_TITLE_LENGTH]
            return change(summary, open=True, title=title)
        case e.ApprovalAsked(call=call):
            return change(summary, asking=tuple(dict.fromkeys((*summary.asking, call))))
        case e.ApprovalAnswered(call=call) | e.CallEnded(call=call) if call in summary.asking:
            return change(summary, asking=tuple(each for each in summary.asking if each != call))
        case e.ResponseEnded(usage=usage) | e.Compacted(usage=usage) if usage.cost:
            return change(summary, cost=_sum(summary.cost, usage.cost))
        case e.RequestFailed(usage=Usage(cost=str() as cost)):
            return change(summary, cost=_sum(summary.cost, cost))
        case e.TurnEnded():
            return change(summary, open=False, asking=())
        case _:
            return summary


def _sum(cost: str, more: str) -> str:
    try:
        return str(Decimal(cost or "0") + Decimal(more))
    except InvalidOperation:  # the price is not a number: keep the known cost
        return cost
