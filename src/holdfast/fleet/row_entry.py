"""Recognizes the journal entry that an inbox row became."""

from __future__ import annotations

from holdfast.fleet.record import InboxRow
from holdfast.session.journal import entries as e


def matches_entry(row: InboxRow, entry: e.Entry, *, name: str) -> bool:  # noqa: PLR0911 - a line for each kind
    """Return whether `entry` is the entry for the row. An entry of a message has the row's `name` as its id."""
    match row.kind, entry:
        case "prompt" | "steer" | "later", e.Queued(id=message) | e.PromptAccepted(queued=message):
            return message == name
        case "answer", e.ApprovalAnswered(call=call):
            return call == row.body.get("question")
        case "stop", e.TurnEnded():
            return True
        case "model", e.ModelChanged(model=model):
            return model == row.body.get("model")
        case "mode", e.ModeChanged(mode=mode):
            return mode == row.body.get("mode")
        case "rename", e.Titled():
            return entry == e.title_entry(str(row.body.get("title")))
        case "recall", e.Recalled(queued=message):
            return message == row.body.get("id")
        case _:
            return False
