"""Recognizes the journal entry that an inbox row became."""

from __future__ import annotations

from holdfast.fleet.record import InboxRow
from holdfast.session.journal import entries as e


def matches_entry(row: InboxRow, entry: e.Entry, *, name: str = "") -> bool:  # noqa: PLR0911 - a line for each kind
    """Return whether `entry` is the entry for the row. An entry of a message has the row's `name` as its id, if any."""
    match row.kind, entry:
        case "prompt", e.PromptAccepted(text=text, queued=queued):
            return queued == name and (bool(name) or text == row.body.get("text"))
        case "steer" | "later", e.Queued(id=queued, text=text) | e.PromptAccepted(queued=queued, text=text):
            if name:
                return queued == name
            return text == row.body.get("text") and (isinstance(entry, e.Queued) or not queued)
        case "answer", e.ApprovalAnswered(call=call):
            return call == row.body.get("question")
        case "stop", e.TurnEnded():
            return True
        case "model", e.ModelChanged(model=model):
            return model == row.body.get("model")
        case "mode", e.ModeChanged(mode=mode):
            return mode == row.body.get("mode")
        case "rename", e.Titled():
            return True
        case "recall", e.Recalled(queued=message):
            return message == row.body.get("id")
        case _:
            return False
