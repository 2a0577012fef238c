"""The entry that a row of the inbox becomes."""

from __future__ import annotations

from holdfast.fleet.record import InboxRow
from holdfast.session.journal import entries as e


def becomes(row: InboxRow, entry: e.Entry, *, name: str = "") -> bool:  # noqa: PLR0911 - a line for each kind
    """Return whether `entry` is what the row asked for. A message carries the row's `name`, if it has one."""
    match row.kind, entry:
        case "prompt", e.PromptAccepted(text=text, queued=queued):
            return queued == name and (bool(name) or text == row.body.get("text"))
        case "steer" | "later", e.Queued(id=queued, text=text) | e.PromptAccepted(queued=queued, text=text):
            if name:
                return queued == name
            return text == row.body.get("text") and (isinstance(entry, e.Queued) or not queued)
        case "answer", e.ApprovalAnswered(call=call):
            return call == row.body.get("call")
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
