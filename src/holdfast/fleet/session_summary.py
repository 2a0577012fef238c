"""What a list of sessions shows of one, kept up to date by its writer: title, model, open questions, cost."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

import msgspec

from holdfast.session.journal import entries as e

_TITLE_LENGTH = 80


class FleetSummary(msgspec.Struct, frozen=True):
    """The face of one session. `asking` are the ids of calls that wait for an answer, `open` whether a turn is open."""

    title: str = ""
    model: str = ""
    cwd: str = ""
    open: bool = False
    asking: tuple[str, ...] = ()
    cost: str = ""
    named: bool = False

    def after(self, entries: Iterable[e.Entry]) -> FleetSummary:
        """Return the face once `entries` are written."""
        face = self
        for entry in entries:
            face = _after(face, entry)
        return face


def _after(face: FleetSummary, entry: e.Entry) -> FleetSummary:  # noqa: PLR0911 - a line for each kind
    change = msgspec.structs.replace
    match entry:
        case e.SessionOpened(cwd=cwd, model=model):
            return change(face, cwd=cwd, model=model)
        case e.ModelChanged(model=model):
            return change(face, model=model)
        case e.Titled(title=title, usage=usage):
            return change(face, title=title, named=bool(title), cost=_sum(face.cost, usage.cost or "0"))
        case e.PromptAccepted(text=text):
            title = face.title if face.named or face.title else text.strip().partition("\n")[0][:_TITLE_LENGTH]
            return change(face, open=True, title=title)
        case e.ApprovalAsked(call=call):
            return change(face, asking=(*face.asking, call))
        case e.ApprovalAnswered(call=call) | e.CallEnded(call=call) if call in face.asking:
            return change(face, asking=tuple(each for each in face.asking if each != call))
        case e.ResponseEnded(usage=usage) | e.Compacted(usage=usage) if usage.cost:
            return change(face, cost=_sum(face.cost, usage.cost))
        case e.TurnEnded():
            return change(face, open=False, asking=())
        case _:
            return face


def _sum(cost: str, more: str) -> str:
    try:
        return str(Decimal(cost or "0") + Decimal(more))
    except InvalidOperation:  # a price that is no number: what is known stays
        return cost
